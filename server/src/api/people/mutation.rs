//! Mutations of users, memberships, passwords and sessions.

use async_graphql::{Context, Object};
use serde_json::json;
use uuid::Uuid;

use super::{
    member::{MembershipPayload, RemoveMembershipPayload, SetMembershipInput},
    quota::NamespaceQuotasInput,
    tenant::NamespacePayload,
    token::{CreateApiTokenInput, CreateApiTokenPayload},
    user::{CreateServiceAccountInput, CreateUserInput, UserPayload},
};
use crate::{
    access::Tokens,
    api::{call::call, context::ContextExt, error::Result, payload::DeletePayload, viewer::Role},
    commands::{Call, NewPassword, NewPerson, OwnPassword},
    model::OwnQuotas,
};

/// Mutations of users, memberships, sessions, tokens and namespaces.
#[derive(Default)]
pub(crate) struct PeopleMutation;

#[Object]
impl PeopleMutation {
    /// Adds a user who signs in with a password, and must choose another one at the first sign-in.
    async fn create_user(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The user to create.")] input: CreateUserInput,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<UserPayload> {
        let right = cx.owner()?;
        let CreateUserInput { name, password, role, sees_payloads, reason } = input;
        let role = role.map(entity::user::Role::from);
        // Without the password, so that the stored call does not help to guess it.
        let arguments = json!([name, role.map(told), sees_payloads, reason]).to_string();
        let call = Call::new("createUser", &arguments, idempotency_key)?;
        let password = Some(password.into());
        let new = NewPerson { name, password, role, sees_payloads, reason };
        UserPayload::of(cx, cx.commands().create_user(&right, new, &call).await?).await
    }

    /// Adds a service account, which has only tokens.
    async fn create_service_account(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The service account to create.")] input: CreateServiceAccountInput,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<UserPayload> {
        let right = cx.owner()?;
        let call = call("createServiceAccount", &input, idempotency_key)?;
        let CreateServiceAccountInput { name, role, sees_payloads, reason } = input;
        let role = role.map(Into::into);
        let new = NewPerson { name, password: None, role, sees_payloads, reason };
        UserPayload::of(cx, cx.commands().create_user(&right, new, &call).await?).await
    }

    /// Sets a user's role in every namespace; null leaves only the permissions that their
    /// memberships grant.
    async fn set_user_role(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The user's id.")] user_id: Uuid,
        #[graphql(
            desc = "The role in every namespace; if absent, only the user's memberships count."
        )]
        role: Option<Role>,
        #[graphql(
            default = false,
            desc = "Whether they may see contexts, outputs and logs in every namespace. Editors \
                    always may."
        )]
        sees_payloads: bool,
        #[graphql(desc = "Reason for the audit log: 0 to 500 characters.")] reason: Option<String>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<UserPayload> {
        let right = cx.owner()?;
        let role = role.map(entity::user::Role::from);
        let arguments = json!([user_id, role.map(told), sees_payloads, reason]).to_string();
        let call = Call::new("setUserRole", &arguments, idempotency_key)?;
        let (commands, reason) = (cx.commands(), reason.as_deref());
        let set = commands.set_user_role(&right, user_id, role, sees_payloads, reason, &call);
        let id = set.await?;
        UserPayload::of(cx, id).await
    }

    /// Disables a user: their sessions end at once, open connections included, and their tokens are
    /// refused.
    async fn disable_user(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The user's id.")] user_id: Uuid,
        #[graphql(desc = "Reason for the audit log: 0 to 500 characters.")] reason: Option<String>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<UserPayload> {
        let right = cx.owner()?;
        let call =
            Call::new("disableUser", &json!([user_id, reason]).to_string(), idempotency_key)?;
        let (commands, reason) = (cx.commands(), reason.as_deref());
        let id = commands.disable_user(&right, user_id, reason, &call).await?;
        UserPayload::of(cx, id).await
    }

    /// Enables a disabled user again.
    async fn enable_user(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The user's id.")] user_id: Uuid,
        #[graphql(desc = "Reason for the audit log: 0 to 500 characters.")] reason: Option<String>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<UserPayload> {
        let right = cx.owner()?;
        let call = Call::new("enableUser", &json!([user_id, reason]).to_string(), idempotency_key)?;
        let (commands, reason) = (cx.commands(), reason.as_deref());
        let id = commands.enable_user(&right, user_id, reason, &call).await?;
        UserPayload::of(cx, id).await
    }

    /// Removes a user with their memberships, sessions and tokens. What they did stays in the audit
    /// log.
    async fn delete_user(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The user's id.")] user_id: Uuid,
        #[graphql(desc = "Reason for the audit log: 0 to 500 characters.")] reason: Option<String>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<DeletePayload> {
        let right = cx.owner()?;
        let call = Call::new("deleteUser", &json!([user_id, reason]).to_string(), idempotency_key)?;
        let reason = reason.as_deref();
        let id = cx.commands().delete_user(&right, user_id, reason, &call).await?;
        Ok(DeletePayload { id })
    }

    /// Makes a user a member of a namespace, or changes their permissions there. For administrators
    /// of the namespace.
    async fn set_membership(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The user, the namespace and the permissions there.")]
        input: SetMembershipInput,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<MembershipPayload> {
        let right = cx.admin()?;
        let call = call("setMembership", &input, idempotency_key)?;
        let member = cx.commands().set_membership(&right, &input.into(), &call).await?;
        MembershipPayload::of(cx, member).await
    }

    /// Removes a user from a namespace. For administrators of the namespace.
    async fn remove_membership(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The user's name.")] user: String,
        #[graphql(desc = "The namespace's name.")] namespace: String,
        #[graphql(desc = "Reason for the audit log: 0 to 500 characters.")] reason: Option<String>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<RemoveMembershipPayload> {
        let right = cx.admin()?;
        let arguments = json!([user, namespace, reason]).to_string();
        let call = Call::new("removeMembership", &arguments, idempotency_key)?;
        let (commands, reason) = (cx.commands(), reason.as_deref());
        let member = commands.remove_membership(&right, &user, &namespace, reason, &call).await?;
        Ok(member.into())
    }

    /// Changes your password. Your other sessions end. Your API tokens continue to work unless
    /// `revokeTokens` is true. After signing in with a one-time password, this is the only mutation
    /// that is permitted.
    async fn change_password(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "Your current password.")] old_password: String,
        #[graphql(
            desc = "The new password: 12 to 256 characters; easily guessed ones are refused, and \
                    so is the current one."
        )]
        new_password: String,
        #[graphql(default, desc = "Whether your API tokens are revoked, too.")] revoke_tokens: bool,
        #[graphql(desc = "Reason for the audit log: 0 to 500 characters.")] reason: Option<String>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<UserPayload> {
        let who = cx.identified()?;
        let arguments = json!([revoke_tokens, reason]).to_string();
        let call = Call::new("changePassword", &arguments, idempotency_key)?;
        let (old, new, tokens) =
            (old_password.into(), new_password.into(), tokens_after(revoke_tokens));
        let change = OwnPassword { old, new, tokens, reason };
        let id = cx.commands().change_password(who, change, &call).await?;
        UserPayload::of(cx, id).await
    }

    /// Sets a one-time password for a user, who must choose another one at the next sign-in. Their
    /// sessions end. Their API tokens continue to work unless `revokeTokens` is true.
    async fn reset_password(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The user's id.")] user_id: Uuid,
        #[graphql(
            desc = "The one-time password: 12 to 256 characters; easily guessed ones are refused."
        )]
        password: String,
        #[graphql(default, desc = "Whether the user's API tokens are revoked, too.")]
        revoke_tokens: bool,
        #[graphql(desc = "Reason for the audit log: 0 to 500 characters.")] reason: Option<String>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<UserPayload> {
        let right = cx.owner()?;
        let arguments = json!([user_id, revoke_tokens, reason]).to_string();
        let call = Call::new("resetPassword", &arguments, idempotency_key)?;
        let (password, tokens) = (password.into(), tokens_after(revoke_tokens));
        let new = NewPassword { password, tokens, reason };
        let id = cx.commands().reset_password(&right, user_id, new, &call).await?;
        UserPayload::of(cx, id).await
    }

    /// Ends one of your sessions; administrators of the instance may end anyone's. Its open
    /// connections end within seconds.
    async fn revoke_session(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The session's id, as returned by `sessions`.")] id: String,
        #[graphql(desc = "Reason for the audit log: 0 to 500 characters.")] reason: Option<String>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<bool> {
        let who = cx.signed_in()?;
        let call = Call::new("revokeSession", &json!([id, reason]).to_string(), idempotency_key)?;
        cx.commands().revoke_session(who, &id, reason.as_deref(), &call).await?;
        Ok(true)
    }

    /// Ends all sessions of a user; for administrators of the instance. With your own id, it ends
    /// all of your sessions except the one that sends the request. Returns how many were ended.
    async fn revoke_sessions(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The user's id.")] user_id: Uuid,
        #[graphql(desc = "Why, for the audit log: at most 500 characters.")] reason: Option<String>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<i32> {
        let who = cx.signed_in()?;
        let arguments = json!([user_id, reason]).to_string();
        let call = Call::new("revokeSessions", &arguments, idempotency_key)?;
        let reason = reason.as_deref();
        let ended = cx.commands().revoke_sessions(who, user_id, reason, &call).await?;
        Ok(i32::try_from(ended).unwrap_or(i32::MAX))
    }

    /// Creates a token for yourself; administrators of the instance may create one for a service
    /// account. Its secret is returned only this once.
    async fn create_api_token(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The token to create.")] input: CreateApiTokenInput,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<CreateApiTokenPayload> {
        let who = cx.signed_in()?;
        let call = call("createApiToken", &input, idempotency_key)?;
        let made = cx.commands().create_api_token(who, &input.into(), &call).await?;
        CreateApiTokenPayload::of(cx, made).await
    }

    /// Revokes one of your tokens; administrators of the instance may revoke anyone's.
    async fn revoke_api_token(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The token's id.")] id: Uuid,
        #[graphql(desc = "Reason for the audit log: 0 to 500 characters.")] reason: Option<String>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<DeletePayload> {
        let who = cx.signed_in()?;
        let call = Call::new("revokeApiToken", &json!([id, reason]).to_string(), idempotency_key)?;
        let id = cx.commands().revoke_api_token(who, id, reason.as_deref(), &call).await?;
        Ok(DeletePayload { id })
    }

    /// Creates a namespace.
    async fn create_namespace(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "Unique: 1 to 128 of A-Z a-z 0-9 . _ / -")] name: String,
        #[graphql(desc = "Reason for the audit log: 0 to 500 characters.")] reason: Option<String>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<NamespacePayload> {
        let right = cx.owner()?;
        let arguments = json!([name, reason]).to_string();
        let call = Call::new("createNamespace", &arguments, idempotency_key)?;
        let reason = reason.as_deref();
        let id = cx.commands().create_namespace(&right, &name, reason, &call).await?;
        NamespacePayload::load(cx, id).await
    }

    /// Sets all quotas of a namespace at once. For administrators of the instance.
    async fn set_namespace_quotas(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The namespace's name.")] namespace: String,
        #[graphql(desc = "All quotas of the namespace, including those that stay as they are.")]
        quotas: NamespaceQuotasInput,
        #[graphql(desc = "Reason for the audit log: 0 to 500 characters.")] reason: Option<String>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<NamespacePayload> {
        let right = cx.owner()?;
        let own = OwnQuotas::from(quotas);
        let arguments = json!([namespace, own, reason]).to_string();
        let call = Call::new("setNamespaceQuotas", &arguments, idempotency_key)?;
        let reason = reason.as_deref();
        let set = cx.commands().set_quotas(&right, &namespace, own, reason, &call).await?;
        NamespacePayload::load(cx, set.id).await
    }

    /// Renames a namespace. It can no longer be found under its old name.
    async fn rename_namespace(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The namespace's current name.")] name: String,
        #[graphql(desc = "Unique: 1 to 128 of A-Z a-z 0-9 . _ / -")] new_name: String,
        #[graphql(desc = "Reason for the audit log: 0 to 500 characters.")] reason: Option<String>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<NamespacePayload> {
        let right = cx.owner()?;
        let arguments = json!([name, new_name, reason]).to_string();
        let call = Call::new("renameNamespace", &arguments, idempotency_key)?;
        let (commands, reason) = (cx.commands(), reason.as_deref());
        let id = commands.rename_namespace(&right, &name, &new_name, reason, &call).await?;
        NamespacePayload::load(cx, id).await
    }
}

fn tokens_after(revoke_tokens: bool) -> Tokens {
    if revoke_tokens { Tokens::Revoked } else { Tokens::Kept }
}

/// A role as it is stored under an idempotency key.
fn told(role: entity::user::Role) -> String {
    sea_orm::ActiveEnum::to_value(&role)
}
