use std::{
    fs::File,
    process::{Child, Command, Stdio},
};

use super::storm::Storm;

/// A server process for the test. Dropping it kills it.
pub(super) struct Server {
    process: Child,
    log: std::path::PathBuf,
}

/// Short intervals: after a restart, a process soon finds the leftovers of the previous one.
const PACE: &[(&str, &str)] = &[
    ("CARILLON_ENGINE__HEARTBEAT_INTERVAL", "500ms"),
    ("CARILLON_ENGINE__HEARTBEAT_EXPIRY", "5s"),
    ("CARILLON_ENGINE__RECOVERY_INTERVAL", "100ms"),
    ("CARILLON_ENGINE__LOST_AFTER", "5s"),
];

/// The storm's schedules have their own namespace.
const NAMESPACES: (&str, &str) = ("CARILLON_COMMANDS__NAMESPACES", "*");

impl Server {
    /// Starts the real program on the storm's database.
    pub(super) fn start(storm: &Storm) -> Self {
        let log = storm.folder().join("server.log");
        let errors = File::options().create(true).append(true).open(&log).unwrap();
        let process = Command::new(program())
            .args(["serve", "--listen", "127.0.0.1:0", "--node-name", "crash"])
            .args(["--allow-commands", "--log-filter", "error", "--database-url", storm.url()])
            .env_clear()
            .envs(PACE.iter().copied().chain([NAMESPACES]))
            .current_dir(storm.folder())
            .stdin(Stdio::null())
            .stdout(errors.try_clone().unwrap())
            .stderr(errors)
            .spawn()
            .unwrap();
        Self { process, log }
    }

    /// Ends the process as a power failure would.
    pub(super) fn kill(&mut self) {
        self.is_alive();
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Panics with the log if the process has exited by itself.
    pub(super) fn is_alive(&mut self) {
        if let Some(status) = self.process.try_wait().unwrap() {
            panic!("the server ended by itself, {status}:\n{}", self.log());
        }
    }

    /// The log of this process and those of its predecessors.
    pub(super) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn program() -> String {
    #[expect(clippy::disallowed_methods, reason = "the tests' own configuration")]
    let given = std::env::var("CARILLON_BINARY");
    given.unwrap_or_else(|_| env!("CARGO_BIN_EXE_carillon").to_owned())
}
