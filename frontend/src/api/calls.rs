//! One function for each query and mutation that a page sends.

pub(crate) mod alerts;
mod buffer;
pub(crate) mod cluster;
mod figures;
mod foreseen;
mod ledger;
pub(crate) mod maintenance;
mod orders;
pub(crate) mod planning;
mod runs;
mod schedules;
pub(crate) mod settings;
pub(crate) mod workers;

pub(crate) use self::buffer::{buffer, purge_buffer, reorder_buffer};
pub(crate) use self::figures::{
    SeriesQuery, metrics, namespace_stats, run_stats, schedule_figures,
};
pub(crate) use self::foreseen::{
    candidate, definition_effect, fire_days, fires_ahead, pause_preview, pause_preview_of_search,
    paused_fires, preview, resume_preview, slots,
};
pub(crate) use self::ledger::{
    AuditQuery, FireQuery, LedgerQuery, audit_events, fire, fires, ledger, ledger_totals,
};
pub(crate) use self::orders::{
    GroupChange, Many, Order, ScheduleChange, annotate_schedule, create_schedule, delete_schedule,
    order_many, pause_schedule, resume_schedule, rollback_schedule, set_favourite, skip_next,
    test_call, trigger_schedule, undelete_schedule, update_schedule,
};
pub(crate) use self::runs::{
    RunQuery, cancel_run, live_runs, log_page, rerun_from_failed, retry_run, run, runs,
};
pub(crate) use self::schedules::{
    ScheduleQuery, deleted_schedules, found_schedules, rename_schedule, schedule, schedule_audit,
    schedule_count, schedule_groups, schedule_histories, schedule_impact, schedule_versions,
    schedules, tags,
};
use super::{
    Ask,
    operations::{self, Me, Timezones, Workflows},
};
use crate::{
    model::{
        Fleet, HealthReport, Minutes, Named, NamespaceTargets, NextSchedule, OverviewAnswer, Page,
        SavedView, Seen, Tallies, Viewer, WorkProblem,
    },
    time::Moment,
};

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

/// What the server permits in the first two hundred namespaces.
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

/// The problems since an instant of the last 30 days, or of the last day.
pub(crate) fn problems(namespace: String, since: Option<Moment>) -> Ask<Vec<WorkProblem>> {
    let variables = operations::problems::Variables { namespace: within(namespace), since };
    Ask::new::<operations::Problems>(variables)
}

/// The health of a namespace, or of all.
pub(crate) fn health(namespace: Option<String>) -> Ask<HealthReport> {
    Ask::new::<operations::Health>(operations::health::Variables { namespace })
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

/// The first hundred calendars; with `text`, of those whose names contain it.
pub(crate) fn calendars(namespace: String, text: Option<String>) -> Ask<Page<Named>> {
    Ask::new::<operations::Calendars>(operations::calendars::Variables { namespace, text })
}

pub(crate) fn groups(namespace: String) -> Ask<Vec<Named>> {
    Ask::new::<operations::Groups>(operations::groups::Variables { namespace })
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
