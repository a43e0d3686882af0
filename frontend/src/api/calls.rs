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
        CatchUp, Fire, Fleet, Named, OverviewAnswer, Page, Place, Preview, RunDetail, RunRow,
        RunState, ScheduleDetail, ScheduleRow, ScheduleState, Viewer,
    },
    time::Moment,
};

/// What a list of schedules is narrowed to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScheduleQuery {
    pub(crate) namespace: String,
    /// In the search language.
    pub(crate) search: Option<String>,
    pub(crate) tag: Option<String>,
    pub(crate) state: Option<ScheduleState>,
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
    let filter = operations::schedules::ScheduleFilter {
        text: None,
        tag: query.tag,
        state: query.state,
        workflow: None,
    };
    let (namespace, filter, search) = (query.namespace, Some(filter), query.search);
    let variables =
        operations::schedules::Variables { namespace, filter, search, first, after, last, before };
    Ask::new::<Schedules>(variables)
}

pub(crate) fn schedule(id: String) -> Ask<ScheduleDetail> {
    Ask::new::<operations::Schedule>(operations::schedule::Variables { id, fires: 8 })
}

pub(crate) fn fires(schedule_id: String, place: Place, size: usize) -> Ask<Page<Fire>> {
    let (first, after, last, before) = place.arguments(size);
    Ask::new::<Fires>(operations::fires::Variables { schedule_id, first, after, last, before })
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
