use std::net::{IpAddr, Ipv4Addr};

use entity::user;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use uuid::Uuid;

use super::locked_user;
use crate::{
    access::{GuessRefusal, Owner, Tokens, Viewer, ViewerKind, commit_rights, mark, password},
    commands::{BadInput, Call, CommandError, Commands, audit::AuditEntry},
    model::check,
    store::{DatabaseTransaction, sessions, tokens, users},
};

/// A user's change of their own password.
#[derive(Debug)]
pub struct OwnPassword {
    /// The current password.
    pub old: SecretString,
    /// The new password.
    pub new: SecretString,
    /// Whether to revoke the user's API tokens.
    pub tokens: Tokens,
    /// The reason, for the audit log.
    pub reason: Option<String>,
}

/// A one-time password that an administrator sets for a user.
#[derive(Debug)]
pub struct NewPassword {
    /// The new password.
    pub password: SecretString,
    /// Whether to revoke the user's API tokens.
    pub tokens: Tokens,
    /// The reason, for the audit log.
    pub reason: Option<String>,
}

impl Commands {
    /// Changes the caller's own password. Their other sessions end; the current one continues.
    pub async fn change_password(
        &self,
        who: &Viewer,
        change: OwnPassword,
        call: &Call,
    ) -> Result<Uuid, CommandError> {
        check::optional_reason(change.reason.as_deref())?;
        if who.kind != ViewerKind::User {
            return Err(CommandError::Denied {
                problem: "a token has no password",
                help: "sign in to change yours",
            });
        }
        // A person at another user's open session must not be able to guess faster than at the
        // sign-in.
        self.count_guess(who).await.map_err(|hindrance| match hindrance {
            GuessRefusal::Wait(wait) => CommandError::TooOften(wait.as_secs() + 1),
            GuessRefusal::Unknown(error) => error.into(),
        })?;
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, who, call).await? {
            self.holds(tx, earlier, change.new).await?;
            self.forgive_guess(who).await;
            return Ok(earlier);
        }
        // Ends the transaction, so that no lock is held while passwords are hashed.
        tx.rollback().await?;
        let user = users::by_id(self.store.read(), who.id).await?;
        let user = user.ok_or_else(|| CommandError::not_found("user", who.id))?;
        if user.password_hash.is_empty() {
            return Err(CommandError::Denied {
                problem: "you have no password here: you sign in by the identity provider",
                help: "change it there",
            });
        }
        let stored = user.password_hash.clone();
        let is_same = change.old.expose_secret() == change.new.expose_secret();
        if !password::verify(change.old, Some(stored)).await? {
            let help = "give the one that you signed in with";
            return Err(BadInput::new("oldPassword", "", "is not your password", help).into());
        }
        self.forgive_guess(who).await;
        if is_same {
            let problem = "is the password that you have now";
            return Err(BadInput::new("newPassword", "", problem, "choose another one").into());
        }
        checked("newPassword", &change.new, &who.name)?;
        let hash = password::hash(change.new.clone()).await?;

        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, who, call).await? {
            self.holds(tx, earlier, change.new).await?;
            return Ok(earlier);
        }
        let now = locked_user(&tx, who.id).await?;
        if now.password_hash != user.password_hash {
            let help = "sign in with the new one";
            return Err(CommandError::conflict("the password was changed at this moment", help));
        }
        replace_password(&tx, &user, hash, false, who.session.as_deref()).await?;
        let reason = change.reason.as_deref();
        let states = [now.must_change_password, false].map(shown);
        self.audit_password(&tx, who, &user, "user.password", reason, Some(states)).await?;
        self.revoke_tokens_if(change.tokens, &tx, who, &user, reason).await?;
        self.remember(&tx, who, call, &user.id).await?;
        commit_rights(&self.store, tx).await?;
        Ok(user.id)
    }

    /// Sets a user's password, also an administrator's own. All of their sessions end, and they must
    /// choose another password at the next sign-in.
    pub async fn reset_password(
        &self,
        right: &Owner,
        id: Uuid,
        new: NewPassword,
        call: &Call,
    ) -> Result<Uuid, CommandError> {
        let reason = new.reason.as_deref();
        check::optional_reason(reason)?;
        let named = users::by_id(self.store.read(), id).await?;
        let named = named.ok_or_else(|| CommandError::not_found("user", id))?;
        checked("password", &new.password, &named.name)?;
        let hash = password::hash(new.password.clone()).await?;
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            self.holds(tx, earlier, new.password).await?;
            return Ok(earlier);
        }
        let user = locked_user(&tx, id).await?;
        if user.is_service {
            let problem = format!("{:?} is a service account", user.name);
            return Err(CommandError::conflict(
                problem,
                "no one can sign in as a service account: create a token for it",
            ));
        }
        replace_password(&tx, &user, hash, true, None).await?;
        let (who, states) = (right.who(), [user.must_change_password, true].map(shown));
        self.audit_password(&tx, who, &user, "user.passwd", reason, Some(states)).await?;
        self.revoke_tokens_if(new.tokens, &tx, who, &user, reason).await?;
        self.remember(&tx, who, call, &id).await?;
        commit_rights(&self.store, tx).await?;
        Ok(id)
    }

    /// Refuses to answer a repeated call whose password is not the current one. Repeated calls are
    /// recognised by their arguments without passwords.
    pub(super) async fn holds(
        &self,
        tx: DatabaseTransaction,
        id: Uuid,
        password: SecretString,
    ) -> Result<(), CommandError> {
        tx.rollback().await?;
        let user = users::by_id(self.store.read(), id).await?;
        let stored = user.map(|user| user.password_hash).filter(|hash| !hash.is_empty());
        if password::verify(password, stored).await? {
            return Ok(());
        }
        let problem = "the idempotency key was used with another password, or it has been changed";
        Err(CommandError::conflict(problem, "use a new key for each call"))
    }

    /// Counts an attempt at the caller's own password.
    async fn count_guess(&self, who: &Viewer) -> Result<(), GuessRefusal> {
        match limited_apart(who) {
            Some(session) => self.guesses.attempt_in(session).await,
            None => self.guesses.attempt(&who.name, address(who)).await,
        }
    }

    /// Returns an attempt whose password was correct to the allowance.
    async fn forgive_guess(&self, who: &Viewer) {
        match limited_apart(who) {
            Some(session) => self.guesses.forgive_in(session).await,
            None => self.guesses.forgive(&who.name, address(who)).await,
        }
    }

    /// Revokes the user's API tokens, if the caller asked for that.
    async fn revoke_tokens_if(
        &self,
        tokens: Tokens,
        tx: &DatabaseTransaction,
        who: &Viewer,
        user: &user::Model,
        reason: Option<&str>,
    ) -> Result<(), CommandError> {
        if tokens == Tokens::Kept {
            return Ok(());
        }
        tokens::revoke_all_of(tx, user.id, self.clock.now().into()).await?;
        self.audit_password(tx, who, user, "user.revokeTokens", reason, None).await
    }

    /// Records a change, with the user's state before and after it.
    async fn audit_password(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        user: &user::Model,
        action: &'static str,
        reason: Option<&str>,
        states: Option<[Value; 2]>,
    ) -> Result<(), CommandError> {
        let (subject_id, subject) = (Some(user.id), &*user.name);
        let [before, after] = states.map_or([None, None], |states| states.map(Some));
        let entry = AuditEntry {
            action,
            subject_id,
            subject,
            reason,
            before,
            after,
            ..AuditEntry::default()
        };
        Ok(self.audit(tx, who, entry).await?)
    }
}

fn address(who: &Viewer) -> IpAddr {
    who.source.parse().unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
}

/// The session, if it was opened with a one-time password. Its attempts are counted apart from
/// those at the name, so that others who guess do not keep the user from replacing the password.
fn limited_apart(who: &Viewer) -> Option<&str> {
    who.session.as_deref().filter(|_| who.must_change_password)
}

/// Ends all sessions opened with the old password except `kept`.
async fn replace_password(
    tx: &DatabaseTransaction,
    user: &user::Model,
    hash: String,
    must_change: bool,
    kept: Option<&str>,
) -> Result<(), CommandError> {
    sessions::delete_all_of(tx, user.id, kept).await?;
    if let Some(kept) = kept {
        sessions::set_mark(tx, kept, &mark(&hash)).await?;
    }
    users::set_password_hash(tx, user.id, hash, must_change).await?;
    Ok(())
}

/// A password for the audit log, which says nothing about its text.
fn shown(must_change: bool) -> Value {
    json!({ "mustChangePassword": must_change })
}

fn checked(field: &str, password: &SecretString, name: &str) -> Result<(), CommandError> {
    password::check(password, name).map_err(|error| {
        let error = CommandError::from(error);
        let CommandError::BadInput(bad) = error else { return error };
        BadInput { field: field.to_owned(), ..bad }.into()
    })
}
