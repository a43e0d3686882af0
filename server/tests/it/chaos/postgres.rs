use std::{
    fs::File,
    os::unix::process::CommandExt,
    process::{Child, Stdio},
    time::Duration,
};

use carillon::clock::Clock;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tempfile::TempDir;

use crate::support::{
    free_port,
    postgres::{as_ordinary_user, programs},
};

/// A PostgreSQL server for the test, with full durability, which the test may stop at will.
/// Dropping it removes it with its data.
pub(super) struct Postgres {
    pub(super) port: u16,
    settings: Vec<String>,
    process: Option<Child>,
    clock: Clock,
    /// Declared after the process, so that the folder is removed after the process has ended.
    folder: TempDir,
}

impl Postgres {
    /// Creates a cluster on a free port of 127.0.0.1 and starts it, with additional settings
    /// (`name=value`).
    pub(super) async fn start(settings: &[&str]) -> Self {
        let args = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"];
        let settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
        Self::made_by("initdb", &args, free_port(), settings).await
    }

    /// Creates a standby of this server, on a port of 127.0.0.1, and starts it.
    pub(super) async fn standby(&self, port: u16) -> Self {
        let from = self.port.to_string();
        let args = ["-h", "127.0.0.1", "-p", &from, "-U", "postgres", "-R", "--no-sync"];
        let args = [args.as_slice(), &["-c", "fast", "-X", "stream"]].concat();
        Self::made_by("pg_basebackup", &args, port, self.settings.clone()).await
    }

    async fn made_by(program: &str, args: &[&str], port: u16, settings: Vec<String>) -> Self {
        let folder = tempfile::Builder::new().prefix("carillon-chaos-").tempdir().unwrap();
        let mut command = as_ordinary_user(folder.path());
        command.arg(programs().join(program)).arg("-D").arg(folder.path().join("data"));
        let made = command.args(args).current_dir(folder.path()).output().unwrap();
        assert!(made.status.success(), "{program}: {}", String::from_utf8_lossy(&made.stderr));
        let (process, clock) = (None, Clock::system());
        let mut server = Self { port, settings, process, clock, folder };
        server.go_on().await;
        server
    }

    /// The URL of the server's only database.
    pub(super) fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// Starts the server again, with its data on disk.
    pub(super) async fn go_on(&mut self) {
        let folder = self.folder.path();
        let log = folder.join("log");
        let errors = File::create(&log).unwrap();
        let mut command = as_ordinary_user(folder);
        // If the test is killed, the kernel stops the server.
        command.args(["setpriv", "--pdeathsig", "QUIT"]).arg(programs().join("postgres"));
        command.arg("-D").arg(folder.join("data"));
        let own = [format!("port={}", self.port), "listen_addresses=127.0.0.1".to_owned()];
        let sockets = format!("unix_socket_directories={}", folder.display());
        for setting in own.iter().chain([&sockets]).chain(&self.settings) {
            command.arg("-c").arg(setting);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors).current_dir(folder);
        self.process = Some(command.process_group(0).spawn().unwrap());
        self.says("ready to accept").await;
    }

    /// Waits until the log contains that text.
    async fn says(&mut self, word: &str) {
        let log = self.folder.path().join("log");
        for _ in 0..12_000 {
            let text = std::fs::read_to_string(&log).unwrap();
            if text.contains(word) {
                return;
            }
            let process = self.process.as_mut().unwrap();
            let ended = process.try_wait().unwrap();
            assert!(ended.is_none(), "PostgreSQL ended by itself, {ended:?}:\n{text}");
            self.clock.sleep(Duration::from_millis(10)).await;
        }
        panic!("PostgreSQL did not say '{word}' within two minutes");
    }

    /// Stops the server as `pg_ctl stop -m immediate` does: the server writes nothing any more, and
    /// does not notify its clients.
    pub(super) fn stop_hard(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        // The process may have exited by itself.
        let _ = kill(Pid::from_raw(process.id().cast_signed()), Signal::SIGQUIT);
        process.wait().unwrap();
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.stop_hard();
    }
}
