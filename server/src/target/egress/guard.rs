use std::{fmt, net::IpAddr};

use url::{Host, Url};

use super::address::{Reach, reach};

/// Decides which destinations requests may reach.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EgressGuard {
    private_addresses: bool,
}

/// Why a destination is refused. The text follows a colon.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EgressRefusal {
    /// The scheme is neither `http` nor `https`.
    #[error("its scheme is `{0}`")]
    Scheme(String),
    /// The URL contains a user name or a password.
    #[error("it holds a user name or a password")]
    Credentials,
    /// The URL has no host.
    #[error("it has no host")]
    NoHost,
    /// The address is never reached.
    #[error("{address} is {what}, which is never reached")]
    Forbidden {
        /// The address.
        address: IpAddr,
        /// The address's class.
        what: &'static str,
    },
    /// The address may be reached only if the configuration allows it.
    #[error("{address} is {what}, and the configuration does not allow private addresses")]
    Private {
        /// The address.
        address: IpAddr,
        /// The address's class.
        what: &'static str,
    },
}

impl EgressRefusal {
    /// A way to resolve the refusal.
    pub(crate) fn help(&self) -> &'static str {
        match self {
            Self::Scheme(_) | Self::NoHost => "write http://host/... or https://host/...",
            Self::Credentials => "put them into the header `authorization`",
            Self::Forbidden { .. } => "name a host that can be reached",
            Self::Private { .. } => {
                "set `egress.private_addresses = true` if that network may be reached"
            }
        }
    }
}

impl EgressGuard {
    /// A guard. Private addresses may be reached only with `private_addresses`.
    pub(crate) fn new(private_addresses: bool) -> Self {
        Self { private_addresses }
    }

    /// Fails if a request must not be sent to `url`, as far as the URL shows. The addresses of a
    /// host name are checked again on connecting.
    pub(crate) fn admit(&self, url: &Url) -> Result<(), EgressRefusal> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(EgressRefusal::Scheme(url.scheme().to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(EgressRefusal::Credentials);
        }
        match url.host() {
            Some(Host::Ipv4(address)) => self.admit_address(address.into()),
            Some(Host::Ipv6(address)) => self.admit_address(address.into()),
            Some(Host::Domain(name)) if !name.is_empty() => Ok(()),
            Some(Host::Domain(_)) | None => Err(EgressRefusal::NoHost),
        }
    }

    /// Fails if no connection may be opened to `address`.
    pub(crate) fn admit_address(&self, address: IpAddr) -> Result<(), EgressRefusal> {
        match reach(address) {
            Reach::Public => Ok(()),
            Reach::Private(_) if self.private_addresses => Ok(()),
            Reach::Private(what) => Err(EgressRefusal::Private { address, what }),
            Reach::Forbidden(what) => Err(EgressRefusal::Forbidden { address, what }),
        }
    }
}

/// The error for a name whose addresses are all refused, with the reason for the first.
#[derive(Debug)]
pub(crate) struct NameRefused {
    pub(super) name: String,
    pub(super) reason: EgressRefusal,
}

impl fmt::Display for NameRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} leads to where requests may not go: {}", self.name, self.reason)
    }
}

impl std::error::Error for NameRefused {}

#[cfg(test)]
mod tests {
    use super::*;

    fn admit(private: bool, url: &str) -> Result<(), EgressRefusal> {
        EgressGuard::new(private).admit(&Url::parse(url).unwrap())
    }

    #[test]
    fn an_address_is_recognised_however_it_is_written() {
        for host in [
            "169.254.169.254",
            "169.254.169.254.",
            "0xa9fea9fe",
            "2852039166",
            "0251.0376.0251.0376",
            "169.254.43518",
            "[::ffff:169.254.169.254]",
            "[0:0:0:0:0:ffff:a9fe:a9fe]",
            "169。254。169。254",
            "%31%36%39.254.169.254",
            "[fe80::1]",
        ] {
            let refused = admit(true, &format!("http://{host}/latest/meta-data")).unwrap_err();
            assert!(matches!(refused, EgressRefusal::Forbidden { .. }), "{host}: {refused}");
        }
    }

    #[test]
    fn private_addresses_are_admitted_by_configuration_alone() {
        for host in ["127.1", "0x7f.1", "2130706433", "[::1]", "[::ffff:10.0.0.1]", "10.1"] {
            let url = format!("https://{host}:8443/");
            assert!(
                matches!(admit(false, &url).unwrap_err(), EgressRefusal::Private { .. }),
                "{host}"
            );
            assert_eq!(admit(true, &url), Ok(()), "{host}");
        }
    }

    #[test]
    fn only_http_without_credentials_is_admitted() {
        assert_eq!(
            admit(true, "file:///etc/passwd"),
            Err(EgressRefusal::Scheme("file".to_owned()))
        );
        assert_eq!(
            admit(true, "gopher://example.com/"),
            Err(EgressRefusal::Scheme("gopher".to_owned()))
        );
        assert_eq!(admit(true, "http://user@example.com/"), Err(EgressRefusal::Credentials));
        assert_eq!(admit(true, "http://:secret@example.com/"), Err(EgressRefusal::Credentials));
        assert_eq!(admit(false, "https://example.com/"), Ok(()));
    }
}
