//! Recent wrong passwords: counted by user name, by address and by both together.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// The rest of one allowance of wrong passwords. An allowance refills over time.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "guess")]
pub struct Model {
    /// A hash of the name or address to which the allowance applies.
    /// The typed name itself is not stored.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: String,
    /// How long the allowance takes to refill by one guess.
    pub pause_ms: i64,
    /// When the allowance is full again if no further guess
    /// is made: after one pause per missing guess.
    pub full_at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
