//! A real provider from npm, in a process of its own. The test decides which account it has and how
//! it misbehaves.

use std::{
    io::{BufRead, BufReader, Lines, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::Value;

/// The secret of the provider's client.
pub(super) const SECRET: &str = "the secret of the client, long enough";

/// The provider. It ends with the test.
pub(crate) struct Provider {
    pub(crate) issuer: String,
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Provider {
    pub(crate) fn start() -> Self {
        let e2e = Path::new(env!("CARGO_MANIFEST_DIR")).join("../e2e");
        let is_there = e2e.join("node_modules/oidc-provider").is_dir();
        assert!(is_there, "the npm packages of e2e/ are not installed: run 'npm ci' there");
        let mut child = Command::new("node")
            .arg("support/oidc-provider.mjs")
            .current_dir(e2e)
            .env("NO_COLOR", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("node, which runs the provider");
        let stdin = child.stdin.take().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let issuer = said(&mut lines, "issuer ");
        Self { issuer, child, stdin, lines }
    }

    /// Tells the provider the address of its client; from then on the provider answers.
    pub(crate) fn serve(&mut self, home: &str) {
        writeln!(self.stdin, "{home}").unwrap();
        said(&mut self.lines, "ready");
    }

    /// Changes the provider's behaviour from now on.
    pub(crate) async fn be(&self, wanted: Value) {
        let url = format!("{}/test", self.issuer);
        let answer = reqwest::Client::new().post(url).json(&wanted).send().await.unwrap();
        assert!(answer.status().is_success());
    }

    /// Ends the provider.
    pub(crate) fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.stop();
    }
}

fn said(lines: &mut Lines<BufReader<ChildStdout>>, start: &str) -> String {
    let mut said = lines.map_while(Result::ok);
    let line = said.find_map(|line| line.strip_prefix(start).map(str::to_owned));
    line.unwrap_or_else(|| panic!("the provider did not say {start:?}"))
}
