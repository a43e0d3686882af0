//! The listeners: bound before everything else, and served once everything else is ready.

use std::{io, net::SocketAddr};

use tokio::{net::TcpListener, runtime::Handle, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use super::{AppError, settings::limits};
use crate::{
    config::Config,
    web::{self, Web},
};

/// How the HTTP address is configured.
const LISTEN: &str = "--listen, CARILLON_LISTEN or 'listen' in the configuration file";

/// Maximum number of connections to the probe listener.
const PROBES: usize = 64;

/// The listeners.
pub(super) struct Ports {
    /// The address of the first listener.
    pub(super) address: SocketAddr,
    http: TcpListener,
    probes: Option<TcpListener>,
}

impl Ports {
    pub(super) async fn open(config: &Config, edge: &Handle) -> Result<Self, AppError> {
        let http = edge.spawn(listen(LISTEN, config.listen)).await??;
        let address = http.local_addr().map_err(AppError::Serve)?;
        let probes = config.watch.listen.map(|at| edge.spawn(listen("watch.listen", at)));
        let probes = match probes {
            Some(listener) => Some(listener.await??),
            None => None,
        };
        Ok(Self { address, http, probes })
    }

    /// Serves requests until `stop`.
    pub(super) fn serve(
        self,
        web: &Web,
        config: &Config,
        stop: &CancellationToken,
        edge: &Handle,
    ) -> Result<JoinHandle<io::Result<()>>, AppError> {
        edge.spawn(web.clone().sample_until(stop.clone()));
        edge.spawn(web.clone().watch_until(stop.clone()));
        if let Some(listener) = self.probes {
            let at = listener.local_addr().map_err(AppError::Serve)?;
            let limits = web::ConnectionLimits::with_connections(PROBES);
            let front = web.probe_front(web::probe_router(web.clone()), limits, stop.clone());
            edge.spawn(front.serve(listener));
            tracing::info!(address = %at, "listening for probes");
        }
        let front = web.front(web::router(web.clone()), limits(config), stop.clone());
        Ok(edge.spawn(front.serve(self.http)))
    }
}

async fn listen(setting: &'static str, listen: SocketAddr) -> Result<TcpListener, AppError> {
    TcpListener::bind(listen).await.map_err(|source| {
        let kind = source.kind();
        let help = if kind == io::ErrorKind::AddrInUse {
            "stop what listens there, or choose another port"
        } else if kind == io::ErrorKind::PermissionDenied {
            "choose a port above 1023"
        } else {
            "choose an address of this machine"
        };
        let help = format!("{help} by {setting}");
        AppError::Listen { listen, source, help }
    })
}
