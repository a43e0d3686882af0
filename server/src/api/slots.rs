//! The outcome of a schedule's due instants, and the interval that its runs would fit in.

use async_graphql::{Context, SimpleObject};
use entity::{
    Timestamp,
    fire::{Reason, Verdict},
    schedule,
};

use super::{
    context::ContextExt,
    error::Result,
    loaders::{FiguresOf, StatsRange},
    run_stats::Percentiles,
    scalar::{Instant, Long},
    schedule_stats::range,
};
use crate::{
    model::{fitting_interval, percentile},
    store::reads::{ledger, schedule_stats::RunFigures, within::Within},
};

/// The cost of counting them, in addition to the answer.
pub(super) const COST: usize = 5_000;

/// The outcome of a schedule's due instants: `expected` is always `ran + skipped + missed + open`.
#[derive(SimpleObject)]
pub(crate) struct SlotAccount {
    /// Inclusive.
    from: Instant,
    /// The end of the range, exclusive.
    until: Instant,
    /// Instants that were due.
    expected: Long,
    /// Instants for which a run was started.
    ran: Long,
    /// Instants that were skipped on purpose (because of a calendar, a pause, a change or a
    /// request) or for load (because of a live run, a full buffer, a start deadline or a quota).
    skipped: Long,
    /// How many of the skipped instants were blocked by a live run of the schedule.
    overlapped: Long,
    /// Instants that were lost: missed, collapsed into a later one, or abandoned.
    missed: Long,
    /// Instants without a run so far.
    open: Long,
    /// How long runs waited, from due to start; null if none has ended.
    waits: Option<Percentiles>,
    /// How long runs took, from start to end; null if none has ended.
    durations: Option<Percentiles>,
    /// The average time between two due instants; null if there was none.
    interval_seconds: Option<Long>,
    /// The shortest round interval in which 95 % of the runs would have ended before the next
    /// instant. Null if no run blocked a fire, or if the interval is already that long.
    suggested_interval_seconds: Option<Long>,
}

impl SlotAccount {
    pub(super) async fn of(
        cx: &Context<'_>,
        schedule: &schedule::Model,
        from: Option<Instant>,
        until: Option<Instant>,
    ) -> Result<Self> {
        let range = range(cx, from, until)?;
        let filter = ledger::Filter {
            schedules: Some(vec![schedule.id]),
            after: Some(range.from),
            before: Some(range.until),
            ..ledger::Filter::default()
        };
        let within = Within::One(schedule.namespace_id);
        let totals = ledger::totals(cx.store(), &within, &filter).await?;
        let figures = cx.rows().load_one(FiguresOf(schedule.id, range)).await?.unwrap_or_default();
        let from = totals.counted_from.unwrap_or(range.from);
        let range = StatsRange { from, ..range };
        Ok(Self::counted(range, schedule.created_at, &totals.groups, &figures))
    }

    fn counted(
        range: StatsRange,
        created_at: Timestamp,
        groups: &[ledger::VerdictGroup],
        figures: &RunFigures,
    ) -> Self {
        let count = |of: &dyn Fn(&ledger::VerdictGroup) -> bool| -> i64 {
            groups.iter().filter(|group| of(group)).map(|group| group.count).sum()
        };
        let expected = count(&|_| true);
        let overlapped = count(&|group| is_overlapped(group));
        // The schedule may be younger than the range.
        let first = range.from.max(created_at);
        let length = range.until.0.saturating_sub(first.0).max(0) / 1_000;
        let interval = (expected > 0).then(|| length / expected);
        let span = percentile(&figures.spans, 95).filter(|_| overlapped > 0);
        let suggested = span.and_then(fitting_interval);
        let suggested = suggested.filter(|seconds| interval.is_some_and(|now| *seconds > now));
        Self {
            from: range.from.into(),
            until: range.until.into(),
            expected: expected.into(),
            ran: count(&|group| group.verdict == Verdict::Started).into(),
            skipped: count(&|group| group.verdict == Verdict::Skipped).into(),
            overlapped: overlapped.into(),
            missed: count(&|group| is_lost(group.verdict)).into(),
            open: count(&|group| group.verdict == Verdict::Pending).into(),
            waits: Percentiles::exact(&figures.waits),
            durations: Percentiles::exact(&figures.durations),
            interval_seconds: interval.map(Into::into),
            suggested_interval_seconds: suggested.map(Into::into),
        }
    }
}

fn is_overlapped(group: &ledger::VerdictGroup) -> bool {
    let reasons = [Reason::Overlap, Reason::BufferFull, Reason::Replaced];
    group.verdict == Verdict::Skipped && reasons.contains(&group.reason)
}

fn is_lost(verdict: Verdict) -> bool {
    match verdict {
        Verdict::Missed | Verdict::Collapsed | Verdict::Abandoned => true,
        Verdict::Started | Verdict::Skipped | Verdict::Pending => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(skipped: i64, spans_minutes: &[i64]) -> SlotAccount {
        account_since(Timestamp(0), skipped, spans_minutes)
    }

    fn account_since(created_at: Timestamp, skipped: i64, spans_minutes: &[i64]) -> SlotAccount {
        let range = StatsRange { from: Timestamp(0), until: Timestamp(86_400_000) };
        let group = |verdict, reason, count| ledger::VerdictGroup { verdict, reason, count };
        let groups = [
            group(Verdict::Started, Reason::OnTime, 48),
            group(Verdict::Skipped, Reason::Overlap, skipped),
            group(Verdict::Missed, Reason::Outage, 0),
        ];
        let spans = spans_minutes.iter().map(|minutes| minutes * 60_000).collect();
        let figures = RunFigures { spans, ..RunFigures::default() };
        SlotAccount::counted(range, created_at, &groups, &figures)
    }

    #[test]
    fn the_interval_of_a_new_schedule_counts_from_its_creation() {
        // 144 instants in the last hour of the day, and runs of five minutes.
        let young = account_since(Timestamp(82_800_000), 96, &[5]);
        assert_eq!(young.interval_seconds.map(|seconds| seconds.0), Some(25));
        assert_eq!(young.suggested_interval_seconds.map(|seconds| seconds.0), Some(300));
    }

    #[test]
    fn runs_that_are_in_the_way_suggest_a_longer_interval() {
        let crowded = account(96, &[40, 41, 43]);
        assert_eq!((crowded.expected.0, crowded.ran.0, crowded.overlapped.0), (144, 48, 96));
        assert_eq!(crowded.interval_seconds.map(|seconds| seconds.0), Some(600));
        assert_eq!(crowded.suggested_interval_seconds.map(|seconds| seconds.0), Some(2_700));
    }

    #[test]
    fn without_a_run_in_the_way_nothing_is_suggested() {
        assert!(account(0, &[40]).suggested_interval_seconds.is_none());
        assert!(account(96, &[]).suggested_interval_seconds.is_none());
        // The interval already fits: the blocking run was an exception.
        assert!(account(96, &[4]).suggested_interval_seconds.is_none());
    }
}
