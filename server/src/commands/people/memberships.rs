use entity::{membership, membership::ActiveModel, user::Role};
use sea_orm::{ActiveEnum, Set};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{answered_before, locked_user, user_named};
use crate::{
    access::{Admin, commit_rights},
    commands::{Call, CommandError, Commands, audit::AuditEntry},
    model::check,
    store::{DatabaseTransaction, memberships},
};

/// A user's role in a namespace, to be set.
#[derive(Debug)]
pub struct NewMembership {
    /// The user, by name.
    pub user: String,
    /// The namespace, by name.
    pub namespace: String,
    /// The role there.
    pub role: Role,
    /// Whether the user may see contexts, outputs and logs there.
    pub sees_payloads: bool,
    /// The reason, for the audit log.
    pub reason: Option<String>,
}

/// A user in a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// The user.
    pub user: Uuid,
    /// The namespace.
    pub namespace: Uuid,
}

fn shown(row: &membership::Model) -> Value {
    json!({ "role": row.role.to_value(), "seesPayloads": row.sees_payloads })
}

impl Commands {
    /// Makes a user a member of a namespace, or changes their role there.
    pub async fn set_membership(
        &self,
        right: &Admin,
        new: &NewMembership,
        call: &Call,
    ) -> Result<Member, CommandError> {
        let reason = new.reason.as_deref();
        check::optional_reason(reason)?;
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return answered_before(tx, earlier).await;
        }
        let namespace = self.namespace(&tx, right.permit(), &new.namespace).await?;
        // The user is locked, so that a user who is being deleted cannot become a member.
        let user = locked_user(&tx, user_named(&tx, &new.user).await?.id).await?;
        let member = Member { user: user.id, namespace };
        let before = memberships::find(&tx, user.id, namespace).await?;
        let row = ActiveModel {
            user_id: Set(user.id),
            namespace_id: Set(namespace),
            role: Set(new.role),
            sees_payloads: Set(new.sees_payloads),
            created_at: Set(self.clock.now().into()),
        };
        memberships::put(&tx, row).await?;
        let after = json!({ "role": new.role.to_value(), "seesPayloads": new.sees_payloads });
        let before = before.as_ref().map(shown);
        let (name, action) = (&user.name, "membership.set");
        self.audit_member(&tx, right, &member, name, action, reason, before, Some(after)).await?;
        self.remember(&tx, right.who(), call, &member).await?;
        commit_rights(&self.store, tx).await?;
        Ok(member)
    }

    /// Removes a user from a namespace.
    pub async fn remove_membership(
        &self,
        right: &Admin,
        user: &str,
        namespace: &str,
        reason: Option<&str>,
        call: &Call,
    ) -> Result<Member, CommandError> {
        check::optional_reason(reason)?;
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return answered_before(tx, earlier).await;
        }
        let id = self.namespace(&tx, right.permit(), namespace).await?;
        let row = user_named(&tx, user).await?;
        let member = Member { user: row.id, namespace: id };
        let before = memberships::find(&tx, row.id, id).await?;
        let before = before.ok_or_else(|| CommandError::not_found("member", user))?;
        memberships::remove(&tx, row.id, id).await?;
        let (action, before) = ("membership.remove", Some(shown(&before)));
        self.audit_member(&tx, right, &member, user, action, reason, before, None).await?;
        self.remember(&tx, right.who(), call, &member).await?;
        commit_rights(&self.store, tx).await?;
        Ok(member)
    }

    async fn audit_member(
        &self,
        tx: &DatabaseTransaction,
        right: &Admin,
        member: &Member,
        name: &str,
        action: &'static str,
        reason: Option<&str>,
        before: Option<Value>,
        after: Option<Value>,
    ) -> Result<(), CommandError> {
        let entry = AuditEntry {
            action,
            namespace: Some(member.namespace),
            subject_id: Some(member.user),
            subject: name,
            reason,
            before,
            after,
        };
        Ok(self.audit(tx, right.who(), entry).await?)
    }
}
