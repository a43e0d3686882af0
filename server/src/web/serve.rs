//! Accepts connections. A client is cut off if it sends nothing, sends a request a byte at a time,
//! or does not read the response. The number of connections is limited, in total and per address,
//! so that file descriptors are left for everything else. Probes are answered beyond both limits.

use std::{io, net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use axum::Router;
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use ipnet::IpNet;
use tokio::{
    net::{TcpListener, TcpStream},
    runtime::Handle,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    connection::Requests,
    inbound::Inbound,
    places::{ConnectionPlaces, MAX_KEPT, ProbePlaces},
    refusals::{RefusalKind, Refusals},
    stream::{ClientStream, ConnectionHold},
};
use crate::{
    clock::Clock,
    telemetry::{ConnectionRefusal, Instruments},
};

/// Pause after a failure that the client did not cause, such as too many open files.
const PAUSE: Duration = Duration::from_secs(1);
/// How long a connection without an ordinary place may take to send the head of its request.
const KEPT_HEAD: Duration = Duration::from_secs(5);
/// Maximum size of the head of a request, which a connection holds in memory until it is complete.
/// hyper would hold 400 KB, and an address may have thousands of connections.
const MAX_HEAD: usize = 32 * 1024;
/// Files that the process needs in addition to connections, targets and the database: the log, the
/// console, the nodes' notifications.
const OTHER_FILES: u64 = 64;

/// Limits of connections.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// Timeout for the head of a request, from the beginning of the connection or the end of the
    /// previous request.
    pub head: Duration,
    /// Timeout between two parts of a response that a client reads.
    pub answer: Duration,
    /// Maximum number of connections. Beyond it, only probes are answered.
    pub connections: usize,
    /// Maximum number of connections from one address.
    pub per_address: usize,
}

impl ConnectionLimits {
    /// Limits for a process that may have this many files open and has this many database
    /// connections. At least half of the remaining files are for targets.
    pub fn with_files(files: u64, database: u32) -> Self {
        let kept = OTHER_FILES + u64::from(database) + 2 * MAX_KEPT as u64;
        let half = usize::try_from(files.saturating_sub(kept) / 2).unwrap_or(usize::MAX);
        Self::with_connections(half.clamp(64, 10_000))
    }

    /// Limits with this many connections.
    pub fn with_connections(connections: usize) -> Self {
        let patience = Duration::from_secs(30);
        let per_address = (connections / 4).max(16);
        Self { head: patience, answer: patience, connections, per_address }
    }
}

/// Answers requests on the connections of a listener.
pub struct Front {
    router: Router,
    limits: ConnectionLimits,
    clock: Clock,
    metrics: Instruments,
    api: Handle,
    proxies: Vec<IpNet>,
    refusals: Refusals,
    draining: CancellationToken,
    stop: CancellationToken,
}

impl Front {
    /// A front whose API runs on the current runtime.
    pub fn new(
        router: Router,
        limits: ConnectionLimits,
        clock: Clock,
        metrics: Instruments,
    ) -> Self {
        let refusals = Refusals::new(clock.clone());
        let (draining, stop) = (CancellationToken::new(), CancellationToken::new());
        let (api, proxies) = (Handle::current(), Vec::new());
        Self { router, limits, clock, metrics, api, proxies, refusals, draining, stop }
    }

    /// Proxies have no limit per address.
    #[must_use]
    pub fn with_proxies(self, proxies: Vec<IpNet>) -> Self {
        Self { proxies, ..self }
    }

    /// Answers only probes and the reports of workers once `draining` is cancelled, and ends once
    /// `stop` is cancelled.
    #[must_use]
    pub fn until(self, draining: CancellationToken, stop: CancellationToken) -> Self {
        Self { draining, stop, ..self }
    }

    /// Reports refused connections to `refusals`.
    #[must_use]
    pub(super) fn with_refusals(self, refusals: Refusals) -> Self {
        Self { refusals, ..self }
    }

    /// Answers requests until it is stopped, and then finishes those in progress.
    pub async fn serve(self, listener: TcpListener) -> io::Result<()> {
        let ConnectionLimits { connections, per_address, .. } = self.limits;
        let (proxies, metrics) = (self.proxies.clone(), self.metrics.clone());
        let places = ConnectionPlaces::new(connections, per_address, proxies, metrics);
        let kept = Arc::new(ProbePlaces::default());
        let open = TaskTracker::new();
        loop {
            let accepted = tokio::select! {
                biased;
                () = self.stop.cancelled() => break,
                accepted = listener.accept() => accepted,
            };
            let (stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) if is_theirs(&error) => continue,
                Err(error) => {
                    tracing::error!(%error, "failed to accept a connection");
                    self.clock.sleep(PAUSE).await;
                    continue;
                }
            };
            let connection = match places.take(peer.ip()) {
                Ok(place) => self.connection(peer, ConnectionHold::Place { _place: place }, None),
                Err(why) => {
                    self.metrics.no_place(why);
                    self.refusals.note(RefusalKind::Connection, &peer.ip().to_string());
                    let place = Arc::new(kept.take());
                    self.connection(
                        peer,
                        ConnectionHold::Kept { _place: place.clone() },
                        Some((place, why)),
                    )
                }
            };
            open.spawn(connection.run(stream));
        }
        drop(listener);
        open.close();
        open.wait().await;
        Ok(())
    }

    fn connection(
        &self,
        peer: SocketAddr,
        hold: ConnectionHold,
        kept: Option<(Arc<super::places::KeptPlace>, ConnectionRefusal)>,
    ) -> ClientConnection {
        let requests = Requests {
            router: self.router.clone(),
            api: self.api.clone(),
            peer,
            inbound: Inbound::default(),
            kept,
            draining: self.draining.clone(),
        };
        let (limits, clock, stop) = (self.limits, self.clock.clone(), self.stop.clone());
        ClientConnection { requests, hold, limits, clock, stop }
    }
}

/// An accepted connection.
struct ClientConnection {
    requests: Requests,
    hold: ConnectionHold,
    limits: ConnectionLimits,
    clock: Clock,
    stop: CancellationToken,
}

impl ClientConnection {
    /// Serves the connection until the client disconnects or is cut off, or the connection becomes
    /// a WebSocket.
    async fn run(self, stream: TcpStream) {
        let Self { requests, hold, limits, clock, stop } = self;
        let is_kept = requests.kept.is_some();
        let lost = requests.kept.as_ref().map(|(place, _)| place.lost.clone()).unwrap_or_default();
        let head = if is_kept { limits.head.min(KEPT_HEAD) } else { limits.head };
        // The timeout for a request head begins with its first byte. Until then, wait for a client
        // that has not sent one.
        let mut first = [0];
        let begun = tokio::select! {
            () = stop.cancelled() => false,
            () = lost.cancelled() => false,
            begun = clock.timeout(head, stream.peek(&mut first)) => matches!(begun, Ok(Ok(1))),
        };
        if !begun {
            return;
        }
        let (peer, inbound) = (requests.peer, requests.inbound.clone());
        let stream = TokioIo::new(ClientStream::new(stream, limits.answer, clock, inbound, hold));
        // Only HTTP/1 is served here: browsers use HTTP/2 only over TLS, which ends at the proxy in
        // front.
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(head).keep_alive(!is_kept);
        http.max_buf_size(MAX_HEAD);
        let service = service_fn(move |request| requests.clone().answer(request));
        let mut connection = pin!(http.serve_connection(stream, service).with_upgrades());
        let mut is_ending = false;
        let ended = loop {
            tokio::select! {
                ended = connection.as_mut() => break ended,
                () = lost.cancelled() => return,
                () = stop.cancelled(), if !is_ending => {
                    is_ending = true;
                    connection.as_mut().graceful_shutdown();
                }
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, %peer, "a connection was cut off");
        }
    }
}

/// Whether the client caused the error by disconnecting.
fn is_theirs(error: &io::Error) -> bool {
    [io::ErrorKind::ConnectionAborted, io::ErrorKind::ConnectionReset].contains(&error.kind())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_leaves_files_for_targets_the_database_and_probes() {
        for (files, database) in [(256, 10), (1_024, 10), (1_024, 200), (65_536, 1_000)] {
            let limits = ConnectionLimits::with_files(files, database);
            let left = files.saturating_sub(limits.connections as u64);
            let probes = 2 * MAX_KEPT as u64;
            assert!(left >= u64::from(database) + OTHER_FILES + probes, "{files}: {limits:?}");
            assert!(limits.per_address < limits.connections, "{limits:?}");
        }
        assert_eq!(ConnectionLimits::with_files(u64::MAX, 10).connections, 10_000);
    }
}
