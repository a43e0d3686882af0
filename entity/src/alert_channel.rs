//! A way to tell people of alerts.

use sea_orm::entity::prelude::*;
use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// How it tells them.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum, Serialize, Deserialize,
)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(16))", rename_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A signed request.
    Webhook,
    /// A request in the form that Slack and its like take.
    Slack,
    /// A mail by SMTP.
    Email,
    /// A card for Microsoft Teams.
    Teams,
    /// Events for PagerDuty, an incident for each alert.
    Pagerduty,
    /// Alerts for Opsgenie.
    Opsgenie,
}

/// A channel's secrets as they are kept. A debug print has nothing of them.
#[derive(Clone, PartialEq, Eq, DeriveValueType)]
pub struct Sealed(pub String);

impl std::fmt::Debug for Sealed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

/// One channel.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "alert_channel")]
pub struct Model {
    /// Key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The tenant.
    pub namespace_id: Uuid,
    /// Unique among the namespace's channels.
    pub name: String,
    /// See [`Kind`].
    pub kind: Kind,
    /// What may be shown of it.
    #[sea_orm(column_type = "JsonBinary")]
    pub shown: Json,
    /// Which key opens what may not; null where there is nothing of it.
    pub key_id: Option<String>,
    /// What may not: nonce and ciphertext in base64, or nothing.
    pub sealed: Sealed,
    /// Counts the changes from 1.
    pub version: i32,
    /// The module that declares it; null when a person made it.
    pub module: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
