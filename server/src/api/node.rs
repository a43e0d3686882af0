use std::collections::HashMap;

use async_graphql::{Context, Enum, SimpleObject};
use entity::node;
use uuid::Uuid;

use super::{context::Ask, error::Result, scalar::Instant};
use crate::{
    engine::cluster::{Cluster, SHARDS, owners},
    store::{nodes::Living, reads::overview},
};

/// One life of a server process.
#[derive(SimpleObject)]
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
    silent_ms: Option<i64>,
    /// How far its clock was ahead of the database's then.
    clock_offset_ms: i64,
    /// At work on it.
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
    /// The services that it does for all.
    leases: Vec<NodeLease>,
}

/// A service that one node does for all.
#[derive(SimpleObject)]
pub(crate) struct NodeLease {
    name: String,
    /// Counts the holders from 1: each write of the service names it.
    epoch: i64,
}

/// Whether it can hold anything.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeState {
    /// Its heartbeat is fresh.
    Alive,
    /// It shuts down: it brings to an end what it holds.
    Draining,
    /// It said goodbye.
    Left,
    /// Its heartbeat expired, or its name started anew.
    Dead,
}

impl Node {
    /// Those that are alive or gone within a day, by name.
    pub(crate) async fn all(cx: &Context<'_>) -> Result<Vec<Self>> {
        let store = cx.store();
        let cluster = cx.data_unchecked::<Cluster>();
        let runs = overview::runs_by_node(store).await?;
        let mut leases: HashMap<Uuid, Vec<NodeLease>> = HashMap::new();
        for lease in store.held_leases().await? {
            let (name, epoch) = (lease.name, lease.epoch);
            leases.entry(lease.holder).or_default().push(NodeLease { name, epoch });
        }
        let fleet = cluster.fleet(store).await?;
        let shards = shards(&fleet.ring(cluster.suspect_after()));
        let living: HashMap<Uuid, &Living> =
            fleet.members.iter().map(|member| (member.node.id, member)).collect();
        let node = |row: node::Model| {
            let silence = living.get(&row.id).map(|member| member.silence);
            let [first, second] = match silence {
                Some(_) => shards.get(row.name.as_str()).copied().unwrap_or_default(),
                None => [0, 0],
            };
            Self {
                runs: runs.get(&row.id).copied().unwrap_or(0),
                leases: leases.remove(&row.id).unwrap_or_default(),
                state: NodeState::of(&row),
                silent_ms: silence.map(|s| i64::try_from(s.as_millis()).unwrap_or(i64::MAX)),
                first_shards: first,
                second_shards: second,
                id: row.id,
                name: row.name,
                incarnation: row.incarnation,
                roles: row.roles.0,
                tags: row.tags.0,
                started_at: row.started_at.into(),
                heartbeat_at: row.heartbeat_at.into(),
                clock_offset_ms: row.clock_offset_ms,
                capacity: row.capacity,
                version: row.version,
                zone_data: row.zone_data,
                schema: row.schema,
            }
        };
        Ok(overview::nodes(store).await?.into_iter().map(node).collect())
    }
}

/// Of how many shards each is the first owner, and the second.
fn shards<'a>(names: &[&'a str]) -> HashMap<&'a str, [i32; 2]> {
    let mut counts: HashMap<&str, [i32; 2]> = HashMap::new();
    for shard in (0..SHARDS).filter_map(|shard| u8::try_from(shard).ok()) {
        let (first, second) = owners(names, shard);
        for (place, owner) in [first, second].into_iter().enumerate() {
            if let Some(owner) = owner {
                counts.entry(names[owner]).or_default()[place] += 1;
            }
        }
    }
    counts
}

impl NodeState {
    fn of(row: &node::Model) -> Self {
        match row.state {
            node::State::Alive if row.draining_at.is_some() => Self::Draining,
            node::State::Alive => Self::Alive,
            node::State::Left => Self::Left,
            node::State::Dead => Self::Dead,
        }
    }
}
