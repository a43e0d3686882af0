use std::{error::Error, io, net::SocketAddr, sync::Arc, time::Duration};

use rustls::{ClientConfig, pki_types::ServerName};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};
use tokio_rustls::TlsConnector;
use url::Host;

use super::{place::HostPort, problem::PublishProblem};
use crate::{
    clock::Clock,
    target::egress::{EgressGuard, NameRefused, Resolver},
};

/// Timeout for connecting to one server and signing in.
pub(super) const CONNECT: Duration = Duration::from_secs(10);

/// A connection to a broker, encrypted or not.
pub(super) trait IoStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> IoStream for T {}

/// Opens connections where the egress policy allows it. It connects to the same address that it
/// checked.
pub(super) struct Dialer {
    resolver: Resolver,
    egress: EgressGuard,
    tls: Arc<ClientConfig>,
    pub(super) clock: Clock,
}

impl Dialer {
    pub(super) fn new(
        resolver: Resolver,
        egress: EgressGuard,
        tls: ClientConfig,
        clock: Clock,
    ) -> Self {
        Self { resolver, egress, tls: Arc::new(tls), clock }
    }

    /// The egress policy of this dialer.
    pub(super) fn egress(&self) -> &EgressGuard {
        &self.egress
    }

    /// Opens a connection.
    pub(super) async fn dial(
        &self,
        place: &HostPort,
        tls: bool,
    ) -> Result<Box<dyn IoStream>, PublishProblem> {
        let stream = self.connect(place).await?;
        if tls { self.encrypt(place, stream).await } else { Ok(Box::new(stream)) }
    }

    /// Opens an unencrypted connection, for protocols that begin unencrypted.
    pub(super) async fn connect(&self, place: &HostPort) -> Result<TcpStream, PublishProblem> {
        let mut last = None;
        for address in self.addresses(place).await? {
            match TcpStream::connect(address).await {
                Ok(stream) => {
                    // Without this, the system may delay an acknowledgement until the next message.
                    let _ = stream.set_nodelay(true);
                    return Ok(stream);
                }
                Err(error) => last = Some(error),
            }
        }
        let cause = last.map_or_else(|| "the name has no address".to_owned(), |e| e.to_string());
        Err(PublishProblem::broken(format!("could not connect to {place}: {cause}")))
    }

    /// Encrypts a connection.
    pub(super) async fn encrypt(
        &self,
        place: &HostPort,
        stream: TcpStream,
    ) -> Result<Box<dyn IoStream>, PublishProblem> {
        let failed =
            |cause: String| PublishProblem::broken(format!("TLS with {place} failed: {cause}"));
        let name = match &place.host {
            Host::Domain(name) => {
                ServerName::try_from(name.clone()).map_err(|error| failed(error.to_string()))?
            }
            Host::Ipv4(address) => ServerName::from(std::net::IpAddr::from(*address)),
            Host::Ipv6(address) => ServerName::from(std::net::IpAddr::from(*address)),
        };
        let connector = TlsConnector::from(self.tls.clone());
        let stream = connector.connect(name, stream).await;
        Ok(Box::new(stream.map_err(|error| failed(root(&error)))?))
    }

    async fn addresses(&self, place: &HostPort) -> Result<Vec<SocketAddr>, PublishProblem> {
        let address = match &place.host {
            Host::Domain(name) => {
                let found = self.resolver.admitted(name).await.map_err(|error| {
                    PublishProblem::broken(match error.downcast_ref::<NameRefused>() {
                        Some(refused) => format!("refused to connect to {place}: {refused}"),
                        None => format!("could not resolve {place}: {error}"),
                    })
                })?;
                let with_port = |at: SocketAddr| SocketAddr::new(at.ip(), place.port);
                return Ok(found.into_iter().map(with_port).collect());
            }
            Host::Ipv4(address) => std::net::IpAddr::from(*address),
            Host::Ipv6(address) => std::net::IpAddr::from(*address),
        };
        self.egress.admit_address(address).map_err(|refused| {
            PublishProblem::broken(format!("refused to connect to {place}: {refused}"))
        })?;
        Ok(vec![SocketAddr::new(address, place.port)])
    }
}

impl std::fmt::Debug for Dialer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dialer").field("egress", &self.egress).finish_non_exhaustive()
    }
}

/// The underlying cause of an error of reading or writing.
fn root(error: &io::Error) -> String {
    let mut cause: &(dyn Error + 'static) = error;
    if let Some(inner) = error.get_ref() {
        cause = inner;
    }
    cause.to_string()
}

/// The problem for a connection that broke.
pub(super) fn lost(error: &io::Error) -> PublishProblem {
    PublishProblem::broken(format!("the connection was lost: {}", root(error)))
}
