//! Decides which of a backfill's waiting fires start, are skipped or keep waiting. No IO.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use entity::{Timestamp, backfill, backfill_fire};
use uuid::Uuid;

use super::{InstantFacts, standing::InstantTurn};
use crate::{
    engine::execution::handoff,
    random::new_id,
    store::{
        backfill_runs::BackfillRun,
        backfills::{EndedFire, NextFire},
    },
};

/// Maximum number of fires that one transaction examines.
pub(super) const LOOKED_AT: usize = 200;

/// Number of fires to examine in order to fill `room` places, assuming
/// that few of the instants have run in the meantime.
pub(super) fn enough_for(room: usize) -> usize {
    (2 * room + 10).min(LOOKED_AT)
}

/// The decisions about a backfill's fires.
#[derive(Debug, Default)]
pub(super) struct ChosenFires {
    /// Runs to be queued for fires.
    pub(super) runs: Vec<BackfillRun>,
    /// Fires that end without a run.
    pub(super) ended: Vec<EndedFire>,
    /// Whether some of the fires wait for the planner.
    pub(super) waits: bool,
    /// Whether no fires are left that wait for their turn.
    pub(super) exhausted: bool,
    /// Whether the backfill should get another turn at once.
    pub(super) again: bool,
}

/// Decides about the waiting fires in order, until there is no room left.
/// `is_all` means that there are no waiting fires beyond these.
pub(super) fn choose(
    waiting: &[NextFire],
    is_all: bool,
    facts: &HashMap<Timestamp, InstantFacts>,
    others: &[Timestamp],
    backfill: &backfill::Model,
    room: usize,
    now: DateTime<Utc>,
) -> ChosenFires {
    let nothing = InstantFacts::default();
    // The ids are in the order of the fires: of two runs that wait for a
    // place, the one with the lower id starts first.
    let mut ids: Vec<Uuid> = (0..room).map(|_| new_id(now)).collect();
    ids.sort_unstable();
    let mut ids = ids.into_iter();
    let mut next = ChosenFires::default();
    for fire in waiting {
        let facts = facts.get(&fire.scheduled_at).unwrap_or(&nothing);
        match facts.turn(backfill.mode) {
            InstantTurn::Wait => next.waits = true,
            InstantTurn::Skip(why) => next.ended.push(EndedFire {
                position: fire.position,
                state: backfill_fire::State::Skipped,
                detail: Some(why),
                at: now.into(),
            }),
            InstantTurn::Start if others.contains(&fire.scheduled_at) => {
                // A run of another backfill for this instant
                // has settled, but its row is not updated yet.
                next.again = true;
                return next;
            }
            InstantTurn::Start => {
                let Some(id) = ids.next() else { return next };
                let row = facts.row.map(|row| row.fire_id);
                let unaccounted = facts.fire_id().is_none();
                next.runs.push(BackfillRun {
                    id,
                    position: fire.position,
                    scheduled_at: fire.scheduled_at,
                    kind: fire.kind,
                    fire_id: if unaccounted { Some(id) } else { row },
                    idempotency_key: handoff::idempotency_key(
                        backfill.schedule_id,
                        fire.scheduled_at.utc(),
                    ),
                });
            }
        }
    }
    next.exhausted = is_all && !next.waits;
    // If all of the fires wait for the planner, another turn would not help.
    next.again = !is_all && (!next.runs.is_empty() || !next.ended.is_empty());
    next
}

#[cfg(test)]
mod tests {
    use entity::{
        backfill::{Order, State},
        fire::Kind,
        run,
    };

    use super::*;
    use crate::store::instants::RunAt;

    fn backfill() -> backfill::Model {
        backfill::Model {
            id: Uuid::from_u128(1),
            namespace_id: Uuid::nil(),
            schedule_id: Uuid::from_u128(2),
            schedule_version: 1,
            from_at: Timestamp(0),
            to_at: Timestamp(10_000),
            mode: backfill::Mode::Missing,
            fire_order: Order::OldestFirst,
            concurrency: 2,
            total: 4,
            state: State::Running,
            reason: String::new(),
            context: None,
            created_by: String::new(),
            created_at: Timestamp(0),
            paused_by: None,
            paused_at: None,
            paused_reason: None,
            cancelled_by: None,
            cancel_reason: None,
            cancelled_at: None,
            finished_at: None,
            changed: 0,
        }
    }

    fn waiting(count: i32) -> Vec<NextFire> {
        let fire = |position: i32| NextFire {
            position,
            scheduled_at: Timestamp(i64::from(position) * 1_000),
            kind: Kind::Normal,
        };
        (0..count).map(fire).collect()
    }

    fn now() -> DateTime<Utc> {
        DateTime::from_timestamp(1_000, 0).unwrap()
    }

    #[test]
    fn as_many_start_as_there_is_room_for_in_their_order() {
        let next = choose(&waiting(4), true, &HashMap::new(), &[], &backfill(), 2, now());
        let places: Vec<i32> = next.runs.iter().map(|run| run.position).collect();
        assert_eq!(places, [0, 1]);
        assert!(next.runs[0].id < next.runs[1].id);
        assert!(next.runs.iter().all(|run| run.fire_id == Some(run.id)), "they account for it");
        assert_eq!(next.runs[1].idempotency_key, format!("{}-1", Uuid::from_u128(2)));
        assert!(!next.exhausted && !next.again);
        let last = choose(&waiting(2), true, &HashMap::new(), &[], &backfill(), 2, now());
        assert!(last.exhausted && !last.again);
    }

    #[test]
    fn instants_that_ran_meanwhile_take_no_place() {
        let at = Timestamp(0);
        let run = RunAt { at, run_id: Uuid::nil(), state: run::State::Succeeded };
        let facts =
            HashMap::from([(at, InstantFacts { runs: vec![run], ..InstantFacts::default() })]);
        let next = choose(&waiting(3), true, &facts, &[], &backfill(), 2, now());
        assert_eq!(next.ended.len(), 1);
        assert_eq!(next.ended[0].state, backfill_fire::State::Skipped);
        assert_eq!(next.runs.len(), 2);
        assert!(next.exhausted);
    }

    #[test]
    fn an_instant_that_waits_for_the_planner_delays_no_later_one() {
        let to_come = InstantFacts { is_to_come: true, ..InstantFacts::default() };
        let facts = HashMap::from([(Timestamp(0), to_come.clone())]);
        let next = choose(&waiting(2), true, &facts, &[], &backfill(), 2, now());
        assert_eq!(next.runs.iter().map(|run| run.position).collect::<Vec<_>>(), [1]);
        assert!(next.waits && !next.exhausted && !next.again);
        let next = choose(&waiting(1), false, &facts, &[], &backfill(), 2, now());
        assert!(next.waits && !next.exhausted && !next.again, "no round without an end");
    }

    #[test]
    fn when_all_that_wait_are_passed_over_nothing_is_left_however_many_they_were() {
        let count = i32::try_from(LOOKED_AT).unwrap();
        let done = |at| RunAt { at, run_id: Uuid::nil(), state: run::State::Succeeded };
        let facts = |fire: &NextFire| {
            let runs = vec![done(fire.scheduled_at)];
            (fire.scheduled_at, InstantFacts { runs, ..InstantFacts::default() })
        };
        let waiting = waiting(count);
        let facts: HashMap<_, _> = waiting.iter().map(facts).collect();
        let next = choose(&waiting, true, &facts, &[], &backfill(), 2, now());
        assert!(next.exhausted && !next.again);
        let next = choose(&waiting, false, &facts, &[], &backfill(), 2, now());
        assert!(next.again && !next.exhausted);
    }

    #[test]
    fn an_instant_that_another_backfill_has_on_its_books_is_looked_at_again() {
        let others = [Timestamp(1_000)];
        let next = choose(&waiting(3), true, &HashMap::new(), &others, &backfill(), 2, now());
        assert_eq!(next.runs.len(), 1);
        assert!(next.again && !next.exhausted);
    }
}
