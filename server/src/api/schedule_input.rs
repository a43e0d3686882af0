//! Schedules in the format of a form.

use async_graphql::{InputObject, MaybeUndefined};
use serde_json::json;
use uuid::Uuid;

use super::{
    ping::PingInput,
    schedule_policy::{CatchUp, OverlapPolicy},
    task_input::TaskInput,
    timing::TimingInput,
};
use crate::{
    commands::{
        BadInput, Edit, ManyEdit, NewSchedule, ScheduleWork,
        secrets::{self, watchdog::unmasked},
    },
    model::{Spec, Task, spec::buffer_limit},
};

/// A schedule to create.
#[derive(InputObject)]
pub(crate) struct CreateScheduleInput {
    /// The namespace's name.
    #[graphql(default = "default")]
    namespace: String,
    /// Unique in the namespace: 1 to 128 of A-Z a-z 0-9 . _ / -
    name: String,
    /// A note for the people who operate the schedule; at most 4,000 characters.
    #[graphql(default)]
    note: String,
    /// At most 32, each of 1 to 128 of A-Z a-z 0-9 . _ / -
    tags: Option<Vec<String>>,
    /// When the schedule is due.
    timing: TimingInput,
    /// Names of calendars that suppress some of the schedule's fires: at most 8.
    #[graphql(default)]
    calendars: Vec<String>,
    /// The schedule is exhausted after this many started fires.
    max_fires: Option<i64>,
    /// An existing workflow's name; alternatively, give `task`.
    workflow: Option<String>,
    /// An inline task: creates a workflow with the schedule's name.
    task: Option<TaskInput>,
    /// What to do about missed fires; if absent, each field has its default.
    misfire: Option<MisfireInput>,
    /// What to do about a fire that is due while a run is alive.
    #[graphql(default_with = "OverlapPolicy::Skip")]
    overlap: OverlapPolicy,
    /// Only for BUFFER_ALL: the maximum number of waiting fires, 1 to 1000; 100 by default.
    buffer_limit: Option<i64>,
    /// A concurrency group's name.
    group: Option<String>,
    /// -100 to 100: among waiting runs, those with a higher priority are taken first.
    #[graphql(default = 0)]
    priority: i64,
    /// A fire that has not started this long after it was due is skipped: 1 second to 30 days. No
    /// deadline if absent.
    start_deadline_seconds: Option<i64>,
    /// A JSON object, at most 256 KiB, that travels with each run; empty if absent.
    context: Option<serde_json::Value>,
    /// For how many days settled history is kept; inherits the namespace's setting if absent.
    retention_days: Option<i64>,
    /// The external watchdog to call; none if absent.
    ping: Option<PingInput>,
    /// Whether the schedule starts out paused.
    #[graphql(default)]
    paused: bool,
}

/// Absent fields keep their current values.
#[derive(InputObject)]
pub(crate) struct UpdateScheduleInput {
    /// The schedule's id.
    id: Uuid,
    /// The version that the change is based on; fails with CONFLICT if the database has a newer
    /// one.
    expected_version: i32,
    /// Unique in the namespace: 1 to 128 of A-Z a-z 0-9 . _ / -
    name: Option<String>,
    /// A note for the people who operate the schedule; at most 4,000 characters.
    note: Option<String>,
    /// The complete list: at most 32.
    tags: Option<Vec<String>>,
    /// Replaces the whole timing.
    timing: Option<TimingInput>,
    /// The complete list: calendars not named here are removed.
    calendars: Option<Vec<String>>,
    /// Counted since the schedule's creation. Null removes the limit.
    max_fires: MaybeUndefined<i64>,
    /// An existing workflow's name; alternatively, give `task`.
    workflow: Option<String>,
    /// Replaces the task of its own workflow; secrets may be given as the mask `***`.
    task: Option<TaskInput>,
    /// Replaces the whole policy for missed fires.
    misfire: Option<MisfireInput>,
    /// What to do about a fire that is due while a run is alive.
    overlap: Option<OverlapPolicy>,
    /// Null resets the limit to the default of 100; changing to another overlap policy removes it.
    buffer_limit: MaybeUndefined<i64>,
    /// Null removes the schedule from its group.
    group: MaybeUndefined<String>,
    /// -100 to 100: among waiting runs, those with a higher priority are taken first.
    priority: Option<i64>,
    /// Null removes the deadline.
    start_deadline_seconds: MaybeUndefined<i64>,
    /// Replaces the whole context: a JSON object, at most 256 KiB. The mask `***` keeps a value.
    context: Option<serde_json::Value>,
    /// Null removes the schedule's own retention.
    retention_days: MaybeUndefined<i64>,
    /// Null removes the watchdog.
    ping: MaybeUndefined<PingInput>,
    /// Reason for the audit log: 0 to 500 characters.
    reason: Option<String>,
}

/// What to do about missed fires.
#[derive(InputObject)]
pub(crate) struct MisfireInput {
    /// Which missed fires run.
    #[graphql(default_with = "CatchUp::Latest")]
    catch_up: CatchUp,
    /// A fire that is claimed more than this long after it was due counts as missed: 0 to 7 days.
    #[graphql(default = 300)]
    grace_seconds: i64,
    /// Only for ALL: the maximum number of fires that run, 1 to 10,000.
    #[graphql(default = 100)]
    max: i64,
    /// Only for ALL: the time between two of these fires, 0 to an hour.
    #[graphql(default = 0)]
    spacing_seconds: i64,
    /// Fires missed longer ago than this never run: 0 to 30 days.
    #[graphql(default = 86400)]
    window_seconds: i64,
}

impl From<MisfireInput> for crate::model::Misfire {
    fn from(input: MisfireInput) -> Self {
        Self {
            catch_up: input.catch_up.into(),
            grace_seconds: input.grace_seconds,
            max: input.max,
            spacing_seconds: input.spacing_seconds,
            window_seconds: input.window_seconds,
        }
    }
}

impl TryFrom<CreateScheduleInput> for NewSchedule {
    type Error = BadInput;

    fn try_from(input: CreateScheduleInput) -> Result<Self, BadInput> {
        let work = work(input.workflow, input.task)?.ok_or_else(|| {
            BadInput::new("workflow", "", "is missing", "name a workflow, or give a task")
        })?;
        let spec = Spec {
            name: input.name,
            note: input.note,
            tags: input.tags.unwrap_or_default(),
            timing: input.timing.into(),
            calendars: input.calendars,
            max_fires: input.max_fires,
            misfire: input.misfire.map(Into::into).unwrap_or_default(),
            overlap: input.overlap.into(),
            buffer_limit: buffer_limit(input.overlap.into(), input.buffer_limit),
            group: input.group,
            priority: input.priority,
            start_deadline_seconds: input.start_deadline_seconds,
            context: input.context.unwrap_or_else(|| json!({})),
            retention_days: input.retention_days,
            ping: input.ping.map(Into::into),
        };
        Ok(Self { namespace: input.namespace, spec, work, paused: input.paused })
    }
}

/// Schedules to create together. An error names the input that it concerns.
pub(super) fn new_schedules(
    inputs: Vec<CreateScheduleInput>,
) -> Result<Vec<NewSchedule>, BadInput> {
    let one = |(index, input): (usize, CreateScheduleInput)| {
        let made = NewSchedule::try_from(input);
        made.map_err(|bad| bad.inside(&format!("inputs[{index}]")))
    };
    inputs.into_iter().enumerate().map(one).collect()
}

impl TryFrom<UpdateScheduleInput> for Edit {
    type Error = BadInput;

    fn try_from(mut input: UpdateScheduleInput) -> Result<Self, BadInput> {
        let work = work(input.workflow.take(), input.task.take())?;
        let (id, expected_version) = (input.id, input.expected_version);
        let reason = input.reason.take();
        Ok(Self { id, expected_version, apply: Box::new(|spec| apply(input, spec)), work, reason })
    }
}

fn apply(input: UpdateScheduleInput, spec: &mut Spec) {
    fn set<T>(place: &mut T, value: Option<impl Into<T>>) {
        if let Some(value) = value {
            *place = value.into();
        }
    }
    set(&mut spec.name, input.name);
    set(&mut spec.note, input.note);
    set(&mut spec.tags, input.tags);
    set(&mut spec.timing, input.timing);
    set(&mut spec.max_fires, given(input.max_fires));
    let context = input.context.map(|given| secrets::unmasked_json(given, &spec.context));
    set(&mut spec.context, context);
    let change = ManyEdit {
        calendars: input.calendars,
        misfire: input.misfire.map(Into::into),
        overlap: input.overlap.map(Into::into),
        buffer_limit: given(input.buffer_limit),
        group: given(input.group),
        priority: input.priority,
        start_deadline_seconds: given(input.start_deadline_seconds),
        retention_days: given(input.retention_days),
        ..ManyEdit::default()
    };
    change.apply(spec);
    if let Some(ping) = given(input.ping) {
        let old = spec.ping.take();
        spec.ping = ping.map(|ping| unmasked(ping.into(), old.as_ref()));
    }
}

/// A change of an optional value: unchanged, removed, or a new value.
pub(super) fn given<T>(value: MaybeUndefined<T>) -> Option<Option<T>> {
    match value {
        MaybeUndefined::Undefined => None,
        MaybeUndefined::Null => Some(None),
        MaybeUndefined::Value(value) => Some(Some(value)),
    }
}

fn work(
    workflow: Option<String>,
    task: Option<TaskInput>,
) -> Result<Option<ScheduleWork>, BadInput> {
    Ok(match (workflow, task) {
        (Some(workflow), Some(_)) => {
            let help = "give one of the two";
            return Err(BadInput::new("workflow", workflow, "is given together with 'task'", help));
        }
        (Some(workflow), None) => Some(ScheduleWork::Workflow(workflow)),
        (None, Some(task)) => Some(ScheduleWork::Task(Box::new(Task::try_from(task)?))),
        (None, None) => None,
    })
}
