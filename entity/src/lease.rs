//! The lease of a service that one node runs for all.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// One lease.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "lease")]
pub struct Model {
    /// The service.
    #[sea_orm(primary_key, auto_increment = false)]
    pub name: String,
    /// The node that holds it.
    pub holder: Uuid,
    /// How many nodes have held the lease so far.
    pub epoch: i64,
    /// The end of the term, by the database's clock.
    pub until_at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
