//! A broker for the test: a process on a free port of 127.0.0.1, which can be killed, frozen and
//! restarted with its stored data.

use std::{
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use carillon::clock::Clock;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tempfile::TempDir;

use super::process::{free_port, freeze, thaw};

/// How to start a broker in a folder, listening on these ports.
type Start = dyn Fn(&Path, &[u16]) -> Command + Send + Sync;

/// Whether a broker is ready, once it listens.
type Ready = dyn Fn(&Path, &[u16]) -> bool + Send + Sync;

/// A process that listens. Dropping it kills it.
pub(crate) struct Broker {
    ports: Vec<u16>,
    start: Box<Start>,
    ready: Box<Ready>,
    process: Option<Child>,
    /// Declared after the process, so that the folder is removed after the process has ended.
    folder: TempDir,
}

/// How often another process may take a port before the broker has it.
const TRIES: usize = 5;

impl Broker {
    /// Starts a broker on `ports` free ports; the first is the one to connect to.
    pub(crate) async fn start(
        ports: usize,
        start: impl Fn(&Path, &[u16]) -> Command + Send + Sync + 'static,
        ready: impl Fn(&Path, &[u16]) -> bool + Send + Sync + 'static,
    ) -> Self {
        let (start, ready): (Box<Start>, Box<Ready>) = (Box::new(start), Box::new(ready));
        let folder = tempfile::Builder::new().prefix("carillon-broker-").tempdir().unwrap();
        let mut broker = Self { ports: Vec::new(), start, ready, process: None, folder };
        for _ in 0..TRIES {
            broker.ports = (0..ports).map(|_| free_port()).collect();
            if broker.begins().await {
                return broker;
            }
        }
        panic!("the broker ended by itself {TRIES} times: {}", broker.said());
    }

    /// The port to connect to.
    pub(crate) fn port(&self) -> u16 {
        self.ports[0]
    }

    /// All of its ports.
    pub(crate) fn ports(&self) -> &[u16] {
        &self.ports
    }

    /// The address to connect to, as written in a definition.
    pub(crate) fn server(&self) -> String {
        format!("127.0.0.1:{}", self.port())
    }

    /// Ends the broker as a power failure would.
    pub(crate) fn kill(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        // The signal also reaches the broker's child processes.
        let group = Pid::from_raw(-process.id().cast_signed());
        let _ = kill(group, Signal::SIGKILL);
        process.wait().unwrap();
        // Its child processes must have stopped answering as well.
        while TcpStream::connect(("127.0.0.1", self.port())).is_ok() {}
    }

    /// Starts the broker again, on its ports and with its stored data.
    pub(crate) async fn go_on(&mut self) {
        assert!(self.begins().await, "the broker ended by itself: {}", self.said());
    }

    /// Freezes the broker: it accepts connections and answers nothing.
    pub(crate) fn freeze(&self) {
        freeze(self.group());
    }

    pub(crate) fn thaw(&self) {
        thaw(self.group());
    }

    /// The process group of the broker.
    fn group(&self) -> Pid {
        Pid::from_raw(-self.process.as_ref().unwrap().id().cast_signed())
    }

    async fn begins(&mut self) -> bool {
        use std::os::unix::process::CommandExt;

        let output = std::fs::File::create(self.folder.path().join("output")).unwrap();
        let inner = (self.start)(self.folder.path(), &self.ports);
        // If the test is killed, the kernel stops the broker.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]).arg(inner.get_program()).args(inner.get_args());
        for (name, value) in inner.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        command.current_dir(self.folder.path()).process_group(0).stdin(Stdio::null());
        command.stdout(output.try_clone().unwrap()).stderr(output);
        self.process = Some(command.spawn().expect("start the broker (scripts/packages brokers)"));
        let clock = Clock::system();
        for _ in 0..6_000 {
            if self.process.as_mut().unwrap().try_wait().unwrap().is_some() {
                return false;
            }
            if TcpStream::connect(("127.0.0.1", self.port())).is_ok()
                && (self.ready)(self.folder.path(), &self.ports)
            {
                return true;
            }
            clock.sleep(Duration::from_millis(10)).await;
        }
        panic!("the broker was not ready within a minute: {}", self.said());
    }

    fn said(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("output")).unwrap_or_default()
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The path of a program that the scripts install into the repository, or its name if it is
/// installed on the machine.
pub(crate) fn tool(name: &str) -> PathBuf {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join(".tools");
    let found = ["bin", "venv/bin"].map(|folder| tools.join(folder).join(name));
    found.into_iter().find(|path| path.exists()).unwrap_or_else(|| name.into())
}
