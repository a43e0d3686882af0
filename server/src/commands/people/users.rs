use entity::{
    Timestamp,
    user::{ActiveModel, Model, Role},
};
use sea_orm::{ActiveEnum, ActiveModelTrait};
use secrecy::SecretString;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{answered_before, locked_user};
use crate::{
    access::{Owner, check_name, commit_rights, name_key, password},
    commands::{BadInput, Call, CommandError, Commands, audit::AuditEntry},
    model::check,
    random::new_id,
    store::{
        Constraint, DatabaseTransaction, StoreError, feeds, memberships, sessions, tokens, users,
    },
};

/// A user to create.
#[derive(Debug)]
pub struct NewPerson {
    /// The user's name, unique in the instance.
    pub name: String,
    /// The password for the first sign-in; `None` for a service account.
    pub password: Option<SecretString>,
    /// The person's role everywhere.
    pub role: Option<Role>,
    /// Whether the person sees payloads everywhere.
    pub sees_payloads: bool,
    /// The reason, for the audit log.
    pub reason: Option<String>,
}

/// A user for the audit log.
fn shown(row: &Model) -> Value {
    json!({
        "role": row.role.map(|role| role.to_value()),
        "seesPayloads": row.sees_payloads,
        "disabled": row.disabled_at.is_some(),
        "service": row.is_service,
        "mustChangePassword": row.must_change_password,
    })
}

impl Commands {
    /// Adds a user, who must choose another password at the first sign-in, or a service account if
    /// there is no password.
    pub async fn create_user(
        &self,
        right: &Owner,
        new: NewPerson,
        call: &Call,
    ) -> Result<Uuid, CommandError> {
        check_name("name", &new.name)?;
        check::optional_reason(new.reason.as_deref())?;
        let is_service = new.password.is_none();
        let password_hash = match &new.password {
            Some(password) => {
                password::check(password, &new.name)?;
                password::hash(password.clone()).await?
            }
            None => String::new(),
        };
        let now = self.clock.now();
        let row = Model {
            id: new_id(now),
            name_key: name_key(&new.name),
            name: new.name,
            password_hash,
            // The administrator knows the password, too.
            must_change_password: !is_service,
            role: new.role,
            sees_payloads: new.sees_payloads,
            is_service,
            created_at: now.into(),
            disabled_at: None,
            sessions_from: None,
            signed_in_at: None,
            issuer: None,
            subject: None,
            given_elsewhere: None,
            given_at: None,
        };
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            if let Some(password) = new.password {
                self.holds(tx, earlier, password).await?;
            }
            return Ok(earlier);
        }
        let insert = ActiveModel::from(row.clone()).reset_all();
        users::insert(&tx, insert).await.map_err(|error| name_taken(error, &row.name))?;
        self.audit_user(
            &tx,
            right,
            &row,
            "user.add",
            new.reason.as_deref(),
            None,
            Some(shown(&row)),
        )
        .await?;
        self.remember(&tx, right.who(), call, &row.id).await?;
        self.store.commit(tx).await?;
        Ok(row.id)
    }

    /// Sets a user's role everywhere.
    pub async fn set_user_role(
        &self,
        right: &Owner,
        id: Uuid,
        role: Option<Role>,
        sees_payloads: bool,
        reason: Option<&str>,
        call: &Call,
    ) -> Result<Uuid, CommandError> {
        check::optional_reason(reason)?;
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return answered_before(tx, earlier).await;
        }
        let administrators = users::lock_administrators(&tx).await?;
        let row = locked_user(&tx, id).await?;
        if role != Some(Role::Admin) {
            keeps_one(&administrators, &row)?;
        }
        users::set_role(&tx, id, role, sees_payloads).await?;
        let changed = Model { role, sees_payloads, ..row.clone() };
        self.audit_user(
            &tx,
            right,
            &row,
            "user.role",
            reason,
            Some(shown(&row)),
            Some(shown(&changed)),
        )
        .await?;
        self.remember(&tx, right.who(), call, &id).await?;
        commit_rights(&self.store, tx).await?;
        Ok(id)
    }

    /// Disables a user: their sessions end, and their tokens are suspended.
    pub async fn disable_user(
        &self,
        right: &Owner,
        id: Uuid,
        reason: Option<&str>,
        call: &Call,
    ) -> Result<Uuid, CommandError> {
        self.set_disabled(right, id, true, reason, call).await
    }

    /// Enables a disabled user again.
    pub async fn enable_user(
        &self,
        right: &Owner,
        id: Uuid,
        reason: Option<&str>,
        call: &Call,
    ) -> Result<Uuid, CommandError> {
        self.set_disabled(right, id, false, reason, call).await
    }

    async fn set_disabled(
        &self,
        right: &Owner,
        id: Uuid,
        disabled: bool,
        reason: Option<&str>,
        call: &Call,
    ) -> Result<Uuid, CommandError> {
        check::optional_reason(reason)?;
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return answered_before(tx, earlier).await;
        }
        let administrators = users::lock_administrators(&tx).await?;
        let row = locked_user(&tx, id).await?;
        let at = disabled.then(|| Timestamp::from(self.clock.now()));
        if disabled {
            keeps_one(&administrators, &row)?;
            sessions::delete_all_of(&tx, id, None).await?;
        }
        users::set_disabled(&tx, id, at).await?;
        let action = if disabled { "user.disable" } else { "user.enable" };
        let changed = Model { disabled_at: at, ..row.clone() };
        self.audit_user(&tx, right, &row, action, reason, Some(shown(&row)), Some(shown(&changed)))
            .await?;
        self.remember(&tx, right.who(), call, &id).await?;
        commit_rights(&self.store, tx).await?;
        Ok(id)
    }

    /// Deletes a user with their memberships, sessions and tokens. Their audit entries stay.
    pub async fn delete_user(
        &self,
        right: &Owner,
        id: Uuid,
        reason: Option<&str>,
        call: &Call,
    ) -> Result<Uuid, CommandError> {
        check::optional_reason(reason)?;
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return answered_before(tx, earlier).await;
        }
        let administrators = users::lock_administrators(&tx).await?;
        let row = locked_user(&tx, id).await?;
        keeps_one(&administrators, &row)?;
        sessions::delete_all_of(&tx, id, None).await?;
        tokens::revoke_all_of(&tx, id, self.clock.now().into()).await?;
        memberships::remove_all_of(&tx, id).await?;
        feeds::delete_all_of(&tx, id).await?;
        users::delete(&tx, id).await?;
        self.audit_user(&tx, right, &row, "user.delete", reason, Some(shown(&row)), None).await?;
        self.remember(&tx, right.who(), call, &id).await?;
        commit_rights(&self.store, tx).await?;
        Ok(id)
    }

    async fn audit_user(
        &self,
        tx: &DatabaseTransaction,
        right: &Owner,
        row: &Model,
        action: &'static str,
        reason: Option<&str>,
        before: Option<Value>,
        after: Option<Value>,
    ) -> Result<(), CommandError> {
        let (subject_id, subject) = (Some(row.id), &*row.name);
        let entry =
            AuditEntry { action, namespace: None, subject_id, subject, reason, before, after };
        Ok(self.audit(tx, right.who(), entry).await?)
    }
}

/// Refuses to remove the last administrator of the instance.
fn keeps_one(administrators: &[Model], row: &Model) -> Result<(), CommandError> {
    match administrators {
        [only] if only.id == row.id => Err(CommandError::conflict(
            format!("{:?} is the last administrator who can sign in", row.name),
            "make another user an administrator first",
        )),
        _ => Ok(()),
    }
}

fn name_taken(error: StoreError, name: &str) -> CommandError {
    if matches!(error, StoreError::Broken { constraint: Constraint::UserName }) {
        let problem = "is the name of an existing user, or looks like one";
        return BadInput::new("name", name, problem, "choose another name").into();
    }
    error.into()
}
