//! How a node says that it lives, and hears who else does: by the nodes' rows alone, or by Redis
//! with the rows behind it.
//!
//! With Redis a row is read at each beat and written once in each expiry, when Redis does not take
//! the beat, when somebody doubts that the node lives, and when what it says of Redis has changed.
//! So a row says for certain whose life is over, and Redis only who need not be asked: what it has
//! lost, or never had, costs the living a write each, and nobody a life. Who writes nothing for two
//! expiries is asked however loud it is: it may be cut off with a database that is not ours.

use std::time::Duration;

use entity::{Timestamp, node::BeatsIn};
use uuid::Uuid;

use super::ring::Share;
use crate::{
    beacon::{Beacon, Claim},
    engine::cluster::Cluster,
    store::{
        Link, Store, StoreError,
        nodes::{Beat, BeatOutcome, DOUBTED_AFTER, Doubt, Living},
    },
};

impl Cluster {
    /// Where this node's heartbeats go.
    pub(in crate::engine) fn beats_in(&self) -> BeatsIn {
        match self.beacon() {
            Some(_) => BeatsIn::Redis,
            None => BeatsIn::Database,
        }
    }

    /// Says that the node is alive, unless it was declared dead.
    pub(in crate::engine) async fn beat(
        &self,
        store: &Store,
        node: Uuid,
        beat: Beat,
    ) -> Result<BeatOutcome, StoreError> {
        let Some(beacon) = self.beacon() else { return store.beat_if_alive(node, beat).await };
        // First: who cannot reach the database does not count as alive, for it cannot settle what
        // it holds.
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

    /// Whether the row would be older than the expiry at the next beat, or says that it is from the
    /// future: the database's clock was set back.
    fn is_to_be_written(&self, own: &Living) -> bool {
        let settings = self.settings();
        own.row_age() + settings.heartbeat_interval > settings.heartbeat_expiry
            || !ahead(own).is_zero()
    }

    /// The lives that nobody has ended, each with the last heartbeat that is known of it, wherever
    /// that was. For a heartbeat, which waits for nobody who reads.
    pub(in crate::engine) async fn living(&self, store: &Store) -> Result<Vec<Living>, StoreError> {
        self.living_by(store, &store.heartbeats()).await
    }

    /// The same, asked through a connection that the caller has.
    pub(crate) async fn living_by(
        &self,
        store: &Store,
        link: &Link,
    ) -> Result<Vec<Living>, StoreError> {
        let mut living = store.living_nodes_by(link).await?;
        if let Some(beacon) = self.beacon() {
            for member in &mut living {
                hear(beacon, member);
            }
        }
        Ok(living)
    }

    /// The same after a look at Redis, for a node that does not beat yet.
    pub(in crate::engine) async fn listen(&self, store: &Store) -> Result<Vec<Living>, StoreError> {
        if let Some(beacon) = self.beacon() {
            beacon.listen(&lives(&store.living_nodes_by(&store.heartbeats()).await?)).await;
        }
        self.living(store).await
    }

    /// Those that are to say in the database that they live: nothing was heard of them for a part
    /// of the expiry, nothing was written by them for long, or nobody can tell for how long.
    pub(crate) fn doubtful(&self, own: Uuid, living: &[Living]) -> Vec<Doubt> {
        let (after, long) = (self.doubted_after(), self.settings().heartbeat_expiry * 2);
        let is_doubtful = |member: &&Living| {
            member.node.id != own
                && member.node.beats_in == BeatsIn::Redis
                && member.node.doubted_at.is_none()
                && (member.silence > after || member.row_age() > long || ahead(member) > after)
        };
        // What Redis did not say while it was not heard is no silence.
        let listened = self.beacon().map_or(Duration::ZERO, Beacon::listened);
        let heard = |member: &Living| match member.beat {
            Some(_) => member.silence.min(after).min(listened),
            None => Duration::ZERO,
        };
        let doubt = |member: &Living| Doubt { node: member.node.id, heard: heard(member) };
        living.iter().filter(is_doubtful).map(doubt).collect()
    }

    /// After how long a silence a node that beats in Redis is asked for a beat in the database.
    pub(in crate::engine) fn doubted_after(&self) -> Duration {
        self.settings().heartbeat_expiry / DOUBTED_AFTER
    }

    /// The node has left: nobody need wait until its last heartbeat is forgotten.
    pub(in crate::engine) async fn forget(&self, node: Uuid) {
        if let Some(beacon) = self.beacon() {
            beacon.forget(node).await;
        }
    }

    /// Where Redis is, if heartbeats go there, and why it takes none, if it does not.
    pub fn redis(&self) -> Option<(&str, Option<String>)> {
        self.beacon().map(|beacon| (beacon.address(), beacon.problem()))
    }

    /// Whether nodes settle by locks who goes first for what is due. One that claims alone, with
    /// `share` of nothing, does not.
    pub(in crate::engine) fn has_locks(&self, share: Option<&Share>) -> bool {
        self.beacon().is_some() && self.has_others() && share.is_some()
    }

    /// Those of `claims` that this node may go for. Who has a lock and does not come to its claim
    /// keeps the others from it until what is due is anybody's anyway.
    pub(in crate::engine) async fn first_to(&self, own: Uuid, claims: Vec<Claim>) -> Vec<Claim> {
        let Some(beacon) = self.beacon() else { return claims };
        beacon.first_to(own, claims, self.settings().second_owner_after * 2).await
    }

    fn beacon(&self) -> Option<&Beacon> {
        self.settings().beacon.as_ref()
    }
}

/// How much later than now the row says that it was written: the database's clock was stepped back.
fn ahead(member: &Living) -> Duration {
    let ahead = member.written_at.0.saturating_sub(member.read_at.0);
    Duration::from_millis(u64::try_from(ahead).unwrap_or(0))
}

fn lives(living: &[Living]) -> Vec<Uuid> {
    living.iter().map(|member| member.node.id).collect()
}

/// Takes in what was heard of a node, if that is younger than what its row says.
fn hear(beacon: &Beacon, member: &mut Living) {
    let Some(voice) = beacon.heard(member.node.id) else { return };
    member.beat = Some(voice.heartbeat.beat);
    // A row that is from the future says nothing of how long ago it was written.
    if voice.silence >= member.silence && ahead(member).is_zero() {
        return;
    }
    let ago = i64::try_from(voice.silence.as_millis()).unwrap_or(i64::MAX);
    member.node.heartbeat_at = Timestamp(member.read_at.0.saturating_sub(ago));
    member.node.held = voice.heartbeat.held;
    member.node.clock_offset_ms = voice.heartbeat.clock_offset_ms;
    member.silence = voice.silence;
}
