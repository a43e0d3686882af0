use serde_json::json;
use uuid::Uuid;

use super::locked_user;
use crate::{
    access::Viewer,
    commands::{Call, CommandError, Commands, audit::AuditEntry},
    model::check,
    store::{sessions, users},
};

impl Commands {
    /// Ends a session: the caller's own, or anyone's for an administrator. Its open subscriptions
    /// end within seconds.
    pub async fn revoke_session(
        &self,
        who: &Viewer,
        id: &str,
        reason: Option<&str>,
        call: &Call,
    ) -> Result<Uuid, CommandError> {
        check::optional_reason(reason)?;
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, who, call).await? {
            return Ok(earlier);
        }
        let missing = || CommandError::not_found("session", id);
        let row = sessions::live(&tx, id, self.clock.now().into()).await?;
        let user = row.and_then(|row| row.user_id).ok_or_else(missing)?;
        if user != who.id && who.owner().is_err() {
            return Err(missing());
        }
        sessions::delete(&tx, id).await?;
        let subject = users::by_id(&tx, user).await?.map(|user| user.name).unwrap_or_default();
        let (action, subject_id) = ("session.revoke", Some(user));
        let entry =
            AuditEntry { action, subject_id, subject: &subject, reason, ..AuditEntry::default() };
        self.audit(&tx, who, entry).await?;
        self.remember(&tx, who, call, &user).await?;
        self.store.commit(tx).await?;
        Ok(user)
    }

    /// Ends all sessions of a user: the caller's own except the one that sends the request, or, for
    /// administrators, those of another user. Returns how many were ended.
    pub async fn revoke_sessions(
        &self,
        who: &Viewer,
        id: Uuid,
        reason: Option<&str>,
        call: &Call,
    ) -> Result<u64, CommandError> {
        check::optional_reason(reason)?;
        if id != who.id {
            who.owner()?;
        }
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, who, call).await? {
            return Ok(earlier);
        }
        let user = locked_user(&tx, id).await?;
        let ended = sessions::delete_all_of(&tx, user.id, who.session.as_deref()).await?;
        let entry = AuditEntry {
            action: "session.revokeAll",
            subject_id: Some(user.id),
            subject: &user.name,
            reason,
            after: Some(json!({ "ended": ended })),
            ..AuditEntry::default()
        };
        self.audit(&tx, who, entry).await?;
        self.remember(&tx, who, call, &ended).await?;
        self.store.commit(tx).await?;
        Ok(ended)
    }
}
