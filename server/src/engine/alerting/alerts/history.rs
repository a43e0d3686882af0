//! Reads the past events that a rule would have reported. What is read is bounded for each kind of
//! event, however long the past is.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use entity::{Timestamp, run::State};
use uuid::Uuid;

use super::{
    clocks::AffectedSchedule,
    replay::{PastChange, PastEvents, PastSlowRun},
    rule::{ActiveRule, AlertEvent},
    scope::{RuleScopes, by_namespace},
    slow::{LOOKED_AT, MAX, RUNS, SHORTEST},
};
use crate::{
    model::{Spec, UsualDuration},
    store::{
        Store, StoreError,
        alerts::{
            past::{self, PastDuration, PastLongRun},
            standing,
        },
        reads::{schedules, search::TimedSearch, within::Within},
    },
};

/// Maximum number of rows that are read of each kind: failed runs, late runs, fires that were not
/// run, fires that were skipped for load, long runs, lost nodes, and schedules on local clocks.
const MAX_ROWS: u64 = 5_000;
/// Maximum number of schedules whose usual durations are computed.
const MAX_USUAL: usize = 200;
/// Maximum number of runs of a schedule that are read for its usual durations.
const MAX_DURATIONS: u64 = 500;
/// Maximum number of schedules whose runs are read by one query.
const PAGE: usize = 100;
/// Maximum number of clock changes examined for one schedule. The clocks of most zones change twice
/// a year.
const MAX_CHANGES: usize = 8;

/// The past that a rule is tried against.
pub(super) struct EventHistory<'a> {
    pub(super) store: &'a Store,
    pub(super) timings: &'a timetable::Cache,
    pub(super) active: &'a ActiveRule,
    /// The start of the period.
    pub(super) from: DateTime<Utc>,
    /// The end of the period.
    pub(super) now: DateTime<Utc>,
}

impl EventHistory<'_> {
    /// Reads the events that the rule reports, and which of their schedules it covers.
    pub(super) async fn read(&self) -> Result<(PastEvents, RuleScopes), StoreError> {
        let (store, namespace) = (self.store, self.active.row.namespace_id);
        let since = self.from.into();
        let tells = |event| self.active.rule.tells(event);
        let fails =
            tells(AlertEvent::Failed) || tells(AlertEvent::Losing) || tells(AlertEvent::Recovered);
        let mut past = PastEvents::default();
        if fails {
            past.failures = past::failures(store, namespace, since, MAX_ROWS + 1).await?;
        }
        if tells(AlertEvent::Late) {
            past.late = past::late(store, namespace, since, MAX_ROWS + 1).await?;
        }
        if tells(AlertEvent::Missed) {
            past.missed = past::missed(store, namespace, since, MAX_ROWS + 1).await?;
        }
        if tells(AlertEvent::Skipped) {
            past.skipped = past::skipped(store, namespace, since, MAX_ROWS + 1).await?;
        }
        if tells(AlertEvent::NodeLost) {
            past.lost = past::lost_nodes(store, since, MAX_ROWS + 1).await?;
        }
        let mut long = Vec::new();
        if tells(AlertEvent::Slow) {
            long = past::long(store, namespace, since, MAX_ROWS + 1).await?;
        }
        let rows = [
            past.failures.len(),
            past.late.len(),
            past.missed.len(),
            past.skipped.len(),
            past.lost.len(),
            long.len(),
        ];
        past.is_cut = rows.into_iter().any(is_over);
        if tells(AlertEvent::Slow) {
            let before = (self.now - SHORTEST).into();
            let live = standing::at_work(store, &[namespace], before, MAX).await?;
            long.extend(live.into_iter().map(|run| PastLongRun { run, finished_at: None }));
        }
        if tells(AlertEvent::ClockChange) {
            self.read_clock_changes(&mut past).await?;
        }
        let scopes = self.scopes(&past, &long).await?;
        self.read_slow(&mut past, long, &scopes).await?;
        Ok((past, scopes))
    }

    async fn scopes(
        &self,
        past: &PastEvents,
        long: &[PastLongRun],
    ) -> Result<RuleScopes, StoreError> {
        let runs = past.failures.iter().map(|failure| &failure.run).chain(&past.late);
        let runs = runs.map(|run| (run.namespace_id, run.schedule_id));
        let long = long.iter().map(|long| (long.run.namespace_id, long.run.schedule_id));
        let fires = past.missed.iter().map(|fire| (fire.namespace_id, fire.schedule_id));
        let skips = past.skipped.iter().map(|skip| (skip.namespace_id, skip.schedule_id));
        let changes = past.changes.iter().map(|change| &change.affected);
        let changes = changes.map(|affected| (affected.namespace_id, affected.schedule_id));
        let by = by_namespace(runs.chain(long).chain(fires).chain(skips).chain(changes));
        let rules = std::slice::from_ref(self.active);
        RuleScopes::read(self.store, rules, &by, self.now.into()).await
    }

    /// Computes the clock changes that the rule would have announced, by the present definitions of
    /// the schedules.
    async fn read_clock_changes(&self, past: &mut PastEvents) -> Result<(), StoreError> {
        let sought = |search| TimedSearch { search, at: self.now.into(), in_errors: false };
        let search = self.active.search.clone().map(sought);
        let filter = schedules::Filter { search, ..schedules::Filter::default() };
        let within = Within::One(self.active.row.namespace_id);
        let mut rows =
            schedules::on_local_clocks(self.store, &within, &filter, MAX_ROWS + 1).await?;
        past.is_cut |= is_over(rows.len());
        rows.truncate(usize::try_from(MAX_ROWS).unwrap_or(usize::MAX));
        let days = self.active.rule.clock_change_days;
        let ahead = TimeDelta::try_days(days).unwrap_or_default();
        let until = self.now + ahead;
        for row in rows {
            let definition = Spec::of(&row).timing.definition(row.id, row.anchor_at.utc());
            // A timing that can no longer be used does not fire: the schedule's warnings say why.
            if let Ok(timetable) = self.timings.timetable(&definition) {
                let next = |last: &timetable::ClockChange| timetable.clock_change(last.at, until);
                let first = timetable.clock_change(self.from, until);
                for change in std::iter::successors(first, next).take(MAX_CHANGES) {
                    let noticed_at = (change.at - ahead).max(self.from).max(row.created_at.utc());
                    if noticed_at < change.at && noticed_at <= self.now {
                        let (schedule_id, namespace_id) = (row.id, row.namespace_id);
                        let affected = AffectedSchedule { schedule_id, namespace_id, change };
                        past.changes.push(PastChange { affected, noticed_at });
                    }
                }
            }
            // Yield to other tasks, however many schedules there are.
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    /// Reads how long earlier runs of the schedules took that the rule covers.
    async fn read_slow(
        &self,
        past: &mut PastEvents,
        long: Vec<PastLongRun>,
        scopes: &RuleScopes,
    ) -> Result<(), StoreError> {
        let mut by: BTreeMap<Uuid, Vec<PastLongRun>> = BTreeMap::new();
        for one in long {
            if scopes.name(self.active.row.id, one.run.schedule_id).is_some() {
                by.entry(one.run.schedule_id).or_default().push(one);
            }
        }
        past.is_cut |= by.len() > MAX_USUAL;
        let schedules: Vec<Uuid> = by.keys().copied().take(MAX_USUAL).collect();
        let since = (self.from - LOOKED_AT).into();
        for ids in schedules.chunks(PAGE) {
            let durations = past::durations(self.store, ids, since, MAX_DURATIONS).await?;
            for id in ids {
                let (Some(long), Some(runs)) = (by.get(id), durations.get(id)) else { continue };
                past.slow.extend(long.iter().filter_map(|one| {
                    let usual = usual_before(one, runs)?;
                    Some(PastSlowRun { long: *one, usual })
                }));
            }
        }
        Ok(())
    }
}

fn is_over(rows: usize) -> bool {
    u64::try_from(rows).is_ok_and(|rows| rows > MAX_ROWS)
}

/// The usual duration when the run started: that of the newest runs before it. `runs` are the
/// schedule's newest, newest first; if they do not reach back to that time, they themselves show
/// what is usual.
fn usual_before(one: &PastLongRun, runs: &[PastDuration]) -> Option<UsualDuration> {
    let earlier = &runs[runs.partition_point(|run| run.id >= one.run.id)..];
    let is_full = u64::try_from(runs.len()).is_ok_and(|count| count >= MAX_DURATIONS);
    let is_beyond = is_full && earlier.len() < UsualDuration::MIN_RUNS;
    let known = |finished: Timestamp| is_beyond || finished <= one.run.started_at;
    let success = |run: &PastDuration| {
        let (started, finished) = (run.started_at?, run.finished_at?);
        let counts = run.state == State::Succeeded && run.id != one.run.id && known(finished);
        counts.then(|| (finished.0 - started.0).max(0))
    };
    let newest = usize::try_from(RUNS).unwrap_or(usize::MAX);
    let shown = if is_beyond { runs } else { earlier };
    UsualDuration::of(shown.iter().take(newest).filter_map(success).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::alerts::standing::LongRun;

    /// The runs of these numbers, newest first: one begins each minute and takes that many
    /// milliseconds.
    fn runs(took: &[(u128, i64)]) -> Vec<PastDuration> {
        let run = |(number, took): &(u128, i64)| {
            let started = i64::try_from(*number).unwrap() * 60_000;
            PastDuration {
                id: Uuid::from_u128(*number),
                schedule_id: Uuid::nil(),
                state: State::Succeeded,
                started_at: Some(Timestamp(started)),
                finished_at: Some(Timestamp(started + took)),
            }
        };
        took.iter().rev().map(run).collect()
    }

    fn long(number: u128) -> PastLongRun {
        let run = LongRun {
            id: Uuid::from_u128(number),
            schedule_id: Uuid::nil(),
            namespace_id: Uuid::nil(),
            started_at: Timestamp(i64::try_from(number).unwrap() * 60_000),
        };
        PastLongRun { run, finished_at: None }
    }

    #[test]
    fn a_run_is_measured_against_those_before_it() {
        let took = [1_000, 1_000, 1_000, 1_000, 1_000, 900_000, 800_000, 7_000];
        let took: Vec<(u128, i64)> = (1..).zip(took).collect();
        let all = runs(&took);
        let p95 = |number| usual_before(&long(number), &all).map(|usual| usual.p95_ms());
        assert_eq!(p95(5), None, "four runs show no usual duration");
        assert_eq!(p95(6), Some(1_000));
        assert_eq!(p95(7), Some(1_000), "the sixth had not ended yet");
        assert_eq!(p95(30), Some(900_000));
    }

    #[test]
    fn a_run_before_all_that_were_read_is_measured_against_the_newest() {
        let newest: Vec<(u128, i64)> = (1_000..).map(|number| (number, 5_000)).take(500).collect();
        let usual = usual_before(&long(1), &runs(&newest)).unwrap();
        assert_eq!(usual.median_ms(), 5_000);
        assert_eq!(usual_before(&long(1), &runs(&newest[1..])), None, "these are all of its runs");
    }
}
