//! Handles a process that starts under a name that is in use. After a kill, the restarted process
//! must not have to wait until the old heartbeat has expired. But if the old process is still
//! alive, the two would end each other's lives for ever, so the new one refuses to start.

use std::time::Duration;

use entity::node::BeatsIn;

use super::Cluster;
use crate::{
    clock::Clock,
    engine::{
        EngineError, EngineSettings,
        cluster::relay,
        core::nodes::{goes_on, own_process},
    },
    store::{Store, nodes::LivingNode, silence::NodeDoubt},
};

/// The decision of a new process about the existing life with its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NameVerdict {
    /// Takes over: the other process is gone.
    Free,
    /// Refuses to start: the other process is alive.
    Taken,
    /// Asks the other process for a heartbeat and waits for it:
    /// nothing else shows whether that process is alive.
    Unclear,
}

/// How late the other process's heartbeat may be.
const MARGIN: Duration = Duration::from_millis(1_500);
/// The interval between two checks for the other process's heartbeat.
const LOOK: Duration = Duration::from_millis(250);

fn way(namesake: &LivingNode, own: &str, goes_on: Option<bool>, expiry: Duration) -> NameVerdict {
    let process = &namesake.node.process;
    if namesake.is_over(expiry) || (!process.is_empty() && process == own) {
        return NameVerdict::Free;
    }
    match goes_on {
        Some(true) => NameVerdict::Taken,
        Some(false) => NameVerdict::Free,
        None => NameVerdict::Unclear,
    }
}

/// Waits until the name is free; fails if another process keeps it.
pub(in crate::engine) async fn make_way(
    store: &Store,
    clock: &Clock,
    settings: &EngineSettings,
    cluster: &Cluster,
) -> Result<(), EngineError> {
    let Some(mut first) = namesake(store, cluster).await? else { return Ok(()) };
    let alive = goes_on(&first.node.process);
    match way(&first, &own_process(), alive, settings.heartbeat_expiry) {
        NameVerdict::Free => return Ok(()),
        NameVerdict::Taken => return Err(taken(&first)),
        NameVerdict::Unclear => {}
    }
    let mut wait = settings.heartbeat_interval + MARGIN;
    // Asking must work even if this process does not receive the other's heartbeats from Redis.
    // The other node answers in its own row, once it has given up on an unreachable Redis.
    let doubt = NodeDoubt { node: first.node.id, heard: Duration::ZERO };
    match first.node.beats_in {
        BeatsIn::Database => {}
        BeatsIn::Redis => {
            wait += MARGIN;
            store.doubt_if_silent(&[doubt], Duration::ZERO).await?;
        }
    }
    // A live process answers this call immediately instead of at its next heartbeat.
    let called = clock.timeout(MARGIN, relay::wake_pulses(store)).await;
    if let Ok(Err(error)) = called {
        tracing::warn!(%error, "failed to call the other nodes");
    }
    let name = &settings.node_name;
    tracing::info!(
        name,
        ?wait,
        "a node of this name was alive: waiting to see whether it still is"
    );
    let began = clock.instant();
    while clock.instant().saturating_duration_since(began) < wait {
        clock.sleep(LOOK).await;
        let Some(now) = namesake(store, cluster).await? else { return Ok(()) };
        if now.node.id != first.node.id || has_beaten(&first, &now) {
            return Err(taken(&now));
        }
        first.beat = first.beat.or(now.beat);
    }
    Ok(())
}

async fn namesake(store: &Store, cluster: &Cluster) -> Result<Option<LivingNode>, EngineError> {
    let living = cluster.listen(store).await?;
    Ok(living.into_iter().find(|other| other.node.name == cluster.name()))
}

/// Whether the node has sent a heartbeat between the two readings.
/// For a heartbeat in Redis, only its number is exact, not its time.
/// The first number received proves nothing: a dead life may have left it behind.
fn has_beaten(first: &LivingNode, now: &LivingNode) -> bool {
    let counted = first.beat.zip(now.beat).is_some_and(|(first, now)| first != now);
    counted || now.written_at != first.written_at
}

/// Whether another live process uses this node's name. A life that this node has begun is its own,
/// even if the node does not know it because the answer to its commit was lost.
/// That process counts as alive if a heartbeat of it arrived within the expiry. If this node cannot
/// receive its heartbeats, it counts as alive unless it has left a doubt unanswered.
pub(in crate::engine) async fn has_namesake(
    store: &Store,
    settings: &EngineSettings,
    cluster: &Cluster,
    own: uuid::Uuid,
) -> Result<bool, EngineError> {
    let living = cluster.listen(store).await?;
    let is_own = |other: &LivingNode| other.node.id == own || cluster.has_begun(other.node.id);
    let mut others = living.iter().filter(|other| !is_own(other));
    Ok(others.any(|other| {
        other.node.name == cluster.name() && !other.is_over(settings.heartbeat_expiry)
    }))
}

fn taken(namesake: &LivingNode) -> EngineError {
    let name = namesake.node.name.clone();
    EngineError::NameTaken {
        name,
        doing: if namesake.node.draining_at.is_some() { "is ending its runs" } else { "lives" },
    }
}

#[cfg(test)]
mod tests {
    use entity::Timestamp;

    use super::{way as way_of, *};
    use crate::engine::core::nodes::member;

    const EXPIRY: Duration = Duration::from_secs(30);

    #[test]
    fn a_name_is_free_once_its_process_is_gone() {
        let mut namesake = member("a");
        namesake.node.process = "boot pid 7 100".to_owned();
        let way =
            |namesake: &LivingNode, goes_on| way_of(namesake, "boot pid 8 9", goes_on, EXPIRY);
        assert_eq!(way(&namesake, Some(true)), NameVerdict::Taken);
        assert_eq!(way(&namesake, Some(false)), NameVerdict::Free);
        assert_eq!(way(&namesake, None), NameVerdict::Unclear);
        namesake.silence = Duration::from_secs(31);
        assert_eq!(
            way(&namesake, Some(true)),
            NameVerdict::Free,
            "frozen for longer than it may be"
        );
    }

    #[test]
    fn the_silence_of_a_rarely_written_row_proves_nothing() {
        let mut namesake = member("a");
        (namesake.node.beats_in, namesake.silence) = (BeatsIn::Redis, EXPIRY * 9);
        namesake.read_at = Timestamp(1_000_000);
        let way = |namesake: &LivingNode, goes_on| way_of(namesake, "", goes_on, EXPIRY);
        assert_eq!(way(&namesake, None), NameVerdict::Unclear);
        assert_eq!(way(&namesake, Some(true)), NameVerdict::Taken);
        assert_eq!(way(&namesake, Some(false)), NameVerdict::Free);
        namesake.node.doubted_at = Some(Timestamp(970_000));
        assert_eq!(way(&namesake, None), NameVerdict::Unclear, "it may still answer");
        namesake.node.doubted_at = Some(Timestamp(969_999));
        assert_eq!(way(&namesake, None), NameVerdict::Free);
    }

    #[test]
    fn a_heartbeat_is_recognised_by_its_number_or_by_the_row() {
        let (first, mut now) = (member("a"), member("a"));
        assert!(!has_beaten(&first, &now));
        let heard = |beat| LivingNode { beat: Some(beat), ..first.clone() };
        assert!(has_beaten(&heard(1), &heard(2)) && !has_beaten(&heard(1), &heard(1)));
        assert!(!has_beaten(&first, &heard(1)) && !has_beaten(&heard(1), &first));
        now.written_at.0 += 1;
        assert!(has_beaten(&first, &now) && has_beaten(&heard(1), &now));
    }

    #[test]
    fn an_earlier_life_in_the_same_process_is_over() {
        let mut namesake = member("a");
        namesake.node.process = "boot pid 8 9".to_owned();
        assert_eq!(way(&namesake, "boot pid 8 9", Some(true), EXPIRY), NameVerdict::Free);
    }
}
