use async_graphql::{ComplexObject, Context, InputObject, Object, SimpleObject};
use uuid::Uuid;

use super::{
    context::ContextExt,
    error::Result,
    loaders::NamespaceName,
    page::{DECLARED, bounded_by, cost_by},
    query::namespace_id,
    scalar::{Instant, Long},
};
use crate::{
    commands::{CommandError, EffectiveRetention, HypotheticalRetention},
    engine::maintenance::retention::RemovalPreview,
    store::{
        namespaces,
        retention::{Figure, Oldest},
        schedules::{self, OwnRetention},
    },
};

/// Maximum number of schedules listed with their own retention.
const MAX: u64 = 1_000;

/// How long a namespace keeps settled history.
#[derive(SimpleObject)]
#[graphql(complex)]
pub(crate) struct NamespaceRetention {
    namespace: String,
    /// The namespace's own retention; null uses the server's.
    days: Option<i32>,
    /// The retention that applies.
    effective_days: i32,
}

impl From<EffectiveRetention> for NamespaceRetention {
    fn from(kept: EffectiveRetention) -> Self {
        let EffectiveRetention { namespace, days, effective_days } = kept;
        Self { namespace, days, effective_days }
    }
}

impl NamespaceRetention {
    pub(crate) async fn of(cx: &Context<'_>, id: Uuid) -> Result<Self> {
        let row = namespaces::by_ids(cx.store().read(), &[id]).await?.pop();
        let row = row.ok_or_else(|| CommandError::not_found("namespace", id))?;
        let (days, usual) = (row.retention_days, cx.commands().retention.days);
        Ok(Self { namespace: row.name, days, effective_days: days.unwrap_or(usual) })
    }
}

/// How long a namespace keeps settled history.
#[ComplexObject]
impl NamespaceRetention {
    /// The schedules that have their own retention, by name; at most 1000.
    #[graphql(complexity = "DECLARED * child_complexity")]
    async fn schedules(&self, cx: &Context<'_>) -> Result<Vec<ScheduleRetention>> {
        let id = namespace_id(cx, &self.namespace).await?;
        let rows = schedules::with_own_retention(cx.store().read(), id, MAX).await?;
        let own = |row: OwnRetention| ScheduleRetention {
            id: row.id,
            name: row.name,
            days: row.retention_days,
        };
        Ok(rows.into_iter().map(own).collect())
    }
}

/// How long a schedule keeps settled history.
#[derive(SimpleObject)]
pub(crate) struct ScheduleRetention {
    id: Uuid,
    name: String,
    /// The number of days.
    days: i32,
}

/// A hypothetical change of a retention.
#[derive(InputObject)]
#[graphql(name = "RetentionChangeInput")]
pub(crate) struct RetentionThought {
    /// The namespace's name.
    #[graphql(default = "default")]
    namespace: String,
    /// The name of the schedule in the namespace, if the change concerns one.
    schedule: Option<String>,
    /// The number of days, 1 to 3650; null restores the inherited retention.
    days: Option<i64>,
}

impl From<RetentionThought> for HypotheticalRetention {
    fn from(thought: RetentionThought) -> Self {
        let RetentionThought { namespace, schedule, days } = thought;
        Self { namespace, schedule, days }
    }
}

/// What the next retention round would remove, and what it would keep.
pub(crate) struct RetentionPreview(pub(crate) RemovalPreview);

/// What the next retention round would remove, and what it would keep.
#[Object]
impl RetentionPreview {
    /// The longest retention of the namespaces and schedules covered.
    async fn longest_days(&self) -> i32 {
        self.0.policies.longest
    }

    /// The shortest retention of the namespaces and schedules covered.
    async fn shortest_days(&self) -> i32 {
        self.0.policies.shortest
    }

    /// The rows that would be removed, by table and namespace, without tables that lose none. At
    /// most 1000 entries.
    #[graphql(complexity = "cost_by(first, 1_000, child_complexity)")]
    async fn tables(
        &self,
        cx: &Context<'_>,
        #[graphql(default = 200, desc = "The number of entries, 1 to 1000.")] first: i32,
    ) -> Result<Vec<RetentionFigure>> {
        let limit = usize::try_from(bounded_by("first", first, 1_000)?).unwrap_or(usize::MAX);
        let figures = self.0.figures.get(..limit).unwrap_or(&self.0.figures);
        let ids = figures.iter().filter_map(|figure| figure.namespace_id).map(NamespaceName);
        let names = cx.rows().load_many(ids).await?;
        let name = |id| names.get(&NamespaceName(id)).cloned();
        let table = |figure: &Figure| RetentionFigure {
            table: figure.table,
            namespace: figure.namespace_id.and_then(name),
            rows: figure.rows.into(),
            estimated_bytes: figure.bytes.into(),
            oldest: figure.oldest.map(Into::into),
            newest: figure.newest.map(Into::into),
        };
        Ok(figures.iter().map(table).collect())
    }

    /// The number of partitions that are old enough to be dropped, with the history of all
    /// namespaces; 0 if only one namespace is covered. PostgreSQL only.
    async fn partitions(&self) -> usize {
        self.0.partitions
    }

    /// The oldest rows that would be kept, per table.
    #[graphql(complexity = "DECLARED * child_complexity")]
    async fn oldest_kept(&self) -> Vec<OldestKept> {
        let kept =
            |oldest: &Oldest| OldestKept { table: oldest.table, made_at: oldest.made_at.into() };
        self.0.oldest.iter().map(kept).collect()
    }
}

/// The rows of a table that would be removed.
#[derive(SimpleObject)]
pub(crate) struct RetentionFigure {
    /// The name of the table in the database.
    table: &'static str,
    /// The namespace of the rows; null for rows that do not belong to a namespace.
    namespace: Option<String>,
    /// The number of rows.
    rows: Long,
    /// The estimated size of the rows' contents.
    estimated_bytes: Long,
    /// The time of the oldest row: the instant of a fire, or when the run of another row was
    /// created; null for tables outside the ledger.
    oldest: Option<Instant>,
    /// The time of the newest row.
    newest: Option<Instant>,
}

/// The oldest row of a table that would be kept.
#[derive(SimpleObject)]
pub(crate) struct OldestKept {
    /// The name of the table in the database.
    table: &'static str,
    /// For a fire, its instant; for other rows, when their run was created.
    made_at: Instant,
}
