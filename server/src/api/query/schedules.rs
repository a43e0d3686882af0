//! Schedules, and previews of what they would do.

use async_graphql::{Context, Object};
use uuid::Uuid;

use super::names::{IdOrName, ROOT, namespace_id, one_of, usual, within};
use crate::{
    api::{
        context::ContextExt,
        deleted::{self, DeletedSchedule},
        error::Result,
        filters::ScheduleFilter,
        page::{Connection, DECLARED, Paging, connection, cost, search_cost},
        resume::ResumePreview,
        scalar::Instant,
        schedule::Schedule,
        sort::{ScheduleSort, schedules_page, sort_cost},
        timing::{self, PREVIEW, TimingInput, TimingWarning, preview_cost},
        timing_preview::SchedulePreview,
    },
    commands::{BadInput, CommandError},
    store::schedules,
};

/// Queries of schedules, and previews of what they would do.
#[derive(Default)]
pub(crate) struct ReadingSchedules;

/// Queries of schedules, and previews of what they would do.
#[Object]
impl ReadingSchedules {
    /// Schedules by name, ignoring case, unless `sort` specifies another order.
    #[graphql(
        complexity = "search_cost(search.as_deref()) + sort_cost(sort.is_some()) + cost(first, last, child_complexity)"
    )]
    #[expect(clippy::too_many_arguments, reason = "the arguments of a filtered Relay list")]
    async fn schedules(
        &self,
        cx: &Context<'_>,
        #[graphql(default_with = "usual()", desc = "If null, all namespaces that you may see.")]
        namespace: Option<String>,
        #[graphql(desc = "Only schedules that match this filter.")] filter: Option<ScheduleFilter>,
        #[graphql(
            desc = "A search in the language of docs/search.md, such as `state:failed tag:billing \
                    next:<1h`."
        )]
        search: Option<String>,
        #[graphql(desc = "The order; by name if absent.")] sort: Option<ScheduleSort>,
        #[graphql(desc = "The page size, 1 to 200; 50 if absent.")] first: Option<i32>,
        #[graphql(desc = "Only entries after this cursor of the list.")] after: Option<String>,
        #[graphql(
            desc = "The page size, 1 to 200, to page from the end of the list; instead of `first`."
        )]
        last: Option<i32>,
        #[graphql(desc = "Only entries before this cursor of the list.")] before: Option<String>,
    ) -> Result<Connection<Schedule>> {
        cx.viewer()?;
        let within = within(cx, namespace.as_deref()).await?;
        let filter = filter.unwrap_or_default().narrowed(cx, &within, search).await?;
        let paging = Paging { first, after, last, before };
        schedules_page(cx, &within, &filter, sort, paging).await
    }

    /// Deleted schedules that can be restored, the last deleted first.
    #[graphql(complexity = "cost(first, None, child_complexity)")]
    async fn deleted_schedules(
        &self,
        cx: &Context<'_>,
        #[graphql(default = "default", desc = "The namespace's name.")] namespace: String,
        #[graphql(desc = "The page size, 1 to 200; 50 if absent.")] first: Option<i32>,
        #[graphql(desc = "Only entries after this cursor of the list.")] after: Option<String>,
    ) -> Result<Connection<DeletedSchedule>> {
        cx.viewer()?;
        let namespace = namespace_id(cx, &namespace).await?;
        let window = Paging::forward(first, after).window(deleted::key)?;
        let page = schedules::deleted(cx.store().read(), namespace, &window).await?;
        Ok(connection(page, deleted::cursor, DeletedSchedule::from))
    }

    /// A schedule by id or by name.
    #[graphql(complexity = "ROOT + child_complexity")]
    async fn schedule(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The schedule's id; give this or `name`.")] id: Option<Uuid>,
        #[graphql(default = "default", desc = "The namespace's name.")] namespace: String,
        #[graphql(desc = "The name in `namespace`; give this or `id`.")] name: Option<String>,
    ) -> Result<Option<Schedule>> {
        cx.viewer()?;
        let connection = cx.store().read();
        let found = match one_of(id, name)? {
            IdOrName::Id(id) => {
                let row = schedules::by_id(connection, id).await?;
                row.filter(|row| row.deleted_at.is_none() && cx.is_home(row.namespace_id))
            }
            IdOrName::Name(name) => {
                let namespace = namespace_id(cx, &namespace).await?;
                schedules::by_name(connection, namespace, &name).await?
            }
        };
        Ok(found.map(Schedule))
    }

    /// What a timing would do, before it is saved. An invalid timing is not an error: see
    /// `problem`.
    #[graphql(
        complexity = "preview_cost(&timing, calendars.as_deref()) + cost(Some(count), None, child_complexity)"
    )]
    async fn schedule_preview(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The timing to try.")] timing: TimingInput,
        #[graphql(desc = "Only fires after this instant; now if absent.")] from: Option<Instant>,
        #[graphql(default = 10, desc = "The number of fires, 1 to 200.")] count: i32,
        #[graphql(desc = "The schedule being edited, if any: it determines the value of `H` and \
                    where `@every` counts from.")]
        schedule_id: Option<Uuid>,
        #[graphql(
            desc = "Names of calendars that suppress some of its fires. If absent, those of the \
                    schedule being edited."
        )]
        calendars: Option<Vec<String>>,
        #[graphql(default = "default", desc = "The calendars' namespace.")] namespace: String,
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

    /// Warnings about a timing that is valid but probably not intended.
    #[graphql(complexity = "preview_cost(&timing, None) + DECLARED * child_complexity")]
    async fn lint(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The timing to check.")] timing: TimingInput,
        #[graphql(desc = "The schedule being edited, if any.")] schedule_id: Option<Uuid>,
    ) -> Result<Vec<TimingWarning>> {
        cx.viewer()?;
        let like = edited(cx, schedule_id).await?;
        let timetable = timing::compile(cx, timing, like.as_ref())?;
        Ok(timing::lint(&timetable, cx.commands().clock.now()))
    }

    /// The effects of resuming a schedule, for each way to resume.
    #[graphql(complexity = "PREVIEW + child_complexity")]
    async fn resume_preview(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The schedule's id.")] id: Uuid,
        #[graphql(desc = "Now if absent. Not before the pause, and at most a year ahead.")]
        at: Option<Instant>,
        #[graphql(
            default,
            desc = "Whether to treat a schedule that is not paused as if it were paused from now \
                    until `at`."
        )]
        if_paused: bool,
        #[graphql(
            desc = "Instead of `at`: the automatic end of a pause, whether the schedule is paused or \
                    not; in the future, and at most a year ahead."
        )]
        until: Option<Instant>,
    ) -> Result<ResumePreview> {
        let right = cx.viewer()?;
        let preview = match (at, until) {
            (at, None) => {
                let at = at.map(|at| at.0);
                cx.commands().resume_preview(&right, id, at, if_paused).await?
            }
            (None, Some(until)) => cx.commands().pause_end_preview(&right, id, until.0).await?,
            (Some(_), Some(until)) => {
                let (until, help) = (until.0.to_rfc3339(), "give one of the two");
                let problem = "is given together with 'at'";
                return Err(BadInput::new("until", until, problem, help).into());
            }
        };
        Ok(preview.into())
    }
}

async fn edited(cx: &Context<'_>, id: Option<Uuid>) -> Result<Option<entity::schedule::Model>> {
    let Some(id) = id else { return Ok(None) };
    let row = schedules::by_id(cx.store().read(), id).await?;
    let row = row.filter(|row| cx.is_home(row.namespace_id));
    Ok(Some(row.ok_or_else(|| CommandError::not_found("schedule", id))?))
}
