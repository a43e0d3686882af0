//! Something that a rule has taken note of.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// What it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(16))", rename_all = "snake_case")]
pub enum Kind {
    /// A schedule's runs fail since then.
    Failed,
    /// So many of them have failed in a row.
    Losing,
    /// Fires did not run.
    Missed,
    /// A run started late.
    Late,
    /// A schedule is due, or a run of it waits, and nobody takes it.
    Stalled,
    /// A run takes much longer than usual.
    Slow,
    /// A coming change of the clocks touches a schedule's times.
    ClockChange,
    /// A node is gone.
    NodeLost,
}

/// One alert.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "alert")]
pub struct Model {
    /// Key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The tenant.
    pub namespace_id: Uuid,
    /// The rule.
    pub rule_id: Uuid,
    /// See [`Kind`].
    pub kind: Kind,
    /// What happened, by its key; unique within the rule.
    pub occurrence: String,
    /// The schedule, unless it is about a node.
    pub schedule_id: Option<Uuid>,
    /// The name of the schedule or node then.
    pub subject: String,
    /// The latest run that it is about.
    pub run_id: Option<Uuid>,
    /// The fire that it is about.
    pub fire_id: Option<Uuid>,
    /// Why, in words; it may repeat what passed through.
    pub detail: Option<String>,
    /// How many failures in a row, or fires, it stands for.
    pub count: i64,
    /// When it began.
    pub began_at: Timestamp,
    /// When it last happened.
    pub last_at: Timestamp,
    /// When it was over; what only happens is over at once.
    pub ended_at: Option<Timestamp>,
    /// From when on there is something to tell; null if there is nothing.
    pub tell_at: Option<Timestamp>,
    /// When it was told first.
    pub told_at: Option<Timestamp>,
    /// When somebody said that they see to it.
    pub acknowledged_at: Option<Timestamp>,
    /// Who.
    pub acknowledged_by: Option<String>,
}

impl ActiveModelBehavior for ActiveModel {}
