//! Answers the requests on one connection, and chooses the runtime for them.
//!
//! Probes are answered here, on the runtime that reads connections, so that a busy API does not
//! delay them. All other requests are passed to the API's runtime, and dropped there when their
//! client disconnects. On a reserved connection only probes are answered; while the server drains,
//! also what workers report on their jobs.

use std::{
    convert::Infallible,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::ConnectInfo,
    http::{HeaderValue, Request, header},
    response::{IntoResponse, Response},
};
use hyper::body::{Body as _, Frame, Incoming, SizeHint};
use tokio::runtime::Handle;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
use tower::Service;

use super::{inbound::Inbound, places::KeptPlace, probes, refusal::Refusal, workers};
use crate::telemetry::ConnectionRefusal;

/// Answers the requests of one connection.
#[derive(Clone)]
pub(super) struct Requests {
    pub(super) router: Router,
    /// The API's runtime.
    pub(super) api: Handle,
    pub(super) peer: SocketAddr,
    pub(super) inbound: Inbound,
    /// Set for a connection beyond the limit.
    pub(super) kept: Option<(Arc<KeptPlace>, ConnectionRefusal)>,
    pub(super) draining: CancellationToken,
}

impl Requests {
    pub(super) async fn answer(
        mut self,
        request: Request<Incoming>,
    ) -> Result<Response, Infallible> {
        let is_read = Arc::new(AtomicBool::new(request.body().is_end_stream()));
        let read = is_read.clone();
        let mut request = request.map(|inner| Body::new(Tracked { inner, read }));
        request.extensions_mut().insert(ConnectInfo(self.peer));
        request.extensions_mut().insert(self.inbound.clone());
        let is_probe = probes::is_one(request.uri().path());
        let is_report = workers::is_report(request.uri().path());
        let mut response = match &self.kept {
            _ if is_probe => {
                if let Some((place, _)) = &self.kept {
                    place.answers();
                }
                let Ok(response) = self.router.call(request).await;
                response
            }
            Some((_, why)) => full(*why).into_response(),
            None if self.draining.is_cancelled() && !is_report => {
                Refusal::stopping().into_response()
            }
            None => {
                let answer = async move { self.router.call(request).await };
                match AbortOnDropHandle::new(self.api.spawn(answer)).await {
                    Ok(Ok(response)) => response,
                    // The panic was already logged where it was caught.
                    Err(_) => Refusal::defect().into_response(),
                }
            }
        };
        // The unread rest of a body would be parsed as the next request, so the connection ends
        // after this response, and the response says so.
        if !is_read.load(Ordering::Relaxed) {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        Ok(response)
    }
}

fn full(why: ConnectionRefusal) -> Refusal {
    match why {
        ConnectionRefusal::Full => Refusal::unavailable(
            "the server has the maximum number of connections (connections.max); try again later",
        ),
        ConnectionRefusal::Address => Refusal::too_many(
            "this address has the maximum number of connections (connections.per_address); close \
             some, or name a proxy in trusted_proxies",
            1,
        ),
    }
}

/// A body that records whether it was read to its end.
struct Tracked {
    inner: Incoming,
    read: Arc<AtomicBool>,
}

impl hyper::body::Body for Tracked {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = Pin::new(&mut self.inner).poll_frame(cx);
        if matches!(frame, Poll::Ready(None)) || self.inner.is_end_stream() {
            self.read.store(true, Ordering::Relaxed);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
