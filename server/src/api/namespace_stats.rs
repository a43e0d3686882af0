//! What settled in each namespace, to compare them.

use async_graphql::SimpleObject;
use chrono::{DateTime, Utc};

use super::{
    error::Result,
    run_stats::{ChartSteps, RunStat, StepLimits},
    scalar::Instant,
};
use crate::store::{
    Store,
    counts::Rollup,
    hours::by_minute_since,
    reads::{
        stats::{self, NamespaceRollups},
        within::Within,
    },
};

/// Maximum number of namespaces in an answer.
pub(super) const MAX_NAMESPACES: i32 = 100;
/// The cost of reading the roll-ups of all namespaces.
pub(super) const COST: usize = 2_000;

/// The steps of a sparkline.
const SPARKLINE: StepLimits = StepLimits { max: 60, usual: 60 };
/// The cost factor of the points: the usual number of steps.
const POINTS: usize = 60;

/// What settled in several namespaces.
#[derive(SimpleObject)]
pub(crate) struct NamespaceComparison {
    /// Start of the first step: a whole multiple of the step length.
    from: Instant,
    /// End of the last step.
    until: Instant,
    /// The length of a step.
    step_seconds: i64,
    /// The namespaces in which the most runs ended or fires were lost, the busiest first. A
    /// namespace without any is listed if there is room.
    namespaces: Vec<NamespaceStats>,
    /// Whether there are more namespaces that you may see.
    is_cut: bool,
}

/// What settled in one namespace.
#[derive(SimpleObject)]
pub(crate) struct NamespaceStats {
    /// The namespace's name.
    namespace: String,
    /// The counts of the whole range; `at` is its start.
    total: RunStat,
    /// One entry per step, the oldest first; at most 62.
    #[graphql(complexity = "POINTS * child_complexity")]
    points: Vec<RunStat>,
}

impl NamespaceComparison {
    /// Reads the statistics of at most `most` namespaces, between two instants.
    pub(super) async fn read(
        store: &Store,
        within: &Within,
        from: DateTime<Utc>,
        until: DateTime<Utc>,
        step: Option<i32>,
        most: u64,
        now: DateTime<Utc>,
    ) -> Result<Self> {
        let steps = SPARKLINE.steps(from, until, step, by_minute_since(now))?;
        let (begin, end, step_ms) = (steps.begin(), steps.end(), steps.length_ms());
        let found = stats::by_namespace(store, within, begin, end, step_ms, most).await?;
        let stats = |rollups| NamespaceStats::of(rollups, steps, now);
        Ok(Self {
            from: begin.into(),
            until: end.into(),
            step_seconds: steps.length,
            is_cut: found.is_cut,
            namespaces: found.namespaces.into_iter().map(stats).collect(),
        })
    }
}

impl NamespaceStats {
    fn of(rollups: NamespaceRollups, steps: ChartSteps, now: DateTime<Utc>) -> Self {
        let mut total = Rollup::default();
        for (_, rollup) in &rollups.steps {
            total.join(rollup);
        }
        Self {
            namespace: rollups.name,
            total: RunStat::of(steps.begin(), &total, steps.past_ms(now)),
            points: steps.points(rollups.steps, now),
        }
    }
}
