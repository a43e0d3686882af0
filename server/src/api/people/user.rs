use async_graphql::{Context, InputObject, Object, SimpleObject};
use entity::user;
use uuid::Uuid;

use super::member::Membership;
use crate::{
    api::{
        context::ContextExt,
        error::Result,
        loaders::{FirstMemberships, NamespaceName, UserRow},
        page::{DECLARED, bounded_by, cost_by},
        scalar::Instant,
        viewer::Role,
    },
    commands::CommandError,
    store::tokens,
};

/// A person who signs in, or a service account, which only has tokens.
pub(crate) struct User(pub(crate) user::Model);

/// A person who signs in, or a service account, which only has tokens.
#[Object]
impl User {
    async fn id(&self) -> Uuid {
        self.0.id
    }

    async fn name(&self) -> &str {
        &self.0.name
    }

    /// The user's role in every namespace; ADMIN makes the user an administrator of the instance.
    async fn role(&self) -> Option<Role> {
        self.0.role.map(Into::into)
    }

    /// Whether the user may see contexts, outputs and logs in every namespace. Editors always may.
    async fn sees_payloads(&self) -> bool {
        self.0.sees_payloads
    }

    /// Whether the user is a service account, which cannot sign in.
    async fn is_service_account(&self) -> bool {
        self.0.is_service
    }

    async fn created_at(&self) -> Instant {
        self.0.created_at.into()
    }

    /// When the user was disabled; null if the user is enabled.
    async fn disabled_at(&self) -> Option<Instant> {
        self.0.disabled_at.map(Into::into)
    }

    /// Whether the user's password is for one use: someone else set it, and the user has not chosen
    /// one yet.
    async fn must_change_password(&self) -> bool {
        self.0.must_change_password
    }

    /// When they last signed in with a password or an identity provider.
    async fn signed_in_at(&self) -> Option<Instant> {
        self.0.signed_in_at.map(Into::into)
    }

    /// The identity provider that the user signs in with; null if the user does not sign in through
    /// one.
    async fn issuer(&self) -> Option<&str> {
        self.0.issuer.as_deref()
    }

    /// The user's subject at that identity provider.
    async fn subject(&self) -> Option<&str> {
        self.0.subject.as_deref()
    }

    /// The rights that the configuration derives from the user's groups at the identity provider,
    /// as of their last sign-in. They lapse when a session from that sign-in would end, or when the
    /// provider is no longer configured. They are separate from `role` and `memberships`; the
    /// strongest applies.
    #[graphql(complexity = "DECLARED * child_complexity")]
    async fn given_elsewhere(&self, cx: &Context<'_>) -> Vec<GivenGrant> {
        let commands = cx.commands();
        let given = commands.elsewhere().given(&self.0, commands.clock.now());
        given.iter().cloned().map(GivenGrant).collect()
    }

    /// The first of the user's memberships in individual namespaces, in addition to the user's role
    /// in every namespace; at most 1000.
    #[graphql(complexity = "cost_by(first, 1_000, child_complexity)")]
    async fn memberships(
        &self,
        cx: &Context<'_>,
        #[graphql(default = 50, desc = "The number of entries, 1 to 1000.")] first: i32,
    ) -> Result<Vec<Membership>> {
        let limit = bounded_by("first", first, 1_000)?;
        let rows = cx.rows().load_one(FirstMemberships(self.0.id, limit)).await?;
        Ok(rows.unwrap_or_default().into_iter().map(Membership).collect())
    }
}

/// Permissions that a user has because of their groups at the identity provider.
pub(crate) struct GivenGrant(user::GivenGrant);

/// Permissions that a user has because of their groups at the identity provider.
#[Object]
impl GivenGrant {
    /// The namespace; null for all namespaces.
    async fn namespace(&self, cx: &Context<'_>) -> Result<Option<String>> {
        match self.0.namespace {
            Some(id) => Ok(cx.rows().load_one(NamespaceName(id)).await?),
            None => Ok(None),
        }
    }

    /// The role that the groups give.
    async fn role(&self) -> Role {
        self.0.role.into()
    }

    /// Whether the user may see contexts, outputs and logs. Editors always may.
    async fn sees_payloads(&self) -> bool {
        self.0.sees_payloads
    }
}

/// A user after a mutation.
#[derive(SimpleObject)]
pub(crate) struct UserPayload {
    user: User,
    /// How many of the user's API tokens are valid while the user is enabled. Changing the password
    /// does not revoke them.
    live_api_tokens: i32,
}

impl UserPayload {
    pub(super) async fn of(cx: &Context<'_>, id: Uuid) -> Result<Self> {
        let row = cx.rows().load_one(UserRow(id)).await?;
        let user = User(row.ok_or_else(|| CommandError::not_found("user", id))?);
        let live = tokens::count_of(cx.store().read(), id).await?;
        Ok(Self { user, live_api_tokens: i32::try_from(live).unwrap_or(i32::MAX) })
    }
}

/// A user to create, who signs in with a password.
#[derive(InputObject)]
pub(crate) struct CreateUserInput {
    /// 1 to 64 letters, digits and `.`, `_`, `@`, `+`, `-`. No other user may have it or a name
    /// that looks like it.
    pub(super) name: String,
    /// The password for the first sign-in, at which the user must choose another one: 12 to 256
    /// characters; easily guessed passwords are refused.
    pub(super) password: String,
    /// The user's role in every namespace. Without one, the user has only the permissions that
    /// `setMembership` grants.
    pub(super) role: Option<Role>,
    /// Whether they may see contexts, outputs and logs in every namespace. Editors always may.
    #[graphql(default = false)]
    pub(super) sees_payloads: bool,
    /// Reason for the audit log: 0 to 500 characters.
    pub(super) reason: Option<String>,
}

/// A service account to create.
#[derive(InputObject)]
pub(crate) struct CreateServiceAccountInput {
    /// Unique; 1 to 64 characters without spaces.
    pub(super) name: String,
    /// The service account's role in every namespace. Without one, it has only the permissions that
    /// `setMembership` grants.
    pub(super) role: Option<Role>,
    /// Whether it may see contexts, outputs and logs in every namespace. Editors always may.
    #[graphql(default = false)]
    pub(super) sees_payloads: bool,
    /// Reason for the audit log: 0 to 500 characters.
    pub(super) reason: Option<String>,
}
