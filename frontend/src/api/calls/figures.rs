//! Queries of figures over time.

use super::{
    super::{Ask, operations},
    within,
};
use crate::{
    model::{Metrics, NamespaceComparison, RunStats, ScheduleFigures},
    time::Moment,
};

/// Selects the series that a chart shows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SeriesQuery {
    pub(crate) namespace: String,
    pub(crate) from: Moment,
    /// The end of the range; now if `None`.
    pub(crate) until: Option<Moment>,
    /// The length of a step, in seconds.
    pub(crate) step: i64,
    pub(crate) tag: Option<String>,
    /// A schedule's key.
    pub(crate) schedule: Option<String>,
}

pub(crate) fn run_stats(query: SeriesQuery) -> Ask<RunStats> {
    let SeriesQuery { namespace, from, until, step, tag, schedule } = query;
    let (from, step) = (Some(from), Some(step));
    let variables = operations::run_stats::Variables {
        namespace: within(namespace),
        from,
        until,
        step,
        tag,
        schedule_id: schedule,
    };
    Ask::new::<operations::RunStats>(variables)
}

pub(crate) fn metrics(namespace: String) -> Ask<Metrics> {
    let namespace = within(namespace);
    Ask::new::<operations::Metrics>(operations::metrics::Variables { namespace })
}

/// The schedules that a search finds, slowest first, with their figures over a range.
pub(crate) fn schedule_figures(
    namespace: String,
    search: Option<String>,
    from: Option<Moment>,
    until: Option<Moment>,
) -> Ask<Vec<ScheduleFigures>> {
    let namespace = within(namespace);
    let variables = operations::schedule_figures::Variables { namespace, search, from, until };
    Ask::new::<operations::ScheduleFigures>(variables)
}

/// The namespaces that the caller may see, the busiest first, with their figures over a range. `step` is the length of
/// a step, in seconds.
pub(crate) fn namespace_stats(
    from: Option<Moment>,
    until: Option<Moment>,
    step: i64,
) -> Ask<NamespaceComparison> {
    let variables = operations::namespace_stats::Variables { from, until, step: Some(step) };
    Ask::new::<operations::NamespaceStats>(variables)
}
