//! Runs and their logs.

use super::{
    super::{
        Ask,
        operations::{self, CancelRun, RerunFromFailed, RetryRun, Runs},
    },
    within,
};
use crate::{
    model::{Line, LiveRun, Page, PageArguments, Place, RunDetail, RunRow, RunSortField, RunState},
    time::Moment,
};

/// Filters and order of a list of runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunQuery {
    pub(crate) namespace: String,
    /// A search, in the search language.
    pub(crate) search: Option<String>,
    pub(crate) states: Vec<RunState>,
    pub(crate) schedule: Option<String>,
    /// Only runs scheduled at this instant or later.
    pub(crate) after: Option<Moment>,
    /// Only runs scheduled before this instant.
    pub(crate) before: Option<Moment>,
    /// The field to sort by, and whether descending.
    pub(crate) sort: Option<(RunSortField, bool)>,
    pub(crate) place: Place,
}

pub(crate) fn runs(query: RunQuery, size: usize) -> Ask<Page<RunRow>> {
    let PageArguments { first, after, last, before } = query.place.arguments(size);
    let filter = operations::runs::RunFilter {
        states: (!query.states.is_empty()).then_some(query.states),
        schedule_id: query.schedule,
        live: None,
        after: query.after,
        before: query.before,
    };
    let (namespace, filter, search) = (within(query.namespace), Some(filter), query.search);
    let sort = query.sort.map(|(by, descending)| operations::runs::RunSort { by, descending });
    Ask::new::<Runs>(operations::runs::Variables {
        namespace,
        filter,
        search,
        sort,
        first,
        after,
        last,
        before,
    })
}

pub(crate) fn run(id: String) -> Ask<RunDetail> {
    Ask::new::<operations::Run>(operations::run::Variables { id })
}

/// A page of a run's log, oldest first.
pub(crate) fn log_page(run_id: String, place: Place, size: usize) -> Ask<Page<Line>> {
    let (first, after) = place.forward(size);
    Ask::new::<operations::LogPage>(operations::log_page::Variables { run_id, first, after })
}

pub(crate) fn live_runs(namespace: String) -> Ask<Vec<LiveRun>> {
    let namespace = within(namespace);
    Ask::new::<operations::LiveRuns>(operations::live_runs::Variables { namespace })
}

pub(crate) fn cancel_run(id: String, reason: Option<String>) -> Ask<String> {
    Ask::new::<CancelRun>(operations::cancel_run::Variables { id, reason })
}

/// Returns the new run's id.
pub(crate) fn rerun_from_failed(id: String) -> Ask<String> {
    Ask::new::<RerunFromFailed>(operations::rerun_from_failed::Variables { id })
}

/// Returns the new run's id.
pub(crate) fn retry_run(id: String) -> Ask<String> {
    Ask::new::<RetryRun>(operations::retry_run::Variables { id })
}
