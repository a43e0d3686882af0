//! One struct from file, environment and flags, read and checked once, before anything starts.
//!
//! Later sources win: defaults, the TOML file (`--config`, or `carillon.toml` if it exists),
//! `CARILLON_` variables (`CARILLON_DATABASE__URL` is `database.url`), flags. An unknown key is an
//! error, wherever it comes from: a misspelt setting must not be silently ignored. This room is
//! the only one that looks at the environment.
//!
//! - `settings`: the struct, with the defaults
//! - `duration`: [`Span`], a duration as people write it
//! - `roles`, `tags`, `listed`: what a node is for, and lists of words
//! - `load`: the sources and their errors
//! - `check`: what the types cannot say: limits, and settings that must agree

mod check;
mod duration;
mod listed;
mod load;
mod roles;
mod settings;
mod tags;

pub use check::BadSetting;
pub use duration::{NotASpan, Span};
use listed::listed;
pub use load::{ConfigError, Sources, variable};
pub use roles::{NotRoles, Role, Roles};
pub use settings::{
    Cluster, Config, Console, Database, Egress, Engine, Health, Log, LogFormat, Node, Otlp,
    Retention, Session, Targets,
};
pub use tags::{MOST_TAGS, Tags};
