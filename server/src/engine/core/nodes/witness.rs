//! How long other nodes have been silent, by this node's own monotonic clock.
//! Computed without IO, from rows and instants.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use entity::Timestamp;
use uuid::Uuid;

use crate::store::{nodes::LivingNode, silence::SilentNode};

/// The heartbeats of live nodes, as this node saw them in the nodes' rows.
///
/// Heartbeats are written by the database's clock and compared with it. If that clock is stepped
/// forward, as by a fail-over to a server with another clock, every heartbeat is stale at once, and
/// the first node to recover would declare all others dead. If it is stepped back, every heartbeat
/// is in the future, and no node would be declared dead for the duration of the step. So a
/// heartbeat expires when it stays unchanged for the expiry on the local monotonic clock, whatever
/// the database's clock did. The same applies to the time in which a doubt can be answered.
#[derive(Debug, Default)]
pub(crate) struct HeartbeatObserver {
    seen: HashMap<Uuid, SeenHeartbeat>,
    looked: Option<Instant>,
}

/// A heartbeat, the moment at which it was first seen, and its age at that moment.
#[derive(Clone, Copy, Debug)]
struct SeenHeartbeat {
    heartbeat_at: Timestamp,
    at: Instant,
    age: Duration,
    /// The unanswered doubt, and the moment at which it was first seen.
    doubt: Option<(Timestamp, Instant)>,
}

impl HeartbeatObserver {
    /// Records the rows of all live nodes.
    pub(crate) fn look(&mut self, living: &[LivingNode], now: Instant) {
        // A heartbeat that is new since the last check is no older than that check,
        // whatever the database's clock shows.
        // Only the database's clock can tell the age of a heartbeat from before the first check.
        let oldest = self.looked.map_or(Duration::MAX, |last| now.saturating_duration_since(last));
        let seen = living.iter().map(|member| {
            let (id, heartbeat_at) = (member.node.id, member.written_at);
            let known = self.seen.get(&id).filter(|seen| seen.heartbeat_at == heartbeat_at);
            let age = member.row_age().min(oldest);
            let before = known.and_then(|seen| seen.doubt);
            let doubt = member
                .node
                .doubted_at
                .map(|doubted| before.filter(|(of, _)| *of == doubted).unwrap_or((doubted, now)));
            let new = SeenHeartbeat { heartbeat_at, at: now, age, doubt };
            (id, known.map_or(new, |seen| SeenHeartbeat { doubt, ..*seen }))
        });
        self.seen = seen.collect();
        self.looked = Some(now);
    }

    /// The nodes whose rows have been unchanged for longer than `expiry`.
    pub(crate) fn silent(&self, expiry: Duration, now: Instant) -> Vec<SilentNode> {
        let silent = self.seen.iter().filter_map(|(node, seen)| {
            let watched = now.saturating_duration_since(seen.at);
            let unanswered = |(_, since)| now.saturating_duration_since(since) > expiry;
            let silent = SilentNode {
                node: *node,
                since: seen.heartbeat_at,
                is_watched: watched > expiry,
                is_unanswered: seen.doubt.is_some_and(unanswered),
            };
            (seen.age.saturating_add(watched) > expiry).then_some(silent)
        });
        silent.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{super::fleet::tests::member, *};
    use crate::clock::Clock;

    const EXPIRY: Duration = Duration::from_secs(30);

    fn beaten_at(written: i64, read: i64) -> LivingNode {
        let (written_at, read_at) = (Timestamp(written * 1_000), Timestamp(read * 1_000));
        LivingNode { written_at, read_at, ..member("a") }
    }

    #[test]
    fn a_step_of_the_databases_clock_makes_nobody_silent() {
        let start = Clock::system().instant();
        let mut witness = HeartbeatObserver::default();
        witness.look(&[beaten_at(100, 102)], start);
        let second = Duration::from_secs(1);
        witness.look(&[beaten_at(100, 3_702)], start + second);
        assert_eq!(witness.silent(EXPIRY, start + second), []);
        // Two of these seconds passed before the first check,
        // so only the database's clock can count them.
        let silent = SilentNode {
            node: member("a").node.id,
            since: Timestamp(100_000),
            is_watched: false,
            is_unanswered: false,
        };
        assert_eq!(witness.silent(EXPIRY, start + 29 * second), [silent]);
        let silent = SilentNode { is_watched: true, ..silent };
        assert_eq!(witness.silent(EXPIRY, start + 31 * second), [silent]);
        // A node that sends a new heartbeat is alive, whatever the clock shows: it sent the
        // heartbeat within the second since the last check.
        witness.look(&[beaten_at(100, 3_730)], start + 29 * second);
        witness.look(&[beaten_at(3_731, 9_999)], start + 30 * second);
        assert_eq!(witness.silent(EXPIRY, start + 59 * second), []);
        assert_eq!(witness.silent(EXPIRY, start + 60 * second).len(), 1);
    }

    #[test]
    fn who_is_silent_is_found_although_the_databases_clock_was_stepped_back() {
        let start = Clock::system().instant();
        let mut witness = HeartbeatObserver::default();
        let second = Duration::from_secs(1);
        witness.look(&[beaten_at(5_000, 5_000)], start);
        let doubted = |at: i64| {
            let mut member = beaten_at(5_000, 1_000);
            member.node.doubted_at = Some(Timestamp(at));
            member
        };
        witness.look(&[doubted(1_000)], start + 20 * second);
        let look = |witness: &HeartbeatObserver, after: u32| {
            let silent = witness.silent(EXPIRY, start + after * second);
            silent.first().map(|silent| (silent.is_watched, silent.is_unanswered))
        };
        assert_eq!(look(&witness, 30), None);
        assert_eq!(look(&witness, 31), Some((true, false)));
        assert_eq!(look(&witness, 51), Some((true, true)));
        // A new doubt has a deadline of its own.
        witness.look(&[doubted(1_001)], start + 51 * second);
        assert_eq!(look(&witness, 52), Some((true, false)));
    }

    #[test]
    fn a_node_that_was_already_silent_is_found_at_the_first_look() {
        let start = Clock::system().instant();
        let mut witness = HeartbeatObserver::default();
        witness.look(&[beaten_at(100, 131)], start);
        assert_eq!(witness.silent(EXPIRY, start).len(), 1);
        witness.look(&[], start);
        assert_eq!(witness.silent(EXPIRY, start), [], "its life is over");
    }
}
