use std::{sync::Arc, time::Duration};

use reqwest::{Client, redirect};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject},
};

use crate::target::{TargetError, egress::Resolver};

/// How long opening a connection may take; the whole request is limited by the invocation.
pub(super) const CONNECT_SECONDS: u64 = 10;

const USER_AGENT: &str = concat!("carillon/", env!("CARGO_PKG_VERSION"));

/// The client that all requests share. It goes where `resolver` lets it.
pub(super) fn client(resolver: Resolver, ca_pem: Option<&str>) -> Result<Client, TargetError> {
    Client::builder()
        .tls_backend_preconfigured(tls(ca_pem)?)
        .dns_resolver(resolver)
        .no_proxy()
        .redirect(redirect::Policy::none())
        .referer(false)
        .user_agent(USER_AGENT)
        .connect_timeout(Duration::from_secs(CONNECT_SECONDS))
        .pool_max_idle_per_host(16)
        .build()
        .map_err(|error| TargetError::setup("the HTTP client", error))
}

/// TLS by `ring`, named here so that no process-wide default is needed. It trusts the system's
/// authorities; on a machine that has none, such as a bare container, the bundled Mozilla list.
fn tls(ca_pem: Option<&str>) -> Result<ClientConfig, TargetError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    if let Some(pem) = ca_pem {
        trust(&mut roots, pem)?;
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| TargetError::setup("TLS", error))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
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
