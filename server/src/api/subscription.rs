//! Subscriptions to events of runs, schedules and the cluster, and to log lines.

use std::sync::Arc;

use async_graphql::{Context, SimpleObject, Subscription as Subscribable};
use entity::{run, schedule, task_log};
use futures::{StreamExt, stream::BoxStream};
use uuid::Uuid;

use super::{
    context::ContextExt,
    error::{ApiError, Result},
    follow::{FeedRead, FeedReader, follow},
    log::LogLine,
    node::{Node, NodeFacts, NodeFactsCache},
    query::{followed, usual},
    run::Run,
    schedule::Schedule,
};
use crate::{
    clock::Clock,
    commands::{BadInput, CommandError},
    engine::cluster::Cluster,
    store::{
        Cursor, Store, StoreError,
        reads::{feed, runs},
    },
};

/// The number of rows read at once.
pub(super) const BATCH: u64 = 200;

/// The events of a subscription.
pub(super) type Events<T> = BoxStream<'static, async_graphql::Result<T>>;

/// Subscriptions to runs, logs, schedules and nodes. Each event contains a cursor from which to
/// resume.
#[derive(Default)]
pub(super) struct Following;

/// Subscriptions to runs, logs, schedules and nodes. Each event contains a cursor from which to
/// resume.
#[Subscribable]
impl Following {
    /// Runs as they change state, from `since` on: a client that reconnects with its last cursor
    /// misses nothing and sees nothing twice.
    async fn run_events(
        &self,
        cx: &Context<'_>,
        #[graphql(default_with = "usual()", desc = "If null, all namespaces that you may see.")]
        namespace: Option<String>,
        #[graphql(desc = "Only runs of this schedule.")] schedule_id: Option<Uuid>,
        #[graphql(desc = "Only this run.")] run_id: Option<Uuid>,
        #[graphql(
            desc = "The cursor of the last event that you saw; if absent, only new events are \
                    sent."
        )]
        since: Option<String>,
    ) -> Result<Events<RunEvent>> {
        cx.viewer()?;
        let within = followed(cx, namespace.as_deref()).await?;
        let store = cx.store().clone();
        let changes = store.changes().follow();
        let start = match position(since.as_deref())? {
            Some(cursor) => cursor,
            None => feed::end_of_runs(&store).await?,
        };
        let filter = feed::FeedFilter { schedule_id, run_id };
        let read: FeedReader<Cursor, run::Model> = Box::new(move |after| {
            let (store, within, filter) = (store.clone(), within.clone(), filter.clone());
            Box::pin(
                async move { Ok(batch(feed::runs(&store, &within, &filter, after, BATCH).await?)) },
            )
        });
        let event = |row: run::Model| RunEvent {
            cursor: Cursor { changed: row.changed, id: row.id }.to_string(),
            run: Run(row),
        };
        Ok(events(follow(changes, start, read), event))
    }

    /// A run's log, line by line, while it is written. Completes once the run has settled and all
    /// lines are sent.
    async fn task_log(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The run's id.")] run_id: Uuid,
        #[graphql(
            desc = "The cursor of the last event that you saw; if absent, all lines are sent."
        )]
        since: Option<String>,
    ) -> Result<Events<LogEvent>> {
        cx.viewer()?;
        let store = cx.store().clone();
        let changes = store.changes().follow();
        let Some(run) = runs::by_id(&store, run_id).await? else {
            return Err(CommandError::not_found("run", run_id).into());
        };
        cx.payloads_of(Some(run.namespace_id), "run", run_id)?;
        let start = since.as_deref().map(line).transpose()?.unwrap_or(i64::MIN);
        let read: FeedReader<i64, task_log::Model> = Box::new(move |after| {
            let store = store.clone();
            Box::pin(async move { lines(&store, run_id, after).await })
        });
        let event = |row: task_log::Model| {
            let line = LogLine::from(row);
            LogEvent { cursor: line.cursor.clone(), line }
        };
        Ok(events(follow(changes, start, read), event))
    }

    /// Schedules of a namespace, whenever their definition, pause or next fire changes.
    async fn schedule_events(
        &self,
        cx: &Context<'_>,
        #[graphql(default_with = "usual()", desc = "If null, all namespaces that you may see.")]
        namespace: Option<String>,
        #[graphql(desc = "At most 1000 schedules; all if absent.")] ids: Option<Vec<Uuid>>,
        #[graphql(
            desc = "The cursor of the last event that you saw; if absent, only new events are \
                    sent."
        )]
        since: Option<String>,
    ) -> Result<Events<ScheduleEvent>> {
        cx.viewer()?;
        if let Some(ids) = ids.as_ref().filter(|ids| ids.len() > 1_000) {
            let help = "follow at most 1000 by key, or the whole namespace";
            return Err(BadInput::new("ids", ids.len(), "are too many", help).into());
        }
        let within = followed(cx, namespace.as_deref()).await?;
        let store = cx.store().clone();
        let changes = store.changes().follow();
        let start = match position(since.as_deref())? {
            Some(cursor) => cursor,
            None => feed::end_of_schedules(&store).await?,
        };
        let read: FeedReader<Cursor, schedule::Model> = Box::new(move |after| {
            let (store, within, ids) = (store.clone(), within.clone(), ids.clone());
            Box::pin(async move {
                let ids = ids.as_deref();
                Ok(batch(feed::schedules(&store, &within, ids, after, BATCH).await?))
            })
        });
        let event = |row: schedule::Model| ScheduleEvent {
            cursor: Cursor { changed: row.changed, id: row.id }.to_string(),
            schedule_id: row.id,
            schedule: row.deleted_at.is_none().then_some(Schedule(row)),
        };
        Ok(events(follow(changes, start, read), event))
    }

    /// Nodes as they join, drain, leave or die, as cluster-wide services move between them, and
    /// with each heartbeat. When a node comes or goes, the shards of the others change, too: query
    /// `serverNodes` to see all of them.
    async fn cluster_events(
        &self,
        cx: &Context<'_>,
        #[graphql(
            desc = "The cursor of the last event that you saw; if absent, only new events are \
                    sent."
        )]
        since: Option<String>,
    ) -> Result<Events<ClusterEvent>> {
        cx.viewer()?;
        let (store, cluster) = (cx.store().clone(), cx.data_unchecked::<Cluster>().clone());
        let kept = cx.data_unchecked::<Arc<NodeFactsCache>>().clone();
        let changes = store.changes().follow();
        let start = match position(since.as_deref())? {
            Some(cursor) => cursor,
            None => feed::end_of_nodes(&store).await?,
        };
        let read: FeedReader<Cursor, (Cursor, Node)> = Box::new(move |after| {
            let (store, cluster, kept) = (store.clone(), cluster.clone(), kept.clone());
            Box::pin(async move { nodes(&store, &cluster, &kept, after).await })
        });
        let event = |(cursor, node): (Cursor, Node)| {
            let cursor = cursor.to_string();
            ClusterEvent { cursor, node }
        };
        Ok(events(follow(changes, start, read), event))
    }
}

/// A node that changed.
#[derive(SimpleObject)]
pub(crate) struct ClusterEvent {
    /// Pass this cursor to resume after the event.
    cursor: String,
    /// The current state of the node.
    node: Node,
}

/// A run that changed.
#[derive(SimpleObject)]
pub(crate) struct RunEvent {
    /// Pass this cursor to resume after the event.
    cursor: String,
    /// The current state of the run.
    run: Run,
}

/// A line of a run's log.
#[derive(SimpleObject)]
pub(crate) struct LogEvent {
    /// Pass this cursor to resume after the event.
    cursor: String,
    /// The line.
    line: LogLine,
}

/// A schedule that changed.
#[derive(SimpleObject)]
pub(crate) struct ScheduleEvent {
    /// Pass this cursor to resume after the event.
    cursor: String,
    /// Null if the schedule was deleted.
    schedule: Option<Schedule>,
    /// The id of the schedule, deleted or not.
    schedule_id: Uuid,
}

pub(super) fn position(since: Option<&str>) -> Result<Option<Cursor>> {
    Ok(since.map(|text| text.parse().map_err(|_| not_a_cursor(text))).transpose()?)
}

fn line(since: &str) -> Result<i64> {
    Ok(since.parse().map_err(|_| not_a_cursor(since))?)
}

pub(super) fn not_a_cursor(text: &str) -> BadInput {
    let help = "give the cursor of the last event that you saw, or leave it out";
    BadInput::new("since", text, "is not a cursor of this feed", help)
}

pub(super) fn batch<T>(batch: feed::ChangedRows<T>) -> FeedRead<Cursor, T> {
    FeedRead { rows: batch.rows, position: batch.position, more: batch.more, ended: false }
}

async fn nodes(
    store: &Store,
    cluster: &Cluster,
    kept: &NodeFactsCache,
    after: Cursor,
) -> std::result::Result<FeedRead<Cursor, (Cursor, Node)>, StoreError> {
    let feed::ChangedRows { rows, position, more } = feed::nodes(store, after, BATCH).await?;
    let cursors: Vec<Cursor> =
        rows.iter().map(|row| Cursor { changed: row.changed, id: row.id }).collect();
    let nodes = match cursors.last() {
        None => vec![],
        Some(last) => {
            // Real time rather than the application's clock, because this only limits the load on
            // the database.
            let look = async { NodeFacts::now(store, cluster).await.map(Arc::new) };
            Node::of(rows, &*kept.answer(&Clock::system(), *last, look).await?)
        }
    };
    Ok(FeedRead { rows: cursors.into_iter().zip(nodes).collect(), position, more, ended: false })
}

async fn lines(
    store: &Store,
    run: Uuid,
    after: i64,
) -> std::result::Result<FeedRead<i64, task_log::Model>, StoreError> {
    // The state is read first. Lines are written before their run settles, so a line that is
    // missing after that will never come.
    let settled = runs::by_id(store, run).await?.is_none_or(|run| !run.state.is_live());
    let rows = store.lines_after(run, after, BATCH).await?;
    let more = u64::try_from(rows.len()).is_ok_and(|count| count >= BATCH);
    let position = rows.last().map_or(after, |row| row.seq);
    Ok(FeedRead { rows, position, more, ended: settled && !more })
}

pub(super) fn events<T: 'static, E: 'static>(
    rows: BoxStream<'static, std::result::Result<T, StoreError>>,
    event: impl Fn(T) -> E + Send + 'static,
) -> Events<E> {
    let answer = move |row: std::result::Result<T, StoreError>| match row {
        Ok(row) => Ok(event(row)),
        Err(error) => Err(ApiError::from(error).into()),
    };
    rows.map(answer).boxed()
}
