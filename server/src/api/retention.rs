use async_graphql::{Context, Object, SimpleObject};

use super::{context::Ask, error::Result, loaders::NamespaceName, scalar::Instant};
use crate::engine::{commands::Kept, retention::Preview};

/// How long a namespace keeps what has settled.
#[derive(SimpleObject)]
pub(crate) struct NamespaceRetention {
    namespace: String,
    /// Its own; null is the server's.
    days: Option<i32>,
    /// The one that holds.
    effective_days: i32,
}

impl From<Kept> for NamespaceRetention {
    fn from(kept: Kept) -> Self {
        let Kept { namespace, days, effective_days } = kept;
        Self { namespace, days, effective_days }
    }
}

/// What the next round of retention would remove, and what it would leave.
pub(crate) struct RetentionPreview(pub(crate) Preview);

/// What the next round of retention would remove, and what it would leave.
#[Object]
impl RetentionPreview {
    /// The longest retention of any namespace or schedule.
    async fn longest_days(&self) -> i32 {
        self.0.policies.longest
    }

    /// The shortest.
    async fn shortest_days(&self) -> i32 {
        self.0.policies.shortest
    }

    /// What would go, by table and namespace; tables without are not named.
    async fn tables(&self, cx: &Context<'_>) -> Result<Vec<RetentionFigure>> {
        let mut tables = Vec::with_capacity(self.0.figures.len());
        for figure in &self.0.figures {
            let namespace = match figure.namespace_id {
                Some(id) => cx.rows().load_one(NamespaceName(id)).await?,
                None => None,
            };
            tables.push(RetentionFigure {
                table: figure.table,
                namespace,
                rows: figure.rows,
                estimated_bytes: figure.bytes,
            });
        }
        Ok(tables)
    }

    /// Partitions that are old enough to be dropped. PostgreSQL only.
    async fn partitions(&self) -> usize {
        self.0.partitions
    }

    /// The oldest rows that would stay.
    async fn oldest_kept(&self) -> Vec<OldestKept> {
        let kept = |oldest: &crate::store::retention::Oldest| OldestKept {
            table: oldest.table,
            made_at: oldest.made_at.into(),
        };
        self.0.oldest.iter().map(kept).collect()
    }
}

/// Rows of a table that would go.
#[derive(SimpleObject)]
pub(crate) struct RetentionFigure {
    table: &'static str,
    /// Whose they are; null for what belongs to none.
    namespace: Option<String>,
    rows: i64,
    /// What they take up, by their contents.
    estimated_bytes: i64,
}

/// The oldest row of a table that would stay.
#[derive(SimpleObject)]
pub(crate) struct OldestKept {
    table: &'static str,
    made_at: Instant,
}
