//! A session with a server, for operations that tokens may not perform: creating tokens and feeds.

use std::io::{self, BufRead, IsTerminal};

use reqwest::header;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use super::{
    CliError,
    client::{ClientError, data, http, read, unreachable},
};

/// A secret from a prompt, or from the first line of standard input.
pub(super) fn typed(prompt: &str, stdin: bool) -> Result<SecretString, CliError> {
    let text = if is_piped(stdin) { next_line()? } else { asked(prompt)? };
    if text.is_empty() {
        return Err(CliError::Usage("nothing was given to sign in with".to_owned()));
    }
    Ok(text.into())
}

/// The password that replaces a one-time password: from two prompts, or from the next line of
/// standard input.
pub(super) fn chosen_password(stdin: bool) -> Result<SecretString, CliError> {
    if is_piped(stdin) {
        let text = next_line()?;
        if text.is_empty() {
            let text = "you signed in with a one-time password: give a new one on the second line \
                        of standard input";
            return Err(CliError::Usage(text.to_owned()));
        }
        return Ok(text.into());
    }
    let text = asked("You signed in with a one-time password. New password: ")?;
    if text != asked("Once more: ")? {
        return Err(CliError::Usage("the two passwords differ".to_owned()));
    }
    Ok(text.into())
}

fn is_piped(stdin: bool) -> bool {
    stdin || !io::stdin().is_terminal()
}

/// The next line of standard input; empty at its end.
fn next_line() -> Result<String, CliError> {
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.map_err(CliError::io("read standard input"))?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

fn asked(prompt: &str) -> Result<String, CliError> {
    rpassword::prompt_password(prompt).map_err(CliError::io("ask for it"))
}

/// A session like a browser's.
pub(super) struct CookieSession<'a> {
    server: &'a str,
    http: reqwest::Client,
    cookies: String,
}

impl<'a> CookieSession<'a> {
    pub(super) async fn open(
        server: &'a str,
        user: &str,
        password: &SecretString,
    ) -> Result<Self, CliError> {
        let http = http(server)?;
        let credentials = json!({ "name": user, "password": password.expose_secret() });
        let request = http.post(format!("{server}/auth/login")).header(header::ORIGIN, server);
        let answer = request.json(&credentials).send().await.map_err(unreachable(server))?;
        let status = answer.status();
        let cookies: Vec<String> = answer
            .headers()
            .get_all(header::SET_COOKIE)
            .iter()
            .filter_map(|cookie| cookie.to_str().ok()?.split(';').next().map(str::to_owned))
            .collect();
        if !status.is_success() {
            let answer: Value = answer.json().await.unwrap_or_default();
            let problem = answer["error"].as_str().unwrap_or(status.as_str()).to_owned();
            return Err(ClientError::Refused { action: "sign in", problem }.into());
        }
        Ok(Self { server, http, cookies: cookies.join("; ") })
    }

    fn post(&self, path: &str) -> reqwest::RequestBuilder {
        let request = self.http.post(format!("{}{path}", self.server));
        request.header(header::ORIGIN, self.server).header(header::COOKIE, &self.cookies)
    }

    pub(super) async fn ask(
        &self,
        action: &'static str,
        query: &str,
        variables: Value,
    ) -> Result<Value, CliError> {
        let body = json!({ "query": query, "variables": variables });
        let answer = self.post("/graphql").json(&body).send().await;
        let answer = answer.map_err(unreachable(self.server))?;
        let (status, answer) = read(self.server, answer).await?;
        Ok(data(self.server, action, status, answer).map_err(|error| match error {
            // The credentials were a password, so advice about tokens would be wrong.
            ClientError::Unauthenticated { problem, .. } => {
                ClientError::Refused { action, problem }
            }
            error @ (ClientError::Unreachable { .. }
            | ClientError::Refused { .. }
            | ClientError::Failed { .. }) => error,
        })?)
    }

    /// Ends the session, whatever the outcome of the operation. If that fails, the session expires
    /// on its own.
    pub(super) async fn close(self) {
        let _ = self.post("/auth/logout").send().await;
    }
}
