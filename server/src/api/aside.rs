//! Requests that compute, executed away from the event loop.
//!
//! A preview of a timing, an export or an introspection is CPU work, and blocks its thread while it
//! lasts. Such a request is executed as a whole on a blocking thread, with a small limit per caller
//! and per node.

use std::{
    any::TypeId,
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
    thread::available_parallelism,
    time::Duration,
};

use async_graphql::{Request, Response, ServerError, Value};
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use tokio::{
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore, oneshot},
};
use tracing::Instrument;
use uuid::Uuid;

use super::{
    limits::{self, with_code},
    schema::Schema,
};
use crate::{access::Viewer, clock::Clock, config::Introspection};

/// The largest number of concurrent requests of one caller.
const MAX_OF_CALLER: usize = 2;
/// The smallest limit of concurrent requests of all callers.
const MIN_OF_NODE: usize = 4;
/// How long a request waits for a permit.
const PATIENCE: Duration = Duration::from_secs(10);
/// Number of callers remembered before those without a request are forgotten.
const REMEMBERED: usize = 1_000;

/// Executes a query or mutation, away from the event loop if it computes.
pub async fn execute(schema: &Schema, mut request: Request) -> Response {
    let introspection = schema.data::<Introspection>().copied().unwrap_or_default();
    if !limits::is_heavy(&mut request, introspection) {
        return schema.execute(request).await;
    }
    let Some(asides) = schema.data::<Asides>() else { return schema.execute(request).await };
    let Ok(places) = Clock::system().timeout(PATIENCE, asides.places(caller(&request))).await
    else {
        return busy();
    };
    let (schema, handle) = (schema.clone(), Handle::current());
    // If the caller goes away, its end is dropped, and the execution stops at its next await point.
    let (caller, gone) = oneshot::channel::<()>();
    let executed = async move {
        tokio::select! {
            biased;
            response = schema.execute(request) => Some(response),
            _ = gone => None,
        }
    };
    let executed = executed.instrument(tracing::Span::current());
    let done = tokio::task::spawn_blocking(move || {
        let response = handle.block_on(executed);
        drop(places);
        response
    });
    let response = done.await;
    drop(caller);
    match response {
        Ok(Some(response)) => response,
        // Its runtime is shutting down.
        Ok(None) => busy(),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => busy(),
        },
    }
}

/// The responses of any operation: a subscription's events, or the single response of a query or
/// mutation.
pub fn execute_stream(schema: &Schema, mut request: Request) -> BoxStream<'static, Response> {
    if limits::is_subscription(&mut request) {
        return schema.execute_stream(request);
    }
    let schema = schema.clone();
    stream::once(async move { execute(&schema, request).await }).boxed()
}

/// Whether the operation that a request selects is a mutation.
pub fn is_mutation(request: &mut Request) -> bool {
    limits::is_mutation(request)
}

/// Whether a request was refused before it was executed: it has errors, and none of them has a path
/// into the response.
pub fn is_refused(response: &Response) -> bool {
    let is_empty = matches!(response.data, Value::Null) && !response.errors.is_empty();
    is_empty && response.errors.iter().all(|error| error.path.is_empty())
}

/// The caller's key. All unauthenticated callers count as one.
fn caller(request: &Request) -> Uuid {
    let viewer = request.data.get(&TypeId::of::<Viewer>());
    viewer.and_then(|data| data.downcast_ref::<Viewer>()).map_or(Uuid::nil(), |viewer| viewer.id)
}

fn busy() -> Response {
    let text = format!(
        "this request computes, and {MAX_OF_CALLER} of yours or all places of the server are under \
         way; wait for their answers, and ask again"
    );
    Response::from_errors(vec![with_code(ServerError::new(text, None), "RATE_LIMITED")])
}

/// The permits for requests that compute.
pub(super) struct Asides {
    node: Arc<Semaphore>,
    callers: Mutex<HashMap<Uuid, Weak<Semaphore>>>,
}

impl Default for Asides {
    fn default() -> Self {
        let cores = available_parallelism().map_or(1, usize::from);
        let node = Arc::new(Semaphore::new(cores.max(MIN_OF_NODE)));
        Self { node, callers: Mutex::default() }
    }
}

impl Asides {
    /// Acquires a permit of the caller's own, then one of the node's: a caller with many requests
    /// waits where it blocks no other caller.
    async fn places(&self, caller: Uuid) -> [Option<OwnedSemaphorePermit>; 2] {
        let own = self.of(caller).acquire_owned().await.ok();
        [own, self.node.clone().acquire_owned().await.ok()]
    }

    fn of(&self, caller: Uuid) -> Arc<Semaphore> {
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = callers.get(&caller).and_then(Weak::upgrade) {
            return known;
        }
        if callers.len() >= REMEMBERED {
            callers.retain(|_, caller| caller.strong_count() > 0);
        }
        let places = Arc::new(Semaphore::new(MAX_OF_CALLER));
        callers.insert(caller, Arc::downgrade(&places));
        places
    }
}
