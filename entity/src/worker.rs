//! A program that pulls tasks.

use sea_orm::entity::prelude::*;

use crate::{Strings, Timestamp};

/// One registration of a program: from its start, or since it was lost, until it leaves.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "worker")]
pub struct Model {
    /// Key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The tenant.
    pub namespace_id: Uuid,
    /// What it calls itself; several may have one name.
    pub name: String,
    /// The queues that it pulls from.
    #[sea_orm(column_type = "JsonBinary")]
    pub queues: Strings,
    /// What jobs may ask of it.
    #[sea_orm(column_type = "JsonBinary")]
    pub tags: Strings,
    /// How many jobs it takes at once.
    pub capacity: i32,
    /// Its own version, for people.
    pub version: String,
    /// The library that speaks for it, and that one's version.
    pub client: String,
    /// The token that it came with: nobody else speaks as it.
    pub token_id: Uuid,
    /// The token's name, for people.
    pub token: String,
    /// Whether it takes on nothing any more.
    pub draining: bool,
    /// When it registered.
    pub registered_at: Timestamp,
    /// When it was last heard.
    pub heartbeat_at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
