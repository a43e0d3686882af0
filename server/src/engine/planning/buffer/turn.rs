use chrono::{DateTime, Utc};
use timetable::overlap::{Fate, Occupancy, Others};

use super::{Clearing, Demand, policy};
use crate::{
    engine::execution::handoff,
    store::{
        buffers::{BufferQueue, Buffered, Queued},
        claims::Live,
        handoffs::{DecidedFire, Intent},
    },
};

/// The facts about a schedule on which the decisions depend.
#[derive(Clone, Copy, Debug)]
pub(super) struct BufferFacts<'a> {
    /// The schedule and its queue; `None` if the schedule's row is gone.
    pub(super) queue: Option<&'a BufferQueue>,
    pub(super) live: Option<Live>,
    pub(super) buffered: Buffered,
    /// Number of runs that the same transaction may stop.
    pub(super) stoppable: usize,
    pub(super) now: DateTime<Utc>,
}

/// The decisions about unowned intents.
#[derive(Debug, Default)]
pub(super) struct BufferDecisions {
    /// Intents to hand over now.
    pub(super) start: Vec<Intent>,
    /// Intents that go into the buffer.
    pub(super) wait: Vec<Queued>,
    /// Intents that will not run, each with its verdict.
    pub(super) decided: Vec<DecidedFire>,
    pub(super) clearing: Clearing,
}

impl BufferDecisions {
    pub(super) fn extend(&mut self, other: Self) {
        self.start.extend(other.start);
        self.wait.extend(other.wait);
        self.decided.extend(other.decided);
        self.clearing.extend(other.clearing);
    }
}

/// Decides about the unowned intents of one schedule: those that wait, in the order
/// of the queue, and those that have become due.
pub(super) fn turn(intents: Vec<Intent>, facts: BufferFacts<'_>) -> BufferDecisions {
    let mut turn = BufferDecisions::default();
    let standing = facts.queue.map(handoff::SchedulePrecondition::from);
    let mut waiting = Vec::new();
    let mut due = Vec::new();
    for intent in intents {
        match handoff::refusal(&intent, standing, facts.now) {
            Some(decided) => turn.decided.push(decided),
            None if intent.queue_position.is_some() => waiting.push(intent),
            None => due.push(intent),
        }
    }
    let Some(queue) = facts.queue else { return turn };
    let policy = policy(queue.overlap, queue.buffer_limit);
    let live = facts.live.map_or(0, |live| usize::try_from(live.runs).unwrap_or(usize::MAX));
    let (Buffered { waiting: buffered, .. }, stoppable) = (facts.buffered, facts.stoppable);
    let standing = Occupancy { live, waiting: buffered, stoppable };
    // The due intents outside the buffer all run late,
    // because nothing else is claimed before its time.
    let plan = policy.follow(standing, due.len());
    let mut in_the_way = facts.live.map(|live| live.latest);

    if let Some(head) = waiting.first().filter(|head| head.made_up_for.is_none())
        && let others @ (Others::Cancel | Others::Terminate) = policy.presses(standing)
    {
        // This also stops runs that began after the fire started to wait,
        // and runs beyond the limit of an earlier transaction.
        turn.clearing.press(Demand {
            schedule_id: queue.id,
            fire_id: head.id,
            scheduled_at: head.scheduled_at,
            others,
            replaces_waiting: false,
        });
    }
    let released = policy.release(standing).min(waiting.len());
    turn.start.extend(waiting.drain(..released));
    in_the_way = turn.start.last().map(|intent| intent.id).or(in_the_way);
    let mut place = facts.buffered.last;
    for (intent, fate) in due.into_iter().zip(plan.fates) {
        match fate {
            Fate::Start => {
                in_the_way = Some(intent.id);
                turn.start.push(intent);
            }
            // A fire that runs after others is never skipped.
            Fate::Wait | Fate::Overlap | Fate::BufferFull | Fate::Replaced => {
                place += 1;
                let behind = match intent.made_up_for {
                    // The fire keeps the reason for its delay as its detail.
                    Some(_) => intent.detail.clone(),
                    None => in_the_way.map(|run| run.to_string()),
                };
                let (id, scheduled_at) = (intent.id, intent.scheduled_at);
                turn.wait.push(Queued { id, scheduled_at, place, behind });
            }
        }
    }
    turn
}

#[cfg(test)]
mod tests {
    use entity::{
        Timestamp,
        fire::{MadeUpFor, Reason},
        schedule::Overlap,
    };
    use uuid::Uuid;

    use super::*;

    fn queue(overlap: Overlap) -> BufferQueue {
        BufferQueue {
            id: Uuid::from_u128(9),
            version: 4,
            fires_version: 4,
            enabled: true,
            deleted_at: None,
            start_deadline_ms: None,
            jitter_ms: 0,
            overlap,
            buffer_limit: None,
        }
    }

    fn intent(number: u8, queue_position: Option<i64>) -> Intent {
        Intent {
            id: Uuid::from_u128(number.into()),
            namespace_id: Uuid::nil(),
            schedule_id: Uuid::from_u128(9),
            schedule_version: 4,
            scheduled_at: Timestamp(i64::from(number) * 1_000),
            due_at: Timestamp(i64::from(number) * 1_000),
            claimed_at: Timestamp(0),
            recovery_attempts: 0,
            queue_position,
            waited: queue_position.is_some(),
            made_up_for: None,
            detail: None,
        }
    }

    fn facts(queue: &BufferQueue, live: i64, buffered: (usize, i64)) -> BufferFacts<'_> {
        let latest = Uuid::from_u128(77);
        BufferFacts {
            queue: Some(queue),
            live: (live > 0).then_some(Live { runs: live, latest }),
            buffered: Buffered { waiting: buffered.0, last: buffered.1 },
            stoppable: 10,
            now: DateTime::from_timestamp(60, 0).unwrap(),
        }
    }

    fn started(turn: &BufferDecisions) -> Vec<u128> {
        turn.start.iter().map(|intent| intent.id.as_u128()).collect()
    }

    #[test]
    fn the_head_of_the_queue_starts_once_nothing_is_alive() {
        let queue = queue(Overlap::BufferAll);
        let waiting = || vec![intent(1, Some(4)), intent(2, Some(5))];
        assert_eq!(started(&turn(waiting(), facts(&queue, 0, (2, 5)))), [1]);
        assert_eq!(started(&turn(waiting(), facts(&queue, 1, (2, 5)))), []);
    }

    #[test]
    fn due_fires_wait_behind_those_already_waiting() {
        let queue = queue(Overlap::BufferAll);
        let turn = turn(vec![intent(1, Some(4)), intent(2, None)], facts(&queue, 0, (1, 4)));
        assert_eq!(started(&turn), [1]);
        let behind = Some(Uuid::from_u128(1).to_string());
        let (id, scheduled_at) = (Uuid::from_u128(2), Timestamp(2_000));
        assert_eq!(turn.wait, [Queued { id, scheduled_at, place: 5, behind }]);
    }

    #[test]
    fn caught_up_fires_wait_for_live_runs_and_stop_none() {
        for overlap in [Overlap::Skip, Overlap::BufferOne, Overlap::CancelOther] {
            let queue = queue(overlap);
            let made_up = |number, place| Intent {
                made_up_for: Some(MadeUpFor::Pause),
                ..intent(number, place)
            };
            let first = turn(vec![made_up(1, None), made_up(2, None)], facts(&queue, 1, (0, 0)));
            let places: Vec<_> = first.wait.iter().map(|queued| queued.place).collect();
            assert_eq!((places, first.decided.len()), (vec![1, 2], 0), "{overlap:?}");
            let waiting = || vec![made_up(1, Some(1)), made_up(2, Some(2))];
            let held = turn(waiting(), facts(&queue, 1, (2, 2)));
            assert!(held.start.is_empty() && held.clearing.is_empty(), "{overlap:?}");
            assert_eq!(started(&turn(waiting(), facts(&queue, 0, (2, 2)))), [1]);
        }
    }

    #[test]
    fn a_fire_that_follows_caught_up_ones_waits_for_them_and_stops_none() {
        for overlap in [Overlap::CancelOther, Overlap::TerminateOther] {
            let queue = queue(overlap);
            let follows = || {
                let made_up_for = Some(MadeUpFor::Follows);
                vec![Intent { made_up_for, ..intent(1, Some(1)) }]
            };
            let held = turn(follows(), facts(&queue, 1, (1, 1)));
            assert!(held.start.is_empty() && held.clearing.is_empty(), "{overlap:?}");
            assert_eq!(started(&turn(follows(), facts(&queue, 0, (1, 1)))), [1], "{overlap:?}");
        }
    }

    #[test]
    fn a_waiting_fire_is_refused_once_its_schedule_has_changed() {
        let edited = BufferQueue { version: 5, fires_version: 5, ..queue(Overlap::BufferAll) };
        let waiting = vec![intent(1, Some(4)), intent(2, Some(5))];
        let turn = turn(waiting, facts(&edited, 1, (0, 5)));
        let reasons: Vec<_> = turn.decided.iter().map(|fire| fire.reason).collect();
        assert_eq!(reasons, [Reason::StaleVersion; 2]);
        assert!(turn.start.is_empty());
    }

    #[test]
    fn a_fire_past_its_deadline_makes_way_for_the_next() {
        let hurried = BufferQueue { start_deadline_ms: Some(58_500), ..queue(Overlap::BufferAll) };
        let waiting = vec![intent(1, Some(4)), intent(2, Some(5))];
        let turn = turn(waiting, facts(&hurried, 0, (1, 5)));
        assert_eq!(turn.decided[0].reason, Reason::Deadline);
        assert_eq!(started(&turn), [2]);
    }
}
