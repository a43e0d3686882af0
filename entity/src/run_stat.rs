//! Roll-ups for charts: what settled in a namespace, by minute.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// One minute of one namespace; a minute without events has no row.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "run_stat")]
pub struct Model {
    /// The namespace.
    #[sea_orm(primary_key, auto_increment = false)]
    pub namespace_id: Uuid,
    /// The start of the minute.
    #[sea_orm(primary_key, auto_increment = false)]
    pub minute: Timestamp,
    /// Runs that ended in this minute, by state.
    pub succeeded: i64,
    /// See `run::State`, as for the next two.
    pub failed: i64,
    #[expect(missing_docs, reason = "run::State says it")]
    pub timed_out: i64,
    #[expect(missing_docs, reason = "run::State says it")]
    pub cancelled: i64,
    /// How many of these runs recovery had started or taken over.
    pub recovered: i64,
    /// How many of these runs had started; the durations are those of these runs.
    pub started: i64,
    /// The sum of their durations, from start to end.
    pub duration_sum_ms: i64,
    /// The longest duration.
    pub duration_max_ms: i64,
    /// How many of these runs a fire had started; the latenesses are those of these runs.
    pub fired: i64,
    /// The sum of their latenesses, from the due time to the hand-off.
    pub lateness_sum_ms: i64,
    /// The greatest lateness.
    pub lateness_max_ms: i64,
    /// Instants whose verdict in this minute was missed.
    pub missed: i64,
    /// Fires that were abandoned in this minute before they had a run.
    pub abandoned: i64,
    /// Instants whose verdict in this minute was skipped.
    pub skipped: i64,
    /// The distribution of the durations: `size:count`, separated by spaces.
    pub durations: String,
    /// The distribution of the latenesses, in the same format.
    pub latenesses: String,
}

impl ActiveModelBehavior for ActiveModel {}
