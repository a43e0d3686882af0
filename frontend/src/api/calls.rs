//! One function for each thing that a page asks of the server or does there.

pub(crate) mod alerts;
pub(crate) mod planning;
pub(crate) mod settings;

use serde_json::Value;

use super::{
    Ask,
    operations::{
        self, CancelRun, CreateSchedule, DeleteSchedule, Fires, Me, PauseSchedule, RerunFromFailed,
        ResumeSchedule, RetryRun, Runs, Schedules, Timezones, TriggerSchedule, UpdateSchedule,
        Workflows,
    },
};
use crate::{
    model::{
        AuditRow, CatchUp, Fire, Fleet, ManyOutcome, Named, OverviewAnswer, Page, PauseEffect,
        Place, Preview, PreviewFire, ResumeEffect, RunDetail, RunRow, RunState, SavedView,
        ScheduleDetail, ScheduleRow, ScheduleSortField, Verdict, Viewer,
    },
    time::Moment,
};

/// What a list of schedules is narrowed to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScheduleQuery {
    pub(crate) namespace: String,
    /// In the search language.
    pub(crate) search: Option<String>,
    /// Only the caller's favourites.
    pub(crate) favourites: bool,
    /// By what, and whether downwards.
    pub(crate) sort: Option<(ScheduleSortField, bool)>,
    pub(crate) place: Place,
}

/// What a list of runs is narrowed to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunQuery {
    pub(crate) namespace: String,
    /// In the search language.
    pub(crate) search: Option<String>,
    pub(crate) states: Vec<RunState>,
    pub(crate) schedule: Option<String>,
    pub(crate) place: Place,
}

/// Who is asking; nothing when nobody is signed in.
pub(crate) fn me() -> Ask<Viewer> {
    Ask::new::<Me>(operations::me::Variables)
}

/// The namespaces that one may see: the first two hundred.
pub(crate) fn namespaces() -> Ask<Vec<Named>> {
    Ask::new::<operations::Namespaces>(operations::namespaces::Variables)
}

pub(crate) fn overview(namespace: String) -> Ask<OverviewAnswer> {
    let variables = operations::overview::Variables { namespace, upcoming: 40, failures: 8 };
    Ask::new::<operations::Overview>(variables)
}

pub(crate) fn cluster() -> Ask<Fleet> {
    Ask::new::<operations::Cluster>(operations::cluster::Variables)
}

pub(crate) fn schedules(query: ScheduleQuery, size: usize) -> Ask<Page<ScheduleRow>> {
    let (first, after, last, before) = query.place.arguments(size);
    let (namespace, search) = (query.namespace, query.search);
    let sort =
        query.sort.map(|(by, descending)| operations::schedules::ScheduleSort { by, descending });
    let filter = query.favourites.then_some(operations::schedules::ScheduleFilter {
        text: None,
        tag: None,
        state: None,
        workflow: None,
        favourite: Some(true),
    });
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

pub(crate) fn schedule(id: String) -> Ask<ScheduleDetail> {
    Ask::new::<operations::Schedule>(operations::schedule::Variables { id, fires: 8 })
}

pub(crate) fn fires(
    schedule_id: String,
    verdicts: Option<Vec<Verdict>>,
    place: Place,
    size: usize,
) -> Ask<Page<Fire>> {
    let (first, after, last, before) = place.arguments(size);
    Ask::new::<Fires>(operations::fires::Variables {
        schedule_id,
        verdicts,
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
        after: None,
        before: None,
    };
    let (namespace, filter, search) = (query.namespace, Some(filter), query.search);
    Ask::new::<Runs>(operations::runs::Variables {
        namespace,
        filter,
        search,
        first,
        after,
        last,
        before,
    })
}

pub(crate) fn run(id: String) -> Ask<RunDetail> {
    Ask::new::<operations::Run>(operations::run::Variables { id })
}

pub(crate) fn preview(
    timing: operations::preview::TimingInput,
    calendars: Vec<String>,
    namespace: String,
    schedule_id: Option<String>,
    count: i64,
) -> Ask<Preview> {
    let calendars = Some(calendars);
    Ask::new::<operations::Preview>(operations::preview::Variables {
        timing,
        count,
        calendars,
        namespace,
        schedule_id,
    })
}

pub(crate) fn timezones() -> Ask<Vec<String>> {
    Ask::new::<Timezones>(operations::timezones::Variables)
}

/// The first hundred workflows.
pub(crate) fn workflows(namespace: String) -> Ask<Vec<Named>> {
    Ask::new::<Workflows>(operations::workflows::Variables { namespace })
}

/// The first hundred calendars.
pub(crate) fn calendars(namespace: String) -> Ask<Vec<Named>> {
    Ask::new::<operations::Calendars>(operations::calendars::Variables { namespace })
}

pub(crate) fn groups(namespace: String) -> Ask<Vec<Named>> {
    Ask::new::<operations::Groups>(operations::groups::Variables { namespace })
}

/// What resuming a schedule would do, for each way to resume.
pub(crate) fn resume_preview(id: String) -> Ask<ResumeEffect> {
    Ask::new::<operations::ResumePreview>(operations::resume_preview::Variables { id })
}

/// The fires to come of a schedule, from an instant on.
pub(crate) fn fires_ahead(id: String, count: i64, from: Option<Moment>) -> Ask<Vec<PreviewFire>> {
    Ask::new::<operations::FiresAhead>(operations::fires_ahead::Variables { id, count, from })
}

/// Who changed a schedule, newest first.
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

// What changes something answers the id of what it made or changed. A `key` makes it happen once, however often it is sent.

pub(crate) fn create_schedule(
    input: operations::create_schedule::CreateScheduleInput,
    key: String,
) -> Ask<String> {
    let key = Some(key);
    Ask::new::<CreateSchedule>(operations::create_schedule::Variables { input, key })
}

pub(crate) fn update_schedule(
    input: operations::update_schedule::UpdateScheduleInput,
) -> Ask<String> {
    let ask = Ask::new::<UpdateSchedule>(operations::update_schedule::Variables { input });
    // No form has it yet, and a null would take it away.
    ask.without("/variables/input", "ping")
}

pub(crate) fn pause_schedule(
    id: String,
    reason: String,
    until: Option<Moment>,
    key: String,
) -> Ask<String> {
    let key = Some(key);
    Ask::new::<PauseSchedule>(operations::pause_schedule::Variables { id, reason, until, key })
}

pub(crate) fn resume_schedule(id: String, missed: CatchUp, key: String) -> Ask<String> {
    let key = Some(key);
    Ask::new::<ResumeSchedule>(operations::resume_schedule::Variables { id, missed, key })
}

pub(crate) fn delete_schedule(id: String, key: String) -> Ask<String> {
    Ask::new::<DeleteSchedule>(operations::delete_schedule::Variables { id, key: Some(key) })
}

/// Answers the new run's id.
pub(crate) fn trigger_schedule(
    id: String,
    context: Option<Value>,
    as_of: Option<Moment>,
    key: String,
) -> Ask<String> {
    let key = Some(key);
    Ask::new::<TriggerSchedule>(operations::trigger_schedule::Variables { id, context, as_of, key })
}

pub(crate) fn set_favourite(schedule_id: String, is_favourite: bool) -> Ask<String> {
    let variables = operations::set_favourite::Variables { schedule_id, is_favourite };
    Ask::new::<operations::SetFavourite>(variables)
}

/// The views that the caller keeps.
pub(crate) fn views() -> Ask<Vec<SavedView>> {
    Ask::new::<operations::Views>(operations::views::Variables)
}

/// Keeps a view; one of the same page and name is replaced.
pub(crate) fn save_view(page: String, name: String, query: String) -> Ask<String> {
    let input = operations::save_view::SaveViewInput { page, name, query };
    Ask::new::<operations::SaveView>(operations::save_view::Variables { input })
}

pub(crate) fn delete_view(id: String) -> Ask<String> {
    Ask::new::<operations::DeleteView>(operations::delete_view::Variables { id })
}

/// What pausing a schedule now would keep from firing.
pub(crate) fn pause_preview(id: String, until: Option<Moment>) -> Ask<PauseEffect> {
    let variables = operations::pause_preview::Variables { ids: vec![id], until };
    Ask::new::<operations::PausePreview>(variables)
}

/// Leaves out the next fires.
pub(crate) fn skip_next(id: String, count: i64, reason: String, key: String) -> Ask<String> {
    let key = Some(key);
    Ask::new::<operations::SkipNext>(operations::skip_next::Variables { id, count, reason, key })
}

/// Makes an earlier version the next one.
pub(crate) fn rollback_schedule(
    id: String,
    to_version: i64,
    expected_version: i64,
    reason: Option<String>,
    key: String,
) -> Ask<String> {
    let key = Some(key);
    Ask::new::<operations::RollbackSchedule>(operations::rollback_schedule::Variables {
        id,
        to_version,
        expected_version,
        reason,
        key,
    })
}

/// Brings a deleted schedule back.
pub(crate) fn undelete_schedule(id: String, key: String) -> Ask<String> {
    let key = Some(key);
    Ask::new::<operations::UndeleteSchedule>(operations::undelete_schedule::Variables { id, key })
}

/// What an order for many is to do.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Order {
    Pause { reason: String, until: Option<Moment> },
    Resume { missed: CatchUp },
    Skip { count: i64, reason: String },
    Run { reason: Option<String> },
    Delete { reason: Option<String> },
}

/// Whom it is for: all schedules of a namespace that a search finds. With an expected count another number is a conflict;
/// without one it is only counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Many {
    pub(crate) namespace: String,
    pub(crate) search: String,
    pub(crate) expected_count: Option<i64>,
}

/// An order for many schedules, or what it would do.
pub(crate) fn order_schedules(order: Order, many: Many, key: String) -> Ask<ManyOutcome> {
    use operations::{
        delete_schedules, pause_schedules, resume_schedules, skip_next_of_schedules,
        trigger_schedules,
    };
    macro_rules! which {
        ($operation:ident) => {
            $operation::ManyInput {
                namespace: many.namespace,
                search: many.search,
                dry_run: many.expected_count.is_none(),
                expected_count: many.expected_count,
            }
        };
    }
    // A dry run with the key of the order would be answered in its place.
    let key = many.expected_count.map(|_| key);
    match order {
        Order::Pause { reason, until } => {
            let which = which!(pause_schedules);
            let variables = pause_schedules::Variables { which, reason, until, key };
            Ask::new::<operations::PauseSchedules>(variables)
        }
        Order::Resume { missed } => {
            let which = which!(resume_schedules);
            let variables = resume_schedules::Variables { which, missed, key };
            Ask::new::<operations::ResumeSchedules>(variables)
        }
        Order::Skip { count, reason } => {
            let which = which!(skip_next_of_schedules);
            let variables = skip_next_of_schedules::Variables { which, count, reason, key };
            Ask::new::<operations::SkipNextOfSchedules>(variables)
        }
        Order::Run { reason } => {
            let which = which!(trigger_schedules);
            let variables = trigger_schedules::Variables { which, reason, key };
            Ask::new::<operations::TriggerSchedules>(variables)
        }
        Order::Delete { reason } => {
            let which = which!(delete_schedules);
            let variables = delete_schedules::Variables { which, reason, key };
            Ask::new::<operations::DeleteSchedules>(variables)
        }
    }
}

pub(crate) fn cancel_run(id: String) -> Ask<String> {
    Ask::new::<CancelRun>(operations::cancel_run::Variables { id })
}

/// Answers the new run's id.
pub(crate) fn rerun_from_failed(id: String) -> Ask<String> {
    Ask::new::<RerunFromFailed>(operations::rerun_from_failed::Variables { id })
}

/// Answers the new run's id.
pub(crate) fn retry_run(id: String) -> Ask<String> {
    Ask::new::<RetryRun>(operations::retry_run::Variables { id })
}
