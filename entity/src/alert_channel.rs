//! A channel that delivers alerts to people.

use sea_orm::entity::prelude::*;
use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// The kind of a channel.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum, Serialize, Deserialize,
)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(16))", rename_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A webhook: a signed HTTP request.
    Webhook,
    /// Slack, and services compatible with its API.
    Slack,
    /// A mail sent by SMTP.
    Email,
    /// A card in Microsoft Teams.
    Teams,
    /// Events for PagerDuty, with one incident for each alert.
    Pagerduty,
    /// Alerts for Opsgenie.
    Opsgenie,
}

/// A channel's secrets as they are stored. Debug output omits them.
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
    /// The channel's primary key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The channel's namespace.
    pub namespace_id: Uuid,
    /// The channel's name, unique in the namespace.
    pub name: String,
    /// The channel's kind. See [`Kind`].
    pub kind: Kind,
    /// The public part of the channel's configuration, and the names of its secrets.
    #[sea_orm(column_type = "JsonBinary")]
    pub shown: Json,
    /// The id of the key that decrypts the channel's secrets; null if it has none.
    pub key_id: Option<String>,
    /// The channel's secrets: nonce and ciphertext in base64, or an empty text.
    pub sealed: Sealed,
    /// The channel's version, counted from 1.
    pub version: i32,
    /// The module that declares the channel; null if a person created it.
    pub module: Option<String>,
    /// When the channel was created.
    pub created_at: Timestamp,
    /// When the channel last changed.
    pub updated_at: Timestamp,
}

impl ActiveModelBehavior for ActiveModel {}
