//! The configuration as a struct, with the sections that have no file of their own.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use ipnet::IpNet;
use secrecy::SecretString;
use serde::Deserialize;

use super::{
    Api, Canary, Cluster, Commands, Connections, Engine, Health, Log, Metrics, Node, Oidc, Otlp,
    Secrets, Smtp, Span, Watch, listed,
};

/// All settings of a server.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The address and port to listen on for HTTP.
    pub listen: SocketAddr,
    /// The URL that browsers use, if it differs: behind a proxy that terminates TLS it begins with
    /// `https://`, and cookies are marked as secure.
    pub public_url: Option<String>,
    /// Host names that requests may use in addition to the server's addresses, names without a dot,
    /// the machine's name and that of `public_url`: `*.example.org` covers all subdomains, `*` any
    /// name.
    #[serde(deserialize_with = "listed")]
    pub allowed_hosts: Vec<String>,
    /// Proxies whose `X-Forwarded-For` header is trusted: addresses with their prefix length.
    pub trusted_proxies: Vec<IpNet>,
    /// Whether schedules may run programs on this machine.
    pub allow_commands: bool,
    /// See [`Commands`].
    pub commands: Commands,
    /// How long running work may take to finish after a request to stop.
    pub shutdown_grace: Span,
    /// See [`Connections`].
    pub connections: Connections,
    /// See [`Database`].
    pub database: Database,
    /// See [`Node`].
    pub node: Node,
    /// See [`Cluster`].
    pub cluster: Cluster,
    /// See [`Engine`].
    pub engine: Engine,
    /// See [`Time`].
    pub time: Time,
    /// See [`Targets`].
    pub targets: Targets,
    /// See [`Retention`].
    pub retention: Retention,
    /// See [`Quotas`].
    pub quotas: Quotas,
    /// See [`Egress`].
    pub egress: Egress,
    /// See [`Smtp`].
    pub smtp: Smtp,
    /// See [`Log`].
    pub log: Log,
    /// See [`Otlp`].
    pub otlp: Otlp,
    /// See [`Metrics`].
    pub metrics: Metrics,
    /// See [`Health`].
    pub health: Health,
    /// See [`Watch`].
    pub watch: Watch,
    /// See [`Canary`].
    pub canary: Canary,
    /// See [`Console`].
    pub console: Console,
    /// See [`Session`].
    pub session: Session,
    /// See [`Api`].
    pub api: Api,
    /// See [`Secrets`].
    pub secrets: Secrets,
    /// See [`Oidc`]. If absent, people sign in only with passwords.
    pub oidc: Option<Oidc>,
}

/// The database, which holds all state.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Database {
    /// `sqlite:PATH` or `postgres://USER:PASSWORD@HOST/NAME`.
    pub url: SecretString,
    /// Whether a start applies pending migrations.
    pub migrate: bool,
    /// Maximum number of connections in the pool.
    pub connections: u32,
}

/// The source of time zone rules.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Time {
    /// A folder like /usr/share/zoneinfo, or a concatenated file. It is used if it is newer than
    /// the system's zone data and the built-in data.
    pub zone_data: Option<PathBuf>,
}

/// The limits on the stored results of attempts.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Targets {
    /// Maximum number of bytes kept of a program's output, or of a response.
    pub output_limit_bytes: u32,
}

/// How long history is kept.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Retention {
    /// How many days a namespace without its own retention keeps settled history.
    pub days: u32,
    /// The time between two retention rounds.
    pub interval: Span,
    /// How long the answer to a call with an idempotency key is kept for repeated calls.
    pub idempotency: Span,
}

/// Default quotas of namespaces; 0 is no limit.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quotas {
    /// Schedules that are not deleted.
    pub schedules: u64,
    /// Fires a minute.
    pub fires_a_minute: u64,
    /// Runs in progress at once.
    pub live_runs: u64,
    /// Bytes of log lines a day.
    pub log_bytes_a_day: u64,
    /// Bytes of log lines of one run.
    pub log_bytes_a_run: u64,
    /// Bytes of log lines that are kept.
    pub log_bytes: u64,
    /// Fires, runs and attempts that are kept.
    pub history_rows: u64,
}

/// Where `http` targets may connect, and which certificate authorities they trust.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Egress {
    /// Whether `http` targets may reach loopback and private networks.
    pub private_addresses: bool,
    /// A file with certificate authorities in PEM that are trusted in addition to the system's.
    pub ca_file: Option<PathBuf>,
}

/// The monitoring console.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Console {
    /// A folder to serve instead of the files built into the binary.
    pub dist: Option<PathBuf>,
}

/// Browser sessions.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Session {
    /// A session that is unused for this long ends.
    pub idle: Span,
    /// Every session ends this long after its sign-in.
    pub absolute: Span,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)),
            public_url: None,
            allowed_hosts: Vec::new(),
            trusted_proxies: Vec::new(),
            allow_commands: false,
            commands: Commands::default(),
            shutdown_grace: Span::seconds(30),
            connections: Connections::default(),
            database: Database::default(),
            node: Node::default(),
            cluster: Cluster::default(),
            engine: Engine::default(),
            time: Time::default(),
            targets: Targets::default(),
            retention: Retention::default(),
            quotas: Quotas::default(),
            egress: Egress::default(),
            smtp: Smtp::default(),
            log: Log::default(),
            otlp: Otlp::default(),
            metrics: Metrics::default(),
            health: Health::default(),
            watch: Watch::default(),
            canary: Canary::default(),
            console: Console::default(),
            session: Session::default(),
            api: Api::default(),
            secrets: Secrets::default(),
            oidc: None,
        }
    }
}

impl Default for Database {
    fn default() -> Self {
        Self { url: "sqlite:data/carillon.db".into(), migrate: true, connections: 10 }
    }
}

impl Default for Targets {
    fn default() -> Self {
        Self { output_limit_bytes: 1024 * 1024 }
    }
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            days: 45,
            interval: Span(Duration::from_hours(1)),
            idempotency: Span(Duration::from_hours(24)),
        }
    }
}

impl Default for Quotas {
    fn default() -> Self {
        Self {
            schedules: 100_000,
            fires_a_minute: 60_000,
            live_runs: 10_000,
            log_bytes_a_day: 1024 * 1024 * 1024,
            log_bytes_a_run: 256 * 1024 * 1024,
            log_bytes: 0,
            history_rows: 0,
        }
    }
}

impl Default for Session {
    fn default() -> Self {
        Self { idle: Span(Duration::from_hours(12)), absolute: Span(Duration::from_hours(7 * 24)) }
    }
}

impl Config {
    /// The name of this process for operators, if it listens at `listen`.
    pub fn node_name(&self, listen: SocketAddr) -> String {
        self.node.name.clone().unwrap_or_else(|| {
            let host = self.host_name();
            format!("{}:{}", host.as_deref().unwrap_or("localhost"), listen.port())
        })
    }

    /// The machine's name.
    pub fn host_name(&self) -> Option<String> {
        nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok())
    }

    /// Whether browsers reach this server over TLS.
    pub fn is_secure(&self) -> bool {
        self.public_url.as_deref().is_some_and(|url| url.starts_with("https://"))
    }
}
