//! Conditions that types cannot express, such as settings that must agree.

use std::{fmt, time::Duration};

use secrecy::ExposeSecret;
use url::Url;

use super::{Backend, Config, MAX_TAGS, NodeRole, Span, Tags, bounds::between, shown_url};

/// An invalid setting: its name, its value, what is wrong with it and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: '{value}' {problem}; {help}")]
pub struct BadSetting {
    /// The name as in the file: `engine.heartbeat_expiry`.
    pub field: &'static str,
    /// The value.
    pub value: String,
    /// What is wrong with the value.
    pub problem: String,
    /// What to do about the problem.
    pub help: String,
}

impl BadSetting {
    pub(super) fn new(
        field: &'static str,
        value: impl fmt::Display,
        problem: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self { field, value: value.to_string(), problem: problem.into(), help: help.into() }
    }
}

/// The largest number of schedules with their own series.
const MAX_SERIES: usize = 100;

impl Config {
    /// The first invalid setting.
    pub(super) fn check(&self) -> Result<(), BadSetting> {
        self.check_pace()?;
        self.check_sizes()?;
        self.check_node()?;
        self.check_cluster()?;
        self.secrets.check()?;
        if let Some(oidc) = &self.oidc {
            oidc.check(self)?;
        }
        self.commands.check()?;
        self.smtp.check()?;
        self.watch.check()?;
        self.api.check()?;
        self.check_watching()?;
        self.check_places()
    }

    fn check_node(&self) -> Result<(), BadSetting> {
        let tags = &self.node.tags.0;
        if tags.len() > MAX_TAGS {
            let help = format!("give at most {MAX_TAGS}");
            return Err(BadSetting::new("node.tags", tags.len(), "are too many tags", help));
        }
        if let Some(tag) = tags.iter().find(|tag| !Tags::is_tag(tag)) {
            return Err(BadSetting::new("node.tags", tag, "is not a valid tag", Tags::HELP));
        }
        let roles = self.node.roles;
        let is_file = self.database.url.expose_secret().starts_with("sqlite:");
        for (role, what) in
            [(NodeRole::Scheduler, "claim what is due"), (NodeRole::Worker, "take runs")]
        {
            if is_file && !roles.has(role) {
                return Err(BadSetting::new(
                    "node.roles",
                    roles,
                    format!("leaves no process to {what}: a SQLite database has one process"),
                    format!("add {}, or use PostgreSQL for several processes", role.word()),
                ));
            }
        }
        Ok(())
    }

    fn check_cluster(&self) -> Result<(), BadSetting> {
        let cluster = &self.cluster;
        let prefix = &cluster.redis_prefix;
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"._-:".contains(&byte);
        if !(1..=64).contains(&prefix.len()) || !prefix.bytes().all(is_word) {
            let (value, problem) = (prefix.escape_debug(), "is not a prefix of keys");
            let help = "give 1 to 64 letters, digits or . _ - :";
            return Err(BadSetting::new("cluster.redis_prefix", value, problem, help));
        }
        if cluster.backend == Backend::Database {
            return Ok(());
        }
        if self.database.url.expose_secret().starts_with("sqlite:") {
            return Err(BadSetting::new(
                "cluster.backend",
                "redis",
                "is for several processes, and a SQLite database has one",
                "leave it out, or use PostgreSQL",
            ));
        }
        if cluster.redis_url.is_none() {
            return Err(BadSetting::new(
                "cluster.redis_url",
                "",
                "is not given, and cluster.backend is redis",
                "give redis://HOST:PORT or rediss://USER:PASSWORD@HOST:PORT, or take \
                 cluster.backend = \"database\"",
            ));
        }
        Ok(())
    }

    fn check_watching(&self) -> Result<(), BadSetting> {
        const SECOND: Span = Span::seconds(1);
        const DAY: Span = Span(Duration::from_hours(24));
        let ratio = self.otlp.trace_ratio;
        if !(0.0..=1.0).contains(&ratio) {
            return Err(BadSetting::new(
                "otlp.trace_ratio",
                ratio,
                "is not a share",
                "give 0 to 1",
            ));
        }
        between("health.unclaimed", self.health.unclaimed, SECOND, DAY)?;
        between("health.canary", self.health.canary, Span::seconds(61), DAY)?;
        between("health.saturated", self.health.saturated, Span::seconds(1), DAY)?;
        let schedules = &self.metrics.schedules;
        if schedules.len() > MAX_SERIES {
            let help = format!("give at most {MAX_SERIES}: each has many series");
            let (field, count) = ("metrics.schedules", schedules.len());
            return Err(BadSetting::new(field, count, "are too many schedules", help));
        }
        let is_path = |path: &&String| {
            path.split_once('/').is_some_and(|(a, b)| !a.is_empty() && !b.is_empty())
        };
        match schedules.iter().find(|path| !is_path(path)) {
            None => Ok(()),
            Some(path) => {
                let (problem, help) = ("is not a schedule's path", "write NAMESPACE/NAME");
                Err(BadSetting::new("metrics.schedules", path, problem, help))
            }
        }
    }

    fn check_places(&self) -> Result<(), BadSetting> {
        if let Some(name) = &self.node.name
            && (name.trim().is_empty() || name.chars().count() > 128 || has_control(name))
        {
            let problem = "is not a valid name";
            let help = "give 1 to 128 printable characters, or leave it out";
            return Err(BadSetting::new("node.name", name.escape_debug(), problem, help));
        }
        if self.database.url.expose_secret().is_empty() {
            let help = "give sqlite:PATH or postgres://USER@HOST/NAME";
            return Err(BadSetting::new("database.url", "", "is empty", help));
        }
        if let Some(url) = &self.public_url
            && !is_origin(url)
        {
            let (value, problem) = (shown_url(url), "is not an origin");
            let help = "give scheme and host only, such as https://carillon.example.org";
            return Err(BadSetting::new("public_url", value, problem, help));
        }
        let is_host = |host: &&String| {
            let name = host.strip_prefix('*').unwrap_or(host);
            let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
            let is_name = name.bytes().all(is_part) && name.len() <= 253;
            is_name && (host.starts_with('*') == (name.is_empty() || name.starts_with('.')))
        };
        if let Some(host) = self.allowed_hosts.iter().find(|host| !is_host(host)) {
            let problem = "is not a valid host name";
            let help = "give a name without scheme and port, such as cron.example.org, \
                        *.example.org for all below, or * for any";
            return Err(BadSetting::new("allowed_hosts", host.escape_debug(), problem, help));
        }
        if let Some(endpoint) = &self.otlp.endpoint
            && !endpoint.starts_with("http://")
            && !endpoint.starts_with("https://")
        {
            let (value, problem) = (shown_url(endpoint), "is not an address of a collector");
            let help = "give http or https with a host and a port, such as http://127.0.0.1:4317";
            return Err(BadSetting::new("otlp.endpoint", value, problem, help));
        }
        if let Some(file) = &self.egress.ca_file
            && !file.is_file()
        {
            let problem = "is not a file";
            let help = "give a file with certificates in PEM, or leave the setting out";
            return Err(BadSetting::new("egress.ca_file", file.display(), problem, help));
        }
        if let Some(dist) = &self.console.dist
            && !dist.join("index.html").is_file()
        {
            let problem = "is not a folder with an index.html";
            let help = "build the console there first (trunk build), or leave the setting out";
            return Err(BadSetting::new("console.dist", dist.display(), problem, help));
        }
        Ok(())
    }
}

/// Whether a text is scheme, host and port of a URL, and nothing else.
fn is_origin(text: &str) -> bool {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let is_other = |letter: char| "/\\?#@".contains(letter) || letter.is_whitespace();
    host.is_some_and(|host| !host.contains(is_other)) && Url::parse(text).is_ok()
}

fn has_control(text: &str) -> bool {
    text.chars().any(char::is_control)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The problem of a configuration that differs from the defaults by `change`.
    pub(in crate::config) fn problem_of(change: impl FnOnce(&mut Config)) -> String {
        let mut config = Config::default();
        change(&mut config);
        config.check().unwrap_err().to_string()
    }

    #[test]
    fn the_defaults_are_valid() {
        assert_eq!(Config::default().check(), Ok(()));
    }

    #[test]
    fn a_file_for_a_database_leaves_no_other_process_to_schedule_or_work() {
        assert_eq!(
            problem_of(|config| config.node.roles = "api,worker".parse().unwrap()),
            "node.roles: 'api,worker' leaves no process to claim what is due: a SQLite database \
             has one process; add scheduler, or use PostgreSQL for several processes"
        );
        let mut config = Config::default();
        config.node.roles = "api,worker".parse().unwrap();
        config.database.url = "postgres://db/carillon".into();
        assert_eq!(config.check(), Ok(()));
    }

    #[test]
    fn redis_is_for_several_processes_and_has_an_address() {
        let redis = |config: &mut Config| config.cluster.backend = Backend::Redis;
        assert_eq!(
            problem_of(redis),
            "cluster.backend: 'redis' is for several processes, and a SQLite database has one; \
             leave it out, or use PostgreSQL"
        );
        let problem = problem_of(|config| {
            redis(config);
            config.database.url = "postgres://db/carillon".into();
        });
        assert!(problem.starts_with("cluster.redis_url: '' is not given, and"), "{problem}");
        let problem = problem_of(|config| config.cluster.redis_prefix = "a b".to_owned());
        assert!(problem.starts_with("cluster.redis_prefix: 'a b' is not a prefix"), "{problem}");
    }

    #[test]
    fn a_tag_is_a_word() {
        let problem = problem_of(|config| config.node.tags = Tags(vec!["a b".to_owned()]));
        assert!(problem.starts_with("node.tags: 'a b' is not a valid tag; use "), "{problem}");
    }

    #[test]
    fn an_allowed_host_is_a_name() {
        for bad in ["https://example.org", "example.org:80", "", "a*b", "*example.org", "."] {
            let problem = problem_of(|config| config.allowed_hosts = vec![bad.to_owned()]);
            assert!(problem.starts_with("allowed_hosts: "), "{problem}");
        }
        let hosts = ["*", "*.example.org", "node-1.example.org"].map(str::to_owned);
        let config = Config { allowed_hosts: hosts.into(), ..Config::default() };
        assert_eq!(config.check(), Ok(()));
    }

    #[test]
    fn a_public_address_is_an_origin() {
        for bad in [
            "carillon.example.org",
            "https://",
            "https://:443",
            "https://example.org/carillon",
            "https://example.org?x",
            "https://example.org#x",
            "https://ada@example.org",
            "https://example .org",
            "ftp://x",
        ] {
            let problem = problem_of(|config| config.public_url = Some(bad.to_owned()));
            assert!(problem.starts_with("public_url: "), "{problem}");
        }
        let public_url = Some("https://carillon.example.org:8443".to_owned());
        assert_eq!(Config { public_url, ..Config::default() }.check(), Ok(()));
    }

    #[test]
    fn a_password_in_a_url_is_not_repeated() {
        let problem = problem_of(|config| {
            config.otlp.endpoint = Some("grpc://ada:hush@collector:4317".to_owned());
        });
        assert!(problem.starts_with("otlp.endpoint: 'grpc://***@collector:4317' is"), "{problem}");
        let problem = problem_of(|config| {
            let oidc = "issuer = \"https://ada:hush@id.example.org\"\nclient_id = \"x\"";
            config.oidc = Some(toml::from_str(oidc).unwrap());
        });
        assert!(problem.starts_with("oidc.issuer: 'https://***@id.example.org' is"), "{problem}");
    }
}
