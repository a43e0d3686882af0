use async_graphql::{ComplexObject, Context, Enum, SimpleObject};
use uuid::Uuid;

use super::{
    context::ContextExt,
    error::Result,
    loaders::NamespaceName,
    page::{bounded_by, cost_by},
    people::settings::{self, ViewerSettings},
};

/// The caller.
#[derive(SimpleObject)]
#[graphql(complex)]
pub(crate) struct Viewer {
    id: Uuid,
    name: String,
    /// Whether it is a person or a program.
    kind: ViewerKind,
    /// The highest role held anywhere; VIEWER if there is none (see `grants`).
    role: Role,
    /// The caller's role in every namespace.
    role_everywhere: Option<Role>,
    /// Whether the session was opened with a one-time password. Until `changePassword` replaces
    /// it, the session has no roles, and all other fields fail with PASSWORD_CHANGE_REQUIRED.
    must_change_password: bool,
    #[graphql(skip)]
    grants: Vec<NamespaceGrant>,
}

#[ComplexObject]
impl Viewer {
    /// The first of the caller's roles in individual namespaces, in addition to `roleEverywhere`;
    /// at most 1000.
    #[graphql(complexity = "cost_by(first, 1_000, child_complexity)")]
    async fn grants(
        &self,
        #[graphql(default = 200, desc = "The number of entries, 1 to 1000.")] first: i32,
    ) -> Result<&[NamespaceGrant]> {
        let limit = usize::try_from(bounded_by("first", first, 1_000)?).unwrap_or(usize::MAX);
        Ok(self.grants.get(..limit).unwrap_or(&self.grants))
    }

    /// The caller's console settings; null for a token.
    async fn settings(&self, cx: &Context<'_>) -> Result<Option<ViewerSettings>> {
        settings::own(cx).await
    }
}

/// The caller's permissions in one namespace.
#[derive(SimpleObject)]
#[graphql(complex)]
pub(crate) struct NamespaceGrant {
    #[graphql(skip)]
    id: Uuid,
    /// The caller's role in it.
    role: Role,
    /// Whether the caller may see contexts, outputs and logs.
    sees_payloads: bool,
}

#[ComplexObject]
impl NamespaceGrant {
    async fn namespace(&self, cx: &Context<'_>) -> Result<String> {
        Ok(cx.rows().load_one(NamespaceName(self.id)).await?.unwrap_or_default())
    }
}

/// A person or a program.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "crate::access::ViewerKind")]
pub(crate) enum ViewerKind {
    /// A person, signed in with a session.
    User,
    /// A program, authenticated with a bearer token.
    Token,
}

/// A level of permissions. Each role includes those before it.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "entity::user::Role")]
pub(crate) enum Role {
    /// May read.
    Viewer,
    /// May trigger, cancel, retry, pause, resume and backfill.
    Operator,
    /// May create, change and delete schedules and workflows, and deploy modules.
    Editor,
    /// May manage people, tokens and secrets.
    Admin,
}

impl From<&crate::access::Viewer> for Viewer {
    fn from(viewer: &crate::access::Viewer) -> Self {
        Self {
            id: viewer.id,
            name: viewer.name.clone(),
            kind: viewer.kind.into(),
            role: viewer.grants.strongest().unwrap_or(entity::user::Role::Viewer).into(),
            role_everywhere: viewer.grants.role_everywhere().map(Into::into),
            must_change_password: viewer.must_change_password,
            grants: viewer
                .grants
                .namespaces()
                .map(|(id, grant)| NamespaceGrant {
                    id,
                    role: grant.role.into(),
                    sees_payloads: grant.shows_payloads(),
                })
                .collect(),
        }
    }
}
