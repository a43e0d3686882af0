//! One struct with the settings from file, environment and flags, read and checked once at the
//! start.
//!
//! Later sources win: defaults, the TOML file (`--config`, or `carillon.toml` if it exists),
//! `CARILLON_` variables (`CARILLON_DATABASE__URL` is `database.url`), flags. An unknown key is an
//! error in every source, because a misspelt setting must not be silently ignored. No other layer
//! reads the environment.
//!
//! - `settings`: the struct, with the sections that have no file of their own
//! - `cluster`: this node, and how nodes share the work
//! - `telemetry`: logs, metrics and traces
//! - `api`: who may introspect the schema, and which origins may call the API
//! - `connections`: limits on connections
//! - `health`: thresholds of health checks
//! - `duration`: [`Span`], a duration as users write it
//! - `roles`, `tags`, `listed`: the roles and tags of a node, and lists of words
//! - `redis`: the address of Redis, displayed without its password
//! - `shown_url`: other URLs as error messages repeat them, without their passwords
//! - `oidc`: the identity provider for signing in
//! - `commands`: which programs tasks may run
//! - `secrets`: the encryption keys of secrets; `key_text`: settings that are secrets
//! - `smtp`: the mail server
//! - `watch`: who may read health and metrics
//! - `load`: the sources and their errors; `layers`: merges them; `environment`: the source whose
//!   values are all text
//! - `check`: conditions that types cannot express, such as settings that must agree; `bounds`: the
//!   smallest and largest numbers and durations

mod api;
mod bounds;
mod check;
mod cluster;
mod commands;
mod connections;
mod duration;
mod environment;
mod health;
mod key_text;
mod layers;
mod listed;
mod load;
mod oidc;
mod redis;
mod roles;
mod secrets;
mod settings;
mod shown_url;
mod smtp;
mod tags;
mod telemetry;
mod watch;

pub use api::{Api, Introspection};
pub use check::BadSetting;
pub use cluster::{Backend, Cluster, Engine, Node};
pub use commands::Commands;
pub use connections::Connections;
pub use duration::{NotASpan, Span};
pub use health::{Health, HealthLimits};
pub use key_text::UnreadFile;
use listed::listed;
pub use load::{ConfigError, Sources, variable};
pub use oidc::{GroupGrant, GroupRole, Oidc};
pub use redis::{NotRedis, RedisUrl};
pub use roles::{NodeRole, NotRoles, Roles};
pub use secrets::Secrets;
pub use settings::{Config, Console, Database, Egress, Quotas, Retention, Session, Targets, Time};
pub(crate) use shown_url::shown_url;
pub use smtp::{Smtp, SmtpTls};
pub use tags::{MAX_TAGS, Tags};
pub use telemetry::{Canary, Log, LogFormat, Metrics, Otlp, OtlpProtocol};
pub use watch::{NoToken, Watch};
