//! Refuses requests for other host names.
//!
//! A page of another site can make its own name resolve to this machine after it was loaded (DNS
//! rebinding). The browser then takes this server for that site, and lets the page read all
//! responses. The host name in the request reveals this. Such a name is public, so it contains a
//! dot. Therefore addresses, `localhost` and local names without a dot are accepted without being
//! listed.

use std::net::IpAddr;

use axum::{
    extract::{Request, State},
    http::{StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use url::Url;

use super::{
    Web,
    refusal::Refusal,
    refusals::{RefusalKind, cut},
};
use crate::config::Config;

/// The host names under which the server may be addressed.
#[derive(Clone, Debug, Default)]
pub(super) struct Hosts {
    is_any: bool,
    names: Vec<String>,
    /// The accepted suffixes, including the leading dot.
    endings: Vec<String>,
}

impl Hosts {
    /// The configured names, the machine's name and the host of `public_url`.
    pub(super) fn of(config: &Config) -> Self {
        let mut hosts = Self::default();
        let public = config.public_url.as_deref().and_then(|url| Url::parse(url).ok());
        hosts.names.extend(public.and_then(|url| url.host_str().map(str::to_lowercase)));
        hosts.names.extend(config.host_name().map(|name| name.to_lowercase()));
        for host in &config.allowed_hosts {
            match host.strip_prefix('*') {
                Some("") => hosts.is_any = true,
                Some(ending) => hosts.endings.push(ending.to_lowercase()),
                None => hosts.names.push(host.to_lowercase()),
            }
        }
        hosts
    }

    /// Whether a request with this `host`, with or without a port, is for this server.
    fn allows(&self, host: &str) -> bool {
        let name = without_port(host).to_lowercase();
        let name = name.strip_suffix('.').unwrap_or(&name);
        self.is_any
            || !name.contains('.')
            || name.parse::<IpAddr>().is_ok()
            || name.ends_with(".localhost")
            || self.names.iter().any(|allowed| allowed == name)
            || self.endings.iter().any(|ending| name.ends_with(ending.as_str()))
    }
}

/// The host of `name:port`, `[address]:port`, or either without a port.
fn without_port(host: &str) -> &str {
    match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(rest),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    }
}

/// Refuses a request for another host. A request without a host does not come from a browser.
pub(super) async fn guard(State(web): State<Web>, request: Request, next: Next) -> Response {
    let named = request.headers().get_all(header::HOST).iter();
    let named = named.map(|value| value.to_str().unwrap_or(".?"));
    let refused =
        request.uri().host().into_iter().chain(named).find(|host| !web.hosts.allows(host));
    let Some(host) = refused else { return next.run(request).await };
    web.refusals.note(RefusalKind::Host, host);
    let text = format!(
        "this server does not answer to the name '{}'; use its address, or add the name to \
         allowed_hosts",
        cut(host)
    );
    Refusal::new(StatusCode::MISDIRECTED_REQUEST, text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_local_names_pass_and_public_names_are_listed() {
        let config = Config {
            public_url: Some("https://Cron.example.org:8443".to_owned()),
            allowed_hosts: vec!["node.example.net".to_owned(), "*.svc.cluster.local".to_owned()],
            ..Config::default()
        };
        let hosts = Hosts::of(&config);
        for allowed in [
            "127.0.0.1",
            "10.1.2.3:8080",
            "[::1]:8080",
            "[fe80::1]",
            "localhost:8080",
            "carillon",
            "a.localhost",
            "cron.example.org",
            "CRON.example.org.:443",
            "node.example.net:80",
            "carillon.shop.svc.cluster.local",
        ] {
            assert!(hosts.allows(allowed), "{allowed}");
        }
        for other in [
            "evil.example",
            "evil.example:8080",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "x.cron.example.org",
            "svc.cluster.local.evil.example",
            ".?",
        ] {
            assert!(!hosts.allows(other), "{other}");
        }
        let any = Config { allowed_hosts: vec!["*".to_owned()], ..Config::default() };
        assert!(Hosts::of(&any).allows("evil.example"));
    }
}
