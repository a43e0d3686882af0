//! Results of mutations: the object after the mutation.

use async_graphql::{Context, SimpleObject};
use uuid::Uuid;

use super::{
    calendar::Calendar,
    context::ContextExt,
    error::Result,
    group::ConcurrencyGroup,
    loaders::ScheduleRow,
    page::DECLARED,
    run::Run,
    scalar::Instant,
    schedule::Schedule,
    timing::{TimingWarning, told},
    workflow::Workflow,
};
use crate::{
    commands::{
        CommandError, OrderedRun, RearrangedBuffer, SavedCalendar, SavedGroup, SavedSchedule,
    },
    store::{calendars, groups, reads},
};

/// A schedule after a mutation.
#[derive(SimpleObject)]
pub(crate) struct SchedulePayload {
    schedule: Schedule,
    /// Likely mistakes in the schedule's timing, and secrets that its task uses but that are not
    /// set.
    #[graphql(complexity = "DECLARED * child_complexity")]
    warnings: Vec<TimingWarning>,
}

impl SchedulePayload {
    pub(super) async fn of(cx: &Context<'_>, saved: SavedSchedule) -> Result<Self> {
        let warnings = told(saved.warnings, saved.unset);
        let schedule = match saved.row {
            Some(row) if cx.is_home(row.namespace_id) => Schedule(*row),
            Some(_) | None => schedule(cx, saved.id).await?,
        };
        Ok(Self { schedule, warnings })
    }
}

/// One of several schedules that were created together. Query `schedule` for its other fields.
#[derive(SimpleObject)]
pub(crate) struct CreatedSchedule {
    id: Uuid,
    name: String,
    /// Likely mistakes in the schedule's timing, and secrets that its task uses but that are not
    /// set.
    #[graphql(complexity = "DECLARED * child_complexity")]
    warnings: Vec<TimingWarning>,
}

impl CreatedSchedule {
    /// The created schedules, in the order of the inputs.
    pub(super) fn all(names: Vec<String>, saved: Vec<SavedSchedule>) -> Vec<Self> {
        let one = |(name, saved): (String, SavedSchedule)| {
            let warnings = told(saved.warnings, saved.unset);
            Self { id: saved.id, name, warnings }
        };
        names.into_iter().zip(saved).map(one).collect()
    }
}

/// The schedule with this id.
pub(super) async fn schedule(cx: &Context<'_>, id: Uuid) -> Result<Schedule> {
    let row = cx.rows().load_one(ScheduleRow(id)).await?;
    // The answer to a repeated call may be read after the caller has lost access.
    let row = row.filter(|row| cx.is_home(row.namespace_id));
    Ok(Schedule(row.ok_or_else(|| CommandError::not_found("schedule", id))?))
}

/// A schedule whose next fires are skipped.
#[derive(SimpleObject)]
pub(crate) struct SkipPayload {
    pub(super) schedule: Schedule,
    /// The instants that are skipped.
    pub(super) skipped_at: Vec<Instant>,
}

/// A calendar after a mutation.
#[derive(SimpleObject)]
pub(crate) struct CalendarPayload {
    calendar: Calendar,
}

impl CalendarPayload {
    pub(super) async fn of(cx: &Context<'_>, saved: SavedCalendar) -> Result<Self> {
        let row = calendars::by_ids(cx.store().read(), &[saved.id]).await?.pop();
        let row = row.filter(|row| cx.is_home(row.namespace_id));
        let row = row.ok_or_else(|| CommandError::not_found("calendar", saved.id))?;
        Ok(Self { calendar: Calendar(row) })
    }
}

/// A schedule's buffer after a mutation.
#[derive(SimpleObject)]
pub(crate) struct BufferPayload {
    schedule: Schedule,
    /// The fires that were removed from the buffer.
    purged: Vec<Uuid>,
}

impl BufferPayload {
    pub(super) async fn of(cx: &Context<'_>, done: RearrangedBuffer) -> Result<Self> {
        Ok(Self { schedule: schedule(cx, done.schedule_id).await?, purged: done.purged })
    }
}

/// A concurrency group after a mutation.
#[derive(SimpleObject)]
pub(crate) struct ConcurrencyGroupPayload {
    group: ConcurrencyGroup,
}

impl ConcurrencyGroupPayload {
    pub(super) async fn of(cx: &Context<'_>, grouped: SavedGroup) -> Result<Self> {
        let row = groups::by_ids(cx.store().read(), &[grouped.id]).await?.pop();
        let row = row.filter(|row| cx.is_home(row.namespace_id));
        let row = row.ok_or_else(|| CommandError::not_found("concurrency group", grouped.id))?;
        Ok(Self { group: ConcurrencyGroup(row) })
    }
}

/// A workflow after a mutation.
#[derive(SimpleObject)]
pub(crate) struct WorkflowPayload {
    workflow: Workflow,
    /// Secrets that the workflow's tasks use but that are not set.
    #[graphql(complexity = "DECLARED * child_complexity")]
    warnings: Vec<TimingWarning>,
}

impl WorkflowPayload {
    pub(super) async fn of(cx: &Context<'_>, id: Uuid) -> Result<Self> {
        let workflow = Workflow::load(cx, id, None).await?;
        let warnings = told(vec![], workflow.unset_secrets(cx).await?);
        Ok(Self { workflow, warnings })
    }
}

/// The deleted object.
#[derive(SimpleObject)]
pub(crate) struct DeletePayload {
    pub(super) id: Uuid,
}

/// A run after a mutation.
#[derive(SimpleObject)]
pub(crate) struct RunPayload {
    run: Run,
}

impl RunPayload {
    pub(super) async fn of(cx: &Context<'_>, ordered: OrderedRun) -> Result<Self> {
        let row = reads::runs::by_id(cx.store(), ordered.id).await?;
        let row = row.filter(|row| cx.is_home(row.namespace_id));
        let row = row.ok_or_else(|| CommandError::not_found("run", ordered.id))?;
        Ok(Self { run: Run(row) })
    }
}
