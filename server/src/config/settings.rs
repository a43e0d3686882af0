use std::{
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use ipnet::IpNet;
use secrecy::SecretString;
use serde::Deserialize;

use super::{
    Api, Commands, Connections, Health, Oidc, RedisUrl, Roles, Secrets, Smtp, Span, Tags, Watch,
    listed,
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

/// This process in the cluster.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Node {
    /// The node's name for operators; the host's name and the port if absent.
    pub name: Option<String>,
    /// Maximum number of runs that it executes at once; the engine's default if absent.
    pub capacity: Option<u32>,
    /// Maximum percentage of these places that one origin or schedule may hold; the engine's
    /// default if absent.
    pub max_share: Option<u32>,
    /// The roles of this process.
    pub roles: Roles,
    /// The tags that runs can require of it.
    pub tags: Tags,
}

/// How processes share the work.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cluster {
    /// Where nodes exchange heartbeats and settle which of them claims a fire first.
    pub backend: Backend,
    /// A `redis://` or `rediss://` URL, for the `redis` backend.
    pub redis_url: Option<RedisUrl>,
    /// The prefix of all keys.
    pub redis_prefix: String,
    /// When a schedule falls due, only its first owner may claim it. After this time its second
    /// owner may, too, and after the same time again every node may.
    pub second_owner_after: Span,
}

/// Where nodes exchange heartbeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    /// In the database.
    #[default]
    Database,
    /// In Redis, in addition to PostgreSQL.
    Redis,
}

/// The engine's pace.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Engine {
    /// The time between two heartbeats of a node.
    pub heartbeat_interval: Span,
    /// A node without a heartbeat for this long is dead, and its work is taken over.
    pub heartbeat_expiry: Span,
    /// A claimed fire that has no run after this long counts as having lost its hand-off.
    pub lost_after: Span,
    /// The time between two rounds of recovery.
    pub recovery_interval: Span,
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

/// The log.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    /// The format of log lines.
    pub format: LogFormat,
    /// The filter: a level, or targets with levels.
    pub filter: String,
}

/// The format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// Plain text for people.
    Text,
    /// JSON for programs: one object per line.
    Json,
}

/// An OpenTelemetry collector.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Otlp {
    /// The collector's URL; nothing is exported if absent.
    pub endpoint: Option<String>,
    /// The protocol.
    pub protocol: OtlpProtocol,
    /// The share of runs that are traced, 0 to 1.
    pub trace_ratio: f64,
}

/// The transport of OTLP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OtlpProtocol {
    /// gRPC, on port 4317 by convention.
    #[default]
    Grpc,
    /// Protobuf in the body of an HTTP request, on port 4318 by convention. The path of the signal,
    /// such as `/v1/traces`, is appended to the endpoint.
    Http,
}

/// Additional metrics.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Metrics {
    /// Schedules with their own series, as `NAMESPACE/NAME`.
    #[serde(deserialize_with = "listed")]
    pub schedules: Vec<String>,
}

/// A built-in schedule that measures how late fires are.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Canary {
    /// Whether the canary fires, once a minute; `None` leaves its state unchanged.
    pub enabled: Option<bool>,
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

impl Default for Cluster {
    fn default() -> Self {
        Self {
            backend: Backend::default(),
            redis_url: None,
            redis_prefix: "carillon".to_owned(),
            second_owner_after: Span::seconds(1),
        }
    }
}

impl Default for Engine {
    fn default() -> Self {
        Self {
            heartbeat_interval: Span::seconds(5),
            heartbeat_expiry: Span::seconds(30),
            lost_after: Span::seconds(300),
            recovery_interval: Span::seconds(5),
        }
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

impl Default for Log {
    fn default() -> Self {
        let filter = "info,memory_serve=warn,opentelemetry=warn,opentelemetry_sdk=warn,\
                      sea_orm_migration=warn,sqlx=warn";
        Self { format: LogFormat::Text, filter: filter.to_owned() }
    }
}

impl Default for Otlp {
    fn default() -> Self {
        Self { endpoint: None, protocol: OtlpProtocol::Grpc, trace_ratio: 1.0 }
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
