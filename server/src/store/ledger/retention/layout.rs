//! The partitions that exist: their tables, names and bounds.

use chrono::DateTime;
use sea_orm::{ConnectionTrait, FromQueryResult};
use uuid::Uuid;

use super::RetentionRule;
use crate::store::{
    Store, StoreError,
    db::days::{DAY_MS, first_key, made_at},
};

/// Tables whose partitions are created and dropped together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableFamily {
    /// The fires, partitioned by scheduled instant.
    Fires,
    /// The runs with their attempts and log lines, partitioned by the time in the run's key.
    Runs,
}

/// The days of one partition, in milliseconds: from the start of the first to the end of the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionRange {
    /// The start of the first day.
    pub from: i64,
    /// The end of the last day.
    pub to: i64,
}

/// The existing partitions of a family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The partitions between `_past` and `_beyond`, oldest first.
    pub stretches: Vec<PartitionRange>,
    /// The start of the last partition, `_beyond`.
    pub beyond: i64,
}

impl TableFamily {
    /// Both families of tables.
    pub const ALL: [Self; 2] = [Self::Fires, Self::Runs];

    /// The family's tables, in the order in which transactions lock them.
    pub fn tables(self) -> &'static [&'static str] {
        match self {
            Self::Fires => &["fire"],
            Self::Runs => &["run", "task_run", "task_log"],
        }
    }

    pub(super) fn index(self) -> usize {
        match self {
            Self::Fires => 0,
            Self::Runs => 1,
        }
    }

    /// The column by which a table is partitioned.
    pub(super) fn column(self, table: &str) -> &'static str {
        match (self, table) {
            (Self::Fires, _) => "scheduled_at",
            (Self::Runs, "run") => "id",
            (Self::Runs, _) => "run_id",
        }
    }

    pub(super) fn bound(self, ms: i64) -> String {
        match self {
            Self::Fires => ms.to_string(),
            Self::Runs => format!("'{}'", first_key(ms)),
        }
    }

    /// The rows `t` that may have been written since the horizon. Runs are found by their stamp.
    /// A decided fire is never written again, and a new fire has a new key, but a fire's run may
    /// have been repeated on request, which retains the fire. Those keys are queried as an array,
    /// so that both are found by key, because the table is locked in the meantime.
    pub(super) fn touched_since(self, horizon: i64, rule: &RetentionRule) -> String {
        match self {
            Self::Fires => format!(
                "(t.id >= '{}' OR t.id = ANY (ARRAY(SELECT again.fire_id FROM run again \
                   WHERE again.changed >= {horizon} AND again.fire_id IS NOT NULL)))",
                first_key(rule.now() - DAY_MS)
            ),
            Self::Runs => format!("t.changed >= {horizon}"),
        }
    }

    pub(super) fn is_old(self, rule: &RetentionRule) -> String {
        match self {
            Self::Fires => rule.fire_is_old(),
            Self::Runs => rule.run_is_old(),
        }
    }
}

impl PartitionRange {
    /// The name of the partition of `table` for these days.
    pub(super) fn name(self, table: &str) -> String {
        let day = DateTime::from_timestamp_millis(self.from).unwrap_or_default();
        format!("{table}_{}", day.format("%Y%m%d"))
    }
}

impl Store {
    /// The partitions of a family of tables.
    pub async fn partitions(
        &self,
        connection: &impl ConnectionTrait,
        family: TableFamily,
    ) -> Result<Layout, StoreError> {
        #[derive(FromQueryResult)]
        struct PartitionRow {
            name: String,
            bound: String,
        }
        let table = family.tables()[0];
        let sql = format!(
            "SELECT c.relname AS name, pg_get_expr(c.relpartbound, c.oid) AS bound \
             FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid \
             WHERE i.inhparent = '{table}'::regclass"
        );
        let rows = PartitionRow::find_by_statement(self.dialect().statement(sql, []))
            .all(connection)
            .await?;
        let mut layout = Layout { stretches: Vec::with_capacity(rows.len()), beyond: 0 };
        for row in rows {
            match bounds(&row.bound) {
                (Some(from), Some(to)) => layout.stretches.push(PartitionRange { from, to }),
                (Some(from), None) => layout.beyond = from,
                (None, _) => tracing::trace!(partition = row.name, "the past"),
            }
        }
        layout.stretches.sort_by_key(|stretch| stretch.from);
        Ok(layout)
    }
}

/// The bounds of a partition, from PostgreSQL's notation; `None` means unbounded.
fn bounds(text: &str) -> (Option<i64>, Option<i64>) {
    let text = text.trim_start_matches("FOR VALUES FROM ");
    let (from, to) = text.split_once(" TO ").unwrap_or((text, ""));
    (bound(from), bound(to))
}

fn bound(text: &str) -> Option<i64> {
    let value = text.trim_matches(['(', ')', '\'']);
    value.parse().ok().or_else(|| Uuid::try_parse(value).ok().map(made_at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_read_as_postgres_writes_them() {
        let keys = "FOR VALUES FROM ('019c0000-0000-0000-0000-000000000000') TO (MAXVALUE)";
        assert_eq!(bounds(keys), (Some(0x019c_0000_0000), None));
        let instants = "FOR VALUES FROM (MINVALUE) TO ('1772323200000')";
        assert_eq!(bounds(instants), (None, Some(1_772_323_200_000)));
    }

    #[test]
    fn a_partition_is_called_by_its_first_day() {
        let stretch = PartitionRange { from: 1_772_323_200_000, to: 1_772_409_600_000 };
        assert_eq!(stretch.name("task_log"), "task_log_20260301");
    }
}
