//! Calendars, backfills, groups, workflows, modules, upcoming fires, and outages.

use serde_json::Value;

use super::within;
use crate::{
    api::{
        Ask,
        operations::planning::{self as operations, *},
    },
    model::{
        AdoptedDrift, Backfill, BackfillDetail, BackfillMode, BackfillOrder, BackfillPreview,
        BackfillStanding, Calendar, CalendarUser, CatchUp, Drift, Exported, Group, GroupRun, Lane,
        Module, Outage, OutageFires, Page, PageArguments, Place, Plan, SavedWorkflow, ScheduleName,
        TimelineSort, Took, Workflow, WorkflowDefinition, WorkflowReading, WorkflowRow,
        WorkflowVersion,
    },
    time::Moment,
};

pub(crate) use crate::api::operations::planning::{create_calendar, update_calendar};

/// The calendars; with `text`, those whose names contain it.
pub(crate) fn calendars(
    namespace: String,
    text: Option<String>,
    place: Place,
    size: usize,
) -> Ask<Page<Calendar>> {
    let (namespace, (first, after)) = (within(namespace), place.forward(size));
    Ask::new::<CalendarList>(calendar_list::Variables { namespace, text, first, after })
}

pub(crate) fn calendar(id: String) -> Ask<Calendar> {
    Ask::new::<CalendarOne>(calendar_one::Variables { id })
}

/// The first fifty schedules that refer to a calendar.
pub(crate) fn calendar_users(namespace: String, calendar: String) -> Ask<Vec<CalendarUser>> {
    let namespace = Some(namespace);
    Ask::new::<CalendarUsers>(calendar_users::Variables { namespace, calendar })
}

pub(crate) fn create_calendar(
    input: create_calendar::CreateCalendarInput,
    key: String,
) -> Ask<String> {
    Ask::new::<CreateCalendar>(create_calendar::Variables { input, key: Some(key) })
}

pub(crate) fn update_calendar(input: update_calendar::UpdateCalendarInput) -> Ask<String> {
    Ask::new::<UpdateCalendar>(update_calendar::Variables { input })
}

pub(crate) fn delete_calendar(id: String, expected_version: i64) -> Ask<String> {
    Ask::new::<DeleteCalendar>(delete_calendar::Variables { id, expected_version })
}

pub(crate) fn backfills(namespace: String, place: Place, size: usize) -> Ask<Page<Backfill>> {
    let namespace = within(namespace);
    let PageArguments { first, after, last, before } = place.arguments(size);
    Ask::new::<Backfills>(backfills::Variables { namespace, first, after, last, before })
}

pub(crate) fn backfill(id: String, after: Option<String>) -> Ask<BackfillDetail> {
    Ask::new::<BackfillOne>(backfill_one::Variables { id, after })
}

/// The range and options of a backfill.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BackfillOrderOf {
    pub(crate) schedule_id: String,
    pub(crate) from: Moment,
    pub(crate) to: Moment,
    pub(crate) mode: BackfillMode,
}

/// Previews a backfill. `standing` filters the list; without it, the list contains the instants that would run.
pub(crate) fn preview_backfill(
    order: BackfillOrderOf,
    standing: Option<BackfillStanding>,
    after: Option<String>,
) -> Ask<BackfillPreview> {
    let BackfillOrderOf { schedule_id, from, to, mode } = order;
    let selected_only = standing.is_none();
    Ask::new::<PreviewBackfill>(preview_backfill::Variables {
        schedule_id,
        from,
        to,
        mode,
        standing,
        selected_only,
        after,
    })
}

pub(crate) fn create_backfill(
    what: BackfillOrderOf,
    order: BackfillOrder,
    concurrency: i64,
    reason: String,
    context: Option<Value>,
    key: String,
) -> Ask<String> {
    let BackfillOrderOf { schedule_id, from, to, mode } = what;
    let key = Some(key);
    Ask::new::<CreateBackfill>(create_backfill::Variables {
        schedule_id,
        from,
        to,
        mode,
        order,
        concurrency,
        reason,
        context,
        key,
    })
}

pub(crate) fn pause_backfill(id: String) -> Ask<String> {
    Ask::new::<PauseBackfill>(pause_backfill::Variables { id })
}

pub(crate) fn resume_backfill(id: String) -> Ask<String> {
    Ask::new::<ResumeBackfill>(resume_backfill::Variables { id })
}

pub(crate) fn cancel_backfill(id: String, reason: Option<String>) -> Ask<String> {
    Ask::new::<CancelBackfill>(cancel_backfill::Variables { id, reason })
}

/// The names of the schedules that a search finds, or that run a workflow.
pub(crate) fn schedule_names(
    namespace: String,
    search: Option<String>,
    workflow: Option<String>,
) -> Ask<Page<ScheduleName>> {
    let namespace = within(namespace);
    let variables = schedule_names::Variables { namespace, search, workflow, first: 100 };
    Ask::new::<ScheduleNames>(variables)
}

/// The durations of the last successful runs of a schedule.
pub(crate) fn pace(namespace: String, schedule_id: String) -> Ask<Vec<Took>> {
    Ask::new::<Pace>(pace::Variables { namespace, schedule_id })
}

pub(crate) fn groups(namespace: String) -> Ask<Vec<Group>> {
    Ask::new::<GroupList>(group_list::Variables { namespace: within(namespace) })
}

/// The oldest hundred of the live runs that a search finds.
pub(crate) fn group_runs(namespace: String, search: String) -> Ask<Vec<GroupRun>> {
    Ask::new::<GroupRuns>(group_runs::Variables { namespace, search })
}

pub(crate) fn create_group(
    namespace: String,
    name: String,
    max_runs: i64,
    key: String,
) -> Ask<String> {
    let input = create_group::CreateConcurrencyGroupInput { namespace, name, max_runs };
    Ask::new::<CreateGroup>(create_group::Variables { input, key: Some(key) })
}

pub(crate) fn update_group(
    id: String,
    expected_version: i64,
    name: String,
    max_runs: i64,
) -> Ask<String> {
    let (name, max_runs) = (Some(name), Some(max_runs));
    let input = update_group::UpdateConcurrencyGroupInput { id, expected_version, name, max_runs };
    Ask::new::<UpdateGroup>(update_group::Variables { input })
}

pub(crate) fn delete_group(id: String) -> Ask<String> {
    Ask::new::<DeleteGroup>(delete_group::Variables { id })
}

/// The workflows whose names contain a text; all if it is empty.
pub(crate) fn workflow_list(
    namespace: String,
    text: String,
    place: Place,
    size: usize,
) -> Ask<Page<WorkflowRow>> {
    let (namespace, (first, after)) = (within(namespace), place.forward(size));
    let text = Some(text);
    Ask::new::<WorkflowList>(workflow_list::Variables { namespace, text, first, after })
}

pub(crate) fn workflow(id: String) -> Ask<Workflow> {
    Ask::new::<WorkflowOne>(workflow_one::Variables { id })
}

/// Up to `count` versions of a workflow's definition, newest first: from `up_to` on, or from the current one.
pub(crate) fn workflow_versions(
    id: String,
    up_to: Option<i64>,
    count: usize,
) -> Ask<Vec<WorkflowVersion>> {
    let first = i64::try_from(count).unwrap_or(i64::MAX);
    let variables = workflow_versions::Variables { id, first, up_to };
    Ask::new::<WorkflowVersions>(variables)
}

/// A workflow for its editor, with every field that an update has to send back.
pub(crate) fn workflow_definition(id: String) -> Ask<WorkflowDefinition> {
    Ask::new::<operations::WorkflowDefinition>(workflow_definition::Variables { id })
}

/// Creates a workflow. `definition` has the fields of the input except the namespace. Its tasks are JSON that the
/// editor has read into its own types.
pub(crate) fn create_workflow(
    namespace: String,
    definition: Value,
    key: String,
) -> Ask<SavedWorkflow> {
    let input = create_workflow::CreateWorkflowInput {
        namespace,
        name: String::new(),
        tasks: vec![],
        timeout_seconds: None,
        max_parallel: 8,
        runs_on: vec![],
    };
    Ask::new::<CreateWorkflow>(create_workflow::Variables { input, key: Some(key) })
        .with("/variables/input", definition)
}

/// Updates a workflow, if it is still in the version that was read. `definition` has the same fields as for a new
/// workflow.
pub(crate) fn update_workflow(
    id: String,
    expected_version: i64,
    definition: Value,
    key: String,
) -> Ask<SavedWorkflow> {
    let input = update_workflow::UpdateWorkflowInput {
        id,
        expected_version,
        tasks: None,
        timeout_seconds: None,
        max_parallel: None,
        runs_on: None,
    };
    Ask::new::<UpdateWorkflow>(update_workflow::Variables { input, key: Some(key) })
        .with("/variables/input", definition)
}

pub(crate) fn delete_workflow(id: String, expected_version: i64) -> Ask<String> {
    let expected_version = Some(expected_version);
    Ask::new::<DeleteWorkflow>(delete_workflow::Variables { id, expected_version })
}

/// The content of a workflow's text, and the problems for which it would be refused. `workflow_id` is the workflow
/// that is edited.
pub(crate) fn read_workflow(
    text: String,
    workflow_id: Option<String>,
    namespace: String,
) -> Ask<WorkflowReading> {
    Ask::new::<ReadWorkflow>(read_workflow::Variables { text, workflow_id, namespace })
}

/// The modules; with `text`, those whose names contain it.
pub(crate) fn modules(
    namespace: String,
    text: Option<String>,
    place: Place,
    size: usize,
) -> Ask<Page<Module>> {
    let (namespace, (first, after)) = (within(namespace), place.forward(size));
    Ask::new::<Modules>(modules::Variables { namespace, text, first, after })
}

pub(crate) fn drift(namespace: String, name: String) -> Ask<Drift> {
    Ask::new::<ModuleDrift>(module_drift::Variables { namespace, name })
}

/// Makes a module declare its objects as they are. `digest` is that of the drift that was shown.
pub(crate) fn adopt_drift(
    namespace: String,
    name: String,
    digest: String,
    reason: String,
    key: String,
) -> Ask<AdoptedDrift> {
    let key = Some(key);
    let variables = adopt_module_drift::Variables { namespace, name, digest, reason, key };
    Ask::new::<AdoptModuleDrift>(variables)
}

/// Makes a module's objects what it declares. `digest` is that of the drift that was shown.
pub(crate) fn revert_drift(
    namespace: String,
    name: String,
    digest: String,
    missed: CatchUp,
    reason: String,
    key: String,
) -> Ask<String> {
    let key = Some(key);
    let variables = revert_module_drift::Variables { namespace, name, digest, missed, reason, key };
    Ask::new::<RevertModuleDrift>(variables)
}

/// The files of all modules, of one module, or of the objects that a search finds.
pub(crate) fn export(
    namespace: String,
    module: Option<String>,
    search: Option<String>,
) -> Ask<Vec<Exported>> {
    Ask::new::<ExportModules>(export_modules::Variables { namespace, module, search })
}

/// The changes that a deployment would make; nothing is written.
pub(crate) fn plan(source: String, prune: bool, adopt: bool) -> Ask<Plan> {
    Ask::new::<PlanModule>(plan_module::Variables { source, prune, adopt })
}

/// Deploys a module file; returns the module's name.
pub(crate) fn deploy(
    source: String,
    prune: bool,
    adopt: bool,
    reason: Option<String>,
    key: String,
) -> Ask<String> {
    let key = Some(key);
    Ask::new::<DeployModule>(deploy_module::Variables { source, prune, adopt, reason, key })
}

/// The fires of the coming hours: their counts, and the first of them, with or without those of frequent schedules.
pub(crate) fn upcoming(
    namespace: String,
    from: Option<Moment>,
    hours: i64,
    frequent: bool,
    zone: Option<String>,
) -> Ask<crate::model::Forecast> {
    let namespace = within(namespace);
    Ask::new::<Forecast>(forecast::Variables { namespace, from, hours, first: 200, frequent, zone })
}

/// The work of the coming week, by the hour of a zone, or of UTC.
pub(crate) fn work_ahead(
    namespace: String,
    zone: Option<String>,
) -> Ask<Vec<crate::model::HourWork>> {
    Ask::new::<WorkAhead>(work_ahead::Variables { namespace: within(namespace), zone })
}

/// What each catch-up policy would do about the instants of schedules in an outage: of those that a search finds, of
/// one, or of all.
pub(crate) fn outage(
    namespace: String,
    search: Option<String>,
    schedule_id: Option<String>,
    from: Moment,
    to: Moment,
    first: i64,
) -> Ask<Outage> {
    let variables = outage_preview::Variables { namespace, search, schedule_id, from, to, first };
    Ask::new::<OutagePreview>(variables)
}

/// The instants of one schedule in an outage, under each policy.
pub(crate) fn outage_fires(schedule_id: String, from: Moment, to: Moment) -> Ask<Vec<OutageFires>> {
    Ask::new::<operations::OutageFires>(outage_fires::Variables { schedule_id, from, to })
}

/// The clock changes of the coming year that affect schedules.
pub(crate) fn clock_changes(namespace: String) -> Ask<crate::model::ClockChanges> {
    Ask::new::<ClockChanges>(clock_changes::Variables { namespace: within(namespace) })
}

/// Which lanes of the timeline to load.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LaneQuery {
    pub(crate) namespace: String,
    pub(crate) search: Option<String>,
    pub(crate) from: Moment,
    pub(crate) to: Moment,
    pub(crate) sort: TimelineSort,
    pub(crate) place: Place,
}

/// What the schedules did and will do in a range of time. The list can only be read forward.
pub(crate) fn lanes(query: LaneQuery, size: usize) -> Ask<Page<Lane>> {
    let LaneQuery { namespace, search, from, to, sort, place } = query;
    let (namespace, (first, after)) = (within(namespace), place.forward(size));
    Ask::new::<Lanes>(lanes::Variables { namespace, search, from, to, sort, first, after })
}

/// How many runs of the schedules that match the search were executed at once.
pub(crate) fn runs_at_once(
    namespace: String,
    search: Option<String>,
    from: Moment,
    to: Moment,
) -> Ask<crate::model::RunsAtOnce> {
    let namespace = within(namespace);
    Ask::new::<RunsAtOnce>(runs_at_once::Variables { namespace, search, from, to })
}
