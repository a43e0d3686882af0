use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};

use carillon::clock::Clock;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use reqwest::{RequestBuilder, Response, header};
use serde_json::{Value, json};

use super::{Command, TestDatabase};

/// The built binary as a server on a free port.
pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) http: reqwest::Client,
    child: Child,
    log: Arc<Mutex<String>>,
    _folder: tempfile::TempDir,
}

impl Server {
    pub(crate) fn start(database: &TestDatabase) -> Self {
        Self::start_with(database, &[])
    }

    /// Starts a server with more flags.
    pub(crate) fn start_with(database: &TestDatabase, flags: &[&str]) -> Self {
        let args = [&["serve", "--listen", "127.0.0.1:0"], flags].concat();
        Self::started(Command::new(&args).on(database))
    }

    /// Starts a server with more flags and an environment variable.
    pub(crate) fn start_under(
        database: &TestDatabase,
        flags: &[&str],
        name: &str,
        value: &str,
    ) -> Self {
        let args = [&["serve", "--listen", "127.0.0.1:0"], flags].concat();
        Self::started(Command::new(&args).on(database).env(name, value))
    }

    /// Starts a server with this configuration file.
    pub(crate) fn start_configured(database: &TestDatabase, config: &str) -> Self {
        let command = Command::new(&["serve", "--listen", "127.0.0.1:0"]).on(database);
        Self::started(command.file("carillon.toml", config))
    }

    fn started(command: Command) -> Self {
        let (mut command, folder) = command.into_inner();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let url = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix("Carillon is ready at ").map(str::to_owned));
        let mut log = child.stderr.take().unwrap();
        let Some(url) = url else {
            let mut text = String::new();
            log.read_to_string(&mut text).unwrap();
            panic!("the server did not start: {text}");
        };
        // The log is read to its end: if the pipe were full, the server would stop.
        let kept = Arc::new(Mutex::new(String::new()));
        let keep = kept.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(log).split(b'\n').map_while(Result::ok) {
                *keep.lock().unwrap() += &(String::from_utf8_lossy(&line) + "\n");
            }
        });
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().build().unwrap();
        Self { url, http, child, log: kept, _folder: folder }
    }

    pub(crate) fn get(&self, path: &str) -> RequestBuilder {
        self.http.get(format!("{}{path}", self.url))
    }

    pub(crate) fn post(&self, path: &str) -> RequestBuilder {
        self.http.post(format!("{}{path}", self.url))
    }

    /// The log since the last call, once it has a line that contains `part`.
    pub(crate) async fn logged(&self, part: &str) -> String {
        let clock = Clock::system();
        let found = async {
            loop {
                {
                    let mut log = self.log.lock().unwrap();
                    if log.contains(part) {
                        return std::mem::take(&mut *log);
                    }
                }
                // Leaves the core to the server, which has to write the line.
                clock.sleep(Duration::from_millis(10)).await;
            }
        };
        let found = tokio::time::timeout(Duration::from_secs(60), found).await;
        found.unwrap_or_else(|_| panic!("the log does not say {part:?}"))
    }

    pub(crate) async fn sign_in(&self, name: &str, password: &str) -> Response {
        let body = json!({ "name": name, "password": password });
        self.post("/auth/login").json(&body).send().await.unwrap()
    }

    /// The viewer whom the server sees in the sender of this request.
    pub(crate) async fn who(&self, request: RequestBuilder) -> Value {
        let query = json!({ "query": "{ me { name kind role } }" });
        let answer = request.json(&query).send().await.unwrap();
        assert!(answer.status().is_success(), "{answer:?}");
        answer.json::<Value>().await.unwrap()["data"]["me"].take()
    }

    /// The process id of the server.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Asks the server to stop.
    pub(crate) fn ask_to_stop(&self) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap());
        kill(pid, Signal::SIGTERM).unwrap();
    }

    /// Waits until the server has ended; returns the exit code.
    pub(crate) fn ended(mut self) -> i32 {
        self.child.wait().unwrap().code().unwrap()
    }

    /// Asks the server to stop and waits for its end; returns the exit code.
    pub(crate) fn stop(self) -> i32 {
        self.ask_to_stop();
        self.ended()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The session cookie that an answer sets, as a request would send it back.
pub(crate) fn cookie(answer: &Response) -> String {
    set_cookie(answer, false).split(';').next().unwrap().to_owned()
}

/// The cookie that identifies a browser after a sign-in, as a request would send it back.
pub(crate) fn device_cookie(answer: &Response) -> String {
    set_cookie(answer, true).split(';').next().unwrap().to_owned()
}

/// The `Set-Cookie` header of an answer for the session, or for the device.
pub(crate) fn set_cookie(answer: &Response, of_device: bool) -> String {
    let all = answer.headers().get_all(header::SET_COOKIE).iter();
    let mut texts = all.map(|value| value.to_str().unwrap());
    let is_it = |text: &&str| text.split('=').next().unwrap().contains("-device") == of_device;
    texts.find(is_it).expect("a cookie").to_owned()
}
