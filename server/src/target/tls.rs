//! TLS connections to receivers and brokers.

use std::sync::Arc;

use rustls::{
    ClientConfig, ConfigBuilder, RootCertStore,
    client::WantsClientCert,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject},
};

use super::TargetError;

/// A TLS configuration with `ring`. The provider is named here, so that no process-wide default is
/// needed.
pub(super) fn config(
    roots: &Arc<RootCertStore>,
) -> Result<ConfigBuilder<ClientConfig, WantsClientCert>, TargetError> {
    Ok(ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| TargetError::setup("TLS", error))?
        .with_root_certificates(Arc::clone(roots)))
}

/// The certificate authorities to trust: the system's, or the bundled Mozilla list if the machine
/// has none, such as a bare container.
/// list.
pub(super) fn roots(ca_pem: Option<&str>) -> Result<RootCertStore, TargetError> {
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
