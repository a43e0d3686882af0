use std::{
    fs::File,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use carillon::clock::Clock;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;

use crate::support::{freeze, thaw};

/// A real server process that the test ends, freezes and restarts. Dropping it kills it.
pub(super) struct Node {
    pub(super) name: String,
    /// The program and its arguments, preceded by the program that starts it, if there is one.
    words: Vec<String>,
    environment: Vec<(String, String)>,
    log: PathBuf,
    process: Option<Child>,
}

impl Node {
    /// Starts the program on the database at `url`. `starter` is the command of another program
    /// that starts it, or empty. A node that is silent for `lease` counts as dead.
    pub(super) fn start(
        name: &str,
        url: &str,
        lease: Duration,
        folder: &Path,
        environment: &[(&str, &str)],
        starter: &[String],
    ) -> Self {
        let ms = |duration: Duration| format!("{}ms", duration.as_millis());
        let paces = [
            ("CARILLON_ENGINE__HEARTBEAT_INTERVAL", ms(lease / 5)),
            ("CARILLON_ENGINE__HEARTBEAT_EXPIRY", ms(lease)),
            ("CARILLON_ENGINE__RECOVERY_INTERVAL", ms(Duration::from_millis(500))),
            ("CARILLON_ENGINE__LOST_AFTER", ms(lease)),
            ("CARILLON_DATABASE__URL", url.to_owned()),
        ];
        let more = environment.iter().map(|(name, value)| (*name, (*value).to_owned()));
        let environment = paces.into_iter().chain(more);
        let flags =
            ["serve", "--listen", "127.0.0.1:0", "--allow-private-addresses", "--node-name"];
        let flags = flags.into_iter().chain([name]).map(str::to_owned);
        let mut node = Self {
            name: name.to_owned(),
            words: starter.iter().cloned().chain([program()]).chain(flags).collect(),
            environment: environment.map(|(name, value)| (name.to_owned(), value)).collect(),
            log: folder.join(format!("{name}.log")),
            process: None,
        };
        node.start_again();
        node
    }

    /// Starts a process under the node's name, unless one runs.
    pub(super) fn start_again(&mut self) {
        if self.process.is_some() {
            return;
        }
        let log = File::options().create(true).append(true).open(&self.log).unwrap();
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).env_clear().envs(self.environment.iter().cloned());
        command.current_dir(self.log.parent().unwrap()).stdin(Stdio::null());
        command.stdout(log.try_clone().unwrap()).stderr(log);
        self.process = Some(command.spawn().unwrap());
    }

    /// Ends the process as a power failure would.
    pub(super) fn kill(&mut self) {
        self.is_alive();
        let mut process = self.process.take().unwrap();
        process.kill().unwrap();
        process.wait().unwrap();
    }

    /// Asks the process to stop, and waits for its end.
    pub(super) fn stop(&mut self) {
        kill(self.pid(), Signal::SIGTERM).unwrap();
        let status = self.process.take().unwrap().wait().unwrap();
        assert!(status.success(), "{status}: {}", self.log());
    }

    pub(super) fn freeze(&mut self) {
        freeze(self.pid());
    }

    pub(super) fn thaw(&mut self) {
        thaw(self.pid());
    }

    fn pid(&mut self) -> Pid {
        self.is_alive();
        Pid::from_raw(self.process.as_ref().unwrap().id().cast_signed())
    }

    /// Panics with the end of the log if the process has exited by itself.
    pub(super) fn is_alive(&mut self) {
        let Some(process) = &mut self.process else { return };
        if let Some(status) = process.try_wait().unwrap() {
            let log = self.log();
            let last: Vec<&str> = log.lines().rev().take(20).collect();
            panic!("{} ended by itself, {status}; its log, last line first: {last:#?}", self.name);
        }
    }

    /// The logs of all processes of this node.
    pub(super) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    /// How often the log contains that text.
    pub(super) fn said(&self, word: &str) -> usize {
        self.log().matches(word).count()
    }

    /// Waits until the node's processes have logged that text `times` times.
    pub(super) async fn says(&mut self, word: &str, times: usize) {
        let clock = Clock::system();
        for _ in 0..3_000 {
            if self.said(word) >= times {
                return;
            }
            self.is_alive();
            clock.sleep(Duration::from_millis(20)).await;
        }
        panic!("{} did not say '{word}' {times} times within a minute:\n{}", self.name, self.log());
    }

    /// The URL of the node's last process.
    pub(super) fn url(&self) -> String {
        let log = self.log();
        let url = log.rsplit_once("Carillon is ready at ").unwrap().1;
        url.split_whitespace().next().unwrap().to_owned()
    }

    /// The answer of `/healthz`: whether the node is healthy, and the whole body.
    pub(super) async fn health(&self) -> (bool, Value) {
        let url = self.url();
        let _ = rustls::crypto::ring::default_provider().install_default();
        let answer = reqwest::get(format!("{url}/healthz")).await.unwrap();
        (answer.status().is_success(), answer.json().await.unwrap())
    }

    /// Waits until the node is ready for the first time.
    pub(super) async fn is_ready(&mut self) {
        self.says("Carillon is ready at ", 1).await;
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn program() -> String {
    #[expect(clippy::disallowed_methods, reason = "the tests' own configuration")]
    let given = std::env::var("CARILLON_BINARY");
    given.unwrap_or_else(|_| env!("CARGO_BIN_EXE_carillon").to_owned())
}
