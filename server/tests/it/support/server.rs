use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, Stdio},
};

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
    _folder: tempfile::TempDir,
}

impl Server {
    pub(crate) fn start(database: &TestDatabase) -> Self {
        Self::start_with(database, &[])
    }

    /// With more flags.
    pub(crate) fn start_with(database: &TestDatabase, flags: &[&str]) -> Self {
        let args = [&["serve", "--listen", "127.0.0.1:0"], flags].concat();
        let (mut command, folder) = Command::new(&args).on(database).into_inner();
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
        // Read to its end: a full pipe would stop the server.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().build().unwrap();
        Self { url, http, child, _folder: folder }
    }

    pub(crate) fn get(&self, path: &str) -> RequestBuilder {
        self.http.get(format!("{}{path}", self.url))
    }

    pub(crate) fn post(&self, path: &str) -> RequestBuilder {
        self.http.post(format!("{}{path}", self.url))
    }

    pub(crate) async fn sign_in(&self, name: &str, password: &str) -> Response {
        let body = json!({ "name": name, "password": password });
        self.post("/auth/login").json(&body).send().await.unwrap()
    }

    /// Who the server says that the sender of this request is.
    pub(crate) async fn who(&self, request: RequestBuilder) -> Value {
        let query = json!({ "query": "{ me { name kind role } }" });
        let answer = request.json(&query).send().await.unwrap();
        assert!(answer.status().is_success(), "{answer:?}");
        answer.json::<Value>().await.unwrap()["data"]["me"].take()
    }

    /// Asks it to stop and waits for its end; gives the exit code.
    pub(crate) fn stop(mut self) -> i32 {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap());
        kill(pid, Signal::SIGTERM).unwrap();
        self.child.wait().unwrap().code().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The cookie that an answer sets, as a request sends it back.
pub(crate) fn cookie(answer: &Response) -> String {
    let set = answer.headers().get(header::SET_COOKIE).expect("a cookie").to_str().unwrap();
    set.split(';').next().unwrap().to_owned()
}
