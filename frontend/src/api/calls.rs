//! One function for each thing that a page asks of the server or does there.

use super::{
    Code, Failure,
    client::ask,
    operations::{
        self, CancelRun, CreateSchedule, DeleteSchedule, Fires, Me, PauseSchedule, ResumeSchedule,
        RetryRun, Runs, Schedules, Timezones, TriggerSchedule, UpdateSchedule, Workflows,
    },
};
use crate::{
    model::{
        CatchUp, Fire, Overview, Page, Preview, Role, RunDetail, RunRow, RunState, ScheduleDetail,
        ScheduleRow, ScheduleState,
    },
    time::Moment,
};

/// Where a page of a list begins. Cursors are the server's; the console only carries them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Place {
    /// From the top.
    #[default]
    First,
    /// Behind a cursor.
    After(String),
    /// Before a cursor.
    Before(String),
}

impl Place {
    /// `first`, `after`, `last`, `before` as Relay wants them.
    fn arguments(self, size: i64) -> (Option<i64>, Option<String>, Option<i64>, Option<String>) {
        match self {
            Self::First => (Some(size), None, None, None),
            Self::After(cursor) => (Some(size), Some(cursor), None, None),
            Self::Before(cursor) => (None, None, Some(size), Some(cursor)),
        }
    }
}

/// What a list of schedules is narrowed to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScheduleQuery {
    pub(crate) text: Option<String>,
    pub(crate) tag: Option<String>,
    pub(crate) state: Option<ScheduleState>,
    pub(crate) place: Place,
}

/// What a list of runs is narrowed to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunQuery {
    pub(crate) states: Vec<RunState>,
    pub(crate) schedule: Option<String>,
    pub(crate) place: Place,
}

fn found<T>(value: Option<T>, what: &str) -> Result<T, Failure> {
    value.ok_or_else(|| Failure::new(Code::NotFound, format!("There is no such {what}.")))
}

/// Name and role of who is asking; `None` when nobody is signed in.
pub(crate) async fn me() -> Result<Option<(String, Role)>, Failure> {
    let data = ask::<Me>(operations::me::Variables).await?;
    Ok(data.me.map(|me| (me.name, me.role)))
}

pub(crate) async fn overview() -> Result<Overview, Failure> {
    let variables = operations::overview::Variables { upcoming: 40, failures: 8 };
    Ok(ask::<operations::Overview>(variables).await?.into())
}

pub(crate) async fn schedules(
    query: ScheduleQuery,
    size: i64,
) -> Result<Page<ScheduleRow>, Failure> {
    let (first, after, last, before) = query.place.arguments(size);
    let filter = operations::schedules::ScheduleFilter {
        text: query.text,
        tag: query.tag,
        state: query.state,
        workflow: None,
    };
    let variables =
        operations::schedules::Variables { filter: Some(filter), first, after, last, before };
    Ok(ask::<Schedules>(variables).await?.into())
}

pub(crate) async fn schedule(id: String) -> Result<ScheduleDetail, Failure> {
    let variables = operations::schedule::Variables { id, fires: 8 };
    let data = ask::<operations::Schedule>(variables).await?;
    found(data.schedule, "schedule").map(Into::into)
}

pub(crate) async fn fires(
    schedule: String,
    place: Place,
    size: i64,
) -> Result<Page<Fire>, Failure> {
    let (first, after, last, before) = place.arguments(size);
    let variables =
        operations::fires::Variables { schedule_id: schedule, first, after, last, before };
    Ok(ask::<Fires>(variables).await?.into())
}

pub(crate) async fn runs(query: RunQuery, size: i64) -> Result<Page<RunRow>, Failure> {
    let (first, after, last, before) = query.place.arguments(size);
    let states = query.states.into_iter().collect::<Vec<_>>();
    let filter = operations::runs::RunFilter {
        states: (!states.is_empty()).then_some(states),
        schedule_id: query.schedule,
        live: None,
        after: None,
        before: None,
    };
    let variables =
        operations::runs::Variables { filter: Some(filter), first, after, last, before };
    Ok(ask::<Runs>(variables).await?.into())
}

pub(crate) async fn run(id: String) -> Result<RunDetail, Failure> {
    let data = ask::<operations::Run>(operations::run::Variables { id }).await?;
    found(data.run, "run").map(Into::into)
}

pub(crate) async fn preview(
    timing: operations::preview::TimingInput,
    count: i64,
) -> Result<Preview, Failure> {
    let variables = operations::preview::Variables { timing, count };
    Ok(ask::<operations::Preview>(variables).await?.schedule_preview.into())
}

pub(crate) async fn timezones() -> Result<Vec<String>, Failure> {
    Ok(ask::<Timezones>(operations::timezones::Variables).await?.timezones)
}

/// The names of the first hundred workflows.
pub(crate) async fn workflows() -> Result<Vec<String>, Failure> {
    let data = ask::<Workflows>(operations::workflows::Variables).await?;
    Ok(data.workflows.nodes.into_iter().map(|workflow| workflow.name).collect())
}

/// Answers the new schedule's id.
pub(crate) async fn create_schedule(
    input: operations::create_schedule::CreateScheduleInput,
) -> Result<String, Failure> {
    let variables = operations::create_schedule::Variables { input };
    Ok(ask::<CreateSchedule>(variables).await?.create_schedule.schedule.id)
}

/// Answers the schedule's id.
pub(crate) async fn update_schedule(
    input: operations::update_schedule::UpdateScheduleInput,
) -> Result<String, Failure> {
    let variables = operations::update_schedule::Variables { input };
    Ok(ask::<UpdateSchedule>(variables).await?.update_schedule.schedule.id)
}

pub(crate) async fn pause_schedule(
    id: String,
    reason: String,
    until: Option<Moment>,
) -> Result<(), Failure> {
    let variables = operations::pause_schedule::Variables { id, reason, until };
    ask::<PauseSchedule>(variables).await.map(drop)
}

pub(crate) async fn resume_schedule(id: String, missed: CatchUp) -> Result<(), Failure> {
    ask::<ResumeSchedule>(operations::resume_schedule::Variables { id, missed }).await.map(drop)
}

pub(crate) async fn delete_schedule(id: String, reason: Option<String>) -> Result<(), Failure> {
    ask::<DeleteSchedule>(operations::delete_schedule::Variables { id, reason }).await.map(drop)
}

/// Answers the new run's id.
pub(crate) async fn trigger_schedule(id: String) -> Result<String, Failure> {
    let variables = operations::trigger_schedule::Variables { id, reason: None };
    Ok(ask::<TriggerSchedule>(variables).await?.trigger_schedule.run.id)
}

pub(crate) async fn cancel_run(id: String, reason: Option<String>) -> Result<(), Failure> {
    ask::<CancelRun>(operations::cancel_run::Variables { id, reason }).await.map(drop)
}

/// Answers the new run's id.
pub(crate) async fn retry_run(id: String) -> Result<String, Failure> {
    Ok(ask::<RetryRun>(operations::retry_run::Variables { id }).await?.retry_run.run.id)
}
