use std::{collections::HashMap, sync::Arc};

use async_graphql::{Context, Enum, SimpleObject};
use entity::node::{self, BeatsIn};
use uuid::Uuid;

use super::{
    answer_cache::AnswerCache,
    context::Ask,
    error::Result,
    loaders::NodeRow,
    page::DECLARED,
    scalar::{Instant, Long},
};
use crate::{
    commands::CommandError,
    engine::cluster::{Cluster, SHARDS, owners},
    store::{Cursor, Store, StoreError, leases::HeldLease, nodes::Living, reads::overview},
};

/// What a list of nodes costs: so many times what one does. Clusters are small.
pub(crate) const NODES: usize = 50;

/// One life of a server process.
#[derive(SimpleObject)]
#[graphql(name = "ServerNode")]
pub(crate) struct Node {
    id: Uuid,
    name: String,
    /// Counts the lives of that name from 1.
    incarnation: i32,
    state: NodeState,
    /// What it does: `api`, `scheduler`, `worker`.
    roles: Vec<String>,
    /// What runs may ask of the node that takes them.
    tags: Vec<String>,
    started_at: Instant,
    heartbeat_at: Instant,
    /// Since its last heartbeat, on the database's clock; null once it is gone.
    silent_ms: Option<Long>,
    /// Where its heartbeats go.
    heartbeats: Heartbeats,
    /// Why it cannot reach Redis, if its heartbeats are to go there; null once it is gone.
    redis_problem: Option<String>,
    /// How far its clock was ahead of the database's then.
    clock_offset_ms: Long,
    /// Runs at work on it.
    runs: i64,
    /// How many it takes at once.
    capacity: i32,
    version: String,
    /// The version of its zone data.
    zone_data: String,
    /// The last migration that its program knows.
    schema: String,
    /// Of how many of the 256 shards it claims what is due at once.
    first_shards: i32,
    /// And of how many soon after, if the first owner does not.
    second_shards: i32,
    /// Who drained it; null unless somebody did.
    drain: Option<NodeDrain>,
    /// The services that it does for all.
    #[graphql(complexity = "DECLARED * child_complexity")]
    leases: Vec<NodeLease>,
}

/// Who has a node take nothing on.
#[derive(Clone, SimpleObject)]
pub(crate) struct NodeDrain {
    by: String,
    at: Instant,
    reason: String,
}

/// A service that one node does for all.
#[derive(Clone, SimpleObject)]
pub(crate) struct NodeLease {
    name: String,
    /// Counts the holders from 1: each write of the service names it.
    epoch: Long,
}

/// Where heartbeats go.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heartbeats {
    /// Into the database.
    Database,
    /// To Redis, with the database behind it.
    Redis,
}

/// The state of a node: whether it can take or hold work.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeState {
    /// Its heartbeat is fresh.
    Alive,
    /// It shuts down: it brings to an end what it holds.
    Draining,
    /// Somebody drained it: it takes nothing on, and stays a member.
    Drained,
    /// It said goodbye.
    Left,
    /// Its heartbeat expired, or its name started anew.
    Dead,
}

/// What is the same for all nodes that are looked at together: who works on how much, who does
/// what for all, and who was heard of.
pub(super) struct Around {
    runs: HashMap<Uuid, i64>,
    leases: Vec<HeldLease>,
    shards: HashMap<String, [i32; 2]>,
    living: HashMap<Uuid, Living>,
}

/// That at the time of an event, for all who follow: the runs of all nodes are counted once for
/// each heartbeat, however many hear of it.
pub(super) type Surroundings = AnswerCache<Cursor, Arc<Around>>;

impl Around {
    /// As of now.
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
    /// Those that are alive or gone within a day, by name.
    pub(crate) async fn all(cx: &Context<'_>) -> Result<Vec<Self>> {
        let store = cx.store();
        let rows = overview::nodes(store).await?;
        let around = Around::now(store, cx.data_unchecked::<Cluster>()).await?;
        Ok(Self::of(rows, &around))
    }

    /// The life of that key.
    pub(crate) async fn one(cx: &Context<'_>, id: Uuid) -> Result<Self> {
        let row = cx.rows().load_one(NodeRow(id)).await?;
        let row = row.ok_or_else(|| CommandError::not_found("node", id))?;
        let around = Around::now(cx.store(), cx.data_unchecked::<Cluster>()).await?;
        let mut nodes = Self::of(vec![row], &around);
        Ok(nodes.pop().ok_or_else(|| CommandError::not_found("node", id))?)
    }

    /// These lives, with what each has to do now.
    pub(super) fn of(rows: Vec<node::Model>, around: &Around) -> Vec<Self> {
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

/// Of how many shards each is the first owner, and the second.
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
    /// 0 to 255.
    number: i32,
    /// The node that claims what is due in it at once; null if no node schedules.
    first: Option<String>,
    /// The node that does so soon after, if the first does not.
    second: Option<String>,
}

impl Shard {
    /// All of them.
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
