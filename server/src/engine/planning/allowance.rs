//! How many fires a schedule has left, if the number of its fires is limited.
//!
//! A fire counts if it starts or will start: if it is handed over now, waits for its turn,
//! or is buffered. Skipped, missed and collapsed fires do not count, nor do manual runs.
//! A fire counts when it is claimed, in the statement that moves the cursor,
//! and stays counted if the hand-off refuses it afterwards.

use std::collections::{HashMap, HashSet};

use entity::fire::Verdict;
use uuid::Uuid;

use crate::store::claims::{CursorAdvance, DueSchedule, NewFire};

/// Removes the fires beyond the schedule's limit. Returns the first of those.
pub(in crate::engine) fn cut_off(
    schedule: &DueSchedule,
    fires: &mut Vec<NewFire>,
) -> Option<NewFire> {
    let mut left = schedule.max_fires? - schedule.fire_count;
    let kept = fires.iter().take_while(|fire| {
        let has_any = left > 0;
        left -= i64::from(has_any && counts(fire));
        has_any
    });
    let kept = kept.count();
    fires.split_off(kept).into_iter().next()
}

/// Number of `fires` that count towards the limit.
pub(in crate::engine) fn counted(fires: &[NewFire]) -> i64 {
    i64::try_from(fires.iter().filter(|fire| counts(fire)).count()).unwrap_or(i64::MAX)
}

/// Subtracts fires that were not written because their instant already had a row.
pub(in crate::engine) fn discount(
    advances: &mut [CursorAdvance],
    fires: &[NewFire],
    written: &HashSet<Uuid>,
) {
    if written.len() == fires.len() {
        return;
    }
    let mut taken: HashMap<Uuid, i64> = HashMap::new();
    for fire in fires.iter().filter(|fire| counts(fire) && !written.contains(&fire.id)) {
        *taken.entry(fire.schedule_id).or_default() += 1;
    }
    for advance in advances {
        advance.fires -= taken.get(&advance.schedule_id).copied().unwrap_or(0);
    }
}

fn counts(fire: &NewFire) -> bool {
    fire.verdict == Verdict::Pending
}

#[cfg(test)]
mod tests {
    use entity::{
        Strings, Timestamp,
        fire::{Kind, Reason},
        schedule::{CatchUp, DstGap, DstOverlap, Overlap},
    };

    use super::*;

    fn schedule(max_fires: Option<i64>, fire_count: i64) -> DueSchedule {
        DueSchedule {
            id: Uuid::nil(),
            namespace_id: Uuid::nil(),
            version: 1,
            expressions: Strings::default(),
            zone: "UTC".to_owned(),
            dst_gap: DstGap::Shift,
            dst_overlap: DstOverlap::First,
            anchor_at: Timestamp(0),
            start_at: None,
            end_at: None,
            jitter_ms: 0,
            calendars: None,
            max_fires,
            fire_count,
            catch_up: CatchUp::Latest,
            grace_ms: 0,
            catch_up_max: 1,
            catch_up_spacing_ms: 0,
            catch_up_window_ms: 0,
            overlap: Overlap::Skip,
            buffer_limit: None,
            start_deadline_ms: None,
            paused_until: None,
            paused_missed: None,
            pause_from: None,
            created_at: Timestamp(0),
            updated_at: Timestamp(0),
            next_scheduled_at: Timestamp(0),
            next_fire_at: None,
        }
    }

    fn fires(verdicts: &[Verdict]) -> Vec<NewFire> {
        let fire = |(number, verdict): (i64, &Verdict)| NewFire {
            id: Uuid::from_u128(number.unsigned_abs().into()),
            namespace_id: Uuid::nil(),
            schedule_id: Uuid::nil(),
            schedule_version: 1,
            scheduled_at: Timestamp(number),
            due_at: Timestamp(number),
            last_scheduled_at: Timestamp(number),
            count: 1,
            kind: Kind::Normal,
            verdict: *verdict,
            reason: Reason::AwaitingHandoff,
            detail: None,
            claimed_by: None,
            queue_position: None,
            made_up_for: None,
        };
        (0..).zip(verdicts).map(fire).collect()
    }

    /// Number of fires that are kept, and the first fire that is cut off.
    fn cut(most: Option<i64>, count: i64, verdicts: &[Verdict]) -> (usize, Option<i64>) {
        let mut fires = fires(verdicts);
        let first = cut_off(&schedule(most, count), &mut fires);
        (fires.len(), first.map(|fire| fire.scheduled_at.0))
    }

    #[test]
    fn instants_after_the_last_permitted_fire_are_cut_off() {
        use Verdict::{Missed, Pending, Skipped};
        let some = [Missed, Pending, Skipped, Pending, Skipped, Pending];
        assert_eq!(cut(None, 0, &some), (6, None));
        assert_eq!(cut(Some(9), 5, &some), (6, None));
        assert_eq!(cut(Some(7), 5, &some), (4, Some(4)));
        assert_eq!(cut(Some(3), 0, &some), (6, None), "nothing lies behind it");
        assert_eq!(cut(Some(1), 0, &[]), (0, None));
    }

    #[test]
    fn without_remaining_fires_no_instant_is_kept() {
        assert_eq!(cut(Some(5), 5, &[Verdict::Pending; 2]), (0, Some(0)));
        assert_eq!(cut(Some(5), 7, &[Verdict::Missed]), (0, Some(0)));
    }

    #[test]
    fn a_slot_that_was_taken_is_given_back() {
        let fires = fires(&[Verdict::Pending, Verdict::Skipped, Verdict::Pending]);
        let mut advances = [CursorAdvance {
            schedule_id: Uuid::nil(),
            next_scheduled_at: None,
            next_fire_at: None,
            last_fire_at: None,
            fires: counted(&fires),
        }];
        discount(&mut advances, &fires, &HashSet::from([fires[1].id, fires[2].id]));
        assert_eq!(advances[0].fires, 1);
    }
}
