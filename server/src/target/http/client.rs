use std::time::Duration;

use reqwest::{Client, redirect};

use crate::target::{TargetError, egress::Resolver, tls};

/// How long opening a connection may take; the whole request is limited by the invocation.
pub(super) const CONNECT_SECONDS: u64 = 10;

const USER_AGENT: &str = concat!("carillon/", env!("CARGO_PKG_VERSION"));

/// The client that all requests share. It goes where `resolver` lets it.
pub(super) fn client(resolver: Resolver, ca_pem: Option<&str>) -> Result<Client, TargetError> {
    let mut tls = tls::config(ca_pem)?;
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Client::builder()
        .tls_backend_preconfigured(tls)
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
