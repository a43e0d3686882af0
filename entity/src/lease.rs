//! Leases: each is for a service that only one node runs at a time.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// One lease.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "lease")]
pub struct Model {
    /// The name of the service.
    #[sea_orm(primary_key, auto_increment = false)]
    pub name: String,
    /// The node that holds the lease.
    pub holder: Uuid,
    /// How often the lease has passed to a new holder.
    pub epoch: i64,
    /// When the lease's term ends, by the database's clock.
    pub until_at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
