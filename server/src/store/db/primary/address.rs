//! Parses PostgreSQL URLs as PostgreSQL's own clients do, with several hosts:
//! `postgres://user:password@a:5432,b:5433/name?target_session_attrs=read-write`.

use std::{fmt, str::FromStr};

use sea_orm::sqlx::postgres::PgConnectOptions;
use url::{Url, form_urlencoded};

/// The query parameters that a URL may have besides hosts and ports. The driver interprets them.
const PARAMETERS: [&str; 15] = [
    "application_name",
    "dbname",
    "options",
    "password",
    "sslcert",
    "ssl-cert",
    "sslkey",
    "ssl-key",
    "sslmode",
    "ssl-mode",
    "sslrootcert",
    "ssl-root-cert",
    "ssl-ca",
    "statement-cache-capacity",
    "user",
];

/// The servers that a URL names.
#[derive(Clone, Debug)]
pub(in crate::store) struct Address {
    pub(super) hosts: Vec<Host>,
}

/// A single server.
#[derive(Clone)]
pub(super) struct Host {
    /// The server's name, as an operator would write it.
    pub(super) name: String,
    pub(super) options: PgConnectOptions,
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// The problem with a URL and how to solve it, as a text to be printed after the URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(in crate::store) struct AddressProblem(String);

impl Address {
    /// Parses a URL that begins with `postgres://` or `postgresql://`.
    pub(in crate::store) fn parse(text: &str) -> Result<Self, AddressProblem> {
        let bad = |problem: String| Err(AddressProblem(problem));
        if text.contains('#') {
            return bad("has a '#'; in a user or password write %23".to_owned());
        }
        let (scheme, rest) = text.split_once("://").unwrap_or(("postgres", text));
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = match place.find('/') {
            Some(at) => place.split_at(at),
            None => (place, ""),
        };
        if path.contains('@') || (is_torn(authority) && query.contains('@')) {
            return bad(
                "has '/' or '?' before its '@'; in a user or password write %2F and %3F".to_owned()
            );
        }
        let (user, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
        if !user.is_empty() && hosts.is_empty() {
            return bad("names no host after its '@'; give postgres://USER@HOST/NAME".to_owned());
        }
        let mut places = listed(hosts)?;

        // The driver knows only one host, so the hosts are
        // removed from the URL and passed to it one by one.
        let server = match (authority, user) {
            ("", _) => String::new(),
            (_, "") => "localhost".to_owned(),
            (_, user) => format!("{user}@localhost"),
        };
        let one = format!("{scheme}://{server}{path}?{query}");
        let mut url =
            Url::parse(&one).map_err(|error| AddressProblem(format!("cannot be read: {error}")))?;
        let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
        let mut ports = Vec::new();
        let mut kept = Vec::new();
        for (key, value) in pairs {
            match key.as_str() {
                "host" | "hostaddr" => {
                    let named = |name: &str| (name.to_owned(), None);
                    places = value.split(',').map(named).collect();
                }
                "port" => ports = value.split(',').map(str::to_owned).collect(),
                "target_session_attrs" => check_session(&value)?,
                known if PARAMETERS.contains(&known) || known.starts_with("options[") => {
                    kept.push((key, value));
                }
                // The value may be part of a password, so the error does not show it.
                _ if kept.iter().any(|(key, _)| key == "password") => {
                    return bad(
                        "has after its password a parameter that Carillon does not know; in a \
                         password write %26 for &"
                            .to_owned(),
                    );
                }
                unknown => {
                    return bad(format!(
                        "has the parameter '{unknown}', which Carillon does not know; the \
                         parameters are host, hostaddr, port, target_session_attrs, options[NAME], \
                         {}",
                        PARAMETERS.join(", ")
                    ));
                }
            }
        }
        give_ports(&mut places, &ports)?;
        url.query_pairs_mut().clear().extend_pairs(kept);
        let hosts = if places.is_empty() {
            // The driver's default applies: a local socket, or the host from the environment.
            if let Some(port) = ports.first() {
                check_port(port, "its server")?;
                url.query_pairs_mut().append_pair("port", port);
            }
            vec![host(&url, None)?]
        } else {
            places.iter().map(|place| host(&url, Some(place))).collect::<Result<_, _>>()?
        };
        Ok(Self { hosts })
    }
}

/// The hosts in front of the path, with their ports.
fn listed(hosts: &str) -> Result<Vec<(String, Option<String>)>, AddressProblem> {
    if hosts.is_empty() {
        return Ok(Vec::new());
    }
    let split = |host: &str| {
        let (name, port) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((address, "")) => (address, None),
            Some((address, port)) => (address, Some(port.strip_prefix(':').unwrap_or(port))),
            None => match host.rsplit_once(':') {
                Some((name, port)) => (name, Some(port)),
                None => (host, None),
            },
        };
        if name.is_empty() {
            let problem = "names an empty host; give HOST:PORT,HOST:PORT";
            return Err(AddressProblem(problem.to_owned()));
        }
        Ok((decoded(name), port.map(str::to_owned)))
    };
    hosts.split(',').map(split).collect()
}

/// Decodes the percent-encoding of a name.
fn decoded(name: &str) -> String {
    // In form encoding, '+' means a space. A host contains neither.
    let pairs = form_urlencoded::parse(name.as_bytes());
    pairs.map(|(name, _)| name.into_owned()).collect()
}

fn give_ports(
    places: &mut [(String, Option<String>)],
    ports: &[String],
) -> Result<(), AddressProblem> {
    if ports.len() > 1 && ports.len() != places.len() {
        return Err(AddressProblem(format!(
            "names {} hosts and {} ports; give one port, or as many as hosts",
            places.len(),
            ports.len()
        )));
    }
    for (index, (_, port)) in places.iter_mut().enumerate() {
        if let Some(given) = ports.get(index).or(ports.first()) {
            *port = Some(given.clone());
        }
    }
    for (name, port) in places.iter() {
        if name.is_empty() {
            return Err(AddressProblem("names an empty host; give HOST,HOST".to_owned()));
        }
        if let Some(port) = port {
            check_port(port, name)?;
        }
    }
    Ok(())
}

/// Checks a port. An invalid one may be part of a password, so the error does not show it.
fn check_port(port: &str, host: &str) -> Result<(), AddressProblem> {
    if port.parse::<u16>().is_ok_and(|port| port > 0) {
        return Ok(());
    }
    Err(AddressProblem(format!("has a port for {host} that is not a number from 1 to 65535")))
}

fn check_session(wanted: &str) -> Result<(), AddressProblem> {
    match wanted {
        "read-write" | "primary" => Ok(()),
        other => Err(AddressProblem(format!(
            "asks for target_session_attrs={other}, but Carillon writes to its database; give \
             read-write, or leave it out"
        ))),
    }
}

fn host(url: &Url, place: Option<&(String, Option<String>)>) -> Result<Host, AddressProblem> {
    let mut url = url.clone();
    if let Some((name, port)) = place {
        let mut pairs = url.query_pairs_mut();
        pairs.append_pair("host", name);
        if let Some(port) = port {
            pairs.append_pair("port", port);
        }
    }
    let options = PgConnectOptions::from_str(url.as_str())
        .map_err(|error| AddressProblem(format!("cannot be used: {error}")))?;
    let name = match options.get_socket() {
        Some(folder) => folder.display().to_string(),
        None => format!("{}:{}", options.get_host(), options.get_port()),
    };
    Ok(Host { name, options })
}

/// Whether the part in front of the path ends within a password: it has no '@' and an invalid port.
fn is_torn(authority: &str) -> bool {
    let is_port = |text: &str| text.chars().all(|char| char.is_ascii_digit());
    let ports = authority.split(',').filter(|host| !host.contains('['));
    !authority.contains('@')
        && ports.filter_map(|host| host.split_once(':')).any(|(_, port)| !is_port(port))
}

/// The URL without its password. This works even for a URL that cannot be parsed.
pub(in crate::store) fn masked(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let authority = rest.split(['/', '?']).next().unwrap_or(rest);
    let before_query = rest.find('?').unwrap_or(rest.len());
    // The end of the password: in front of a host,
    // or the end of the part if no host can be recognised.
    let end = match rest[..before_query].rfind('@') {
        Some(at) => Some(at),
        None if scheme.is_empty() || !is_torn(authority) => None,
        None => Some(rest.rfind('@').unwrap_or(authority.len())),
    };
    let mut masked = if scheme.is_empty() { String::new() } else { format!("{scheme}://") };
    let rest = match end {
        None => rest,
        Some(end) => {
            match rest[..end].split_once(':') {
                Some((name, _)) => masked.push_str(&format!("{name}:***")),
                None => masked.push_str(&rest[..end]),
            }
            &rest[end..]
        }
    };
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    masked.push_str(place);
    for (index, part) in query.split('&').filter(|part| !part.is_empty()).enumerate() {
        masked.push(if index == 0 { '?' } else { '&' });
        let name = form_urlencoded::parse(part.as_bytes()).next();
        match name {
            Some((name, _)) if name.to_lowercase().contains("pass") => {
                masked.push_str(&format!("{name}=***"));
            }
            // Text without a name may be part of a password.
            Some(_) | None if !part.contains('=') => masked.push_str("***"),
            Some(_) | None => masked.push_str(part),
        }
    }
    masked
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(url: &str) -> Vec<String> {
        Address::parse(url).unwrap().hosts.into_iter().map(|host| host.name).collect()
    }

    fn problem(url: &str) -> String {
        Address::parse(url).unwrap_err().0
    }

    #[test]
    fn an_address_names_one_host_or_several() {
        assert_eq!(names("postgres://u:p@a:5432,b:5433/x"), ["a:5432", "b:5433"]);
        assert_eq!(names("postgresql://a:1/x?target_session_attrs=read-write"), ["a:1"]);
        assert_eq!(names("postgres://[::1]:5432,10.0.0.2:5433/x"), ["::1:5432", "10.0.0.2:5433"]);
        assert_eq!(names("postgres:///x?host=a,b&port=5432,5433"), ["a:5432", "b:5433"]);
        assert_eq!(names("postgres://u@a,b/x?port=7"), ["a:7", "b:7"]);
        assert_eq!(names("postgres://u@localhost/x?host=/run/postgresql"), ["/run/postgresql"]);
        let own = Address::parse("postgres:///x?port=5433").unwrap().hosts.remove(0);
        assert_eq!(own.options.get_port(), 5433);
        assert_eq!(names("postgres://u@%2Frun%2Fpostgresql/x"), ["/run/postgresql"]);
    }

    #[test]
    fn each_host_has_the_user_and_the_database() {
        for host in Address::parse("postgres://ada:p%40ss@a,b/x").unwrap().hosts {
            assert_eq!(host.options.get_username(), "ada");
            assert_eq!(host.options.get_database(), Some("x"));
        }
    }

    #[test]
    fn an_invalid_address_is_refused_with_the_reason() {
        assert!(problem("postgres://a,,b/x").starts_with("names an empty host"));
        assert!(
            problem("postgres://a:5432,b:x/x").starts_with("has a port for b that is not a number")
        );
        assert!(problem("postgres://a:0/x").starts_with("has a port for a that is not a number"));
        assert!(problem("postgres://a,b,c/x?port=1,2").starts_with("names 3 hosts and 2 ports"));
        assert!(problem("postgres://a/x?target_session_attrs=any").contains("read-write"));
        assert!(problem("postgres://a/x?sslmod=require").contains("'sslmod'"));
        assert!(problem("postgres://a/x?sslmode=maybe").starts_with("cannot be used"));
        assert!(problem("postgres://u:p@/x").starts_with("names no host"));
    }

    #[test]
    fn an_unencoded_password_is_explained_and_not_shown() {
        for url in [
            "postgres://u:s3cr/t@a/x",
            "postgres://u:s3cr?t@a/x",
            "postgres://u:s3cr?t=s3cret@a/x",
            "postgres://u:s3cr#t@a/x",
            "postgres://a/x?password=s3cr&s3cret",
            "postgres://a/x?password=s3cr&t=1",
        ] {
            let problem = problem(url);
            assert!(problem.contains('%') && !problem.contains("s3cr"), "{problem}");
            assert!(!masked(url).contains("s3cr"), "{}", masked(url));
        }
        assert!(!problem("postgres://u:s3cret/x").contains("s3cret"));
        assert_eq!(masked("postgres://u:s3cret/x"), "postgres://u:***/x");
    }

    #[test]
    fn an_address_is_shown_without_its_password() {
        let shown = [
            ("postgres://ada:s3cret@db/x", "postgres://ada:***@db/x"),
            ("postgres://ada@db/x", "postgres://ada@db/x"),
            ("sqlite:data/carillon.db", "sqlite:data/carillon.db"),
            ("postgres://ada:s3cret@a:1,b:2/x", "postgres://ada:***@a:1,b:2/x"),
            ("postgres://ada:s@cr@t@a,b/x?port=1,2", "postgres://ada:***@a,b/x?port=1,2"),
            (
                "postgres://db/x?user=ada&password=s3cr@t&sslmode=require",
                "postgres://db/x?user=ada&password=***&sslmode=require",
            ),
            ("postgres://db/x?pass%77ord=s3cret", "postgres://db/x?password=***"),
        ];
        for (url, expected) in shown {
            assert_eq!(masked(url), expected);
        }
    }
}
