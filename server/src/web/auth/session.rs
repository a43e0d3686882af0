use chrono::{DateTime, TimeDelta, Utc};
use entity::user;
use serde::{Deserialize, Serialize};
use tower_sessions::{Session, session};
use uuid::Uuid;

use crate::{access::mark, config};

/// The key of [`SignedIn`] in the session's data.
pub(super) const KEY: &str = "signed_in";

/// The part of a session that records its sign-in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SignedIn {
    pub(super) user: Uuid,
    /// Derived from the password hash, so that a new password ends the session.
    pub(super) mark: String,
    pub(super) since: DateTime<Utc>,
    pub(super) renewed: DateTime<Utc>,
    /// The client's address.
    pub(super) address: String,
    /// The client's `User-Agent` header. Sessions of earlier versions have none.
    pub(super) browser: Option<String>,
    /// Whether an identity provider authenticated the user, without their password.
    #[serde(default)]
    pub(super) by_provider: bool,
}

/// Whether a session is still valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionState {
    Good,
    /// Valid, and old enough that it must be stored again, so that it does not end while it is
    /// used.
    Renew,
    Over,
}

impl SignedIn {
    pub(super) fn new(
        user: &user::Model,
        address: String,
        browser: Option<String>,
        now: DateTime<Utc>,
    ) -> Self {
        let mark = mark(&user.password_hash);
        let by_provider = false;
        Self { user: user.id, mark, since: now, renewed: now, address, browser, by_provider }
    }

    /// This sign-in as one through an identity provider.
    pub(super) fn by_provider(self) -> Self {
        Self { by_provider: true, ..self }
    }

    /// Whether the user signed in with a one-time password that they have not replaced yet.
    pub(super) fn must_change_password(&self, user: &user::Model) -> bool {
        user.must_change_password && !self.by_provider
    }

    pub(super) async fn load(session: &Session) -> Result<Option<Self>, session::Error> {
        session.get(KEY).await
    }

    pub(super) async fn save(&self, session: &Session) -> Result<(), session::Error> {
        session.insert(KEY, self).await
    }

    /// This sign-in with its time of use renewed.
    pub(super) fn renewed(self, now: DateTime<Utc>) -> Self {
        Self { renewed: now, ..self }
    }

    pub(super) fn standing(
        &self,
        user: &user::Model,
        limits: &config::Session,
        now: DateTime<Utc>,
    ) -> SessionState {
        let older = |since: DateTime<Utc>, than: std::time::Duration| {
            TimeDelta::from_std(than).is_ok_and(|than| now - since > than)
        };
        let over = older(self.since, limits.absolute.0) || older(self.renewed, limits.idle.0);
        let ended = user.sessions_from.is_some_and(|from| self.since < from.utc());
        if over || ended || user.disabled_at.is_some() || self.mark != mark(&user.password_hash) {
            SessionState::Over
        } else if older(self.renewed, limits.idle.0 / 20) {
            SessionState::Renew
        } else {
            SessionState::Good
        }
    }
}

#[cfg(test)]
mod tests {
    use entity::{Timestamp, user::Role};

    use super::*;

    fn user() -> user::Model {
        user::Model {
            id: Uuid::nil(),
            name: "ada".to_owned(),
            name_key: "ada".to_owned(),
            password_hash: "$argon2id$1".to_owned(),
            must_change_password: false,
            role: Some(Role::Viewer),
            sees_payloads: true,
            is_service: false,
            created_at: Timestamp(0),
            disabled_at: None,
            sessions_from: None,
            signed_in_at: None,
            issuer: None,
            subject: None,
            given_elsewhere: None,
            given_at: None,
        }
    }

    fn hour(hours: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::hours(hours)
    }

    #[test]
    fn a_used_session_lasts_until_its_absolute_end() {
        let (user, limits) = (user(), config::Session::default());
        let mut session = SignedIn::new(&user, String::new(), None, hour(0));
        assert_eq!(session.standing(&user, &limits, hour(0)), SessionState::Good);
        for hours in 1..=7 * 24 {
            assert_eq!(session.standing(&user, &limits, hour(hours)), SessionState::Renew);
            session = session.renewed(hour(hours));
        }
        assert_eq!(session.standing(&user, &limits, hour(7 * 24 + 1)), SessionState::Over);
    }

    #[test]
    fn a_session_that_is_not_used_ends() {
        let (user, limits) = (user(), config::Session::default());
        let session = SignedIn::new(&user, String::new(), None, hour(0));
        assert_eq!(session.standing(&user, &limits, hour(13)), SessionState::Over);
    }

    #[test]
    fn disabling_the_user_or_changing_the_password_ends_it() {
        let (mut user, limits) = (user(), config::Session::default());
        let session = SignedIn::new(&user, String::new(), None, hour(0));
        user.password_hash = "$argon2id$2".to_owned();
        assert_eq!(session.standing(&user, &limits, hour(0)), SessionState::Over);
        let session = SignedIn::new(&user, String::new(), None, hour(0));
        user.disabled_at = Some(Timestamp(0));
        assert_eq!(session.standing(&user, &limits, hour(0)), SessionState::Over);
    }

    #[test]
    fn only_who_signed_in_with_a_one_time_password_must_replace_it() {
        let mut user = user();
        let session = SignedIn::new(&user, String::new(), None, hour(0));
        assert!(!session.must_change_password(&user));
        user.must_change_password = true;
        assert!(session.must_change_password(&user));
        assert!(!session.by_provider().must_change_password(&user));
    }

    #[test]
    fn a_session_of_an_earlier_version_is_read_as_one_by_password() {
        let stored = serde_json::json!({
            "user": Uuid::nil(), "mark": "m", "since": hour(0), "renewed": hour(0), "address": "a",
        });
        let session: SignedIn = serde_json::from_value(stored).unwrap();
        assert!(!session.by_provider);
    }

    #[test]
    fn a_user_who_is_enabled_again_has_to_sign_in_again() {
        let (mut user, limits) = (user(), config::Session::default());
        let before = SignedIn::new(&user, String::new(), None, hour(0));
        user.sessions_from = Some(hour(1).into());
        assert_eq!(before.standing(&user, &limits, hour(2)), SessionState::Over);
        let after = SignedIn::new(&user, String::new(), None, hour(2));
        assert_eq!(after.standing(&user, &limits, hour(2)), SessionState::Good);
    }
}
