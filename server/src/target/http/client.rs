use std::{fmt, sync::Arc, time::Duration};

use reqwest::{Client, redirect};
use rustls::{ClientConfig, RootCertStore};

use super::identity::ClientCertificate;
use crate::target::{TargetError, egress::Resolver, tls};

/// Timeout for opening a connection. The invocation limits the whole request.
pub(super) const CONNECT_SECONDS: u64 = 10;

/// Maximum number of idle connections per host: as many as the attempts that a node may run at
/// once. With fewer, a burst to one host would open and close a connection for nearly every
/// request. The pool closes connections that are idle for 90 seconds.
const MAX_IDLE_PER_HOST: usize = 1_024;

const USER_AGENT: &str = concat!("carillon/", env!("CARGO_PKG_VERSION"));

/// Creates clients that trust the same authorities and use the same guarded resolver.
pub(super) struct ClientFactory {
    resolver: Arc<Resolver>,
    roots: Arc<RootCertStore>,
}

impl ClientFactory {
    /// Reads the certificate authorities.
    pub(super) fn new(resolver: Resolver, ca_pem: Option<&str>) -> Result<Self, TargetError> {
        Ok(Self { resolver: Arc::new(resolver), roots: Arc::new(tls::roots(ca_pem)?) })
    }

    /// The certificate authorities that the clients trust.
    pub(super) fn roots(&self) -> &Arc<RootCertStore> {
        &self.roots
    }

    /// The client without a certificate, which most requests share.
    pub(super) fn client(&self) -> Result<Client, TargetError> {
        let tls = tls::config(&self.roots)?.with_no_client_auth();
        client(Arc::clone(&self.resolver), tls)
    }

    /// A client with a certificate.
    pub(super) fn client_with(&self, identity: &ClientCertificate) -> Result<Client, TargetError> {
        let (chain, key) = (identity.chain.clone(), identity.key.clone_key());
        let tls = tls::config(&self.roots)?.with_client_auth_cert(chain, key).map_err(|error| {
            let help = "give the certificate with the private key that belongs to it";
            TargetError::invalid("http.client_certificate", error.to_string(), help)
        })?;
        client(Arc::clone(&self.resolver), tls)
    }
}

impl fmt::Debug for ClientFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientFactory").finish_non_exhaustive()
    }
}

fn client(resolver: Arc<Resolver>, mut tls: ClientConfig) -> Result<Client, TargetError> {
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Client::builder()
        .tls_backend_preconfigured(tls)
        .dns_resolver(resolver)
        .no_proxy()
        .redirect(redirect::Policy::none())
        .referer(false)
        .user_agent(USER_AGENT)
        .connect_timeout(Duration::from_secs(CONNECT_SECONDS))
        .pool_max_idle_per_host(MAX_IDLE_PER_HOST)
        .build()
        .map_err(|error| TargetError::setup("the HTTP client", error))
}
