use std::{io, net::TcpListener, time::Duration};

use secrecy::ExposeSecret;
use serde_json::Value;
use tokio::net::TcpStream;
use url::Url;

use super::{super::client::http, Finding};
use crate::{
    app,
    clock::Clock,
    config::{Config, NodeRole},
};

/// How long a collector may take to accept a connection.
const PATIENCE: Duration = Duration::from_secs(3);

/// Checks whether a server could listen on the port, or already does.
pub(super) async fn port(config: &Config) -> Finding {
    const CHECK: &str = "port";
    let listen = config.listen;
    let refused = match TcpListener::bind(listen) {
        Ok(_) if listen.port() == 0 => return Finding::ok(CHECK, "a free one is used"),
        Ok(_) => return Finding::ok(CHECK, format!("{listen} is free")),
        Err(error) => error,
    };
    if refused.kind() == io::ErrorKind::AddrInUse {
        return match ours(config).await {
            Some(version) => {
                Finding::ok(CHECK, format!("Carillon {version} already listens on {listen}"))
            }
            None => {
                let help = "stop what listens there, or choose another port (listen)";
                Finding::error(CHECK, format!("{listen} is taken by another program"), help)
            }
        };
    }
    let help = "choose an address of this machine and a port above 1023 (listen)";
    Finding::error(CHECK, format!("cannot listen on {listen}: {refused}"), help)
}

/// The version of the Carillon server that answers on the port, if one does.
async fn ours(config: &Config) -> Option<String> {
    let mut at = config.listen;
    if at.ip().is_unspecified() {
        at.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
    }
    let server = format!("http://{at}");
    let mut asked = http(&server).ok()?.get(format!("{server}/healthz")).timeout(PATIENCE);
    if let Ok(Some(token)) = config.watch.token() {
        asked = asked.bearer_auth(token.expose_secret());
    }
    let answer: Value = asked.send().await.ok()?.json().await.ok()?;
    // Only a Carillon server, healthy or not, answers with both of these fields.
    answer.get("zone_data")?;
    answer["version"].as_str().map(str::to_owned)
}

/// Checks whether passwords cross a network unencrypted.
pub(super) fn browsers(config: &Config) -> Finding {
    const CHECK: &str = "browsers";
    if !config.node.roles.has(NodeRole::Api) {
        return Finding::ok(CHECK, "this node has no console (node.roles)");
    }
    if cfg!(not(feature = "embed")) && config.console.dist.is_none() {
        let found = "this binary contains no console; GraphQL is available";
        return Finding::warning(CHECK, found, "use a release build, or set console.dist");
    }
    if !config.is_secure() && !config.listen.ip().is_loopback() {
        let found = "passwords and tokens cross the network unencrypted";
        let help = "put a proxy with TLS in front, and set public_url to its https:// address";
        return Finding::warning(CHECK, found, help);
    }
    Finding::ok(CHECK, "no one else can read what they send")
}

/// Reports who may read health and metrics.
pub(super) fn instruments(config: &Config) -> Finding {
    const CHECK: &str = "instruments";
    match config.watch.token() {
        Err(error) => {
            let help = "fix watch in the configuration";
            Finding::error(CHECK, format!("failed to {error}"), help)
        }
        Ok(Some(_)) => Finding::ok(CHECK, "they are for callers with the token or a role"),
        Ok(None) if config.listen.ip().is_loopback() || config.metrics.schedules.is_empty() => {
            let found = "/metrics and /healthz are open to anyone who can reach the port";
            Finding::ok(CHECK, found)
        }
        Ok(None) => {
            let found = "the names of metrics.schedules are open to anyone who can reach the port";
            let help = "set watch.token_file, or let only your monitoring reach /metrics";
            Finding::warning(CHECK, found, help)
        }
    }
}

/// Checks Redis, if heartbeats are configured to go there.
pub(super) async fn redis(config: &Config, clock: &Clock) -> Option<Finding> {
    const CHECK: &str = "Redis";
    match app::beacon(config, clock).await {
        Ok(None) => None,
        Ok(Some(beacon)) => {
            Some(Finding::ok(CHECK, format!("{} accepts all commands", beacon.address())))
        }
        Err(error) => {
            let help = "check cluster.redis_url, and that the user may use the commands that \
                        docs/configuration.md names";
            Some(Finding::error(CHECK, format!("failed to {error}"), help))
        }
    }
}

/// Checks the collector, if traces are configured to go to one. Servers start without it.
pub(super) async fn collector(config: &Config, clock: &Clock) -> Option<Finding> {
    const CHECK: &str = "collector";
    let endpoint = config.otlp.endpoint.as_deref()?;
    let url = Url::parse(endpoint).ok();
    let place = url.as_ref().and_then(|url| Some((url.host_str()?, url.port_or_known_default()?)));
    let problem = match place {
        None => Some("it names no host".to_owned()),
        Some((host, port)) => {
            let host = host.trim_matches(['[', ']']);
            match clock.timeout(PATIENCE, TcpStream::connect((host, port))).await {
                Ok(Ok(_)) => None,
                Ok(Err(error)) => Some(error.to_string()),
                Err(_) => Some(format!("no answer in {} s", PATIENCE.as_secs())),
            }
        }
    };
    Some(match problem {
        None => Finding::ok(CHECK, "it accepts connections"),
        Some(problem) => {
            let help = "check otlp.endpoint; without a collector traces and metrics are dropped, \
                        and nothing else suffers";
            Finding::warning(CHECK, format!("it cannot be reached: {problem}"), help)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::{super::Level, *};

    #[test]
    fn names_that_strangers_may_read_are_reported() {
        let mut config = Config::default();
        config.metrics.schedules = vec!["billing/invoices".to_owned()];
        assert_eq!(instruments(&config).level, Level::Ok);
        config.listen = "0.0.0.0:8080".parse().unwrap();
        assert_eq!(instruments(&config).level, Level::Warning);
        config.watch.token = Some("0123456789abcdef".into());
        assert_eq!(instruments(&config).level, Level::Ok);
        config.watch.token_file = Some("/nope/token".into());
        assert_eq!(instruments(&config).level, Level::Error);
    }

    #[test]
    fn unencrypted_passwords_are_reported() {
        let mut config = Config::default();
        config.console.dist = Some("dist".into());
        assert_eq!(browsers(&config).level, Level::Ok);
        config.listen = "0.0.0.0:8080".parse().unwrap();
        assert_eq!(browsers(&config).level, Level::Warning);
        config.public_url = Some("https://carillon.example.org".to_owned());
        assert_eq!(browsers(&config).level, Level::Ok);
    }
}
