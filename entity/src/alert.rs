//! A problem that an alert rule has recorded.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// The kind of an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(16))", rename_all = "snake_case")]
pub enum Kind {
    /// A schedule's runs have been failing since the alert began.
    Failed,
    /// Several runs in a row have failed.
    Losing,
    /// Fires were not run.
    Missed,
    /// A schedule skips fires for load: because of a live run, a full buffer, its start deadline or
    /// a quota.
    Skipped,
    /// A run started late.
    Late,
    /// A schedule is due, or one of its runs waits, and no node takes the work.
    Stalled,
    /// A run takes much longer than usual.
    Slow,
    /// An upcoming clock change affects a schedule's times.
    ClockChange,
    /// A node was lost.
    NodeLost,
}

/// One alert.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "alert")]
pub struct Model {
    /// The alert's primary key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The alert's namespace.
    pub namespace_id: Uuid,
    /// The rule that recorded the alert.
    pub rule_id: Uuid,
    /// The alert's kind. See [`Kind`].
    pub kind: Kind,
    /// A key that identifies the event: unique within the rule.
    pub occurrence: String,
    /// The schedule, unless the alert concerns a node.
    pub schedule_id: Option<Uuid>,
    /// The schedule's or node's name when the alert was recorded.
    pub subject: String,
    /// The latest run that the alert concerns.
    pub run_id: Option<Uuid>,
    /// The fire that the alert concerns.
    pub fire_id: Option<Uuid>,
    /// The reason, as text; it may contain user data.
    pub detail: Option<String>,
    /// The number of failures in a row, or of missed fires; for skipped fires, the most within an
    /// hour.
    pub count: i64,
    /// When the alert began.
    pub began_at: Timestamp,
    /// When the alert's event last occurred.
    pub last_at: Timestamp,
    /// When the alert ended; for a momentary event, the time at which it was recorded.
    pub ended_at: Option<Timestamp>,
    /// When the alert's message may be sent; null if none is to be sent.
    pub tell_at: Option<Timestamp>,
    /// When a message about the alert was first sent.
    pub told_at: Option<Timestamp>,
    /// When the alert was acknowledged.
    pub acknowledged_at: Option<Timestamp>,
    /// The user or token that acknowledged the alert.
    pub acknowledged_by: Option<String>,
    /// The note of the person who acknowledged the alert.
    pub acknowledged_note: Option<String>,
    /// When the acknowledgement ends; null if it lasts as long as the alert.
    pub acknowledged_until: Option<Timestamp>,
    /// When the alert was withdrawn, because its event ended within the grace period of its rule.
    /// Such a row is only there for the followers of alerts.
    pub withdrawn_at: Option<Timestamp>,
    /// The stamp of the row's last change, for the change feed.
    pub changed: i64,
}

impl ActiveModelBehavior for ActiveModel {}
