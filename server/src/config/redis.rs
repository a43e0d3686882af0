use std::{fmt, str::FromStr};

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, de};
use url::Url;

/// The address and credentials of a Redis server. Displaying it shows only the address.
#[derive(Clone)]
pub struct RedisUrl {
    url: SecretString,
    address: String,
}

/// The error for a text that is not a Redis URL. The text is not included, because it may contain a
/// password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this {problem} (it is not shown, because it may contain a password); give redis://HOST:PORT, \
     or rediss://USER:PASSWORD@HOST:PORT/DATABASE with TLS, and in a user or password write @ : / \
     ? # as %40 %3A %2F %3F %23"
)]
pub struct NotRedis {
    problem: &'static str,
}

impl RedisUrl {
    /// The URL for a client, with the password.
    pub fn expose(&self) -> &str {
        self.url.expose_secret()
    }

    /// Scheme, host, port and database.
    pub fn address(&self) -> &str {
        &self.address
    }
}

impl FromStr for RedisUrl {
    type Err = NotRedis;

    fn from_str(text: &str) -> Result<Self, NotRedis> {
        let not = |problem| NotRedis { problem };
        let url = Url::parse(text).map_err(|_| not("is not a URL"))?;
        if !["redis", "rediss"].contains(&url.scheme()) {
            return Err(not("begins with neither redis:// nor rediss://"));
        }
        let host = url.host_str().filter(|host| !host.is_empty());
        let host = host.ok_or_else(|| not("names no host"))?;
        if url.query().is_some() || url.fragment().is_some() {
            return Err(not("has more than an address after the host"));
        }
        let database = url.path().trim_start_matches('/');
        if !database.is_empty() && database.parse::<u16>().is_err() {
            return Err(not("names a database that is not a number"));
        }
        let port = url.port().unwrap_or(6379);
        let mut address = format!("{}://{host}:{port}", url.scheme());
        if !database.is_empty() {
            address = format!("{address}/{database}");
        }
        Ok(Self { url: text.into(), address })
    }
}

impl fmt::Debug for RedisUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.address)
    }
}

impl<'de> Deserialize<'de> for RedisUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl de::Visitor<'_> for Text {
            type Value = RedisUrl;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the URL of a Redis server in quotes")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<RedisUrl, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        let shown = |text: &str| {
            let url: RedisUrl = text.parse().unwrap();
            assert_eq!(url.expose(), text);
            format!("{url:?}")
        };
        assert_eq!(shown("redis://localhost"), "redis://localhost:6379");
        assert_eq!(shown("rediss://me:secret@[::1]:7000/3"), "rediss://[::1]:7000/3");
    }

    #[test]
    fn other_texts_are_refused_without_being_repeated() {
        for text in [
            "",
            "secret",
            "http://h/",
            "redis://",
            "redis:secret",
            "redis://:secret@h/name",
            "redis://:sec#ret@h",
            "rediss://h:secret/0",
            "rediss://h/#insecure",
            "redis://h?password=secret",
        ] {
            let refused = text.parse::<RedisUrl>().map(|url| url.address().to_owned());
            let told = refused.unwrap_err().to_string();
            assert!(!told.contains("secret") && told.contains("give redis://HOST"), "{told}");
        }
    }
}
