//! One function for each query and mutation that a page sends.

pub(crate) mod alerts;
pub(crate) mod cluster;
mod figures;
mod foreseen;
mod orders;
pub(crate) mod planning;
pub(crate) mod settings;
pub(crate) mod workers;

pub(crate) use self::figures::{
    SeriesQuery, metrics, namespace_stats, run_stats, schedule_figures,
};
pub(crate) use self::foreseen::{
    candidate, definition_effect, fire_days, fires_ahead, pause_preview, pause_preview_of_search,
    paused_fires, preview, resume_preview, slots,
};
pub(crate) use self::orders::{
    GroupChange, Many, Order, ScheduleChange, create_schedule, delete_schedule, order_many,
    pause_schedule, resume_schedule, rollback_schedule, set_favourite, skip_next, test_call,
    trigger_schedule, undelete_schedule, update_schedule,
};
use super::{
    Ask,
    operations::{
        self, AuditEvents, CancelRun, Fires, Me, RerunFromFailed, RetryRun, Runs, Schedules,
        Timezones, Workflows,
    },
};
use crate::{
    model::{
        AuditEvent, AuditRow, DeletedSchedule, Fire, Fleet, HealthReport, LedgerRow, LedgerTotals,
        Line, LiveRun, Minutes, Named, NamespaceTargets, NextSchedule, OverviewAnswer, Page, Place,
        ReasonCode, RunDetail, RunRow, RunSortField, RunState, SavedView, ScheduleDetail,
        ScheduleGrouping, ScheduleGroups, ScheduleHistories, ScheduleImpact, ScheduleRow,
        ScheduleSortField, Seen, TagNames, Tallies, Verdict, Viewer, WorkProblem,
    },
    time::Moment,
};

/// Filters and order of a list of schedules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScheduleQuery {
    pub(crate) namespace: String,
    /// A search, in the search language.
    pub(crate) search: Option<String>,
    /// Whether to list only the caller's favourites.
    pub(crate) favourites: bool,
    /// The field to sort by, and whether descending.
    pub(crate) sort: Option<(ScheduleSortField, bool)>,
    pub(crate) place: Place,
}

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

/// Filters of the audit log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AuditQuery {
    pub(crate) namespace: String,
    pub(crate) kind: Option<String>,
    pub(crate) action: Option<String>,
    pub(crate) actor: Option<String>,
    pub(crate) subject: Option<String>,
    pub(crate) subject_id: Option<String>,
    pub(crate) after: Option<Moment>,
    pub(crate) before: Option<Moment>,
    pub(crate) place: Place,
}

/// The signed-in user; null without a session.
pub(crate) fn me() -> Ask<Viewer> {
    Ask::new::<Me>(operations::me::Variables)
}

/// The namespace to read a list from. The empty name means all namespaces and becomes `None`, which the API reads as
/// all that the caller may see.
pub(super) fn within(namespace: String) -> Option<String> {
    Some(namespace).filter(|namespace| !namespace.is_empty())
}

/// The namespaces that the caller may see: the first two hundred.
pub(crate) fn namespaces() -> Ask<Vec<Named>> {
    Ask::new::<operations::Namespaces>(operations::namespaces::Variables)
}

/// What the tasks of the first two hundred namespaces may do.
pub(crate) fn namespace_targets() -> Ask<Vec<NamespaceTargets>> {
    Ask::new::<operations::NamespaceTargets>(operations::namespace_targets::Variables)
}

pub(crate) fn overview(namespace: String, health_of: Option<String>) -> Ask<OverviewAnswer> {
    let variables = operations::overview::Variables { namespace: within(namespace), health_of };
    Ask::new::<operations::Overview>(variables)
}

/// The counts that the rail shows.
pub(crate) fn tallies(namespace: String, health_of: Option<String>) -> Ask<Tallies> {
    Ask::new::<operations::Tallies>(operations::tallies::Variables {
        namespace: within(namespace),
        health_of,
    })
}

pub(crate) fn cluster(health_of: Option<String>) -> Ask<Fleet> {
    Ask::new::<operations::Cluster>(operations::cluster::Variables { health_of })
}

/// The filter for favourites. Each operation has its own generated type for it.
macro_rules! favourites_of {
    ($query:ident, $operation:ident) => {
        $query.favourites.then_some(operations::$operation::ScheduleFilter {
            text: None,
            tag: None,
            state: None,
            workflow: None,
            calendar: None,
            tagged: None,
            declared: None,
            favourite: Some(true),
        })
    };
}

/// The number of matching schedules in each group.
pub(crate) fn schedule_groups(query: ScheduleQuery, by: ScheduleGrouping) -> Ask<ScheduleGroups> {
    let filter = favourites_of!(query, schedule_groups);
    let (namespace, search) = (within(query.namespace), query.search);
    let variables = operations::schedule_groups::Variables { namespace, by, filter, search };
    Ask::new::<operations::ScheduleGroups>(variables)
}

/// The 200 most frequent tags; with `text`, of those that contain it.
pub(crate) fn tags(namespace: String, text: Option<String>) -> Ask<TagNames> {
    let namespace = within(namespace);
    Ask::new::<operations::Tags>(operations::tags::Variables { namespace, text })
}

pub(crate) fn schedules(query: ScheduleQuery, size: usize) -> Ask<Page<ScheduleRow>> {
    let (first, after, last, before) = query.place.arguments(size);
    let sort =
        query.sort.map(|(by, descending)| operations::schedules::ScheduleSort { by, descending });
    let filter = favourites_of!(query, schedules);
    let (namespace, search) = (within(query.namespace), query.search);
    let variables = operations::schedules::Variables {
        namespace,
        filter,
        sort,
        search,
        first,
        after,
        last,
        before,
    };
    Ask::new::<Schedules>(variables)
}

/// The number of matching schedules, on all pages together. The server counts up to ten thousand.
pub(crate) fn schedule_count(query: ScheduleQuery) -> Ask<i64> {
    let filter = favourites_of!(query, schedule_count);
    let (namespace, search) = (within(query.namespace), query.search);
    let variables = operations::schedule_count::Variables { namespace, filter, search };
    Ask::new::<operations::ScheduleCount>(variables)
}

/// The last fires of schedules, at most a hundred.
pub(crate) fn schedule_histories(ids: Vec<String>) -> Ask<ScheduleHistories> {
    let variables = operations::schedule_histories::Variables { ids };
    Ask::new::<operations::ScheduleHistories>(variables)
}

pub(crate) fn schedule(id: String) -> Ask<ScheduleDetail> {
    Ask::new::<operations::Schedule>(operations::schedule::Variables { id, fires: 8 })
}

/// Selects fires of a schedule.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FireQuery {
    pub(crate) schedule: String,
    /// Empty for all verdicts.
    pub(crate) verdicts: Vec<Verdict>,
    /// Only fires that are scheduled at this instant or later, and before the other one.
    pub(crate) from: Option<Moment>,
    pub(crate) until: Option<Moment>,
    pub(crate) place: Place,
}

pub(crate) fn fires(query: FireQuery, size: usize) -> Ask<Page<Fire>> {
    let FireQuery { schedule, verdicts, from, until, place } = query;
    let (first, after, last, before) = place.arguments(size);
    Ask::new::<Fires>(operations::fires::Variables {
        schedule_id: schedule,
        verdicts: (!verdicts.is_empty()).then_some(verdicts),
        from,
        until,
        first,
        after,
        last,
        before,
    })
}

pub(crate) fn runs(query: RunQuery, size: usize) -> Ask<Page<RunRow>> {
    let (first, after, last, before) = query.place.arguments(size);
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

/// Audit events of the namespace; only its administrators may read them.
pub(crate) fn audit_events(query: AuditQuery, size: usize) -> Ask<Page<AuditEvent>> {
    let (first, after, last, before) = query.place.arguments(size);
    let filter = operations::audit_events::AuditFilter {
        actor: query.actor,
        action: query.action,
        kind: query.kind,
        subject_id: query.subject_id,
        subject: query.subject,
        after: query.after,
        before: query.before,
    };
    let (namespace, filter) = (within(query.namespace), Some(filter));
    let variables =
        operations::audit_events::Variables { namespace, filter, first, after, last, before };
    Ask::new::<AuditEvents>(variables)
}

/// Filters of the ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LedgerQuery {
    pub(crate) namespace: String,
    /// A search that selects the schedules, in the search language.
    pub(crate) search: Option<String>,
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) reasons: Vec<ReasonCode>,
    pub(crate) after: Option<Moment>,
    pub(crate) before: Option<Moment>,
    pub(crate) place: Place,
}

pub(crate) fn ledger(query: LedgerQuery, size: usize) -> Ask<Page<LedgerRow>> {
    let (first, after, last, before) = query.place.arguments(size);
    let filter = operations::ledger::LedgerFilter {
        verdicts: (!query.verdicts.is_empty()).then_some(query.verdicts),
        reasons: (!query.reasons.is_empty()).then_some(query.reasons),
        schedule_ids: None,
        after: query.after,
        before: query.before,
    };
    let (namespace, filter, search) = (within(query.namespace), Some(filter), query.search);
    let variables =
        operations::ledger::Variables { namespace, filter, search, first, after, last, before };
    Ask::new::<operations::Ledger>(variables)
}

/// The totals of a range of the ledger, over all verdicts.
pub(crate) fn ledger_totals(query: LedgerQuery) -> Ask<LedgerTotals> {
    let filter = operations::ledger_totals::LedgerFilter {
        verdicts: None,
        reasons: None,
        schedule_ids: None,
        after: query.after,
        before: query.before,
    };
    let (namespace, filter, search) = (within(query.namespace), Some(filter), query.search);
    let variables = operations::ledger_totals::Variables { namespace, filter, search };
    Ask::new::<operations::LedgerTotals>(variables)
}

/// The problems since an instant of the last 30 days, or of the last day.
pub(crate) fn problems(namespace: String, since: Option<Moment>) -> Ask<Vec<WorkProblem>> {
    let variables = operations::problems::Variables { namespace: within(namespace), since };
    Ask::new::<operations::Problems>(variables)
}

/// The health of a namespace, or of all.
pub(crate) fn health(namespace: Option<String>) -> Ask<HealthReport> {
    Ask::new::<operations::Health>(operations::health::Variables { namespace })
}

pub(crate) fn live_runs(namespace: String) -> Ask<Vec<LiveRun>> {
    let namespace = within(namespace);
    Ask::new::<operations::LiveRuns>(operations::live_runs::Variables { namespace })
}

/// The fires of the next hour, per minute.
pub(crate) fn minutes(namespace: String) -> Ask<Minutes> {
    let namespace = within(namespace);
    Ask::new::<operations::Minutes>(operations::minutes::Variables { namespace })
}

/// The schedules that are due next.
pub(crate) fn next_schedules(namespace: String) -> Ask<Vec<NextSchedule>> {
    let namespace = within(namespace);
    Ask::new::<operations::NextSchedules>(operations::next_schedules::Variables { namespace })
}

/// The instant up to which the signed-in user has seen the events.
pub(crate) fn seen() -> Ask<Seen> {
    Ask::new::<operations::Seen>(operations::seen::Variables)
}

pub(crate) fn timezones() -> Ask<Vec<String>> {
    Ask::new::<Timezones>(operations::timezones::Variables)
}

/// The first hundred workflows; with `text`, of those whose names contain it.
pub(crate) fn workflows(namespace: String, text: Option<String>) -> Ask<Page<Named>> {
    Ask::new::<Workflows>(operations::workflows::Variables { namespace, text })
}

/// The deleted schedules of a namespace that can be restored, the last deleted first.
pub(crate) fn deleted_schedules(
    namespace: String,
    after: Option<String>,
) -> Ask<Page<DeletedSchedule>> {
    let variables = operations::deleted_schedules::Variables { namespace, after };
    Ask::new::<operations::DeletedSchedules>(variables)
}

/// The first hundred calendars.
pub(crate) fn calendars(namespace: String) -> Ask<Vec<Named>> {
    Ask::new::<operations::Calendars>(operations::calendars::Variables { namespace })
}

pub(crate) fn groups(namespace: String) -> Ask<Vec<Named>> {
    Ask::new::<operations::Groups>(operations::groups::Variables { namespace })
}

/// The runs and waiting fires that the deletion of a schedule affects.
pub(crate) fn schedule_impact(id: String) -> Ask<ScheduleImpact> {
    let namespace = None;
    Ask::new::<operations::ScheduleImpact>(operations::schedule_impact::Variables { id, namespace })
}

/// The changes to a schedule and who made them, newest first.
pub(crate) fn schedule_audit(
    namespace: String,
    subject_id: String,
    place: Place,
    size: usize,
) -> Ask<Page<AuditRow>> {
    let (first, after, last, before) = place.arguments(size);
    Ask::new::<operations::ScheduleAudit>(operations::schedule_audit::Variables {
        namespace,
        subject_id,
        first,
        after,
        last,
        before,
    })
}

// Mutations return the id of the created or changed object. With a `key`, a mutation takes effect once, however often
// it is sent.

/// Records that the signed-in user has seen all events up to this instant.
pub(crate) fn mark_seen(until: Moment) -> Ask<String> {
    Ask::new::<operations::MarkSeen>(operations::mark_seen::Variables { until })
}

/// The caller's saved views.
pub(crate) fn views() -> Ask<Vec<SavedView>> {
    Ask::new::<operations::Views>(operations::views::Variables)
}

/// Saves a view. An existing view of the same page and name is replaced.
pub(crate) fn save_view(page: String, name: String, query: String) -> Ask<String> {
    let input = operations::save_view::SaveViewInput { page, name, query };
    Ask::new::<operations::SaveView>(operations::save_view::Variables { input })
}

pub(crate) fn delete_view(id: String) -> Ask<String> {
    Ask::new::<operations::DeleteView>(operations::delete_view::Variables { id })
}

/// Renames a schedule, based on this version of it.
pub(crate) fn rename_schedule(id: String, expected_version: i64, name: String) -> Ask<String> {
    let variables = operations::rename_schedule::Variables { id, expected_version, name };
    Ask::new::<operations::RenameSchedule>(variables)
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
