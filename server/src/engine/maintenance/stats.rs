//! Minute roll-ups for charts. One node counts settled runs and fires for the whole cluster.
//!
//! Each settled run is counted once, in the minute in which it ended, however late it is written
//! and whichever process dies in the meantime. Nothing is written per fire, or while nothing
//! happens. Counting follows the change feed, a bounded number of runs at a time, so it also
//! catches up with a ledger that was never counted. After two days, the minutes of an hour are
//! merged into one roll-up: a chart over weeks is as quick as one over days.
//!
//! The runs and jobs that wait are counted every few seconds, and a count stands for the time since
//! the previous one. An empty queue writes nothing.
//!
//! Counts are kept by namespace, not by schedule.
//! A hundred thousand schedules that fire each minute would need a hundred thousand rows a minute.
//! Figures of a single schedule are computed from its own history, which is short.
//!
//! The number of history rows in each namespace is also counted, for its quota: settled runs with
//! their attempts in the same transaction, and fires by their keys.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use chrono::{DateTime, TimeDelta, Utc};
use entity::Timestamp;

use crate::{
    engine::{
        EngineError,
        cluster::{LeaseTerm, lead},
        core::Core,
        service::Service,
    },
    store::{
        Cursor,
        counts::Rollup,
        hours::by_minute_since,
        reads::feed,
        stats::{NamespaceMinute, SettledRun, UnrunVerdicts},
    },
};

/// The name of the lease of the node that counts.
const LEASE: &str = "stats";
/// The pause between two rounds while there is more to count.
const SOON: Duration = Duration::from_millis(200);
/// Maximum number of runs that one transaction counts.
const BATCH: u64 = 5_000;
/// Maximum number of such transactions per round.
const BATCHES: usize = 10;
/// Fires without a run are looked up again for this long, because
/// a verdict is written a moment after its timestamp.
const MOMENT: TimeDelta = TimeDelta::seconds(5);
/// Occasionally a verdict is written much later.
/// So all recent minutes are looked up at this interval.
const REVISION: TimeDelta = TimeDelta::minutes(5);
const REVISED: TimeDelta = TimeDelta::minutes(10);
/// Number of minutes that one transaction merges into hours.
const PAST_MINUTES: u64 = 120;

/// How long after the start of their claim fires are counted. By then the whole claim is committed.
const CLAIMED: TimeDelta = TimeDelta::seconds(30);

/// A queue of more than this many runs and jobs takes a while to count, so it is counted only once a
/// minute.
const LONG_QUEUE: i64 = 10_000;
const LONG_QUEUE_PAUSE: TimeDelta = TimeDelta::minutes(1);
/// The longest time for which a count of a queue can stand. If the previous count is longer ago,
/// what waited before is unknown.
const MAX_WAITED: TimeDelta = TimeDelta::minutes(2);

const MINUTE_MS: i64 = 60_000;

/// The service that counts settled runs and fires.
#[derive(Debug)]
pub(in crate::engine) struct Stats {
    core: Arc<Core>,
    /// Whether the last round ended before the end of the feed.
    has_more: bool,
    /// The recent counts of fires without a run, as they were written.
    unrun: HashMap<NamespaceMinute, UnrunVerdicts>,
    /// When these counts were last looked up.
    looked: Option<LastLookups>,
    /// The last count of the queues.
    queues: Option<LastDepth>,
    /// All roll-ups before this time are hourly.
    hours_until: Option<Timestamp>,
}

/// When fires without a run were last looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LastLookups {
    /// When the newest minutes were last looked up.
    last: DateTime<Utc>,
    /// When all recent minutes were last looked up.
    revised: DateTime<Utc>,
}

impl LastLookups {
    /// The minute from which to look up, and the lookup times to keep. Each minute is looked up
    /// while it lasts, right after its end, and once more five to ten minutes later.
    fn at(before: Option<Self>, now: DateTime<Utc>) -> (Timestamp, Self) {
        let recent = before.filter(|before| before.last <= now && now - before.revised < REVISION);
        let from = recent.map_or(now - REVISED, |recent| recent.last - MOMENT);
        let revised = recent.map_or(now, |recent| recent.revised);
        (minute_of(from.into()), Self { last: now, revised })
    }
}

/// The last count of the queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LastDepth {
    at: DateTime<Utc>,
    /// Number of runs and jobs that waited.
    waiting: i64,
}

impl LastDepth {
    /// How long a count at `now` stands for; `None` if it is too early to count again. The first
    /// count stands for no time.
    fn waited(before: Option<Self>, now: DateTime<Utc>, interval: TimeDelta) -> Option<TimeDelta> {
        let Some(before) = before.filter(|before| before.at <= now) else {
            return Some(TimeDelta::zero());
        };
        let pause = if before.waiting > LONG_QUEUE { LONG_QUEUE_PAUSE } else { interval };
        let waited = now - before.at;
        (waited >= pause).then_some(waited.min(MAX_WAITED))
    }
}

/// The results of a round of counting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatsReport {
    /// Number of settled runs that were counted.
    pub runs: usize,
    /// Number of minutes whose counts of fires without a run were written.
    pub unrun: usize,
    /// Number of namespaces in which something waited.
    pub queues: usize,
    /// Number of hours whose minutes were merged into one roll-up.
    pub hours: usize,
    /// Number of fires that were counted for the quotas of history.
    pub fires: usize,
}

impl Stats {
    pub(in crate::engine) fn new(core: Arc<Core>) -> Self {
        Self {
            core,
            has_more: false,
            unrun: HashMap::new(),
            looked: None,
            queues: None,
            hours_until: None,
        }
    }

    /// Counts a batch of the feed.
    /// Returns how many runs had settled, and whether more is left to count.
    async fn count(&self, lease: &LeaseTerm) -> Result<(usize, bool), EngineError> {
        let (store, clock) = (&self.core.store, &self.core.clock);
        let before = store.counted_until().await?;
        let after = before.unwrap_or(Cursor::START);
        let end = feed::end_of_runs(store).await?;
        // If the last rows were removed, the end of the feed is before the position.
        // New rows come after the position.
        if end <= after {
            return Ok((0, false));
        }
        let runs = store.settled_between(after, end, BATCH).await?;
        let has_more = runs.len() as u64 == BATCH;
        let until = match runs.last() {
            Some(last) if has_more => Cursor { changed: last.changed, id: last.id },
            // Skip to the end, so that changed rows that have not settled are not read again.
            Some(_) | None => end,
        };
        let counts: Vec<_> = roll_up(&runs).into_iter().collect();
        let rows = store.rows_of_settled(&runs).await?;
        let Some(tx) = lease.begin(store, clock).await? else { return Ok((0, false)) };
        if !store.add_counts_if_at(&tx, &counts, before, until).await? {
            tx.rollback().await?;
            return Ok((0, false));
        }
        store.add_history(&tx, &rows).await?;
        store.commit_unseen(tx).await?;
        Ok((runs.len(), has_more))
    }

    /// Counts the fires that were claimed since the last round.
    async fn count_fires(
        &mut self,
        lease: &LeaseTerm,
        now: DateTime<Utc>,
    ) -> Result<usize, EngineError> {
        let (store, clock) = (&self.core.store, &self.core.clock);
        let until = Timestamp::from(now - CLAIMED);
        let mut counted = 0;
        for _ in 0..BATCHES {
            let after = store.fires_counted_until().await?;
            let Some(fires) = store.fires_between(after, until, BATCH).await? else {
                return Ok(counted);
            };
            let Some(tx) = lease.begin(store, clock).await? else { return Ok(counted) };
            if !store.add_fires_if_at(&tx, after, &fires).await? {
                tx.rollback().await?;
                return Ok(counted);
            }
            store.commit_unseen(tx).await?;
            counted += fires.count;
        }
        self.has_more = true;
        Ok(counted)
    }

    /// Writes the recent counts of fires without a run that differ from the written ones.
    async fn note_unrun(
        &mut self,
        lease: &LeaseTerm,
        now: DateTime<Utc>,
    ) -> Result<usize, EngineError> {
        let (store, clock) = (&self.core.store, &self.core.clock);
        let (since, looked) = LastLookups::at(self.looked, now);
        let found = store.unrun_since(since).await?;
        let key = |row: &UnrunVerdicts| NamespaceMinute {
            namespace_id: row.namespace_id,
            minute: row.minute,
        };
        let found: HashMap<NamespaceMinute, UnrunVerdicts> =
            found.into_iter().map(|row| (key(&row), row)).collect();
        let news = found.values().filter(|row| self.unrun.get(&key(row)) != Some(row)).copied();
        // A minute whose rows are gone gets zeros: a backfill has run all of its fires.
        let looked_up = self.unrun.values().filter(|row| row.minute >= since);
        let gone = looked_up.filter(|row| !found.contains_key(&key(row)));
        let none = gone.map(|row| UnrunVerdicts { missed: 0, skipped: 0, abandoned: 0, ..*row });
        let news: Vec<UnrunVerdicts> = news.chain(none).collect();
        if !news.is_empty() {
            let Some(tx) = lease.begin(store, clock).await? else { return Ok(0) };
            store.set_unrun(&tx, &news).await?;
            store.commit_unseen(tx).await?;
        }
        let oldest = minute_of((now - REVISED).into());
        self.unrun.retain(|at, _| (oldest..since).contains(&at.minute));
        self.unrun.extend(found);
        self.looked = Some(looked);
        Ok(news.len())
    }

    /// Counts what waits. Returns the number of namespaces in which something waits.
    async fn note_queues(
        &mut self,
        lease: &LeaseTerm,
        now: DateTime<Utc>,
    ) -> Result<usize, EngineError> {
        let (store, clock) = (&self.core.store, &self.core.clock);
        let interval = TimeDelta::from_std(self.core.settings.stats_interval).unwrap_or_default();
        let Some(waited) = LastDepth::waited(self.queues, now, interval) else { return Ok(0) };
        let depths = store.queue_depths(now.into()).await?;
        if !depths.is_empty() && waited > TimeDelta::zero() {
            let Some(tx) = lease.begin(store, clock).await? else { return Ok(0) };
            for (minute, waited_ms) in shares(now.into(), waited) {
                store.add_depths(&tx, minute, &depths, waited_ms).await?;
            }
            store.commit_unseen(tx).await?;
        }
        let waiting = depths.iter().map(|depth| depth.runs + depth.jobs).sum();
        self.queues = Some(LastDepth { at: now, waiting });
        Ok(depths.len())
    }

    /// Merges the minutes of each hour that is old enough. Returns the number of hours.
    async fn roll_up_hours(
        &mut self,
        lease: &LeaseTerm,
        now: DateTime<Utc>,
    ) -> Result<usize, EngineError> {
        let (store, clock) = (&self.core.store, &self.core.clock);
        let until = by_minute_since(now);
        if self.hours_until == Some(until) {
            return Ok(0);
        }
        let mut done = 0;
        for _ in 0..BATCHES {
            let hours = store.hours_by_minute(until, PAST_MINUTES).await?;
            if hours.is_empty() {
                self.hours_until = Some(until);
                return Ok(done);
            }
            let Some(tx) = lease.begin(store, clock).await? else { return Ok(done) };
            store.roll_up_hours(&tx, &hours).await?;
            store.commit_unseen(tx).await?;
            done += hours.len();
        }
        self.has_more = true;
        Ok(done)
    }
}

impl Service for Stats {
    type Report = StatsReport;
    const NAME: &'static str = "stats";

    async fn run_once(&mut self, now: DateTime<Utc>) -> Result<StatsReport, EngineError> {
        let mut report = StatsReport::default();
        self.has_more = false;
        let Some(lease) = lead(&self.core, LEASE, self.core.settings.stats_interval * 3).await?
        else {
            // Another node may have written counts in the meantime.
            self.unrun.clear();
            (self.looked, self.queues, self.hours_until) = (None, None, None);
            return Ok(report);
        };
        report.unrun = self.note_unrun(&lease, now).await?;
        for _ in 0..BATCHES {
            let (runs, has_more) = self.count(&lease).await?;
            report.runs += runs;
            self.has_more = has_more;
            if !has_more {
                break;
            }
        }
        report.fires = self.count_fires(&lease, now).await?;
        report.hours = self.roll_up_hours(&lease, now).await?;
        // A long queue takes a while to count, and a failure must not hold up the other counts.
        report.queues = self.note_queues(&lease, now).await?;
        Ok(report)
    }

    fn next_round(&mut self, now: DateTime<Utc>) -> DateTime<Utc> {
        let pause = if self.has_more { SOON } else { self.core.settings.stats_interval };
        now + TimeDelta::from_std(pause).unwrap_or_default()
    }

    fn is_notable(report: &StatsReport) -> bool {
        // A queue that stands is no news.
        StatsReport { queues: 0, ..*report } != StatsReport::default()
    }
}

/// The start of the minute that contains an instant.
fn minute_of(at: Timestamp) -> Timestamp {
    Timestamp(at.0 - at.0.rem_euclid(MINUTE_MS))
}

/// The minutes of the time that ends at `until`, each with its share in milliseconds.
fn shares(until: Timestamp, waited: TimeDelta) -> Vec<(Timestamp, i64)> {
    let mut shares = Vec::new();
    let mut from = until.0 - waited.num_milliseconds();
    while from < until.0 {
        let minute = minute_of(Timestamp(from));
        let end = until.0.min(minute.0 + MINUTE_MS);
        shares.push((minute, end - from));
        from = end;
    }
    shares
}

/// Sums up settled runs by namespace and minute.
fn roll_up(runs: &[SettledRun]) -> BTreeMap<NamespaceMinute, Rollup> {
    let mut minutes: BTreeMap<NamespaceMinute, Rollup> = BTreeMap::new();
    for run in runs {
        let minute = minute_of(run.finished_at);
        let minute = NamespaceMinute { namespace_id: run.namespace_id, minute };
        minutes.entry(minute).or_default().add(run);
    }
    minutes
}

#[cfg(test)]
mod tests {
    use entity::run;
    use uuid::Uuid;

    use super::*;

    fn run(namespace: u128, state: run::State, finished_at: i64) -> SettledRun {
        SettledRun {
            id: Uuid::nil(),
            changed: 1,
            namespace_id: Uuid::from_u128(namespace),
            schedule_id: None,
            state,
            trigger: run::Trigger::Schedule,
            is_recovery: false,
            due_at: Timestamp(59_000),
            created_at: Timestamp(59_250),
            started_at: Some(Timestamp(59_500)),
            finished_at: Timestamp(finished_at),
        }
    }

    #[test]
    fn each_minute_is_looked_up_right_after_it_and_once_more_minutes_later() {
        let at = |seconds: i64| DateTime::from_timestamp(6_000 + seconds, 0).unwrap();
        let (mut looked, mut minutes, mut last) = (None, 0, 0);
        let mut seen: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        for now in (5..3_600).step_by(10) {
            let (since, then) = LastLookups::at(looked, at(now));
            looked = Some(then);
            for minute in since.0 / MINUTE_MS..=at(now).timestamp() / 60 {
                seen.entry(minute).or_default().push(at(now).timestamp() - minute * 60);
                minutes += 1;
            }
            last = at(now).timestamp();
        }
        for (minute, ages) in seen.range(100..last / 60 - 11) {
            assert!(ages.iter().any(|age| (60..=70).contains(age)), "{minute}: {ages:?}");
            assert!(ages.iter().any(|age| (360..=660).contains(age)), "{minute}: {ages:?}");
        }
        assert!(minutes < 60 * 10, "ten times a minute at most: {minutes}");
        // After the clock was set back, the lookup is the same as the first one.
        let (since, then) = LastLookups::at(looked, at(0));
        assert_eq!((since, then), LastLookups::at(None, at(0)));
    }

    #[test]
    fn a_count_of_the_queues_stands_for_the_time_since_the_previous_one() {
        let at = |seconds: i64| DateTime::from_timestamp(6_000 + seconds, 0).unwrap();
        let (second, interval) = (TimeDelta::seconds, TimeDelta::seconds(10));
        let waited = |waiting, now| {
            LastDepth::waited(Some(LastDepth { at: at(0), waiting }), at(now), interval)
        };
        assert_eq!(LastDepth::waited(None, at(0), interval), Some(second(0)), "the first one");
        assert_eq!(
            [waited(5, 9), waited(5, 10), waited(5, 14)],
            [None, Some(second(10)), Some(second(14))]
        );
        assert_eq!([waited(10_001, 59), waited(10_001, 60)], [None, Some(second(60))]);
        assert_eq!(waited(5, 3_600), Some(second(120)), "what waited before is unknown");
        assert_eq!(waited(5, -1), Some(second(0)), "the clock was set back");
    }

    #[test]
    fn a_count_of_the_queues_is_divided_among_the_minutes_that_it_stands_for() {
        let shares = |until, seconds| -> Vec<(i64, i64)> {
            let shares = shares(Timestamp(until), TimeDelta::seconds(seconds)).into_iter();
            shares.map(|(minute, share)| (minute.0, share)).collect()
        };
        assert_eq!(shares(95_000, 10), [(60_000, 10_000)]);
        assert_eq!(shares(65_000, 60), [(0, 55_000), (60_000, 5_000)]);
        assert_eq!(shares(125_000, 70), [(0, 5_000), (60_000, 60_000), (120_000, 5_000)]);
        assert_eq!(shares(120_000, 60), [(60_000, 60_000)]);
        assert!(shares(120_000, 0).is_empty());
    }

    #[test]
    fn a_run_counts_in_the_minute_in_which_it_ended() {
        let by_hand = SettledRun {
            trigger: run::Trigger::Manual,
            started_at: None,
            ..run(1, run::State::Cancelled, 60_000)
        };
        let runs = [
            run(1, run::State::Succeeded, 59_999),
            run(1, run::State::Failed, 60_000),
            run(2, run::State::TimedOut, 119_999),
            by_hand,
        ];
        let minutes = roll_up(&runs);
        let at = |namespace, minute| {
            let namespace_id = Uuid::from_u128(namespace);
            minutes[&NamespaceMinute { namespace_id, minute: Timestamp(minute) }].counts
        };
        assert_eq!(minutes.len(), 3);
        assert_eq!((at(1, 0).succeeded, at(1, 0).duration_sum_ms), (1, 499));
        let second = at(1, 60_000);
        assert_eq!((second.failed, second.cancelled, second.succeeded), (1, 1, 0));
        assert_eq!((second.started, second.fired, second.lateness_max_ms), (1, 1, 250));
        assert_eq!(at(2, 60_000).timed_out, 1);
    }
}
