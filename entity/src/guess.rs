//! How often somebody guessed at a password lately: at a name, from an address, or both.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// What is left of one allowance. It fills up by itself.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "guess")]
pub struct Model {
    /// A hash of whose allowance it is: what was typed in for a name does not stand here.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: String,
    /// How long it takes until there is one more guess.
    pub pause_ms: i64,
    /// When all of them are there again, if nobody guesses before: a pause for each that is
    /// missing.
    pub full_at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
