use std::time::Duration;

use crate::{
    beacon::Beacon,
    config::{Roles, Tags},
    model::{Quotas, Retention},
    vault::Vault,
};

/// The engine settings that an operator can change.
#[derive(Clone, Debug)]
pub struct EngineSettings {
    /// The node's name, as operators know it. A process that starts under this name ends the life
    /// of the previous process with the same name, once that process is gone.
    pub node_name: String,
    /// The node's roles.
    pub roles: Roles,
    /// The node's tags, which runs can require.
    pub tags: Tags,
    /// Redis, if heartbeats and the locks that decide who claims a fire
    /// first are there instead of in the database.
    pub beacon: Option<Beacon>,
    /// A due fire belongs to one node at first, after this time also to a second
    /// node, and after twice this time to every node.
    pub second_owner_after: Duration,
    /// Number of runs that the node executes at once.
    /// If this is larger than a batch, a batch of short runs need not queue.
    pub capacity: usize,
    /// The maximum percentage of the capacity that one origin
    /// or schedule may hold while others compete for it.
    pub max_share: u32,
    /// Number of schedules, intents or runs that one transaction handles.
    pub batch: u64,
    /// How long the planner waits before it looks again if no schedule becomes due earlier.
    pub look_ahead: Duration,
    /// How often the dispatcher looks for waiting runs if nothing wakes it.
    pub poll: Duration,
    /// How often the node sends a heartbeat.
    pub heartbeat_interval: Duration,
    /// How long a node may be silent before it counts as dead.
    pub heartbeat_expiry: Duration,
    /// How often recovery runs.
    pub recovery_interval: Duration,
    /// How often the node looks for the days of the ledger that contain live rows.
    pub lookout_interval: Duration,
    /// How often settled runs and fires are counted.
    pub stats_interval: Duration,
    /// How often quotas are read. A changed quota takes effect within this time.
    pub quotas_interval: Duration,
    /// How often maintenance windows are looked for, in case a wake-up is lost.
    pub windows_interval: Duration,
    /// How often histories are compared with their quotas of rows.
    pub history_interval: Duration,
    /// How long an intent may stay without a run before
    /// it counts as lost even though its node is alive.
    pub lost_after: Duration,
    /// How often recovery retries the same fire or run.
    pub recovery_attempts: i32,
    /// How long after the claim of a fire, or after the
    /// hand-off of a run, recovery still retries it.
    pub recovery_age: Duration,
    /// The server's URL for browsers, used for links in messages.
    pub public_url: Option<String>,
    /// The retention rules for old history; `None` keeps everything.
    pub retention: Option<Retention>,
    /// The quotas of a namespace that has no quotas of its own.
    pub quotas: Quotas,
    /// Encrypts and decrypts secrets.
    pub vault: Vault,
}

impl Default for EngineSettings {
    fn default() -> Self {
        Self {
            node_name: "node".to_owned(),
            roles: Roles::ALL,
            tags: Tags::default(),
            beacon: None,
            second_owner_after: Duration::from_secs(1),
            capacity: 512,
            max_share: 80,
            batch: 500,
            look_ahead: Duration::from_secs(60),
            poll: Duration::from_secs(5),
            heartbeat_interval: Duration::from_secs(5),
            heartbeat_expiry: Duration::from_secs(30),
            recovery_interval: Duration::from_secs(5),
            lookout_interval: Duration::from_secs(5),
            stats_interval: Duration::from_secs(10),
            quotas_interval: Duration::from_secs(5),
            windows_interval: Duration::from_secs(10),
            history_interval: Duration::from_secs(60),
            lost_after: Duration::from_secs(300),
            recovery_attempts: 3,
            recovery_age: Duration::from_secs(24 * 60 * 60),
            public_url: None,
            retention: None,
            quotas: Quotas::default(),
            vault: Vault::default(),
        }
    }
}

/// The retention of a server that keeps everything: longer than any history.
const FOR_EVER_DAYS: i32 = 100_000;

impl EngineSettings {
    /// How many days a namespace without its own retention keeps its history.
    pub(in crate::engine) fn history_days(&self) -> i32 {
        self.retention.map_or(FOR_EVER_DAYS, |retention| retention.days)
    }
}
