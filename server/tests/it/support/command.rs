use std::{
    io::Write,
    process::{self, Stdio},
};

use super::TestDatabase;

/// The built binary with arguments. It runs in an empty folder, with an environment of its own.
pub(crate) struct Command {
    command: process::Command,
    folder: tempfile::TempDir,
    input: Vec<u8>,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Command {
    pub(crate) fn new(args: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = process::Command::new(env!("CARGO_BIN_EXE_carillon"));
        command.args(args).env_clear().current_dir(folder.path());
        Self { command, folder, input: Vec::new() }
    }

    /// Runs the command on that database.
    pub(crate) fn on(self, database: &TestDatabase) -> Self {
        self.env("CARILLON_DATABASE__URL", &database.url)
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Gives the command this standard input.
    pub(crate) fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// Puts this file into the command's folder.
    pub(crate) fn file(self, name: &str, content: &str) -> Self {
        std::fs::write(self.folder.path().join(name), content).unwrap();
        self
    }

    pub(crate) fn run(mut self) -> Finished {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().unwrap();
        // A program that ends without reading may close the pipe.
        let _ = child.stdin.take().unwrap().write_all(&self.input);
        let output = child.wait_with_output().unwrap();
        Finished {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The command itself, for tests that interact with it while it runs.
    pub(crate) fn into_inner(self) -> (process::Command, tempfile::TempDir) {
        (self.command, self.folder)
    }
}

impl Finished {
    /// The output of a command, which must have succeeded.
    pub(crate) fn done(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        self.out
    }

    /// The single line in which a failed command says why, without "error: ".
    pub(crate) fn refused(self, code: i32) -> String {
        assert_eq!(self.code, code, "{self:?}");
        let line = self.err.trim_end().strip_prefix("error: ").map(str::to_owned);
        line.unwrap_or_else(|| panic!("{self:?}"))
    }
}
