//! Client certificates of requests (mTLS), and the clients that use them.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Mutex, PoisonError},
};

use reqwest::Client;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use sha2::{Digest, Sha256};

/// Maximum number of clients kept, each with its own connections.
const MAX_CLIENTS: usize = 32;

/// A certificate with its chain and private key.
pub(super) struct ClientCertificate {
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) key: PrivateKeyDer<'static>,
    digest: [u8; 32],
}

impl ClientCertificate {
    /// Parses PEM. The error says what is missing, and shows nothing of the text.
    pub(super) fn from_pem(pem: &str) -> Result<Self, String> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
        let chain = chain.map_err(|_| "its certificate cannot be read".to_owned())?;
        if chain.is_empty() {
            return Err("there is no certificate in it".to_owned());
        }
        let key = PrivateKeyDer::from_pem_slice(pem.as_bytes())
            .map_err(|_| "there is no private key in it".to_owned())?;
        Ok(Self { chain, key, digest: Sha256::digest(pem.as_bytes()).into() })
    }
}

impl fmt::Debug for ClientCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientCertificate").finish_non_exhaustive()
    }
}

/// The clients of the most recently used identities.
#[derive(Debug)]
pub(super) struct Clients<C = Client>(Mutex<VecDeque<([u8; 32], C)>>);

impl<C> Default for Clients<C> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<C: Clone> Clients<C> {
    /// The client of this identity; `make` creates it if there is none yet.
    pub(super) fn get<E>(
        &self,
        identity: &ClientCertificate,
        make: impl FnOnce() -> Result<C, E>,
    ) -> Result<C, E> {
        let mut clients = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = clients.iter().position(|(digest, _)| *digest == identity.digest);
        let client = match found.and_then(|index| clients.remove(index)) {
            Some((_, client)) => client,
            None => make()?,
        };
        clients.push_front((identity.digest, client.clone()));
        clients.truncate(MAX_CLIENTS);
        Ok(client)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pem() -> (String, String) {
        let made = rcgen::generate_simple_self_signed(["a".to_owned()]).unwrap();
        (made.cert.pem(), made.signing_key.serialize_pem())
    }

    #[test]
    fn a_missing_part_of_a_certificate_is_named() {
        let (certificate, key) = pem();
        let problem = |pem: &str| ClientCertificate::from_pem(pem).unwrap_err();
        assert_eq!(problem(""), "there is no certificate in it");
        assert_eq!(problem(&key), "there is no certificate in it");
        assert_eq!(problem(&certificate), "there is no private key in it");
        ClientCertificate::from_pem(&format!("{key}{certificate}")).unwrap();
    }

    #[test]
    fn the_clients_used_last_are_kept() {
        let clients = Clients::<u8>::default();
        let make = || Ok::<_, ()>(1);
        let identities: Vec<ClientCertificate> = (0..=MAX_CLIENTS)
            .map(|_| pem())
            .map(|(certificate, key)| {
                ClientCertificate::from_pem(&format!("{certificate}{key}")).unwrap()
            })
            .collect();
        for identity in &identities {
            clients.get(identity, make).unwrap();
        }
        let is_kept = |identity| clients.get(identity, || Err(())).is_ok();
        assert!(is_kept(&identities[1]));
        assert!(!is_kept(&identities[0]));
    }
}
