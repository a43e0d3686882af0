use std::{fmt, sync::Arc, time::Duration};

use reqwest::{Client, redirect};
use rustls::{
    ClientConfig, ConfigBuilder, RootCertStore,
    client::WantsClientCert,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject},
};

use super::identity::Identity;
use crate::target::{TargetError, egress::Resolver};

/// How long opening a connection may take; the whole request is limited by the invocation.
pub(super) const CONNECT_SECONDS: u64 = 10;

/// As many as a node may have attempts at work: with fewer, a burst to one host opens a connection
/// for nearly every request and closes it again. The pool closes what is idle for 90 seconds.
const MAX_IDLE_PER_HOST: usize = 1_024;

const USER_AGENT: &str = concat!("carillon/", env!("CARGO_PKG_VERSION"));

/// Makes clients that trust the same authorities and go where the resolver lets them.
pub(super) struct ClientFactory {
    resolver: Arc<Resolver>,
    roots: Arc<RootCertStore>,
}

impl ClientFactory {
    /// Reads the authorities.
    pub(super) fn new(resolver: Resolver, ca_pem: Option<&str>) -> Result<Self, TargetError> {
        Ok(Self { resolver: Arc::new(resolver), roots: Arc::new(roots(ca_pem)?) })
    }

    /// A client that shows no certificate: most requests share it.
    pub(super) fn client(&self) -> Result<Client, TargetError> {
        let tls = self.tls()?.with_no_client_auth();
        client(Arc::clone(&self.resolver), tls)
    }

    /// One that shows a certificate.
    pub(super) fn client_with(&self, identity: &Identity) -> Result<Client, TargetError> {
        let (chain, key) = (identity.chain.clone(), identity.key.clone_key());
        let tls = self.tls()?.with_client_auth_cert(chain, key).map_err(|error| {
            let help = "give the certificate with the private key that belongs to it";
            TargetError::invalid("http.client_certificate", error.to_string(), help)
        })?;
        client(Arc::clone(&self.resolver), tls)
    }

    /// TLS by `ring`, named here so that no process-wide default is needed.
    fn tls(&self) -> Result<ConfigBuilder<ClientConfig, WantsClientCert>, TargetError> {
        Ok(ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| TargetError::setup("TLS", error))?
            .with_root_certificates(Arc::clone(&self.roots)))
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

/// The system's authorities; on a machine that has none, such as a bare container, the bundled
/// Mozilla list.
fn roots(ca_pem: Option<&str>) -> Result<RootCertStore, TargetError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    if let Some(pem) = ca_pem {
        trust(&mut roots, pem)?;
    }
    Ok(roots)
}

fn trust(roots: &mut RootCertStore, pem: &str) -> Result<(), TargetError> {
    const WHAT: &str = "the certificate authorities to trust (egress.ca_file)";
    let mut found = false;
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        let certificate = certificate.map_err(|error| TargetError::setup(WHAT, error))?;
        roots.add(certificate).map_err(|error| TargetError::setup(WHAT, error))?;
        found = true;
    }
    if found { Ok(()) } else { Err(TargetError::setup(WHAT, "there is no certificate in it")) }
}
