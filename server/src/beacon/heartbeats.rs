use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The payload of a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heartbeat {
    /// The number of this heartbeat in the node's life.
    pub beat: u64,
    /// How many runs the node holds.
    pub held: i32,
    /// How far the node's clock was ahead of the database's.
    pub clock_offset_ms: i64,
}

impl Heartbeat {
    pub(super) fn to_text(self) -> String {
        serde_json::json!(self).to_string()
    }

    pub(super) fn of_text(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// The last heartbeat received from a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastHeartbeat {
    /// The payload of the heartbeat.
    pub heartbeat: Heartbeat,
    /// The time since the heartbeat was received.
    pub silence: Duration,
}

/// The last heartbeat of each node, and when it arrived by this node's monotonic clock.
#[derive(Debug, Default)]
pub(super) struct HeartbeatLog(HashMap<Uuid, (Heartbeat, Instant)>);

impl HeartbeatLog {
    /// Records a heartbeat that a node sent this long `ago`. A heartbeat that is already known does
    /// not count again, whatever age Redis reports.
    pub(super) fn hear(&mut self, life: Uuid, heartbeat: Heartbeat, now: Instant, ago: Duration) {
        let known = self.0.get(&life).is_some_and(|(known, _)| known.beat == heartbeat.beat);
        if !known {
            self.0.insert(life, (heartbeat, now.checked_sub(ago).unwrap_or(now)));
        }
    }

    /// Forgets the nodes that are not among `lives`.
    pub(super) fn keep(&mut self, lives: &[Uuid]) {
        self.0.retain(|life, _| lives.contains(life));
    }

    pub(super) fn of(&self, life: Uuid, now: Instant) -> Option<LastHeartbeat> {
        let (heartbeat, at) = *self.0.get(&life)?;
        Some(LastHeartbeat { heartbeat, silence: now.saturating_duration_since(at) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;

    const SECOND: Duration = Duration::from_secs(1);

    fn heartbeat(beat: u64) -> Heartbeat {
        Heartbeat { beat, held: 3, clock_offset_ms: -4 }
    }

    #[test]
    fn a_beat_is_heard_once() {
        let (life, now) = (Uuid::from_u128(7), Clock::system().instant());
        let mut log = HeartbeatLog::default();
        assert_eq!(log.of(life, now), None);
        log.hear(life, heartbeat(1), now, SECOND);
        let silence = |log: &HeartbeatLog, after| log.of(life, now + after).unwrap().silence;
        assert_eq!(silence(&log, Duration::ZERO), SECOND);
        // Redis's clock was set back, so the key seems to be young again.
        log.hear(life, heartbeat(1), now + SECOND * 9, Duration::ZERO);
        assert_eq!(silence(&log, SECOND * 9), SECOND * 10);
        log.hear(life, heartbeat(2), now + SECOND * 9, Duration::ZERO);
        assert_eq!(silence(&log, SECOND * 9), Duration::ZERO);
        log.keep(&[]);
        assert_eq!(log.of(life, now), None);
    }

    #[test]
    fn values_that_are_not_heartbeats_are_ignored() {
        assert_eq!(Heartbeat::of_text(&heartbeat(9).to_text()), Some(heartbeat(9)));
        for text in ["", "1", "{}", "{\"beat\":-1,\"held\":0,\"clock_offset_ms\":0}"] {
            assert_eq!(Heartbeat::of_text(text), None, "{text}");
        }
    }
}
