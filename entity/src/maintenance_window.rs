//! A maintenance window: a planned pause of all schedules that match a search.

use sea_orm::entity::prelude::*;

use crate::{Timestamp, schedule::CatchUp};

/// The state of a maintenance window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(16))", rename_all = "snake_case")]
pub enum State {
    /// The window is ahead. Its schedules are marked.
    Planned,
    /// The window has begun: its schedules are paused.
    Active,
    /// The window is over.
    Ended,
    /// The window was cancelled.
    Cancelled,
}

/// One maintenance window.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "maintenance_window")]
pub struct Model {
    /// The window's primary key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The window's namespace.
    pub namespace_id: Uuid,
    /// The work that is planned.
    pub title: String,
    /// A URL or the id of a ticket.
    pub ticket: Option<String>,
    /// The search that selects the schedules; null for all schedules of the namespace.
    pub search: Option<String>,
    /// When the pauses begin, inclusive.
    pub starts_at: Timestamp,
    /// When the pauses end, exclusive.
    pub ends_at: Timestamp,
    /// Which of the pauses' fires run when the window ends.
    pub missed: CatchUp,
    /// The state of the window. See [`State`].
    pub state: State,
    /// Whether the engine still has to mark, pause or release schedules for the window.
    pub is_open: bool,
    /// Number of schedules that the window has paused.
    pub held: i64,
    /// The user or token that planned the window.
    pub planned_by: String,
    /// When the window was planned.
    pub planned_at: Timestamp,
    /// When the content of the window last changed; null if it is as it was planned.
    pub changed_at: Option<Timestamp>,
    /// The user or token that cancelled the window.
    pub cancelled_by: Option<String>,
    /// When the window was cancelled.
    pub cancelled_at: Option<Timestamp>,
    /// Why the window was cancelled.
    pub cancel_reason: Option<String>,
    /// The module that declares the window, unique with the title; null if a person planned it, or
    /// if the module does not declare it any more.
    pub module: Option<String>,
}

impl ActiveModelBehavior for ActiveModel {}
