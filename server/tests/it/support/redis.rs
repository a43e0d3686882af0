use std::{
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use carillon::clock::Clock;
use nix::unistd::Pid;
use tempfile::TempDir;

use super::process::{free_port, freeze, thaw};

/// How often another process may take a port before the server has it.
const TRIES: usize = 5;

/// A Redis server for the test, on a free port of 127.0.0.1, without persistence. Dropping it kills
/// it.
pub(crate) struct Redis {
    pub(crate) port: u16,
    password: Option<&'static str>,
    /// Additional arguments.
    args: Vec<String>,
    process: Option<Child>,
    /// Declared after the process, so that the folder is removed after the process has ended.
    folder: TempDir,
}

impl Redis {
    pub(crate) async fn start() -> Self {
        Self::started(None, Vec::new()).await
    }

    /// Starts a server that requires a password.
    pub(crate) async fn with_password(password: &'static str) -> Self {
        Self::started(Some(password), Vec::new()).await
    }

    /// Starts a server that also accepts TLS; returns the port for TLS.
    pub(crate) async fn with_tls(certificate: &Path, key: &Path) -> (Self, u16) {
        let file = |path: &Path| path.to_str().unwrap().to_owned();
        let (pem, key) = (file(certificate), file(key));
        for _ in 0..TRIES {
            let port = free_port();
            let number = port.to_string();
            let args = ["--tls-port", &number, "--tls-cert-file", &pem, "--tls-key-file", &key];
            let rest = ["--tls-ca-cert-file", &pem, "--tls-auth-clients", "no"];
            let args = args.into_iter().chain(rest).map(str::to_owned).collect();
            if let Some(redis) = Self::try_start(None, args).await {
                return (redis, port);
            }
        }
        panic!("redis-server ended by itself {TRIES} times");
    }

    async fn started(password: Option<&'static str>, args: Vec<String>) -> Self {
        for _ in 0..TRIES {
            if let Some(redis) = Self::try_start(password, args.clone()).await {
                return redis;
            }
        }
        panic!("redis-server ended by itself {TRIES} times");
    }

    /// Starts a server on a port that was free a moment ago; `None` if another process has taken
    /// the port since.
    async fn try_start(password: Option<&'static str>, args: Vec<String>) -> Option<Self> {
        let folder = tempfile::Builder::new().prefix("carillon-redis-").tempdir().unwrap();
        let mut redis = Self { port: free_port(), password, args, process: None, folder };
        redis.answers().await.then_some(redis)
    }

    /// The server's URL for a node.
    pub(crate) fn url(&self) -> String {
        match self.password {
            Some(password) => format!("redis://:{password}@127.0.0.1:{}/0", self.port),
            None => format!("redis://127.0.0.1:{}", self.port),
        }
    }

    /// Starts the server again, without data.
    pub(crate) async fn go_on(&mut self) {
        assert!(self.answers().await, "redis-server ended by itself");
    }

    /// Waits for the server; returns whether it answers. It may also exit by itself.
    async fn answers(&mut self) -> bool {
        // If the test is killed, the kernel stops the server.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "redis-server", "--bind", "127.0.0.1"]);
        command.args(["--port", &self.port.to_string(), "--save", "", "--appendonly", "no"]);
        command.arg("--dir").arg(self.folder.path()).args(&self.args);
        if let Some(password) = self.password {
            command.args(["--requirepass", password]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.process = Some(command.spawn().expect("start redis-server (scripts/packages redis)"));
        let clock = Clock::system();
        for _ in 0..3_000 {
            // The process is checked first: another server may answer at this port.
            if self.process.as_mut().unwrap().try_wait().unwrap().is_some() {
                return false;
            }
            if self.try_say("PING").is_some() && self.is_ours() {
                return true;
            }
            clock.sleep(Duration::from_millis(10)).await;
        }
        panic!("redis-server did not answer within 30 s");
    }

    /// Whether the server that answers is the one that was started.
    fn is_ours(&self) -> bool {
        let folder = self.folder.path().to_str().unwrap();
        self.try_all("CONFIG GET dir").is_some_and(|lines| lines.iter().any(|line| line == folder))
    }

    /// Ends the server as a power failure would.
    pub(crate) fn kill(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        process.kill().unwrap();
        process.wait().unwrap();
    }

    /// Freezes the server: it accepts connections and answers nothing.
    pub(crate) fn freeze(&self) {
        freeze(self.pid());
    }

    pub(crate) fn thaw(&self) {
        thaw(self.pid());
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.process.as_ref().unwrap().id().cast_signed())
    }

    /// Deletes all data of the server.
    pub(crate) fn flush(&self) {
        assert_eq!(self.say("FLUSHALL"), "+OK");
    }

    /// The first line of the server's answer to a command.
    pub(crate) fn say(&self, command: &str) -> String {
        self.try_say(command).expect("an answer of Redis")
    }

    /// All lines of the server's answer.
    pub(crate) fn all(&self, command: &str) -> Vec<String> {
        self.try_all(command).expect("an answer of Redis")
    }

    fn try_say(&self, command: &str) -> Option<String> {
        self.try_all(command)?.into_iter().next()
    }

    /// The lines of the server's answer, until it closes the connection.
    fn try_all(&self, command: &str) -> Option<Vec<String>> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let sign_in = self.password.map(|password| format!("AUTH {password}\r\n"));
        let before = usize::from(sign_in.is_some());
        let text = format!("{}{command}\r\nQUIT\r\n", sign_in.unwrap_or_default());
        stream.write_all(text.as_bytes()).ok()?;
        let answers = BufReader::new(stream).lines().map_while(Result::ok);
        Some(answers.skip(before).collect())
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.kill();
    }
}
