//! A browser between a server and its provider: cookies and redirects.

use std::collections::{BTreeMap, HashMap};

use reqwest::{Response, StatusCode, header, redirect::Policy};
use serde_json::{Value, json};
use url::Url;

use crate::support::Server;

/// One person's browser.
pub(super) struct Browser {
    http: reqwest::Client,
    /// The cookies by origin.
    cookies: HashMap<String, BTreeMap<String, String>>,
    /// The address to which the provider last sent the browser.
    pub(super) returned: Option<Url>,
}

impl Browser {
    pub(super) fn new() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().redirect(Policy::none()).build().unwrap();
        Self { http, cookies: HashMap::new(), returned: None }
    }

    /// The browser's cookies for a server, as the browser sends them.
    pub(super) fn cookies(&self, server: &Server) -> String {
        let of = self.cookies.get(&server.url);
        let pairs = of.into_iter().flatten().map(|(name, value)| format!("{name}={value}"));
        pairs.collect::<Vec<_>>().join("; ")
    }

    /// One request.
    pub(super) async fn get(&mut self, url: &Url) -> Response {
        let origin = url.origin().ascii_serialization();
        let jar = self.cookies.entry(origin).or_default();
        let cookie: Vec<String> =
            jar.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let request = self.http.get(url.clone()).header(header::COOKIE, cookie.join("; "));
        let answer = request.send().await.unwrap();
        for set in answer.headers().get_all(header::SET_COOKIE) {
            let pair = set.to_str().unwrap().split(';').next().unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            if value.is_empty() {
                jar.remove(name);
            } else {
                jar.insert(name.to_owned(), value.to_owned());
            }
        }
        answer
    }

    /// Starts a sign-in at the server and follows it to the provider. Stops before the provider
    /// sends the browser back, and returns the address to which it would.
    pub(super) async fn leave(&mut self, server: &Server, to: &str) -> Url {
        let mut url: Url = format!("{}/auth/oidc/login?to={to}", server.url).parse().unwrap();
        for _ in 0..10 {
            let answer = self.get(&url).await;
            let status = answer.status();
            assert!(status.is_redirection(), "{url}: {status} {}", answer.text().await.unwrap());
            url = url.join(answer.headers()[header::LOCATION].to_str().unwrap()).unwrap();
            if url.path() == "/auth/oidc/callback" {
                self.returned = Some(url.clone());
                return url;
            }
        }
        panic!("it is sent around in circles: {url}");
    }

    /// Signs in; returns the server's answer to the returning browser.
    pub(super) async fn sign_in(&mut self, server: &Server, to: &str) -> Response {
        let back = self.leave(server, to).await;
        self.get(&back).await
    }

    /// Signs in successfully; returns the address to which the server sends the browser.
    pub(super) async fn enter(&mut self, server: &Server, to: &str) -> String {
        let answer = self.sign_in(server, to).await;
        assert_eq!(answer.status(), StatusCode::SEE_OTHER, "{}", answer.text().await.unwrap());
        answer.headers()[header::LOCATION].to_str().unwrap().to_owned()
    }

    /// Tries to sign in, which must fail; returns the status and the text shown.
    pub(super) async fn fail(&mut self, server: &Server) -> (StatusCode, String) {
        let answer = self.sign_in(server, "/").await;
        let told = (answer.status(), answer.text().await.unwrap());
        assert_eq!(self.me(server).await, Value::Null, "{told:?}");
        told
    }

    /// The user whom the server sees in this browser.
    pub(super) async fn me(&self, server: &Server) -> Value {
        let query = "{ me { name role roleEverywhere grants { namespace role } } }";
        self.ask(server, query).await["data"]["me"].take()
    }

    pub(super) async fn ask(&self, server: &Server, query: &str) -> Value {
        let post = server.post("/graphql").header(header::COOKIE, self.cookies(server));
        let answer = post.json(&json!({ "query": query })).send().await.unwrap();
        answer.json().await.unwrap()
    }
}
