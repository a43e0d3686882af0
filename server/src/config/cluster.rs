use serde::Deserialize;

use super::{RedisUrl, Roles, Span, Tags};

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
