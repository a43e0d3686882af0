//! A term of ownership of a service that one node does for all.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// One term.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "lease")]
pub struct Model {
    /// The service.
    #[sea_orm(primary_key, auto_increment = false)]
    pub name: String,
    /// The node that holds it.
    pub holder: Uuid,
    /// Counts the holders.
    pub epoch: i64,
    /// End of the term, on the database's clock.
    pub until_at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
