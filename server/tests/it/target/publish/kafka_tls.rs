//! Kafka over TLS. Tansu 0.6 takes a certificate and does not use it, so a proxy in front of it
//! encrypts.

use serde_json::json;
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
};
use tokio_rustls::TlsAcceptor;

use super::{
    certificate::Certificate,
    kafka::{definition, server},
};

/// Forwards encrypted connections to a broker.
async fn encrypting(listener: TcpListener, broker: String, acceptor: TlsAcceptor) {
    loop {
        let (client, _) = listener.accept().await.unwrap();
        let (broker, acceptor) = (broker.clone(), acceptor.clone());
        tokio::spawn(async move {
            // A client that does not trust the certificate disconnects.
            let mut client = acceptor.accept(client).await.ok()?;
            let mut server = TcpStream::connect(&broker).await.ok()?;
            copy_bidirectional(&mut client, &mut server).await.ok()
        });
    }
}

#[tokio::test]
async fn a_certificate_is_trusted_only_by_its_authority() {
    let certificate = Certificate::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    // The leader that the broker announces is the proxy, by its address.
    let kafka = server(Some(port)).await;
    let acceptor = TlsAcceptor::from(certificate.server());
    tokio::spawn(encrypting(listener, kafka.server(), acceptor));
    let connection = json!({ "servers": [format!("localhost:{port}")], "tls": true });
    let to = json!({ "connection": connection, "partition": 0 });
    let definition = definition("", &to, json!({}));
    let output = certificate.is_trusted_only_by_its_authority(definition).await;
    assert_eq!(output["offset"], 0, "the refused attempts stored nothing");
}
