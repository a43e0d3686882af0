use async_graphql::{Context, InputObject, Object, SimpleObject};
use entity::membership;
use uuid::Uuid;

use crate::{
    api::{
        context::ContextExt,
        error::Result,
        loaders::{NamespaceName, UserRow},
        scalar::Instant,
        viewer::Role,
    },
    commands::{CommandError, Member, NewMembership},
    store::memberships,
};

/// A user's permissions in one namespace.
pub(crate) struct Membership(pub(crate) membership::Model);

/// A user's permissions in one namespace.
#[Object]
impl Membership {
    async fn user_id(&self) -> Uuid {
        self.0.user_id
    }

    /// The user's name.
    async fn user(&self, cx: &Context<'_>) -> Result<String> {
        let row = cx.rows().load_one(UserRow(self.0.user_id)).await?;
        Ok(row.map(|row| row.name).unwrap_or_default())
    }

    async fn namespace(&self, cx: &Context<'_>) -> Result<String> {
        Ok(cx.rows().load_one(NamespaceName(self.0.namespace_id)).await?.unwrap_or_default())
    }

    /// The role in this namespace.
    async fn role(&self) -> Role {
        self.0.role.into()
    }

    /// Whether the user may see contexts, outputs and logs. Editors always may.
    async fn sees_payloads(&self) -> bool {
        self.0.sees_payloads
    }

    async fn created_at(&self) -> Instant {
        self.0.created_at.into()
    }
}

/// The permissions to give a user in a namespace.
#[derive(InputObject)]
pub(crate) struct SetMembershipInput {
    /// The user's name.
    user: String,
    /// The namespace's name.
    namespace: String,
    /// The role in this namespace.
    role: Role,
    /// Whether the user may see contexts, outputs and logs.
    #[graphql(default = false)]
    sees_payloads: bool,
    /// Reason for the audit log: 0 to 500 characters.
    reason: Option<String>,
}

impl From<SetMembershipInput> for NewMembership {
    fn from(input: SetMembershipInput) -> Self {
        Self {
            user: input.user,
            namespace: input.namespace,
            role: input.role.into(),
            sees_payloads: input.sees_payloads,
            reason: input.reason,
        }
    }
}

/// A membership after a mutation.
#[derive(SimpleObject)]
pub(crate) struct MembershipPayload {
    membership: Membership,
}

impl MembershipPayload {
    pub(super) async fn of(cx: &Context<'_>, member: Member) -> Result<Self> {
        let row = memberships::find(cx.store().read(), member.user, member.namespace).await?;
        let row = row.filter(|row| cx.is_home(row.namespace_id));
        let row = row.ok_or_else(|| CommandError::not_found("member", member.user))?;
        Ok(Self { membership: Membership(row) })
    }
}

/// The membership that was removed.
#[derive(SimpleObject)]
pub(crate) struct RemoveMembershipPayload {
    /// The user whose membership it was.
    user_id: Uuid,
    /// The namespace that it applied to.
    namespace_id: Uuid,
}

impl From<Member> for RemoveMembershipPayload {
    fn from(member: Member) -> Self {
        Self { user_id: member.user, namespace_id: member.namespace }
    }
}
