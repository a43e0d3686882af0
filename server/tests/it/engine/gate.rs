//! A receiver of requests that answers when the test says so. A run that sends its request to this
//! receiver stays alive for as long as the test wants.

use std::time::Duration;

use axum::{
    Json, Router,
    extract::State,
    http::{HeaderMap, StatusCode, Uri},
};
use carillon::{
    model::Task,
    target::{Answers, Http, Target},
};
use serde_json::Value;
use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot},
};

use super::world::task;

/// The receiver. It ends with the test's runtime.
pub(crate) struct Gate {
    url: String,
    arrivals: mpsc::UnboundedReceiver<Arrival>,
}

/// A request that waits for its answer.
pub(crate) struct Arrival {
    /// The `Idempotency-Key`.
    pub(crate) key: String,
    /// The request's body: `run_id`, `attempt`, `context`.
    pub(crate) body: Value,
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    answer: oneshot::Sender<(StatusCode, Value)>,
}

type Arrivals = mpsc::UnboundedSender<Arrival>;

impl Gate {
    /// Begins to listen.
    pub(crate) async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let (arrived, arrivals) = mpsc::unbounded_channel();
        let router = Router::new().fallback(receive).with_state(arrived);
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, arrivals }
    }

    /// The receiver's URL.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// A task that sends its request to this receiver, with a time limit of a week.
    pub(crate) fn task(&self) -> Task {
        let target = Target::Http(Http::post(self.url.clone()));
        Task { timeout_ms: 7 * 86_400_000, ..task(target) }
    }

    /// A step of a workflow that sends its request to this receiver; the answer is the step's
    /// output.
    pub(crate) fn step(&self, name: &str, needs: &[&str]) -> Task {
        let mut http = Http::post(self.url.clone());
        http.output = Answers::Merge;
        Task {
            name: name.to_owned(),
            needs: needs.iter().map(|need| (*need).to_owned()).collect(),
            target: Target::Http(http),
            ..self.task()
        }
    }

    /// The next request.
    pub(crate) async fn arrival(&mut self) -> Arrival {
        let arrival = tokio::time::timeout(Duration::from_secs(60), self.arrivals.recv());
        arrival.await.expect("a request in time").unwrap()
    }

    /// Whether the receiver has a request that the test has not taken yet.
    pub(crate) fn has_more(&self) -> bool {
        !self.arrivals.is_empty()
    }
}

impl Arrival {
    /// Answers the request. A caller that hung up in the meantime does not receive the answer.
    pub(crate) fn answer(self, status: u16) {
        self.answer_with(status, Value::Null);
    }

    /// Answers with a body.
    pub(crate) fn answer_with(self, status: u16, body: Value) {
        let _ = self.answer.send((StatusCode::from_u16(status).unwrap(), body));
    }

    /// Waits until the caller has hung up.
    pub(crate) async fn hung_up(mut self) {
        let hung_up = tokio::time::timeout(Duration::from_secs(60), self.answer.closed());
        hung_up.await.expect("the caller hangs up");
    }

    /// The number of the attempt.
    pub(crate) fn attempt(&self) -> i64 {
        self.body["attempt"].as_i64().unwrap()
    }
}

async fn receive(
    State(arrivals): State<Arrivals>,
    uri: Uri,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> (StatusCode, Json<Value>) {
    let key = headers["idempotency-key"].to_str().unwrap().to_owned();
    let (answer, answered) = oneshot::channel();
    let path = uri.path().to_owned();
    let _ = arrivals.send(Arrival { key, body, path, headers, answer });
    let (status, body) = answered.await.unwrap_or((StatusCode::GONE, Value::Null));
    (status, Json(body))
}
