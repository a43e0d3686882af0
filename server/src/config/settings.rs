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
    /// Where to listen for HTTP.
    pub listen: SocketAddr,
    /// The address that browsers use, if it is another one: behind a proxy that speaks TLS it
    /// begins with `https://`, and cookies are marked for it.
    pub public_url: Option<String>,
    /// Names by which the server may be asked beside its addresses, names without a dot, the
    /// machine's name and that of `public_url`: `*.example.org` is all below, `*` is any.
    #[serde(deserialize_with = "listed")]
    pub allowed_hosts: Vec<String>,
    /// Proxies whose `X-Forwarded-For` is believed: addresses with the length of their network.
    pub trusted_proxies: Vec<IpNet>,
    /// Whether schedules may run programs on this machine.
    pub allow_commands: bool,
    /// See [`Commands`].
    pub commands: Commands,
    /// How long running work may take to end after a request to stop.
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
    /// See [`Oidc`]. Without it people sign in with passwords only.
    pub oidc: Option<Oidc>,
}

/// Where the state is.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Database {
    /// `sqlite:PATH` or `postgres://USER:PASSWORD@HOST/NAME`.
    pub url: SecretString,
    /// Whether a start applies pending migrations.
    pub migrate: bool,
    /// How many connections it keeps at most.
    pub connections: u32,
}

/// This process among others.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Node {
    /// What operators call it; the host's name and the port if absent.
    pub name: Option<String>,
    /// How many runs it works on at once; the engine's default if absent.
    pub capacity: Option<u32>,
    /// Up to how many percent of these places one origin or schedule may hold; the engine's default
    /// if absent.
    pub max_share: Option<u32>,
    /// What it does.
    pub roles: Roles,
    /// What runs may ask of it.
    pub tags: Tags,
}

/// How processes share the work.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cluster {
    /// Where heartbeats go, and who claims a fire first is settled.
    pub backend: Backend,
    /// `redis://` or `rediss://`, for that backend.
    pub redis_url: Option<RedisUrl>,
    /// What each of its keys begins with.
    pub redis_prefix: String,
    /// What is due belongs to one node first, so long later to another one too, and after as long
    /// again to all.
    pub second_owner_after: Span,
}

/// Where nodes tell each other that they live.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    /// In the database.
    #[default]
    Database,
    /// In Redis, beside PostgreSQL.
    Redis,
}

/// The engine's pace.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Engine {
    /// Between two signs of life of a node.
    pub heartbeat_interval: Span,
    /// A node without a sign of life for so long is dead, and what it held is taken over.
    pub heartbeat_expiry: Span,
    /// A claimed fire without a run for so long lost its hand-off.
    pub lost_after: Span,
    /// Between two rounds of recovery.
    pub recovery_interval: Span,
}

/// What zones mean.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Time {
    /// A folder as /usr/share/zoneinfo, or a concatenated file, that is taken where it is newer than
    /// the system's zone data and than what is built in.
    pub zone_data: Option<PathBuf>,
}

/// What is kept of an attempt.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Targets {
    /// So many bytes of what a program prints, or of an answer.
    pub output_limit_bytes: u32,
}

/// How long history is kept.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Retention {
    /// For how many days a namespace without a retention of its own keeps what has settled.
    pub days: u32,
    /// Between two rounds of removing.
    pub interval: Span,
    /// How long the answer to a call with an idempotency key is kept for whoever repeats it.
    pub idempotency: Span,
}

/// What a namespace may use for which nothing else is set; 0 is without a limit.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quotas {
    /// Schedules that are not deleted.
    pub schedules: u64,
    /// Fires a minute.
    pub fires_a_minute: u64,
    /// Runs at work at the same time.
    pub live_runs: u64,
    /// Bytes of log lines a day.
    pub log_bytes_a_day: u64,
}

/// Where `http` targets may go, and whom they trust there.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Egress {
    /// Loopback and private networks too.
    pub private_addresses: bool,
    /// A file with certificate authorities in PEM that are trusted beside the system's.
    pub ca_file: Option<PathBuf>,
}

/// The log.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    /// How a line is written.
    pub format: LogFormat,
    /// What is written: a level, or targets with levels.
    pub filter: String,
}

/// How a log line is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// For people.
    Text,
    /// For programs: one object a line.
    Json,
}

/// An OpenTelemetry collector.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Otlp {
    /// The collector's address; nothing is exported if absent.
    pub endpoint: Option<String>,
    /// How it is spoken to.
    pub protocol: OtlpProtocol,
    /// The share of the runs that are traced, 0 to 1.
    pub trace_ratio: f64,
}

/// How OTLP is carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OtlpProtocol {
    /// gRPC, on port 4317 by convention.
    #[default]
    Grpc,
    /// Protobuf in the body of an HTTP request, on port 4318 by convention. The signal's path, such as
    /// `/v1/traces`, is appended to the endpoint.
    Http,
}

/// What the instruments show beside the usual.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Metrics {
    /// Schedules that have series of their own, as `NAMESPACE/NAME`.
    #[serde(deserialize_with = "listed")]
    pub schedules: Vec<String>,
}

/// A schedule of the server's own that measures how late fires are.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Canary {
    /// Whether it fires, each minute; None leaves it as it is.
    pub enabled: Option<bool>,
}

/// The monitoring console.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Console {
    /// A folder to serve instead of what is built into the binary.
    pub dist: Option<PathBuf>,
}

/// Browsers that are signed in.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Session {
    /// A session that is not used for so long ends.
    pub idle: Span,
    /// Every session ends so long after its sign-in.
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
    /// What operators call this process when it listens at `listen`.
    pub fn node_name(&self, listen: SocketAddr) -> String {
        self.node.name.clone().unwrap_or_else(|| {
            let host = self.host_name();
            format!("{}:{}", host.as_deref().unwrap_or("localhost"), listen.port())
        })
    }

    /// What this machine is called.
    pub fn host_name(&self) -> Option<String> {
        hostname::get().ok().and_then(|name| name.into_string().ok())
    }

    /// Whether browsers reach this server by TLS.
    pub fn is_secure(&self) -> bool {
        self.public_url.as_deref().is_some_and(|url| url.starts_with("https://"))
    }
}
