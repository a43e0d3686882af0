//! The declarations of each module, as it was last deployed.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// One module.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "module")]
pub struct Model {
    /// The namespace into which the module was deployed.
    #[sea_orm(primary_key, auto_increment = false)]
    pub namespace_id: Uuid,
    /// The module's name, unique in the namespace.
    #[sea_orm(primary_key, auto_increment = false)]
    pub name: String,
    /// The content of the module's file, with secrets masked.
    #[sea_orm(column_type = "JsonBinary")]
    pub declared: Json,
    /// The user or token that deployed the module.
    pub deployed_by: String,
    /// When the module was deployed.
    pub deployed_at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
