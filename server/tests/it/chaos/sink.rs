use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{Json, Router, extract::State, http::HeaderMap};
use carillon::{
    clock::Clock,
    model::Task,
    target::{Http, Target},
};
use chrono::{DateTime, Utc};
use serde_json::Value;
use tokio::net::TcpListener;
use uuid::Uuid;

use crate::engine::world::task;

/// The receiver of executions: an HTTP server in the test's own process. No fault affects it, and
/// it uses no database, so its records are reliable.
pub(super) struct Sink {
    url: String,
    notes: Notes,
}

/// One execution, at the moment at which its request arrived.
#[derive(Clone, Debug)]
pub(super) struct Execution {
    pub(super) at: DateTime<Utc>,
    /// The `Idempotency-Key`.
    pub(super) key: String,
    pub(super) run: Uuid,
    pub(super) attempt: i32,
}

#[derive(Clone, Default)]
struct Notes {
    taken: Arc<Mutex<Vec<Execution>>>,
}

/// Of 256 executions, this many take longer, so that every fault meets executions in progress.
const SLOW_OF_256: u8 = 26;
const SLOW: Duration = Duration::from_millis(1_500);

impl Sink {
    pub(super) async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let notes = Notes::default();
        let router = Router::new().fallback(note).with_state(notes.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, notes }
    }

    /// A task that sends a request to this sink.
    pub(super) fn task(&self) -> Task {
        task(Target::Http(Http::post(self.url.clone())))
    }

    /// All executions so far, in order.
    pub(super) fn executions(&self) -> Vec<Execution> {
        self.notes.taken.lock().unwrap().clone()
    }
}

async fn note(State(notes): State<Notes>, headers: HeaderMap, Json(body): Json<Value>) {
    let clock = Clock::system();
    let key = headers["idempotency-key"].to_str().unwrap().to_owned();
    let run: Uuid = body["run_id"].as_str().unwrap().parse().unwrap();
    let attempt = i32::try_from(body["attempt"].as_i64().unwrap()).unwrap();
    let execution = Execution { at: clock.now(), key, run, attempt };
    notes.taken.lock().unwrap().push(execution);
    // The last byte of a key is random.
    if run.as_bytes()[15] < SLOW_OF_256 {
        clock.sleep(SLOW).await;
    }
}
