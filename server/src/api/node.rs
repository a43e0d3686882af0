//! The nodes of the cluster: their state, their work and their shards.

use std::{collections::HashMap, sync::Arc};

use async_graphql::{Context, Enum, SimpleObject};
use entity::node::{self, BeatsIn};
use uuid::Uuid;

use super::{
    answer_cache::AnswerCache,
    context::ContextExt,
    error::Result,
    loaders::NodeRow,
    page::DECLARED,
    scalar::{Instant, Long},
};
use crate::{
    commands::CommandError,
    engine::cluster::{Cluster, SHARDS, owners},
    store::{Cursor, Store, StoreError, leases::HeldLease, nodes::LivingNode, reads::overview},
};

/// The cost factor of a list of nodes. Clusters are small.
pub(crate) const NODES: usize = 50;

/// One lifetime of a server process.
#[derive(SimpleObject)]
#[graphql(name = "ServerNode")]
pub(crate) struct Node {
    id: Uuid,
    /// The node's configured name, or the name of its machine.
    name: String,
    /// The number of this lifetime among those with the same name, from 1.
    incarnation: i32,
    /// Whether the node can take or hold work.
    state: NodeState,
    /// The node's roles: `api`, `scheduler`, `worker`.
    roles: Vec<String>,
    /// Tags that runs can require of the node that takes them.
    tags: Vec<String>,
    started_at: Instant,
    /// When the node's last heartbeat arrived.
    heartbeat_at: Instant,
    /// Time since the node's last heartbeat, by the database's clock; null once it is gone.
    silent_ms: Option<Long>,
    /// Where the node sends its heartbeats.
    heartbeats: Heartbeats,
    /// Why the node cannot reach Redis, if it is configured to send its heartbeats there; null once
    /// it is gone.
    redis_problem: Option<String>,
    /// How far the node's clock was ahead of the database's at its last heartbeat.
    clock_offset_ms: Long,
    /// The number of runs in progress on the node.
    runs: i64,
    /// Maximum number of runs that the node executes at once.
    capacity: i32,
    /// The version of the node's binary.
    version: String,
    /// The version of the node's time zone data.
    zone_data: String,
    /// The newest migration that the node's binary knows.
    schema: String,
    /// The number of shards whose first owner the node is: it claims their due schedules at once.
    first_shards: i32,
    /// The number of shards whose second owner the node is: it claims their due schedules soon
    /// after the first owner should have.
    second_shards: i32,
    /// Who drained the node; null if it is not drained.
    drain: Option<NodeDrain>,
    /// The cluster-wide services that the node runs.
    #[graphql(complexity = "DECLARED * child_complexity")]
    leases: Vec<NodeLease>,
}

/// Who drained a node, and when.
#[derive(Clone, SimpleObject)]
pub(crate) struct NodeDrain {
    /// The name of the user or token that drained it.
    by: String,
    at: Instant,
    /// The reason that they gave.
    reason: String,
}

/// A service that one node runs for the cluster.
#[derive(Clone, SimpleObject)]
pub(crate) struct NodeLease {
    /// The name of the service, such as `retention`.
    name: String,
    /// The number of this holder, counted from 1. Every write of the service contains it.
    epoch: Long,
}

/// Where a node sends its heartbeats.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heartbeats {
    /// Heartbeats go into the database.
    Database,
    /// Heartbeats go to Redis, with the database as fallback.
    Redis,
}

/// The state of a node: whether it can take or hold work.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeState {
    /// The node's heartbeats arrive.
    Alive,
    /// The node is shutting down, and finishes the work that it holds.
    Draining,
    /// An administrator drained it: it takes no new work, and remains a member.
    Drained,
    /// The node left the cluster cleanly.
    Left,
    /// The node's heartbeat expired, or a new process started under its name.
    Dead,
}

/// Facts that all nodes of one read share: their runs, leases and shards, and which of them are
/// alive.
pub(super) struct NodeFacts {
    runs: HashMap<Uuid, i64>,
    leases: Vec<HeldLease>,
    shards: HashMap<String, [i32; 2]>,
    living: HashMap<Uuid, LivingNode>,
}

/// The facts about the nodes as of an event, shared by all subscribers: the runs of all nodes are
/// counted once per heartbeat, however many subscribers there are.
pub(super) type NodeFactsCache = AnswerCache<Cursor, Arc<NodeFacts>>;

impl NodeFacts {
    /// The current facts.
    pub(super) async fn now(
        store: &Store,
        cluster: &Cluster,
    ) -> std::result::Result<Self, StoreError> {
        let runs = overview::runs_by_node(store).await?;
        let leases = store.held_leases().await?;
        let fleet = cluster.fleet(store).await?;
        let shards = shards(&fleet.ring(cluster.suspect_after()));
        let living = fleet.members.into_iter().map(|member| (member.node.id, member)).collect();
        Ok(Self { runs, leases, shards, living })
    }

    fn leases_of(&self, node: Uuid) -> Vec<NodeLease> {
        let own = self.leases.iter().filter(|lease| lease.holder == node);
        own.map(|lease| NodeLease { name: lease.name.clone(), epoch: lease.epoch.into() }).collect()
    }
}

impl Node {
    /// The nodes that are alive or gone within a day, by name.
    pub(crate) async fn all(cx: &Context<'_>) -> Result<Vec<Self>> {
        let store = cx.store();
        let rows = overview::nodes(store).await?;
        let around = NodeFacts::now(store, cx.data_unchecked::<Cluster>()).await?;
        Ok(Self::of(rows, &around))
    }

    /// The node with this id.
    pub(crate) async fn one(cx: &Context<'_>, id: Uuid) -> Result<Self> {
        let row = cx.rows().load_one(NodeRow(id)).await?;
        let row = row.ok_or_else(|| CommandError::not_found("node", id))?;
        let around = NodeFacts::now(cx.store(), cx.data_unchecked::<Cluster>()).await?;
        let mut nodes = Self::of(vec![row], &around);
        Ok(nodes.pop().ok_or_else(|| CommandError::not_found("node", id))?)
    }

    /// The given nodes with their current load.
    pub(super) fn of(rows: Vec<node::Model>, around: &NodeFacts) -> Vec<Self> {
        let node = |row: node::Model| {
            let heard = around.living.get(&row.id);
            let silence = heard.map(|member| member.silence);
            let heartbeat_at = heard.map_or(row.heartbeat_at, |member| member.node.heartbeat_at);
            let clock_offset_ms =
                heard.map_or(row.clock_offset_ms, |member| member.node.clock_offset_ms);
            let [first, second] = match silence {
                Some(_) => around.shards.get(&row.name).copied().unwrap_or_default(),
                None => [0, 0],
            };
            Self {
                runs: around.runs.get(&row.id).copied().unwrap_or(0),
                leases: around.leases_of(row.id),
                state: NodeState::of(&row),
                drain: row.drained_at.map(|at| NodeDrain {
                    by: row.drained_by.clone().unwrap_or_default(),
                    at: at.into(),
                    reason: row.drain_reason.clone().unwrap_or_default(),
                }),
                silent_ms: silence.map(|s| i64::try_from(s.as_millis()).unwrap_or(i64::MAX).into()),
                first_shards: first,
                second_shards: second,
                id: row.id,
                name: row.name,
                incarnation: row.incarnation,
                roles: row.roles.0,
                tags: row.tags.0,
                started_at: row.started_at.into(),
                heartbeat_at: heartbeat_at.into(),
                heartbeats: match row.beats_in {
                    BeatsIn::Database => Heartbeats::Database,
                    BeatsIn::Redis => Heartbeats::Redis,
                },
                redis_problem: row.redis_problem.filter(|_| silence.is_some()),
                clock_offset_ms: clock_offset_ms.into(),
                capacity: row.capacity,
                version: row.version,
                zone_data: row.zone_data,
                schema: row.schema,
            }
        };
        rows.into_iter().map(node).collect()
    }
}

/// How many shards each node owns first, and how many second.
fn shards(names: &[&str]) -> HashMap<String, [i32; 2]> {
    let mut counts: HashMap<String, [i32; 2]> = HashMap::new();
    for shard in (0..SHARDS).filter_map(|shard| u8::try_from(shard).ok()) {
        let (first, second) = owners(names, shard);
        for (place, owner) in [first, second].into_iter().enumerate() {
            if let Some(owner) = owner {
                counts.entry(names[owner].to_owned()).or_default()[place] += 1;
            }
        }
    }
    counts
}

/// One of the parts that schedules are divided into.
#[derive(SimpleObject)]
pub(crate) struct Shard {
    /// The shard's number, 0 to 255.
    number: i32,
    /// The node that claims the shard's due schedules at once; null if no node has the scheduler
    /// role.
    first: Option<String>,
    /// The node that claims these schedules soon after, if the first does not.
    second: Option<String>,
}

impl Shard {
    /// All shards.
    pub(crate) async fn all(cx: &Context<'_>) -> Result<Vec<Self>> {
        let cluster = cx.data_unchecked::<Cluster>();
        let fleet = cluster.fleet(cx.store()).await?;
        let names = fleet.ring(cluster.suspect_after());
        let name = |owner: Option<usize>| {
            owner.and_then(|owner| names.get(owner)).map(|n| (*n).to_owned())
        };
        let shard = |number: u8| {
            let (first, second) = owners(&names, number);
            Self { number: number.into(), first: name(first), second: name(second) }
        };
        Ok((0..SHARDS).filter_map(|shard| u8::try_from(shard).ok()).map(shard).collect())
    }
}

impl NodeState {
    fn of(row: &node::Model) -> Self {
        match row.state {
            node::State::Alive if row.draining_at.is_some() => Self::Draining,
            node::State::Alive if row.drained_at.is_some() => Self::Drained,
            node::State::Alive => Self::Alive,
            node::State::Left => Self::Left,
            node::State::Dead => Self::Dead,
        }
    }
}

/// The name of a node; `None` without an id.
pub(super) async fn node_name(cx: &Context<'_>, id: Option<Uuid>) -> Result<Option<String>> {
    let Some(id) = id else { return Ok(None) };
    Ok(cx.rows().load_one(NodeRow(id)).await?.map(|node| node.name))
}
