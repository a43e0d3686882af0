//! Recent wrong guesses at passwords: for a name, from an address, or both.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// The remainder of one allowance of guesses. It refills over time.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "guess")]
pub struct Model {
    /// A hash of the name or address that the allowance is for; the typed name itself is not
    /// stored.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: String,
    /// How long it takes until one more guess is available.
    pub pause_ms: i64,
    /// When the allowance is full again if no further guess is made: one pause per missing guess.
    pub full_at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
