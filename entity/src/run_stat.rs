//! Statistics for charts: the runs and fires that settled, by namespace and minute.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// One minute of one namespace; a minute without events has no row.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "run_stat")]
pub struct Model {
    /// The namespace to which the counts belong.
    #[sea_orm(primary_key, auto_increment = false)]
    pub namespace_id: Uuid,
    /// The start of the minute.
    #[sea_orm(primary_key, auto_increment = false)]
    pub minute: Timestamp,
    /// Runs that succeeded in this minute.
    pub succeeded: i64,
    /// Runs that failed in this minute. The next two fields count the other final states.
    pub failed: i64,
    #[expect(missing_docs, reason = "run::State says it")]
    pub timed_out: i64,
    #[expect(missing_docs, reason = "run::State says it")]
    pub cancelled: i64,
    /// How many of the settled runs had been started or taken over by recovery.
    pub recovered: i64,
    /// How many of the settled runs had ever started. Only these have durations.
    pub started: i64,
    /// Sum of the durations of these runs, from start to end.
    pub duration_sum_ms: i64,
    /// The longest duration.
    pub duration_max_ms: i64,
    /// How many of the settled runs a fire had started. Only these have latenesses.
    pub fired: i64,
    /// Sum of the latenesses of these runs, from due time to hand-off.
    pub lateness_sum_ms: i64,
    /// The greatest lateness.
    pub lateness_max_ms: i64,
    /// Number of instants that got the verdict `missed` in this minute.
    pub missed: i64,
    /// Number of fires that were abandoned in this minute before they had a run.
    pub abandoned: i64,
    /// Number of instants that got the verdict `skipped` in this minute.
    pub skipped: i64,
    /// How long runs waited for a node in this minute, in milliseconds, added up over all of them.
    /// Divided by the length of a period, this is the average number of waiting runs.
    pub runs_waited_ms: i64,
    /// How long jobs waited for a worker, likewise.
    pub jobs_waited_ms: i64,
    /// The distribution of durations: `size:count` pairs, separated by spaces.
    pub durations: String,
    /// The distribution of latenesses, in the same format as that of durations.
    pub latenesses: String,
}

impl ActiveModelBehavior for ActiveModel {}
