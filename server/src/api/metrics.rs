use async_graphql::{Context, Object, SimpleObject};
use chrono::{DateTime, TimeDelta, Utc};
use uuid::Uuid;

use super::{
    answer_cache::AnswerCache,
    context::ContextExt,
    error::Result,
    loaders::ScheduleRow,
    namespace_stats::{self, MAX_NAMESPACES, NamespaceComparison},
    page::{bounded_by, cost_by},
    query::{usual, within},
    run_stats::{Percentiles, RunStats},
    scalar::{Instant, Long},
};
use crate::{
    clock::Clock,
    commands::CommandError,
    store::{
        Store, StoreError,
        counts::{Counts, Rollup},
        depths,
        reads::{
            health::{self, HealthScope},
            overview,
            run_series::ChartSubject,
            stats,
            within::Within,
        },
    },
};

/// Queries of metrics and statistics.
#[derive(Default)]
pub(super) struct ReadingFigures;

/// Recently computed metrics, by the namespaces that they cover.
pub(super) type MetricsCache = AnswerCache<Within, Metrics>;

/// Queries of metrics and statistics.
#[Object]
impl ReadingFigures {
    /// Counts of the objects in a namespace, and figures of its last hour. Recounted at most every
    /// ten seconds.
    #[graphql(complexity = "200 + child_complexity")]
    async fn metrics(
        &self,
        cx: &Context<'_>,
        #[graphql(default_with = "usual()", desc = "If null, all namespaces that you may see.")]
        namespace: Option<String>,
    ) -> Result<Metrics> {
        cx.viewer()?;
        let within = within(cx, namespace.as_deref()).await?;
        Ok(figures(
            cx.store(),
            &cx.commands().clock,
            cx.data_unchecked::<std::sync::Arc<MetricsCache>>(),
            within,
        )
        .await?)
    }

    /// What settled in a namespace, summed for each step of a chart; a step is at least a minute
    /// long. A run counts in the minute in which it ended, within seconds of its end. With `tag` or
    /// `scheduleId`, individual runs and fires are read instead of the roll-ups, and runs that took
    /// longer than a day are left out.
    #[graphql(complexity = "1_000 + child_complexity")]
    async fn run_stats(
        &self,
        cx: &Context<'_>,
        #[graphql(default_with = "usual()", desc = "If null, all namespaces that you may see.")]
        namespace: Option<String>,
        #[graphql(desc = "An hour before `until` if absent.")] from: Option<Instant>,
        #[graphql(desc = "Now if absent.")] until: Option<Instant>,
        #[graphql(
            desc = "Step length in seconds, a multiple of 60; by default one that makes at most 400 \
                    steps. At most 1500 steps are returned. Roll-ups older than two days are hourly: \
                    a range that includes them has steps of whole hours, whatever is requested."
        )]
        step: Option<i32>,
        #[graphql(desc = "Only schedules that have this tag.")] tag: Option<String>,
        #[graphql(desc = "Only this schedule.")] schedule_id: Option<Uuid>,
    ) -> Result<RunStats> {
        cx.viewer()?;
        let within = within(cx, namespace.as_deref()).await?;
        if let Some(id) = schedule_id {
            let row = cx.rows().load_one(ScheduleRow(id)).await?;
            let is_there = row.is_some_and(|row| match within.one() {
                Some(namespace) => row.namespace_id == namespace,
                None => cx.is_home(row.namespace_id),
            });
            is_there.then_some(()).ok_or_else(|| CommandError::not_found("schedule", id))?;
        }
        let of = ChartSubject { within, tag, schedule: schedule_id };
        let now = cx.commands().clock.now();
        let until = until.map_or(now, |until| until.0);
        let from = from.map_or_else(|| until - TimeDelta::hours(1), |from| from.0);
        RunStats::read(cx.store(), &of, from, until, step, now).await
    }

    /// What settled in each namespace that you may see, summed for the range and for each of its
    /// steps. Counted as `runStats` counts.
    #[graphql(
        complexity = "namespace_stats::COST + cost_by(first, MAX_NAMESPACES, child_complexity)"
    )]
    async fn namespace_stats(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "A day before `until` if absent.")] from: Option<Instant>,
        #[graphql(desc = "Now if absent.")] until: Option<Instant>,
        #[graphql(
            desc = "Step length in seconds, a multiple of 60; by default one that makes at most 60 \
                    steps, which is also the maximum. Roll-ups older than two days are hourly: a \
                    range that includes them has steps of whole hours, whatever is requested."
        )]
        step: Option<i32>,
        #[graphql(default = 50, desc = "The number of namespaces, 1 to 100.")] first: i32,
    ) -> Result<NamespaceComparison> {
        cx.viewer()?;
        let most = bounded_by("first", first, MAX_NAMESPACES)?;
        let within = within(cx, None).await?;
        let now = cx.commands().clock.now();
        let until = until.map_or(now, |until| until.0);
        let from = from.map_or_else(|| until - TimeDelta::days(1), |from| from.0);
        NamespaceComparison::read(cx.store(), &within, from, until, step, most, now).await
    }
}

/// Counts of the objects in a namespace, and figures of its last hour.
#[derive(Clone, SimpleObject)]
pub(crate) struct Metrics {
    /// When the figures were counted.
    at: Instant,
    /// Schedules that are not deleted.
    total_schedules: i64,
    /// Schedules that will fire.
    active_schedules: i64,
    /// Schedules that are paused.
    paused_schedules: i64,
    /// Runs that have not settled.
    live_runs: Long,
    /// Runs that could start, and wait for a node or for their group.
    waiting_runs: Long,
    /// Jobs that wait for a worker.
    waiting_jobs: Long,
    /// Claimed fires that have no run yet.
    pending_handoffs: Long,
    /// How long the oldest due schedule has waited to be claimed; null if none is waiting.
    oldest_unclaimed_ms: Option<Long>,
    /// Runs that ended in the last hour, as a number per minute.
    executions_per_minute: f64,
    /// Average time from start to end of these runs; null if none ended.
    average_execution_time_ms: Option<f64>,
    /// The share of these runs that failed or timed out, 0 to 1; null if none ended.
    failed_executions_rate: Option<f64>,
    /// Average time from due time to hand-off, of runs started by fires; null if there are none.
    average_lateness_ms: Option<f64>,
    /// The longest time from due time to hand-off.
    max_lateness_ms: Option<Long>,
    /// Durations of these runs; null if no ended run had started.
    durations: Option<Percentiles>,
    /// How late runs started by fires were; null if there are none.
    latenesses: Option<Percentiles>,
    /// Runs that recovery had started or taken over, and fires that it abandoned before they had a
    /// run.
    recovery_events: Long,
    /// Everything that ended in the last hour.
    executions: Executions,
}

/// What ended in a period.
#[derive(Clone, SimpleObject)]
pub(crate) struct Executions {
    /// Runs that ended: the sum of succeeded, failed, timed out and cancelled ones.
    total: Long,
    /// Runs that succeeded.
    succeeded: Long,
    /// Runs whose attempts all failed.
    failed: Long,
    /// Runs whose last attempt took too long.
    timed_out: Long,
    /// Runs that were stopped on request or by the overlap policy.
    cancelled: Long,
    /// Instants that no node claimed in time, and that no later run replaced.
    missed: Long,
    /// Instants that were skipped on purpose (because of a calendar, a pause, a change or a
    /// request) or for load (because of a live run, a full buffer, a start deadline or a quota).
    skipped: Long,
    /// Fires that recovery abandoned before they had a run; a run that recovery gave up counts as
    /// failed.
    abandoned: Long,
    /// Succeeded runs as a share of everything that ended, was missed or was abandoned; null if
    /// there is nothing.
    success_rate: Option<f64>,
}

/// The metrics of some namespaces, cached for a short time.
pub(super) async fn figures(
    store: &Store,
    clock: &Clock,
    kept: &MetricsCache,
    within: Within,
) -> std::result::Result<Metrics, StoreError> {
    kept.answer(clock, within.clone(), Metrics::count(store, within, clock.now())).await
}

impl Metrics {
    async fn count(
        store: &Store,
        within: Within,
        now: DateTime<Utc>,
    ) -> std::result::Result<Self, StoreError> {
        let counts = overview::counts(store, &within).await?;
        let queue = depths::waiting(store, &within, now.into()).await?;
        let scope = HealthScope { within, tag: None };
        let waiting = health::figures(store, &scope, now.into()).await?;
        let hour = (now - TimeDelta::hours(1)).into();
        // Includes runs that have just ended by the clock of another node.
        let soon = (now + TimeDelta::minutes(1)).into();
        let Rollup { counts: sums, durations, latenesses } =
            stats::sum(store, &scope.within, hour, soon).await?;
        Ok(Self {
            at: now.into(),
            total_schedules: counts.schedules,
            active_schedules: counts.active,
            paused_schedules: counts.paused,
            live_runs: counts.live_runs.into(),
            waiting_runs: queue.runs.into(),
            waiting_jobs: queue.jobs.into(),
            pending_handoffs: waiting.pending_handoffs.into(),
            oldest_unclaimed_ms: waiting.oldest_unclaimed_ms.map(|ms| ms.max(0).into()),
            executions_per_minute: sums.ended() as f64 / 60.0,
            average_execution_time_ms: share(sums.duration_sum_ms, sums.started),
            failed_executions_rate: share(sums.ended_badly(), sums.ended()),
            average_lateness_ms: share(sums.lateness_sum_ms, sums.fired),
            max_lateness_ms: (sums.fired > 0).then_some(sums.lateness_max_ms.into()),
            durations: Percentiles::of(&durations, sums.duration_max_ms),
            latenesses: Percentiles::of(&latenesses, sums.lateness_max_ms),
            recovery_events: (sums.recovered + sums.abandoned).into(),
            executions: Executions::of(&sums),
        })
    }
}

impl Executions {
    pub(super) fn of(sums: &Counts) -> Self {
        let promised = sums.ended() + sums.missed + sums.abandoned;
        Self {
            total: sums.ended().into(),
            succeeded: sums.succeeded.into(),
            failed: sums.failed.into(),
            timed_out: sums.timed_out.into(),
            cancelled: sums.cancelled.into(),
            missed: sums.missed.into(),
            skipped: sums.skipped.into(),
            abandoned: sums.abandoned.into(),
            success_rate: share(sums.succeeded, promised),
        }
    }
}

/// A share of a total; None if the total is zero.
pub(super) fn share(part: i64, whole: i64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
