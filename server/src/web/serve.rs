//! Connections. Whoever sends nothing, or the beginning of a request a byte at a time, or takes
//! nothing of the answer, is cut off; and there are only so many at once, so that files are left for
//! everything else.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use axum::Router;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto, graceful::GracefulShutdown},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
};
use tokio_util::sync::CancellationToken;
use tower::Service;

use super::stream::Stream;
use crate::clock::Clock;

/// After a failure that is not the caller's, such as too many open files.
const PAUSE: Duration = Duration::from_secs(1);

/// What a connection may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The head of a request, from its connection's beginning or the end of the request before.
    pub head: Duration,
    /// Between two parts of an answer that a client takes.
    pub answer: Duration,
    /// Connections at once. Others wait for their turn.
    pub connections: usize,
}

impl Limits {
    /// Of a process that may have so many files open.
    pub fn with_files(files: u64) -> Self {
        let half = usize::try_from(files / 2).unwrap_or(usize::MAX);
        let patience = Duration::from_secs(30);
        Self { head: patience, answer: patience, connections: half.clamp(64, 10_000) }
    }
}

/// Answers requests until `stop`; then those that are under way.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    limits: Limits,
    clock: Clock,
    stop: CancellationToken,
) -> io::Result<()> {
    // HTTP/2 comes to the proxy in front, which has the certificate: without TLS no browser
    // speaks it.
    let mut http = auto::Builder::new(TokioExecutor::new()).http1_only();
    http.http1().timer(TokioTimer::new()).header_read_timeout(limits.head);
    let graceful = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(limits.connections));
    let mut routes = router.into_make_service_with_connect_info::<SocketAddr>();
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            accepted = accept(&listener, &places) => accepted,
        };
        let (place, stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) if is_theirs(&error) => continue,
            Err(error) => {
                tracing::error!(%error, "failed to take a connection");
                clock.sleep(PAUSE).await;
                continue;
            }
        };
        let Ok(service) = routes.call(peer).await;
        let service = TowerToHyperService::new(service);
        let (http, watcher) = (http.clone(), graceful.watcher());
        let (clock, stop) = (clock.clone(), stop.clone());
        tokio::spawn(async move {
            // The time for a head begins with its first byte: who sends none is waited for here.
            let mut first = [0];
            let begun = tokio::select! {
                () = stop.cancelled() => false,
                begun = clock.timeout(limits.head, stream.peek(&mut first)) => {
                    matches!(begun, Ok(Ok(1)))
                }
            };
            if !begun {
                return;
            }
            let stream = TokioIo::new(Stream::new(stream, limits.answer, clock));
            let connection = http.serve_connection_with_upgrades(stream, service);
            if let Err(error) = watcher.watch(connection.into_owned()).await {
                tracing::debug!(%error, %peer, "a connection broke off");
            }
            drop(place);
        });
    }
    drop(listener);
    graceful.shutdown().await;
    Ok(())
}

/// The next connection, once there is a place for it.
async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> io::Result<(OwnedSemaphorePermit, TcpStream, SocketAddr)> {
    let place = places.clone().acquire_owned().await.map_err(io::Error::other)?;
    let (stream, peer) = listener.accept().await?;
    Ok((place, stream, peer))
}

/// Whether whoever called is gone already.
fn is_theirs(error: &io::Error) -> bool {
    [io::ErrorKind::ConnectionAborted, io::ErrorKind::ConnectionReset].contains(&error.kind())
}
