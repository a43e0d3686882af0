//! The outcomes of the latest messages to each channel.

use sea_orm::FromQueryResult;
use uuid::Uuid;

use crate::store::{Store, StoreError};

/// A message that has been attempted at least once.
#[derive(Clone, Debug, PartialEq, Eq, FromQueryResult)]
pub struct AttemptedMessage {
    /// The channel of the message.
    pub channel_id: Uuid,
    /// 1 if the receiver did not accept the message, otherwise 0.
    pub failed: i32,
    /// Why the last attempt failed.
    pub error: Option<String>,
}

/// The latest attempted messages, newest first: `most` per channel.
pub async fn last(store: &Store, most: u32) -> Result<Vec<AttemptedMessage>, StoreError> {
    let sql = format!(
        "SELECT channel_id, CASE WHEN state = 'sent' THEN 0 ELSE 1 END AS failed, error \
         FROM (SELECT id, channel_id, state, error, \
             row_number() OVER (PARTITION BY channel_id ORDER BY id DESC) AS place \
           FROM notification WHERE state <> 'pending' OR error IS NOT NULL) tried \
         WHERE place <= {most} ORDER BY channel_id, place"
    );
    let statement = store.dialect().statement(sql, []);
    Ok(AttemptedMessage::find_by_statement(statement).all(store.read()).await?)
}
