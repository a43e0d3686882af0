//! Roll-ups for charts: what settled in a namespace in a minute.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// One minute of one namespace; a minute in which nothing happened has no row.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "run_stat")]
pub struct Model {
    /// The tenant.
    #[sea_orm(primary_key, auto_increment = false)]
    pub namespace_id: Uuid,
    /// When the minute begins.
    #[sea_orm(primary_key, auto_increment = false)]
    pub minute: Timestamp,
    /// Runs that ended in it, by their end.
    pub succeeded: i64,
    /// See `run::State`, like the next two.
    pub failed: i64,
    #[expect(missing_docs, reason = "run::State says it")]
    pub timed_out: i64,
    #[expect(missing_docs, reason = "run::State says it")]
    pub cancelled: i64,
    /// Those of them that recovery had started or taken over.
    pub recovered: i64,
    /// Those of them that had started, whose durations these are.
    pub started: i64,
    /// From start to end, added up.
    pub duration_sum_ms: i64,
    /// The longest.
    pub duration_max_ms: i64,
    /// Those of them that a fire had started, whose latenesses these are.
    pub fired: i64,
    /// From the due time to the hand-off, added up.
    pub lateness_sum_ms: i64,
    /// The latest.
    pub lateness_max_ms: i64,
    /// Instants that were decided in it to be missed.
    pub missed: i64,
    /// Fires that were given up in it before they had a run.
    pub abandoned: i64,
    /// Instants that were decided in it to be skipped.
    pub skipped: i64,
    /// How the durations are spread: `size:count` with spaces between.
    pub durations: String,
    /// How the latenesses are spread, in the same way.
    pub latenesses: String,
}

impl ActiveModelBehavior for ActiveModel {}
