use std::{net::SocketAddr, sync::Arc};

use carillon::{
    clock::Clock,
    target::{Executor, Policy},
};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use tokio_rustls::TlsAcceptor;

use super::support::{failed, open, receiver, run, succeeded};

/// A server with a certificate that nobody signed; gives its certificate in PEM.
async fn server() -> (SocketAddr, String) {
    let rcgen::CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let acceptor = TlsAcceptor::from(Arc::new(config));
        loop {
            let (connection, _) = listener.accept().await.unwrap();
            // A client that does not trust us goes away.
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
