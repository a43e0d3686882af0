use async_graphql::SimpleObject;
use entity::session;

use crate::api::scalar::Instant;

/// A browser that is signed in.
#[derive(SimpleObject)]
pub(crate) struct Session {
    /// To revoke it by; it opens nothing.
    id: String,
    /// From where it was opened.
    address: Option<String>,
    began_at: Option<Instant>,
    /// Last use, to some minutes.
    used_at: Option<Instant>,
    /// When it ends if it is not used.
    expires_at: Instant,
    /// Whether it is the one that asks.
    is_current: bool,
}

impl Session {
    pub(super) fn of(row: session::Model, current: Option<&str>) -> Self {
        Self {
            is_current: current == Some(&row.id),
            id: row.id,
            address: row.address,
            began_at: row.began_at.map(Into::into),
            used_at: row.used_at.map(Into::into),
            expires_at: row.expires_at.into(),
        }
    }
}
