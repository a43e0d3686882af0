//! Sends a node's heartbeat and reads those of other nodes: through the nodes' rows alone, or
//! through Redis with the rows as a fallback.
//!
//! With Redis, a node still reads its row at each heartbeat. It writes the row once per expiry,
//! when Redis rejects the heartbeat, when another node doubts that it is alive, and when its report
//! about Redis has changed. So only a row can show that a life is over; Redis only shows which
//! nodes need not be doubted. If Redis loses its data, or never had any, each live node makes one
//! extra write and none is declared dead. A node that writes no row for two expiries is doubted
//! even if its heartbeats arrive in Redis: it may be connected to another database.

use std::time::Duration;

use entity::{Timestamp, node::BeatsIn};
use uuid::Uuid;

use super::{handle::Cluster, ring::ClaimTurns};
use crate::{
    beacon::{Beacon, FireClaim},
    store::{
        DatabaseLink, Store, StoreError,
        nodes::{Beat, BeatOutcome, LivingNode},
        silence::{DOUBTED_AFTER, NodeDoubt},
    },
};

impl Cluster {
    /// Where this node's heartbeats are written.
    pub(in crate::engine) fn beats_in(&self) -> BeatsIn {
        match self.beacon() {
            Some(_) => BeatsIn::Redis,
            None => BeatsIn::Database,
        }
    }

    /// Sends the heartbeat, unless the cluster has declared the node dead.
    pub(in crate::engine) async fn beat(
        &self,
        store: &Store,
        node: Uuid,
        beat: Beat,
    ) -> Result<BeatOutcome, StoreError> {
        let Some(beacon) = self.beacon() else { return store.beat_if_alive(node, beat).await };
        // The database comes first: a node that cannot reach it does not count
        // as alive, because it could not settle its attempts.
        let living = store.living_nodes_by(&store.heartbeats()).await?;
        let Some(own) = living.iter().find(|member| member.node.id == node) else {
            return Ok(BeatOutcome::Lost);
        };
        let lives = lives(&living);
        let is_said = beacon.beat(node, beat.held, beat.clock_offset_ms, &lives).await;
        let redis_problem = beacon.problem();
        let is_asked = own.node.doubted_at.is_some() || own.node.redis_problem != redis_problem;
        if is_said && !is_asked && !self.is_to_be_written(own) {
            return Ok(BeatOutcome::Alive(own.read_at));
        }
        store.beat_if_alive(node, Beat { redis_problem, ..beat }).await
    }

    /// Whether the row must be written now: at the next heartbeat it would be older than the
    /// expiry, or its time is in the future because the database's clock was set back.
    fn is_to_be_written(&self, own: &LivingNode) -> bool {
        let settings = self.settings();
        own.row_age() + settings.heartbeat_interval > settings.heartbeat_expiry
            || !ahead(own).is_zero()
    }

    /// The lives that have not ended, each with its latest known heartbeat from either source.
    /// The heartbeat service calls this; it has its own
    /// connection and does not wait for that of readers.
    pub(in crate::engine) async fn living(
        &self,
        store: &Store,
    ) -> Result<Vec<LivingNode>, StoreError> {
        self.living_by(store, &store.heartbeats()).await
    }

    /// The lives that have not ended, read through the caller's connection.
    pub(crate) async fn living_by(
        &self,
        store: &Store,
        link: &DatabaseLink,
    ) -> Result<Vec<LivingNode>, StoreError> {
        let mut living = store.living_nodes_by(link).await?;
        if let Some(beacon) = self.beacon() {
            for member in &mut living {
                hear(beacon, member);
            }
        }
        Ok(living)
    }

    /// The lives that have not ended, after one read
    /// of Redis, for a node that sends no heartbeats yet.
    pub(in crate::engine) async fn listen(
        &self,
        store: &Store,
    ) -> Result<Vec<LivingNode>, StoreError> {
        if let Some(beacon) = self.beacon() {
            beacon.listen(&lives(&store.living_nodes_by(&store.heartbeats()).await?)).await;
        }
        self.living(store).await
    }

    /// The nodes that are asked to write a heartbeat to the database:
    /// those that have been silent for part of the expiry, those that have long written no row,
    /// and those whose silence cannot be measured.
    pub(crate) fn doubtful(&self, own: Uuid, living: &[LivingNode]) -> Vec<NodeDoubt> {
        let (after, long) = (self.doubted_after(), self.settings().heartbeat_expiry * 2);
        let is_doubtful = |member: &&LivingNode| {
            member.node.id != own
                && member.node.beats_in == BeatsIn::Redis
                && member.node.doubted_at.is_none()
                && (member.silence > after || member.row_age() > long || ahead(member) > after)
        };
        // Silence in Redis proves nothing for a time in which this node could not read Redis.
        let listened = self.beacon().map_or(Duration::ZERO, Beacon::listened);
        let heard = |member: &LivingNode| match member.beat {
            Some(_) => member.silence.min(after).min(listened),
            None => Duration::ZERO,
        };
        let doubt = |member: &LivingNode| NodeDoubt { node: member.node.id, heard: heard(member) };
        living.iter().filter(is_doubtful).map(doubt).collect()
    }

    /// How long a node that sends its heartbeats to Redis may be silent
    /// before it is asked to write one to the database.
    pub(in crate::engine) fn doubted_after(&self) -> Duration {
        self.settings().heartbeat_expiry / DOUBTED_AFTER
    }

    /// Removes the heartbeat of a node that has left, so that no other node waits until it expires.
    pub(in crate::engine) async fn forget(&self, node: Uuid) {
        if let Some(beacon) = self.beacon() {
            beacon.forget(node).await;
        }
    }

    /// The address of Redis, if heartbeats go there, and the reason if Redis rejects them.
    pub fn redis(&self) -> Option<(&str, Option<String>)> {
        self.beacon().map(|beacon| (beacon.address(), beacon.problem()))
    }

    /// Whether nodes use locks to decide which of them may claim a due fire first.
    /// A node that claims alone has no `share` and uses no locks.
    pub(in crate::engine) fn has_locks(&self, share: Option<&ClaimTurns>) -> bool {
        self.beacon().is_some() && self.has_others() && share.is_some()
    }

    /// The `claims` that this node may attempt. If a node takes a lock but does not claim, the
    /// other nodes only have to wait until the fire is due for every node.
    pub(in crate::engine) async fn first_to(
        &self,
        own: Uuid,
        claims: Vec<FireClaim>,
    ) -> Vec<FireClaim> {
        let Some(beacon) = self.beacon() else { return claims };
        beacon.first_to(own, claims, self.settings().second_owner_after * 2).await
    }

    fn beacon(&self) -> Option<&Beacon> {
        self.settings().beacon.as_ref()
    }
}

/// How far in the future the row was written, after the database's clock was stepped back.
fn ahead(member: &LivingNode) -> Duration {
    let ahead = member.written_at.0.saturating_sub(member.read_at.0);
    Duration::from_millis(u64::try_from(ahead).unwrap_or(0))
}

fn lives(living: &[LivingNode]) -> Vec<Uuid> {
    living.iter().map(|member| member.node.id).collect()
}

/// Applies a heartbeat from Redis, if it is more recent than the node's row.
fn hear(beacon: &Beacon, member: &mut LivingNode) {
    let Some(voice) = beacon.heard(member.node.id) else { return };
    member.beat = Some(voice.heartbeat.beat);
    // If the row's time is in the future, the row does not show how long the node has been silent,
    // so the heartbeat from Redis counts.
    if voice.silence >= member.silence && ahead(member).is_zero() {
        return;
    }
    let ago = i64::try_from(voice.silence.as_millis()).unwrap_or(i64::MAX);
    member.node.heartbeat_at = Timestamp(member.read_at.0.saturating_sub(ago));
    member.node.held = voice.heartbeat.held;
    member.node.clock_offset_ms = voice.heartbeat.clock_offset_ms;
    member.silence = voice.silence;
}
