//! One instant of a backfill.

use sea_orm::entity::prelude::*;

use crate::{Timestamp, fire::Kind};

/// The state of an instant of a backfill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(16))", rename_all = "snake_case")]
pub enum State {
    /// The instant waits for its turn.
    Pending,
    /// The instant has a live run.
    /// A unique key over schedule and instant guarantees that there is only one.
    Running,
    /// The instant's run succeeded.
    Succeeded,
    /// The instant's run failed or timed out.
    Failed,
    /// The instant's run was stopped, or the instant never had a run.
    Cancelled,
    /// The instant no longer matched the mode when its turn came.
    Skipped,
}

/// One instant of one backfill.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "backfill_fire")]
pub struct Model {
    /// The backfill to which the instant belongs.
    #[sea_orm(primary_key, auto_increment = false)]
    pub backfill_id: Uuid,
    /// The instant's position in the backfill's order, counted from 0.
    #[sea_orm(primary_key, auto_increment = false)]
    pub position: i32,
    /// The backfill's schedule.
    pub schedule_id: Uuid,
    /// The scheduled instant.
    pub scheduled_at: Timestamp,
    /// The effect of a clock change at the instant.
    pub kind: Kind,
    /// The instant's state. See [`State`].
    pub state: State,
    /// The instant's run, once it has started.
    pub run_id: Option<Uuid>,
    /// Why the instant was skipped or cancelled.
    pub detail: Option<String>,
    /// When the run was queued.
    pub started_at: Option<Timestamp>,
    /// When the instant's final state was recorded.
    pub finished_at: Option<Timestamp>,
}

impl ActiveModelBehavior for ActiveModel {}
