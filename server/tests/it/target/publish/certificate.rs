//! A broker's certificate, which an attempt trusts only if it trusts its authority.

use std::{fs, path::PathBuf, sync::Arc, time::Duration};

use carillon::target::{AttemptOutcome, Policy};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use serde_json::Value;
use tempfile::TempDir;

use super::{
    super::support::{executor, failed, open, succeeded, target},
    faults::attempt,
};

/// A self-signed certificate of this machine, with its files for a broker.
pub(super) struct Certificate {
    made: rcgen::CertifiedKey<rcgen::KeyPair>,
    folder: TempDir,
}

impl Certificate {
    pub(super) fn new() -> Self {
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let made = rcgen::generate_simple_self_signed(names).unwrap();
        let certificate = Self { made, folder: tempfile::tempdir().unwrap() };
        fs::write(certificate.pem(), certificate.authority()).unwrap();
        fs::write(certificate.key(), certificate.made.signing_key.serialize_pem()).unwrap();
        certificate
    }

    /// The file with the certificate.
    pub(super) fn pem(&self) -> PathBuf {
        self.folder.path().join("certificate.pem")
    }

    /// The file with its key.
    pub(super) fn key(&self) -> PathBuf {
        self.folder.path().join("key.pem")
    }

    /// The configuration of a server in the test itself.
    pub(super) fn server(&self) -> Arc<ServerConfig> {
        let key = PrivatePkcs8KeyDer::from(self.made.signing_key.serialize_der());
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![self.made.cert.der().clone()], PrivateKeyDer::from(key))
            .unwrap();
        Arc::new(config)
    }

    /// Publishes to a broker at `localhost` that shows this certificate: with the machine's
    /// authorities, with a wrong one and with the right one. Returns the output of the last
    /// attempt, the only one that succeeds.
    pub(super) async fn is_trusted_only_by_its_authority(&self, definition: Value) -> Value {
        let trusting = |authority: String| Policy { ca_pem: Some(authority), ..open() };
        for policy in [open(), trusting(Self::new().authority())] {
            let (message, _) = failed(once(policy, definition.clone()).await);
            let names_the_server = message.starts_with("TLS with localhost:");
            let reason = " failed: invalid peer certificate: ";
            assert!(names_the_server && message.contains(reason), "{message}");
        }
        succeeded(once(trusting(self.authority()), definition).await)
    }

    /// The authority of the certificate, which is itself.
    fn authority(&self) -> String {
        self.made.cert.pem()
    }
}

async fn once(policy: Policy, definition: Value) -> AttemptOutcome {
    let (executor, target) = (executor(policy), target(definition));
    attempt(&executor, &target, "a-1", 1, Duration::from_secs(20)).await
}
