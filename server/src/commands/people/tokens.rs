use chrono::{DateTime, TimeDelta, Utc};
use entity::{
    Strings,
    api_token::{self, ActiveModel},
    user::{self, Role},
};
use sea_orm::{ActiveEnum, ActiveModelTrait};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{answered_before, user_named};
use crate::{
    access::{Viewer, ViewerKind, check_name, commit_rights, tokens as text},
    commands::{BadInput, Call, CommandError, Commands, audit::AuditEntry},
    model::check,
    random::new_id,
    store::{Constraint, DatabaseTransaction, StoreError, tokens, users},
    target::is_queue_name,
};

/// Maximum number of an owner's tokens that are not revoked.
const MAX: u64 = 100;
/// Maximum number of an owner's stored tokens; beyond that, revoked ones are removed.
const MAX_KEPT: u64 = 1_000;
/// Maximum lifetime of a token.
const LONGEST: TimeDelta = TimeDelta::days(3_650);

/// A token to create.
#[derive(Debug)]
pub struct NewApiToken {
    /// The name, unique among its owner's tokens.
    pub name: String,
    /// The token's role. The role of its owner limits it further.
    pub role: Role,
    /// The only namespace that the token gives access to, by name; `None` for all namespaces of its
    /// owner.
    pub namespace: Option<String>,
    /// The only queues that a worker may pull from with the token. Such a token gives access to
    /// nothing else.
    pub queues: Option<Vec<String>>,
    /// Whether the token may see payloads; effective only if its owner may.
    pub sees_payloads: bool,
    /// When the token expires.
    pub expires_at: Option<DateTime<Utc>>,
    /// The service account that the token acts for, by name; `None` for the caller.
    pub service_account: Option<String>,
    /// The reason, for the audit log.
    pub reason: Option<String>,
}

/// A token that was created.
#[derive(Debug, Serialize, Deserialize)]
pub struct MadeToken {
    /// The token's key.
    pub id: Uuid,
    /// The token itself. It is not stored, so a repeated call is answered without it.
    #[serde(skip)]
    pub text: Option<SecretString>,
}

fn shown(row: &api_token::Model) -> Value {
    json!({
        "role": row.role.to_value(),
        "namespaceId": row.namespace_id,
        "queues": row.queues,
        "seesPayloads": row.sees_payloads,
        "expiresAt": row.expires_at.map(|at| at.utc()),
    })
}

impl Commands {
    /// Creates a token for the caller, or, as an administrator, for a service account.
    pub async fn create_api_token(
        &self,
        who: &Viewer,
        new: &NewApiToken,
        call: &Call,
    ) -> Result<MadeToken, CommandError> {
        let right = who.viewer()?;
        check_name("name", &new.name)?;
        check::optional_reason(new.reason.as_deref())?;
        let now = self.clock.now();
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, who, call).await? {
            return Ok(earlier);
        }
        if let Some(at) = new.expires_at.filter(|at| *at <= now || *at > now + LONGEST) {
            let problem = if at <= now { "is past" } else { "is more than ten years away" };
            let help = "give an instant within ten years, or leave it out";
            return Err(BadInput::new("expiresAt", at.to_rfc3339(), problem, help).into());
        }
        let namespace = match &new.namespace {
            Some(name) => Some(self.namespace(&tx, right.permit(), name).await?),
            None => None,
        };
        let owner = self.token_owner(&tx, who, new.service_account.as_deref()).await?;
        within_own(who, new.role, namespace)?;
        check_queues(new)?;
        if tokens::count_of(&tx, owner.id).await? >= MAX {
            let problem = format!("{:?} has {MAX} tokens, the maximum", owner.name);
            return Err(CommandError::conflict(problem, "revoke those that are not used"));
        }
        if tokens::count_all_of(&tx, owner.id).await? >= MAX_KEPT {
            tokens::forget_revoked_of(&tx, owner.id).await?;
        }
        let text = text::random(text::PREFIX)?;
        let row = api_token::Model {
            id: new_id(now),
            name: new.name.clone(),
            hash: text::hashed(&text),
            user_id: Some(owner.id),
            namespace_id: namespace,
            queues: new.queues.clone().map(Strings),
            role: new.role,
            sees_payloads: new.sees_payloads,
            created_by: who.name.clone(),
            created_at: now.into(),
            expires_at: new.expires_at.map(Into::into),
            revoked_at: None,
            used_at: None,
        };
        let insert = ActiveModel::from(row.clone()).reset_all();
        tokens::insert(&tx, insert).await.map_err(|error| name_taken(error, &new.name))?;
        self.audit_token(
            &tx,
            who,
            &row,
            "token.create",
            new.reason.as_deref(),
            None,
            Some(shown(&row)),
        )
        .await?;
        let made = MadeToken { id: row.id, text: Some(text.into()) };
        self.remember(&tx, who, call, &made).await?;
        self.store.commit(tx).await?;
        Ok(made)
    }

    /// Revokes a token: the caller's own, or anyone's for an administrator.
    pub async fn revoke_api_token(
        &self,
        who: &Viewer,
        id: Uuid,
        reason: Option<&str>,
        call: &Call,
    ) -> Result<Uuid, CommandError> {
        check::optional_reason(reason)?;
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, who, call).await? {
            return answered_before(tx, earlier).await;
        }
        let missing = || CommandError::not_found("token", id);
        let row = tokens::by_id(&tx, id).await?.ok_or_else(missing)?;
        // A token may revoke itself, so that a leaked one can be disabled at once.
        let is_own = row.user_id == Some(who.id) || row.id == who.id;
        if !is_own && who.owner().is_err() {
            return Err(missing());
        }
        if tokens::revoke_if_live(&tx, id, self.clock.now().into()).await? {
            self.audit_token(&tx, who, &row, "token.revoke", reason, Some(shown(&row)), None)
                .await?;
        }
        self.remember(&tx, who, call, &id).await?;
        commit_rights(&self.store, tx).await?;
        Ok(id)
    }

    /// The user on whose behalf a token created by `who` acts.
    async fn token_owner(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        service_account: Option<&str>,
    ) -> Result<user::Model, CommandError> {
        let Some(name) = service_account else {
            if who.kind == ViewerKind::Token {
                return Err(CommandError::Denied {
                    problem: "a token cannot create tokens for people",
                    help: "sign in and create one, or name a service account",
                });
            }
            let own = users::by_id(tx, who.id).await?;
            return own.ok_or_else(|| CommandError::not_found("user", &who.name));
        };
        who.owner()?;
        let account = user_named(tx, name).await?;
        if !account.is_service {
            let help = "name a service account; people create their own tokens";
            return Err(BadInput::new("serviceAccount", name, "is a person", help).into());
        }
        Ok(account)
    }

    async fn audit_token(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        row: &api_token::Model,
        action: &'static str,
        reason: Option<&str>,
        before: Option<Value>,
        after: Option<Value>,
    ) -> Result<(), CommandError> {
        let (namespace, subject_id) = (row.namespace_id, Some(row.id));
        let entry =
            AuditEntry { action, namespace, subject_id, subject: &row.name, reason, before, after };
        Ok(self.audit(tx, who, entry).await?)
    }
}

/// A worker's token names 1 to 32 queues, and its role is operator at most.
fn check_queues(new: &NewApiToken) -> Result<(), CommandError> {
    let Some(queues) = &new.queues else { return Ok(()) };
    if !(1..=32).contains(&queues.len()) {
        let problem = format!("names {} queues", queues.len());
        return Err(BadInput::new("queues", "", problem, "name 1 to 32, or leave it out").into());
    }
    if let Some(index) = queues.iter().position(|queue| !is_queue_name(queue)) {
        let (field, help) = (format!("queues[{index}]"), "write 1 to 64 of a-z 0-9 . _ -");
        return Err(BadInput::new(field, &queues[index], "is not a valid queue name", help).into());
    }
    if new.role < Role::Operator {
        let help = "give it the role operator or more, or leave the queues out";
        let problem = "cannot pull tasks";
        return Err(BadInput::new("role", new.role.to_value(), problem, help).into());
    }
    Ok(())
}

/// A user cannot create a token with more rights than their own.
fn within_own(who: &Viewer, role: Role, namespace: Option<Uuid>) -> Result<(), CommandError> {
    let has = match namespace {
        Some(id) => who.grants.within(id).map(|grant| grant.role),
        None => who.grants.strongest(),
    };
    if has >= Some(role) {
        return Ok(());
    }
    Err(CommandError::Forbidden { needs: role, has, everywhere: false })
}

fn name_taken(error: StoreError, name: &str) -> CommandError {
    if matches!(error, StoreError::Broken { constraint: Constraint::TokenName }) {
        let problem = "is the name of another token of the same owner, revoked or not";
        return BadInput::new("name", name, problem, "choose another name").into();
    }
    error.into()
}
