use async_graphql::{Context, Object};
use entity::Timestamp;
use uuid::Uuid;

use super::{
    backfill::{Backfill, BackfillMode, BackfillState},
    backfill_preview::BackfillPreview,
    calendar::Calendar,
    context::Ask,
    error::Result,
    filters::{FireFilter, RunFilter, ScheduleFilter},
    fire::Fire,
    group::ConcurrencyGroup,
    health::Health,
    log::LogLine,
    node::Node,
    overview::Overview,
    page::{Connection, Paging, connection, connection_with, cost},
    resume::ResumePreview,
    retention::RetentionPreview,
    run::Run,
    scalar::Instant,
    schedule::Schedule,
    timing::{self, SchedulePreview, TimingInput, TimingWarning},
    viewer::Viewer,
    workflow::Workflow,
};
use crate::{
    engine::commands::{BadInput, CommandError, Wanted, groups::MOST_GROUPS},
    store::{calendars, groups, reads, schedules, workflows},
};

/// What can be read.
pub struct Query;

/// What can be read.
#[Object]
impl Query {
    /// Who is asking; null without a session or token. Everything else needs one.
    async fn me(&self, cx: &Context<'_>) -> Option<Viewer> {
        cx.who().map(Into::into)
    }

    /// By name, without regard to case.
    #[graphql(complexity = "cost(first, last, child_complexity)")]
    #[expect(clippy::too_many_arguments, reason = "the arguments of a filtered Relay list")]
    async fn schedules(
        &self,
        cx: &Context<'_>,
        #[graphql(default = "default")] namespace: String,
        filter: Option<ScheduleFilter>,
        first: Option<i32>,
        after: Option<String>,
        last: Option<i32>,
        before: Option<String>,
    ) -> Result<Connection<Schedule, ScheduleTotal>> {
        cx.viewer()?;
        let namespace = namespace_id(cx, &namespace).await?;
        let filter = filter.unwrap_or_default().into();
        let window = Paging { first, after, last, before }.window(name_key)?;
        let page = reads::schedules::page(cx.store(), namespace, &filter, &window).await?;
        let total = ScheduleTotal { namespace, filter };
        Ok(connection_with(page, total, |row| name_cursor(row.id, &row.name), Schedule))
    }

    /// By key, or by name.
    #[graphql(complexity = "ROOT + child_complexity")]
    async fn schedule(
        &self,
        cx: &Context<'_>,
        id: Option<Uuid>,
        #[graphql(default = "default")] namespace: String,
        name: Option<String>,
    ) -> Result<Option<Schedule>> {
        cx.viewer()?;
        let connection = cx.store().read();
        let found = match one_of(id, name)? {
            Named::Id(id) => {
                let row = schedules::by_id(connection, id).await?;
                row.filter(|row| row.deleted_at.is_none())
            }
            Named::Name(name) => {
                let namespace = namespace_id(cx, &namespace).await?;
                schedules::by_name(connection, namespace, &name).await?
            }
        };
        Ok(found.map(Schedule))
    }

    /// What a timing would do, before it is saved: never an error for a bad timing, see `problem`.
    #[graphql(complexity = "cost(Some(count), None, child_complexity)")]
    #[expect(clippy::too_many_arguments, reason = "what a form knows of a schedule")]
    async fn schedule_preview(
        &self,
        cx: &Context<'_>,
        timing: TimingInput,
        from: Option<Instant>,
        #[graphql(default = 10)] count: i32,
        #[graphql(
            desc = "The schedule that is edited, if one is: it decides what `H` stands for and \
                    where `@every` counts from."
        )]
        schedule_id: Option<Uuid>,
        #[graphql(
            desc = "Names of calendars that suppress some of its fires. Without any: those of the \
                    schedule that is edited."
        )]
        calendars: Option<Vec<String>>,
        #[graphql(default = "default", desc = "Where the calendars are.")] namespace: String,
    ) -> Result<SchedulePreview> {
        cx.viewer()?;
        let like = edited(cx, schedule_id).await?;
        let from = from.map_or_else(|| cx.commands().clock.now(), |from| from.0);
        let names = calendars.map(|names| (namespace, names));
        match timing::compile_with(cx, timing, like.as_ref(), names).await? {
            Ok(timetable) if like.is_some() => SchedulePreview::of(&timetable, from, count),
            Ok(timetable) => SchedulePreview::example(&timetable, from, count),
            Err(problem) => Ok(SchedulePreview::refused(problem)),
        }
    }

    /// What is valid in a timing and likely not meant.
    #[graphql(complexity = "ROOT + child_complexity")]
    async fn lint(
        &self,
        cx: &Context<'_>,
        timing: TimingInput,
        #[graphql(desc = "The schedule that is edited, if one is.")] schedule_id: Option<Uuid>,
    ) -> Result<Vec<TimingWarning>> {
        cx.viewer()?;
        let like = edited(cx, schedule_id).await?;
        let timetable = timing::compile(cx, timing, like.as_ref())?;
        Ok(timing::lint(&timetable, cx.commands().clock.now()))
    }

    /// What resuming a schedule now would do, for each way to resume.
    async fn resume_preview(&self, cx: &Context<'_>, id: Uuid) -> Result<ResumePreview> {
        let right = cx.viewer()?;
        Ok(cx.commands().resume_preview(&right, id).await?.into())
    }

    /// By name, without regard to case.
    #[graphql(complexity = "cost(first, None, child_complexity)")]
    async fn calendars(
        &self,
        cx: &Context<'_>,
        #[graphql(default = "default")] namespace: String,
        first: Option<i32>,
        after: Option<String>,
    ) -> Result<Connection<Calendar>> {
        cx.viewer()?;
        let namespace = namespace_id(cx, &namespace).await?;
        let window = Paging::forward(first, after).window(name_key)?;
        let page = calendars::page(cx.store().read(), namespace, &window).await?;
        Ok(connection(page, |row| name_cursor(row.id, &row.name), Calendar))
    }

    async fn calendar(
        &self,
        cx: &Context<'_>,
        #[graphql(default = "default")] namespace: String,
        name: String,
    ) -> Result<Option<Calendar>> {
        cx.viewer()?;
        let namespace = namespace_id(cx, &namespace).await?;
        Ok(calendars::by_name(cx.store().read(), namespace, &name).await?.map(Calendar))
    }

    /// By name, without regard to case.
    #[graphql(complexity = "cost(first, None, child_complexity)")]
    async fn workflows(
        &self,
        cx: &Context<'_>,
        #[graphql(default = "default")] namespace: String,
        first: Option<i32>,
        after: Option<String>,
    ) -> Result<Connection<Workflow>> {
        cx.viewer()?;
        let namespace = namespace_id(cx, &namespace).await?;
        let window = Paging::forward(first, after).window(name_key)?;
        let page = workflows::page(cx.store().read(), namespace, &window).await?;
        Ok(connection(page, |row| name_cursor(row.id, &row.name), Workflow::current))
    }

    /// By key, or by name.
    #[graphql(complexity = "ROOT + child_complexity")]
    async fn workflow(
        &self,
        cx: &Context<'_>,
        id: Option<Uuid>,
        #[graphql(default = "default")] namespace: String,
        name: Option<String>,
    ) -> Result<Option<Workflow>> {
        cx.viewer()?;
        let connection = cx.store().read();
        let row = match one_of(id, name)? {
            Named::Id(id) => {
                let found = workflows::by_ids(connection, &[id]).await?.pop();
                found.filter(|row| row.deleted_at.is_none())
            }
            Named::Name(name) => {
                let namespace = namespace_id(cx, &namespace).await?;
                workflows::by_name(connection, namespace, &name).await?
            }
        };
        Ok(row.map(Workflow::current))
    }

    /// Newest first.
    #[graphql(complexity = "cost(first, last, child_complexity)")]
    #[expect(clippy::too_many_arguments, reason = "the arguments of a filtered Relay list")]
    async fn runs(
        &self,
        cx: &Context<'_>,
        #[graphql(default = "default")] namespace: String,
        filter: Option<RunFilter>,
        first: Option<i32>,
        after: Option<String>,
        last: Option<i32>,
        before: Option<String>,
    ) -> Result<Connection<Run>> {
        cx.viewer()?;
        let namespace = namespace_id(cx, &namespace).await?;
        let key = |text: &str| Uuid::try_parse(text).ok();
        let window = Paging { first, after, last, before }.window(key)?;
        let filter = filter.unwrap_or_default().into();
        let page = reads::runs::page(cx.store(), namespace, &filter, &window).await?;
        Ok(connection(page, |row| row.id.simple().to_string(), Run))
    }

    #[graphql(complexity = "ROOT + child_complexity")]
    async fn run(&self, cx: &Context<'_>, id: Uuid) -> Result<Option<Run>> {
        cx.viewer()?;
        Ok(reads::runs::by_id(cx.store(), id).await?.map(Run))
    }

    /// The ledger of a schedule, newest first.
    #[graphql(complexity = "cost(first, last, child_complexity)")]
    #[expect(clippy::too_many_arguments, reason = "the arguments of a filtered Relay list")]
    async fn fires(
        &self,
        cx: &Context<'_>,
        schedule_id: Uuid,
        filter: Option<FireFilter>,
        first: Option<i32>,
        after: Option<String>,
        last: Option<i32>,
        before: Option<String>,
    ) -> Result<Connection<Fire>> {
        cx.viewer()?;
        let key = |text: &str| text.parse().ok().map(Timestamp);
        let window = Paging { first, after, last, before }.window(key)?;
        let filter = filter.unwrap_or_default().into();
        let page = reads::fires::page(cx.store(), schedule_id, &filter, &window).await?;
        Ok(connection(page, |row| row.scheduled_at.0.to_string(), Fire))
    }

    /// Newest first.
    #[graphql(complexity = "cost(first, last, child_complexity)")]
    #[expect(clippy::too_many_arguments, reason = "the arguments of a filtered Relay list")]
    async fn backfills(
        &self,
        cx: &Context<'_>,
        #[graphql(default = "default")] namespace: String,
        schedule_id: Option<Uuid>,
        state: Option<BackfillState>,
        first: Option<i32>,
        after: Option<String>,
        last: Option<i32>,
        before: Option<String>,
    ) -> Result<Connection<Backfill>> {
        cx.viewer()?;
        let namespace = namespace_id(cx, &namespace).await?;
        let key = |text: &str| Uuid::try_parse(text).ok();
        let window = Paging { first, after, last, before }.window(key)?;
        let filter = reads::backfills::Filter { schedule_id, state: state.map(Into::into) };
        let page = reads::backfills::page(cx.store(), namespace, &filter, &window).await?;
        Ok(connection(page, |row| row.id.simple().to_string(), Backfill))
    }

    #[graphql(complexity = "ROOT + child_complexity")]
    async fn backfill(&self, cx: &Context<'_>, id: Uuid) -> Result<Option<Backfill>> {
        cx.viewer()?;
        Ok(reads::backfills::by_id(cx.store(), id).await?.map(Backfill))
    }

    /// What a backfill of a schedule would run: the exact fires from `from` (inclusive) to `to`
    /// (exclusive, not in the future), 10,000 at the most.
    #[graphql(complexity = "PREVIEW + child_complexity")]
    async fn preview_backfill(
        &self,
        cx: &Context<'_>,
        schedule_id: Uuid,
        from: Instant,
        to: Instant,
        #[graphql(default_with = "BackfillMode::Missing")] mode: BackfillMode,
    ) -> Result<BackfillPreview> {
        let right = cx.viewer()?;
        let wanted = Wanted { schedule_id, from: from.0, to: to.0, mode: mode.into() };
        Ok(BackfillPreview(cx.commands().preview_backfill(&right, wanted).await?))
    }

    /// A page of a run's log, oldest first.
    #[graphql(complexity = "cost(first, None, child_complexity)")]
    async fn task_log(
        &self,
        cx: &Context<'_>,
        run_id: Uuid,
        first: Option<i32>,
        after: Option<String>,
    ) -> Result<Connection<LogLine>> {
        cx.viewer()?;
        let window = Paging::forward(first, after).window(|text| text.parse().ok())?;
        let page = reads::logs::page(cx.store(), run_id, &window).await?;
        Ok(connection(page, |row| row.seq.to_string(), Into::into))
    }

    /// The concurrency groups of a namespace, by name without regard to case; at most 500.
    #[graphql(complexity = "cost(Some(200), None, child_complexity)")]
    async fn concurrency_groups(
        &self,
        cx: &Context<'_>,
        #[graphql(default = "default")] namespace: String,
    ) -> Result<Vec<ConcurrencyGroup>> {
        cx.viewer()?;
        let namespace = namespace_id(cx, &namespace).await?;
        let rows = groups::list(cx.store().read(), namespace, MOST_GROUPS).await?;
        Ok(rows.into_iter().map(ConcurrencyGroup).collect())
    }

    /// The IANA zones that a schedule may name.
    #[graphql(complexity = "ROOT + child_complexity")]
    async fn timezones(&self, cx: &Context<'_>) -> Result<Vec<&'static str>> {
        cx.viewer()?;
        Ok(timetable::zone_names().collect())
    }

    /// The server processes that are alive or gone within a day, by name.
    #[graphql(complexity = "ROOT + child_complexity")]
    async fn nodes(&self, cx: &Context<'_>) -> Result<Vec<Node>> {
        cx.viewer()?;
        Node::all(cx).await
    }

    /// Whether all is well, in one namespace or in all.
    #[graphql(complexity = "ROOT + child_complexity")]
    async fn health(&self, cx: &Context<'_>, namespace: Option<String>) -> Result<Health> {
        cx.viewer()?;
        Health::now(cx, namespace).await
    }

    /// What the next round of retention would remove. Counts rows: ask seldom.
    #[graphql(complexity = "ROOT + child_complexity")]
    async fn retention_preview(&self, cx: &Context<'_>) -> Result<RetentionPreview> {
        let right = cx.admin()?;
        Ok(RetentionPreview(cx.commands().retention_preview(&right).await?))
    }

    #[graphql(complexity = "ROOT + child_complexity")]
    async fn overview(
        &self,
        cx: &Context<'_>,
        #[graphql(default = "default")] namespace: String,
    ) -> Result<Overview> {
        cx.viewer()?;
        Overview::now(cx, namespace_id(cx, &namespace).await?).await
    }
}

/// How one thing is asked for.
enum Named {
    Id(Uuid),
    Name(String),
}

fn one_of(id: Option<Uuid>, name: Option<String>) -> Result<Named> {
    match (id, name) {
        (Some(id), None) => Ok(Named::Id(id)),
        (None, Some(name)) => Ok(Named::Name(name)),
        (Some(_), Some(name)) => {
            let help = "give one of the two";
            Err(BadInput::new("name", name, "is given beside 'id'", help).into())
        }
        (None, None) => Err(BadInput::new("id", "", "is missing", "give an id or a name").into()),
    }
}

/// Counted when it is asked for.
pub(crate) struct ScheduleTotal {
    namespace: Uuid,
    filter: reads::schedules::Filter,
}

#[Object]
impl ScheduleTotal {
    /// Counted to 10,000 at the most.
    async fn total_count(&self, cx: &Context<'_>) -> Result<i64> {
        let (namespace, filter) = (self.namespace, &self.filter);
        Ok(reads::schedules::count(cx.store(), namespace, filter, 10_000).await?)
    }
}

/// What a field at the root costs at the least: a statement or a search of its own. Without it a
/// request could ask the same a thousand times under a thousand names.
const ROOT: usize = 100;

/// What it costs to look at ten thousand instants, whatever is told of them.
const PREVIEW: usize = 5_000;

/// The namespace of that name.
pub(super) async fn namespace_id(cx: &Context<'_>, name: &str) -> Result<Uuid> {
    Ok(cx.commands().namespace(cx.store().read(), name).await?)
}

async fn edited(cx: &Context<'_>, id: Option<Uuid>) -> Result<Option<entity::schedule::Model>> {
    let Some(id) = id else { return Ok(None) };
    let row = schedules::by_id(cx.store().read(), id).await?;
    Ok(Some(row.ok_or_else(|| CommandError::not_found("schedule", id))?))
}

/// The cursor of a list by name: the key and the name as the list orders it.
fn name_cursor(id: Uuid, name: &str) -> String {
    format!("{}{}", id.simple(), name.to_lowercase())
}

fn name_key(cursor: &str) -> Option<(String, Uuid)> {
    let (id, name) = cursor.split_at_checked(32)?;
    Some((name.to_owned(), Uuid::try_parse(id).ok()?))
}
