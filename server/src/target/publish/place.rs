use std::fmt;

use url::Host;

/// A server: a host name or an address, and a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct HostPort {
    pub(super) host: Host,
    pub(super) port: u16,
}

impl HostPort {
    /// Parses `host` or `host:port`.
    pub(super) fn read(text: &str, default_port: u16) -> Result<Self, String> {
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
                let port = port.parse().ok().filter(|port| *port > 0);
                (host, port.ok_or("its port is not a number from 1 to 65535")?)
            }
            Some(_) | None => (text, default_port),
        };
        if host.is_empty() || host.len() > 253 {
            return Err("it has no host".to_owned());
        }
        let host = Host::parse(host).map_err(|_| "its host is neither a name nor an address")?;
        Ok(Self { host, port })
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_a_host_with_or_without_a_port() {
        for (text, shown) in [
            ("broker", "broker:4222"),
            ("Broker.example:1", "broker.example:1"),
            ("[::1]", "[::1]:4222"),
            ("[::1]:9", "[::1]:9"),
            ("0x7f.1:80", "127.0.0.1:80"),
        ] {
            assert_eq!(HostPort::read(text, 4222).unwrap().to_string(), shown);
        }
        for text in ["", ":1", "a:0", "a:70000", "a:b", "a b", "user@a", "a/b", "{{ x }}", "a:1:2"]
        {
            assert!(HostPort::read(text, 4222).is_err(), "{text}");
        }
    }
}
