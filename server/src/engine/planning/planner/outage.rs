//! What the claims after an outage would write. For previews: it uses the functions of a real claim,
//! without IO.
//!
//! Nothing is known about the time of the outage except its ends. So no run of the schedule is live
//! when it is over, no backfill has run any of its instants, and no quota is used up.

use chrono::{DateTime, TimeDelta, Utc};
use timetable::{
    Timetable,
    misfire::{Entry, Fate},
};
use uuid::Uuid;

use super::{
    claim::{Planned, behind},
    decision::{ClaimContext, DecidedEntries, ScheduleLoad, decide_within},
};
use crate::store::{
    buffers::Buffered,
    claims::{DueSchedule, NewFire},
};

/// Maximum number of claims that are previewed. One claim covers a thousand ranges of instants.
const MAX_CLAIMS: usize = 50;

const MOMENT: TimeDelta = TimeDelta::milliseconds(1);

/// What the claims after an outage would write.
#[derive(Clone, Debug)]
pub(crate) struct OutageEnd {
    /// The rows, in order.
    pub(crate) fires: Vec<NewFire>,
    /// Number of instants that were due and that no calendar suppresses.
    pub(crate) expected: u64,
    /// Number of instants that a calendar suppresses.
    pub(crate) suppressed: u64,
    /// Whether all instants are included.
    pub(crate) is_complete: bool,
}

/// The rows of the claims at `to`, if no scheduler runs from `from` until then. Instants before the
/// schedule's cursor are not included.
pub(crate) fn after_outage(
    schedule: &DueSchedule,
    timetable: &Timetable,
    from: DateTime<Utc>,
    to: DateTime<Utc>,
) -> OutageEnd {
    let mut end = OutageEnd { fires: Vec::new(), expected: 0, suppressed: 0, is_complete: true };
    let Some(first) = first_open(schedule, timetable, from, to) else { return end };
    let mut schedule = DueSchedule { next_scheduled_at: first.into(), ..schedule.clone() };
    let there = ScheduleLoad { live: None, buffered: Buffered::default(), stoppable: 0 };
    let moment = ClaimContext { now: to, node: Uuid::nil() };
    for _ in 0..MAX_CLAIMS {
        let cursor = schedule.next_scheduled_at;
        let is_spent = schedule.max_fires.is_some_and(|most| most <= schedule.fire_count);
        if is_spent || timetable.due_at(cursor.utc()) > to {
            return end;
        }
        let Planned { plan, last, .. } = Planned::new(schedule.clone(), timetable.clone(), to);
        end.count(&plan.entries);
        let DecidedEntries { fires, cut, .. } =
            decide_within(&schedule, plan.entries, there, None, moment);
        let advance = behind(&schedule, &fires, cut, timetable, plan.next, last);
        schedule.fire_count += advance.fires;
        end.fires.extend(fires);
        match advance.next_scheduled_at.filter(|next| *next > cursor) {
            Some(next) => schedule.next_scheduled_at = next,
            None => return end,
        }
    }
    end.is_complete = false;
    end
}

impl OutageEnd {
    fn count(&mut self, entries: &[Entry]) {
        for entry in entries {
            match entry.fate {
                Fate::Suppressed => self.suppressed += entry.count,
                Fate::Run
                | Fate::CatchUp
                | Fate::Collapsed
                | Fate::Missed
                | Fate::OutsideWindow
                | Fate::OverLimit => self.expected += entry.count,
            }
        }
    }
}

/// The first instant up to `to` that was not due before `from`. An instant before `from` is that
/// one if its jitter ends later.
fn first_open(
    schedule: &DueSchedule,
    timetable: &Timetable,
    from: DateTime<Utc>,
    to: DateTime<Utc>,
) -> Option<DateTime<Utc>> {
    let cursor = schedule.next_scheduled_at.utc();
    if cursor > to {
        return None;
    }
    let before = from - MOMENT;
    let jitter = TimeDelta::milliseconds(schedule.jitter_ms);
    let waits = timetable.last(before, before - jitter);
    let waits = waits.filter(|fire| timetable.due_at(fire.at) >= from);
    let first = waits.or_else(|| timetable.next(before))?.at;
    let first = if first < cursor { timetable.next(cursor - MOMENT)?.at } else { first };
    (first <= to).then_some(first)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use entity::{
        Strings, Timestamp,
        fire::{MadeUpFor, Reason, Verdict},
        schedule::{CatchUp, DstGap, DstOverlap, Overlap},
    };
    use timetable::Definition;

    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn schedule(expression: &str, catch_up: CatchUp) -> DueSchedule {
        DueSchedule {
            id: Uuid::from_u128(7),
            namespace_id: Uuid::nil(),
            version: 1,
            expressions: Strings(vec![expression.to_owned()]),
            zone: "Europe/Berlin".to_owned(),
            dst_gap: DstGap::Shift,
            dst_overlap: DstOverlap::First,
            anchor_at: Timestamp(0),
            start_at: None,
            end_at: None,
            jitter_ms: 0,
            pause_from: None,
            calendars: None,
            max_fires: None,
            fire_count: 0,
            catch_up,
            grace_ms: 60_000,
            catch_up_max: 3,
            catch_up_spacing_ms: 30_000,
            catch_up_window_ms: 86_400_000,
            overlap: Overlap::Skip,
            buffer_limit: None,
            start_deadline_ms: None,
            paused_until: None,
            paused_missed: None,
            created_at: Timestamp(0),
            updated_at: Timestamp(0),
            next_scheduled_at: Timestamp(0),
            next_fire_at: None,
        }
    }

    /// The effect of an outage on the schedule, in Berlin.
    fn end(schedule: &DueSchedule, from: &str, to: &str) -> OutageEnd {
        let definition = Definition {
            jitter: Duration::from_millis(schedule.jitter_ms.unsigned_abs()),
            seed: schedule.id.into_bytes(),
            ..Definition::new(schedule.expressions.0.clone(), &schedule.zone)
        };
        let timetable = Timetable::new(&definition).unwrap();
        after_outage(schedule, &timetable, at(from), at(to))
    }

    fn verdicts(end: &OutageEnd) -> Vec<(i64, Verdict)> {
        end.fires.iter().map(|fire| (fire.count, fire.verdict)).collect()
    }

    #[test]
    fn each_policy_decides_about_the_instants_of_an_outage() {
        use Verdict::{Collapsed, Missed, Pending};
        // 01:00 to 03:30 in Berlin, on a day without a clock change.
        let (from, to) = ("2026-10-19T23:00:00Z", "2026-10-20T01:30:00Z");
        let of = |catch_up| end(&schedule("0 * * * *", catch_up), from, to);
        let skipping = of(CatchUp::Skip);
        assert_eq!(verdicts(&skipping), [(1, Missed); 3]);
        assert_eq!((skipping.expected, skipping.is_complete), (3, true));
        let latest = of(CatchUp::Latest);
        assert_eq!(verdicts(&latest), [(1, Collapsed), (1, Collapsed), (1, Pending)]);
        let all = of(CatchUp::All);
        assert_eq!(verdicts(&all), [(1, Pending); 3]);
        let due: Vec<_> = all.fires.iter().map(|fire| fire.due_at.utc() - at(to)).collect();
        assert_eq!(due, [0, 30, 60].map(TimeDelta::seconds), "they follow one another");
        assert!(all.fires.iter().all(|fire| fire.made_up_for == Some(MadeUpFor::Outage)));
    }

    #[test]
    fn an_instant_at_the_end_of_an_outage_is_on_time() {
        let hourly = schedule("0 * * * *", CatchUp::Latest);
        let end = end(&hourly, "2026-10-20T10:00:00Z", "2026-10-20T12:00:00Z");
        let last = end.fires.last().unwrap();
        assert_eq!((last.verdict, last.made_up_for), (Verdict::Pending, None));
        assert_eq!(last.due_at.utc(), at("2026-10-20T12:00:00Z"));
        assert_eq!(end.expected, 3);
    }

    #[test]
    fn the_clock_change_of_the_outage_counts() {
        // The clock is set back from 03:00 to 02:00: both hours count for a wildcard.
        let outage = ("2026-10-24T23:00:00Z", "2026-10-25T02:30:00Z");
        let hourly = schedule("0 * * * *", CatchUp::All);
        let over_it = end(&hourly, outage.0, outage.1);
        assert_eq!(over_it.expected, 4);
        assert_eq!(over_it.fires[0].reason, Reason::CatchUpLimit, "three run at most");
        // A fixed time that occurs twice fires once.
        let fixed = schedule("30 2 * * *", CatchUp::All);
        assert_eq!(end(&fixed, outage.0, outage.1).expected, 1);
    }

    #[test]
    fn what_is_outside_an_outage_does_not_count() {
        let hourly = schedule("0 * * * *", CatchUp::All);
        let none = end(&hourly, "2026-10-20T10:00:01Z", "2026-10-20T10:59:59Z");
        assert_eq!((none.expected, none.fires.len()), (0, 0));
        // The cursor is behind the first instants: they are decided already.
        let ahead =
            DueSchedule { next_scheduled_at: at("2026-10-20T12:00:00Z").into(), ..hourly.clone() };
        assert_eq!(end(&ahead, "2026-10-20T09:30:00Z", "2026-10-20T12:30:00Z").expected, 1);
        let spent = DueSchedule { max_fires: Some(4), fire_count: 4, ..hourly.clone() };
        assert_eq!(end(&spent, "2026-10-20T09:30:00Z", "2026-10-20T12:30:00Z").expected, 0);
        let two = DueSchedule { max_fires: Some(4), fire_count: 2, ..hourly };
        assert_eq!(end(&two, "2026-10-20T09:30:00Z", "2026-10-20T12:30:00Z").fires.len(), 2);
    }

    #[test]
    fn an_instant_whose_jitter_reaches_into_the_outage_is_part_of_it() {
        let late = DueSchedule { jitter_ms: 1_800_000, ..schedule("0 * * * *", CatchUp::All) };
        let definition = Definition {
            jitter: Duration::from_mins(30),
            seed: late.id.into_bytes(),
            ..Definition::new(late.expressions.0.clone(), &late.zone)
        };
        let timetable = Timetable::new(&definition).unwrap();
        let instant = at("2026-10-20T10:00:00Z");
        let due = timetable.due_at(instant);
        let after = |from| after_outage(&late, &timetable, from, at("2026-10-20T10:59:00Z"));
        assert_eq!(after(due).expected, 1, "it is due at {due}");
        assert_eq!(after(due + MOMENT).expected, 0);
    }
}
