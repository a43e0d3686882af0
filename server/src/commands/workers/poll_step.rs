//! What a poll does after each look for jobs. It only decides; `poll` reads the tables and waits.

use std::time::Duration;

/// Minimum time between two reads of the tables, however often they change. Only jobs that this
/// node creates are read at once, by workers that can take some. After a read that took longer, the
/// pause is as long as the read, so that reads take at most half of the time.
const PACE: Duration = Duration::from_millis(10);
/// A read that took less than this needs no pause before jobs that this node creates are read.
const CHEAP: Duration = Duration::from_millis(1);
/// The interval of reads without a wake-up, because another node's write may not wake this one.
pub(super) const POLL: Duration = Duration::from_secs(1);

/// A look for jobs, and the time that is left.
#[derive(Clone, Copy, Debug)]
pub(super) struct PollLook {
    /// Whether there is something to tell the worker.
    pub(super) has_news: bool,
    /// Whether it relied on an earlier reading of the tables.
    pub(super) is_guess: bool,
    /// Whether the worker can take jobs.
    pub(super) has_room: bool,
    /// How long reading the tables took.
    pub(super) took: Duration,
    /// How long the poll may still last.
    pub(super) left: Duration,
}

/// What a poll does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PollStep {
    /// It answers the worker.
    Answer,
    /// It looks again at once, into the tables themselves.
    LookAgain,
    /// It looks again when the first of these waits ends.
    Wait(PollWaits),
}

/// How a poll waits before it looks again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PollWaits {
    /// The pause before any change of the tables ends the wait.
    pub(super) before_change: Duration,
    /// How long it then waits for a change.
    pub(super) for_change: Duration,
    /// The pause before a job that this node creates ends the wait; `None` if such a job does not
    /// end it.
    pub(super) before_job: Option<Duration>,
}

impl PollLook {
    /// What the poll does after this look.
    pub(super) fn step(self) -> PollStep {
        let Self { has_news, is_guess, has_room, took, left } = self;
        if has_news || left.is_zero() {
            return PollStep::Answer;
        }
        if is_guess {
            return PollStep::LookAgain;
        }
        let before_job = if took < CHEAP { Duration::ZERO } else { took.min(left) };
        PollStep::Wait(PollWaits {
            before_change: PACE.max(took).min(left),
            for_change: POLL.min(left),
            before_job: has_room.then_some(before_job),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOK: PollLook = PollLook {
        has_news: false,
        is_guess: false,
        has_room: true,
        took: Duration::ZERO,
        left: Duration::from_secs(20),
    };

    fn waits(look: PollLook) -> PollWaits {
        match look.step() {
            PollStep::Wait(waits) => waits,
            other @ (PollStep::Answer | PollStep::LookAgain) => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_poll_answers_when_there_is_news_or_its_time_is_over() {
        let over = Duration::ZERO;
        for look in [
            PollLook { has_news: true, ..LOOK },
            PollLook { has_news: true, is_guess: true, ..LOOK },
            PollLook { left: over, ..LOOK },
            PollLook { left: over, is_guess: true, ..LOOK },
        ] {
            assert_eq!(look.step(), PollStep::Answer, "{look:?}");
        }
        assert_eq!(PollLook { is_guess: true, ..LOOK }.step(), PollStep::LookAgain);
    }

    #[test]
    fn a_job_of_this_node_is_read_at_once_if_reading_is_cheap() {
        assert_eq!(waits(LOOK).before_job, Some(Duration::ZERO));
        assert_eq!(waits(PollLook { took: CHEAP, ..LOOK }).before_job, Some(CHEAP));
        assert_eq!(waits(PollLook { has_room: false, ..LOOK }).before_job, None);
    }

    #[test]
    fn reads_take_at_most_half_of_the_time_and_no_wait_outlasts_the_poll() {
        assert_eq!((waits(LOOK).before_change, waits(LOOK).for_change), (PACE, POLL));
        let slow = Duration::from_millis(700);
        assert_eq!(waits(PollLook { took: slow, ..LOOK }).before_change, slow);
        let left = Duration::from_millis(3);
        let last = PollWaits { before_change: left, for_change: left, before_job: Some(left) };
        assert_eq!(waits(PollLook { took: slow, left, ..LOOK }), last);
    }
}
