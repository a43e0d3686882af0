//! The ledger, runs and their logs, and backfills.

use async_graphql::{Context, Object};
use entity::Timestamp;
use uuid::Uuid;

use super::names::{ROOT, usual, within};
use crate::{
    api::{
        backfill::{Backfill, BackfillMode, BackfillState},
        backfill_preview::BackfillPreview,
        context::ContextExt,
        error::Result,
        filters::{FireFilter, RunFilter, sought},
        fire::Fire,
        log::LogLine,
        page::{Connection, Paging, connection, cost, search_cost},
        run::Run,
        scalar::Instant,
        sort::{RunSort, runs_page, sort_cost},
    },
    commands::RequestedFires,
    search::SearchedList,
    store::{reads, schedules},
};

/// The cost of examining ten thousand instants, however many are returned.
const PREVIEW: usize = 5_000;

/// Queries of fires, runs, logs and backfills.
#[derive(Default)]
pub(crate) struct ReadingRuns;

/// Queries of fires, runs, logs and backfills.
#[Object]
impl ReadingRuns {
    /// Runs, newest first unless `sort` specifies another order.
    #[graphql(
        complexity = "search_cost(search.as_deref()) + sort_cost(sort.is_some()) + cost(first, last, child_complexity)"
    )]
    #[expect(clippy::too_many_arguments, reason = "the arguments of a filtered Relay list")]
    async fn runs(
        &self,
        cx: &Context<'_>,
        #[graphql(default_with = "usual()", desc = "If null, all namespaces that you may see.")]
        namespace: Option<String>,
        #[graphql(desc = "Only runs that match this filter.")] filter: Option<RunFilter>,
        #[graphql(
            desc = "A search in the language of docs/search.md, such as `state:failed tag:billing \
                    next:<1h`."
        )]
        search: Option<String>,
        #[graphql(desc = "The order; newest first if absent.")] sort: Option<RunSort>,
        #[graphql(desc = "The page size, 1 to 200; 50 if absent.")] first: Option<i32>,
        #[graphql(desc = "Only entries after this cursor of the list.")] after: Option<String>,
        #[graphql(
            desc = "The page size, 1 to 200, to page from the end of the list; instead of `first`."
        )]
        last: Option<i32>,
        #[graphql(desc = "Only entries before this cursor of the list.")] before: Option<String>,
    ) -> Result<Connection<Run>> {
        cx.viewer()?;
        let within = within(cx, namespace.as_deref()).await?;
        let mut filter: reads::runs::Filter = filter.unwrap_or_default().into();
        filter.search = sought(cx, &within, SearchedList::Runs, search)?;
        let paging = Paging { first, after, last, before };
        runs_page(cx, &within, &filter, sort, paging).await
    }

    /// A run by its id; null if there is none.
    #[graphql(complexity = "ROOT + child_complexity")]
    async fn run(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The run's id.")] id: Uuid,
    ) -> Result<Option<Run>> {
        cx.viewer()?;
        let row = reads::runs::by_id(cx.store(), id).await?;
        Ok(row.filter(|row| cx.is_home(row.namespace_id)).map(Run))
    }

    /// The ledger of a schedule, newest first.
    #[graphql(complexity = "cost(first, last, child_complexity)")]
    async fn fires(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The schedule's id.")] schedule_id: Uuid,
        #[graphql(desc = "Only fires that match this filter.")] filter: Option<FireFilter>,
        #[graphql(desc = "The page size, 1 to 200; 50 if absent.")] first: Option<i32>,
        #[graphql(desc = "Only entries after this cursor of the list.")] after: Option<String>,
        #[graphql(
            desc = "The page size, 1 to 200, to page from the end of the list; instead of `first`."
        )]
        last: Option<i32>,
        #[graphql(desc = "Only entries before this cursor of the list.")] before: Option<String>,
    ) -> Result<Connection<Fire>> {
        cx.viewer()?;
        let schedule = schedules::by_id(cx.store().read(), schedule_id).await?;
        cx.at_home(schedule.map(|row| row.namespace_id), "schedule", schedule_id)?;
        let key = |text: &str| text.parse().ok().map(Timestamp);
        let window = Paging { first, after, last, before }.window(key)?;
        let filter = filter.unwrap_or_default().into();
        let page = reads::fires::page(cx.store(), schedule_id, &filter, &window).await?;
        Ok(connection(page, |row| row.scheduled_at.0.to_string(), Fire))
    }

    /// Backfills, newest first.
    #[graphql(complexity = "cost(first, last, child_complexity)")]
    async fn backfills(
        &self,
        cx: &Context<'_>,
        #[graphql(default_with = "usual()", desc = "If null, all namespaces that you may see.")]
        namespace: Option<String>,
        #[graphql(desc = "Only backfills of this schedule.")] schedule_id: Option<Uuid>,
        #[graphql(desc = "Only backfills in this state.")] state: Option<BackfillState>,
        #[graphql(desc = "The page size, 1 to 200; 50 if absent.")] first: Option<i32>,
        #[graphql(desc = "Only entries after this cursor of the list.")] after: Option<String>,
        #[graphql(
            desc = "The page size, 1 to 200, to page from the end of the list; instead of `first`."
        )]
        last: Option<i32>,
        #[graphql(desc = "Only entries before this cursor of the list.")] before: Option<String>,
    ) -> Result<Connection<Backfill>> {
        cx.viewer()?;
        let within = within(cx, namespace.as_deref()).await?;
        let key = |text: &str| Uuid::try_parse(text).ok();
        let window = Paging { first, after, last, before }.window(key)?;
        let filter = reads::backfills::Filter { schedule_id, state: state.map(Into::into) };
        let page = reads::backfills::page(cx.store(), &within, &filter, &window).await?;
        Ok(connection(page, |row| row.id.simple().to_string(), Backfill))
    }

    /// A backfill by its id; null if there is none.
    #[graphql(complexity = "ROOT + child_complexity")]
    async fn backfill(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The backfill's id.")] id: Uuid,
    ) -> Result<Option<Backfill>> {
        cx.viewer()?;
        let row = reads::backfills::by_id(cx.store(), id).await?;
        Ok(row.filter(|row| cx.is_home(row.namespace_id)).map(Backfill))
    }

    /// What a backfill of a schedule would run: the exact fires from `from` (inclusive) to `to`
    /// (exclusive, not in the future); at most 10,000.
    #[graphql(complexity = "PREVIEW + child_complexity")]
    async fn preview_backfill(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The schedule's id.")] schedule_id: Uuid,
        #[graphql(desc = "Inclusive; not before 1970.")] from: Instant,
        #[graphql(desc = "Exclusive; not in the future.")] to: Instant,
        #[graphql(default_with = "BackfillMode::Missing", desc = "Which of the fires to run.")]
        mode: BackfillMode,
    ) -> Result<BackfillPreview> {
        let right = cx.viewer()?;
        let wanted = RequestedFires { schedule_id, from: from.0, to: to.0, mode: mode.into() };
        Ok(BackfillPreview(cx.commands().preview_backfill(&right, wanted).await?))
    }

    /// A page of a run's log, oldest first.
    #[graphql(complexity = "cost(first, None, child_complexity)")]
    async fn task_log(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The run's id.")] run_id: Uuid,
        #[graphql(desc = "The page size, 1 to 200; 50 if absent.")] first: Option<i32>,
        #[graphql(desc = "Only entries after this cursor of the list.")] after: Option<String>,
    ) -> Result<Connection<LogLine>> {
        cx.viewer()?;
        let run = reads::runs::by_id(cx.store(), run_id).await?;
        cx.payloads_of(run.map(|run| run.namespace_id), "run", run_id)?;
        let window = Paging::forward(first, after).window(|text| text.parse().ok())?;
        let page = reads::logs::page(cx.store(), run_id, &window).await?;
        Ok(connection(page, |row| row.seq.to_string(), Into::into))
    }
}
