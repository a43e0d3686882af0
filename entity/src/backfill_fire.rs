//! One instant of a backfill.

use sea_orm::entity::prelude::*;

use crate::{Timestamp, fire::Kind};

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(16))", rename_all = "snake_case")]
pub enum State {
    /// Waits for its turn.
    Pending,
    /// Its run is alive. Unique together with schedule and instant: the guarantee.
    Running,
    /// Its run succeeded.
    Succeeded,
    /// Its run failed or timed out.
    Failed,
    /// Its run was stopped, or it never had one.
    Cancelled,
    /// It was not wanted any more when its turn came.
    Skipped,
}

/// One instant.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "backfill_fire")]
pub struct Model {
    /// The backfill.
    #[sea_orm(primary_key, auto_increment = false)]
    pub backfill_id: Uuid,
    /// Its place in the order, from 0.
    #[sea_orm(primary_key, auto_increment = false)]
    pub position: i32,
    /// The backfill's schedule.
    pub schedule_id: Uuid,
    /// The instant.
    pub scheduled_at: Timestamp,
    /// What the clock did there.
    pub kind: Kind,
    /// See [`State`].
    pub state: State,
    /// Its run, once it has started.
    pub run_id: Option<Uuid>,
    /// Why it was skipped or cancelled.
    pub detail: Option<String>,
    /// When its run was queued.
    pub started_at: Option<Timestamp>,
    /// When it came to its end.
    pub finished_at: Option<Timestamp>,
}

impl ActiveModelBehavior for ActiveModel {}
