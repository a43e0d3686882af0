use async_graphql::SimpleObject;
use entity::session;

use crate::{access::browser_name, api::scalar::Instant};

/// A browser session.
#[derive(SimpleObject)]
pub(crate) struct Session {
    /// Used to revoke the session; it does not give access.
    id: String,
    /// The IP address that the session was opened from.
    address: Option<String>,
    /// The browser that the session was opened in, such as `Firefox 140 on Linux`; for another
    /// program, the name that it gave itself. Null if it gave none.
    browser: Option<String>,
    /// When it was opened.
    began_at: Option<Instant>,
    /// Last use, accurate to a few minutes.
    used_at: Option<Instant>,
    /// When the session ends if it is not used before.
    expires_at: Instant,
    /// Whether this is the session of the request.
    is_current: bool,
}

impl Session {
    pub(super) fn of(row: session::Model, current: Option<&str>) -> Self {
        Self {
            is_current: current == Some(&row.id),
            id: row.id,
            address: row.address,
            browser: row.browser.as_deref().map(browser_name),
            began_at: row.began_at.map(Into::into),
            used_at: row.used_at.map(Into::into),
            expires_at: row.expires_at.into(),
        }
    }
}
