use std::{net::SocketAddr, sync::Arc};

use carillon::{
    clock::Clock,
    target::{Executor, Policy},
};
use rustls::{
    RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
    server::{WebPkiClientVerifier, danger::ClientCertVerifier},
};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use tokio_rustls::TlsAcceptor;

use super::support::{failed, open, receiver, run, succeeded};

/// A server with a self-signed certificate; returns the certificate in PEM.
async fn server() -> (SocketAddr, String) {
    server_that_asks(WebPkiClientVerifier::no_client_auth()).await
}

/// A server with a self-signed certificate; `verifier` checks the certificates of clients. Returns
/// the certificate in PEM.
async fn server_that_asks(verifier: Arc<dyn ClientCertVerifier>) -> (SocketAddr, String) {
    let rcgen::CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier)
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let acceptor = TlsAcceptor::from(Arc::new(config));
        loop {
            let (connection, _) = listener.accept().await.unwrap();
            // If a client does not trust the certificate, it disconnects.
            let Ok(mut stream) = acceptor.accept(connection).await else { continue };
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await.unwrap();
            stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();
            let _ = stream.shutdown().await;
        }
    });
    (address, cert.pem())
}

#[tokio::test]
async fn a_certificate_is_trusted_only_by_its_authority() {
    let (address, pem) = server().await;
    let place = format!("localhost:{}", address.port());
    let definition = json!({"http": {"url": format!("https://{place}/")}});

    let (message, _) = failed(run(open(), definition.clone()).await.0);
    let start = format!("TLS with {place} failed: invalid peer certificate: ");
    assert!(message.starts_with(&start), "{message}");

    let trusting = Policy { ca_pem: Some(pem), ..open() };
    assert_eq!(succeeded(run(trusting, definition).await.0)["status"], 204);
}

#[tokio::test]
async fn a_certificate_is_shown_to_a_server_that_asks_for_one() {
    let client = rcgen::generate_simple_self_signed(["client".to_owned()]).unwrap();
    let other = rcgen::generate_simple_self_signed(["client".to_owned()]).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(client.cert.der().clone()).unwrap();
    let provider = Arc::new(ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
    let (address, pem) = server_that_asks(verifier.unwrap()).await;
    let url = format!("https://localhost:{}/", address.port());
    let policy = Policy { ca_pem: Some(pem), ..open() };
    let pem = |of: &rcgen::CertifiedKey<rcgen::KeyPair>| {
        format!("{}{}", of.cert.pem(), of.signing_key.serialize_pem())
    };
    let showing = |pem: String| json!({"http": {"url": url, "client_certificate": pem}});

    let outcome = run(policy.clone(), showing(pem(&client))).await.0;
    assert_eq!(succeeded(outcome)["status"], 204);
    for wrong in [json!({"http": {"url": url}}), showing(pem(&other))] {
        let (message, _) = failed(run(policy.clone(), wrong).await.0);
        assert!(message.contains("TLS with localhost"), "{message}");
    }
    let half = showing(client.cert.pem());
    let (message, _) = failed(run(policy.clone(), half).await.0);
    assert!(message.contains("there is no private key in it"), "{message}");
}

#[test]
fn a_client_certificate_is_the_name_of_a_secret() {
    let executor = Executor::new(open(), Clock::system()).unwrap();
    let check = |certificate: &str| {
        let target = json!({"http": {"url": "https://a/", "client_certificate": certificate}});
        executor.check(&super::support::target(target)).map_err(|error| error.to_string())
    };
    assert_eq!(check("{{ secrets.billing }}"), Ok(()));
    for literal in ["-----BEGIN CERTIFICATE-----", "{{ secrets.a }}{{ secrets.b }}", ""] {
        let error = check(literal).unwrap_err();
        assert!(error.contains("http.client_certificate") && !error.contains("BEGIN"), "{error}");
    }
}

#[tokio::test]
async fn a_server_without_tls_is_a_failure_of_tls() {
    let (address, _received) = receiver().await;
    let (outcome, _) = run(open(), json!({"http": {"url": format!("https://{address}/")}})).await;
    let (message, _) = failed(outcome);
    assert!(message.starts_with(&format!("TLS with {address} failed: ")), "{message}");
}

#[test]
fn authorities_that_cannot_be_read_are_an_error_of_the_set_up() {
    for pem in ["", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        let policy = Policy { ca_pem: Some(pem.to_owned()), ..open() };
        let error = Executor::new(policy, Clock::system()).unwrap_err();
        assert!(error.to_string().starts_with("the certificate authorities to trust"), "{error}");
    }
}
