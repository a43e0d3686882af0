use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode, Uri},
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::watch};

/// A request as it arrived.
#[derive(Clone)]
pub(super) struct Arrived {
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
}

impl Arrived {
    pub(super) fn header(&self, name: &str) -> String {
        self.headers[name].to_str().unwrap().to_owned()
    }

    /// Path and query.
    pub(super) fn place(&self) -> String {
        self.uri.to_string()
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(super) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// The headers of the signature.
    pub(super) fn signed(&self) -> Value {
        let names = ["webhook-id", "webhook-timestamp", "webhook-signature"];
        json!(
            names
                .map(|name| (name, self.header(name)))
                .into_iter()
                .collect::<std::collections::HashMap<_, _>>()
        )
    }
}

/// The requests that the receiver keeps, and its answers: these in turn, then the last one
/// repeatedly.
struct Inside {
    answers: Vec<StatusCode>,
    arrived: Vec<Arrived>,
}

/// A receiver that answers as the test says, and keeps what arrives.
#[derive(Clone)]
pub(super) struct Inbox {
    pub(super) address: SocketAddr,
    inside: Arc<Mutex<Inside>>,
    count: watch::Sender<usize>,
}

impl Inbox {
    pub(super) async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let inside = Inside { answers: vec![StatusCode::OK], arrived: vec![] };
        let inside = Arc::new(Mutex::new(inside));
        let inbox = Self { address, inside, count: watch::Sender::new(0) };
        let router = Router::new().fallback(keep).with_state(inbox.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        inbox
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/hook?token=hush", self.address)
    }

    /// Makes the receiver answer like this from now on.
    pub(super) fn answers(&self, status: u16) {
        self.answers_in_turn(&[status]);
    }

    /// Makes the receiver answer with these in turn from now on, then always with the last.
    pub(super) fn answers_in_turn(&self, statuses: &[u16]) {
        let statuses = statuses.iter().map(|status| StatusCode::from_u16(*status).unwrap());
        self.inside.lock().unwrap().answers = statuses.collect();
    }

    /// The paths of the requests, oldest first, as soon as there are this many.
    pub(super) async fn places(&self, count: usize) -> Vec<String> {
        let mut counted = self.count.subscribe();
        let there = counted.wait_for(|there| *there >= count);
        let there = tokio::time::timeout(Duration::from_secs(60), there).await;
        drop(there.unwrap_or_else(|_| panic!("{count} requests did not arrive")).unwrap());
        self.arrived().iter().map(Arrived::place).collect()
    }

    pub(super) fn arrived(&self) -> Vec<Arrived> {
        self.inside.lock().unwrap().arrived.clone()
    }
}

async fn keep(State(inbox): State<Inbox>, uri: Uri, headers: HeaderMap, body: Bytes) -> StatusCode {
    let mut inside = inbox.inside.lock().unwrap();
    inside.arrived.push(Arrived { uri, headers, body });
    inbox.count.send_replace(inside.arrived.len());
    if inside.answers.len() > 1 { inside.answers.remove(0) } else { inside.answers[0] }
}
