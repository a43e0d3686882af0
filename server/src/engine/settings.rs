use std::time::Duration;

use crate::{
    beacon::Beacon,
    config::{Roles, Tags},
    model::{Quotas, Retention},
    vault::Vault,
};

/// What an operator can set about the engine.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The name that the operator knows the node by. A start under the same name ends the life of
    /// the process that bore it, once that is gone.
    pub node_name: String,
    /// What the node does.
    pub roles: Roles,
    /// What runs may ask of it.
    pub tags: Tags,
    /// Where heartbeats go instead of into the database, and who goes first for a fire is settled.
    pub beacon: Option<Beacon>,
    /// What is due belongs to one node first, so long later to another one too, and after as long
    /// again to all.
    pub second_owner_after: Duration,
    /// How many runs the node works on at once. With room for a batch, a batch of short runs needs
    /// no queue.
    pub capacity: usize,
    /// Up to how many percent of these one origin or schedule may hold while others could want some.
    pub max_share: u32,
    /// How many schedules, intents or runs go into one transaction.
    pub batch: u64,
    /// After how long the planner looks again when nothing is due before.
    pub look_ahead: Duration,
    /// How often the dispatcher looks for waiting runs when nothing tells it of one.
    pub poll: Duration,
    /// How often the node says that it is alive.
    pub heartbeat_interval: Duration,
    /// After how long a silence it counts as dead.
    pub heartbeat_expiry: Duration,
    /// How often recovery looks.
    pub recovery_interval: Duration,
    /// How often the node looks in which days of the ledger something is alive.
    pub lookout_interval: Duration,
    /// How often what has settled is counted.
    pub stats_interval: Duration,
    /// How often the quotas that were set are read: after a change a node goes by them this soon.
    pub quotas_interval: Duration,
    /// After how long an intent without a run counts as lost although its node lives.
    pub lost_after: Duration,
    /// How often recovery tries the same fire or run.
    pub recovery_attempts: i32,
    /// Up to how long after the claim, or a run's hand-off, it tries.
    pub recovery_age: Duration,
    /// The address that browsers use, for links in messages.
    pub public_url: Option<String>,
    /// What becomes of old history; none keeps everything.
    pub retention: Option<Retention>,
    /// What a namespace may use for which nothing is set.
    pub quotas: Quotas,
    /// What opens secrets.
    pub vault: Vault,
}

impl Default for Settings {
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
