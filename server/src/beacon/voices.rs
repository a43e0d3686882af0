use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// What a node says of itself with each beat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Saying {
    /// Counts the beats of its life.
    pub beat: u64,
    /// How many runs it holds.
    pub held: i32,
    /// How far its clock was ahead of the database's.
    pub clock_offset_ms: i64,
}

impl Saying {
    pub(super) fn to_text(self) -> String {
        serde_json::json!(self).to_string()
    }

    pub(super) fn of_text(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// What was heard last of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Voice {
    /// What it said.
    pub saying: Saying,
    /// How long ago.
    pub silence: Duration,
}

/// What was heard of whom, and when on this node's monotonic clock.
#[derive(Debug, Default)]
pub(super) struct Voices(HashMap<Uuid, (Saying, Instant)>);

impl Voices {
    /// Remembers what a node said so long `ago`. What is known of it already is not heard again,
    /// whatever Redis takes for its age.
    pub(super) fn hear(&mut self, life: Uuid, saying: Saying, now: Instant, ago: Duration) {
        let known = self.0.get(&life).is_some_and(|(known, _)| known.beat == saying.beat);
        if !known {
            self.0.insert(life, (saying, now.checked_sub(ago).unwrap_or(now)));
        }
    }

    /// Forgets all others.
    pub(super) fn keep(&mut self, lives: &[Uuid]) {
        self.0.retain(|life, _| lives.contains(life));
    }

    pub(super) fn of(&self, life: Uuid, now: Instant) -> Option<Voice> {
        let (saying, at) = *self.0.get(&life)?;
        Some(Voice { saying, silence: now.saturating_duration_since(at) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;

    const SECOND: Duration = Duration::from_secs(1);

    fn saying(beat: u64) -> Saying {
        Saying { beat, held: 3, clock_offset_ms: -4 }
    }

    #[test]
    fn a_beat_is_heard_once() {
        let (life, now) = (Uuid::from_u128(7), Clock::system().instant());
        let mut voices = Voices::default();
        assert_eq!(voices.of(life, now), None);
        voices.hear(life, saying(1), now, SECOND);
        let silence = |voices: &Voices, after| voices.of(life, now + after).unwrap().silence;
        assert_eq!(silence(&voices, Duration::ZERO), SECOND);
        // Redis's clock was set back: the key seems to be young again.
        voices.hear(life, saying(1), now + SECOND * 9, Duration::ZERO);
        assert_eq!(silence(&voices, SECOND * 9), SECOND * 10);
        voices.hear(life, saying(2), now + SECOND * 9, Duration::ZERO);
        assert_eq!(silence(&voices, SECOND * 9), Duration::ZERO);
        voices.keep(&[]);
        assert_eq!(voices.of(life, now), None);
    }

    #[test]
    fn what_somebody_else_wrote_is_not_heard() {
        assert_eq!(Saying::of_text(&saying(9).to_text()), Some(saying(9)));
        for text in ["", "1", "{}", "{\"beat\":-1,\"held\":0,\"clock_offset_ms\":0}"] {
            assert_eq!(Saying::of_text(text), None, "{text}");
        }
    }
}
