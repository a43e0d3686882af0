use async_graphql::{ComplexObject, Context, Enum, SimpleObject};
use uuid::Uuid;

use super::{
    context::Ask,
    error::Result,
    loaders::NamespaceName,
    page::{bounded_by, cost_by},
    people::settings::{self, ViewerSettings},
};

/// Who is asking.
#[derive(SimpleObject)]
#[graphql(complex)]
pub(crate) struct Viewer {
    id: Uuid,
    name: String,
    kind: ViewerKind,
    /// The highest role held anywhere; VIEWER if there is none (see `grants`).
    role: Role,
    /// The role that holds in every namespace.
    role_everywhere: Option<Role>,
    #[graphql(skip)]
    grants: Vec<NamespaceGrant>,
}

#[ComplexObject]
impl Viewer {
    /// The first of what holds in single namespaces, beside that; at most 1000 of it.
    #[graphql(complexity = "cost_by(first, 1_000, child_complexity)")]
    async fn grants(&self, #[graphql(default = 200)] first: i32) -> Result<&[NamespaceGrant]> {
        let limit = usize::try_from(bounded_by("first", first, 1_000)?).unwrap_or(usize::MAX);
        Ok(self.grants.get(..limit).unwrap_or(&self.grants))
    }

    /// What the console keeps for them; null for a token.
    async fn settings(&self, cx: &Context<'_>) -> Result<Option<ViewerSettings>> {
        settings::own(cx).await
    }
}

/// What somebody may do in one namespace.
#[derive(SimpleObject)]
#[graphql(complex)]
pub(crate) struct NamespaceGrant {
    #[graphql(skip)]
    id: Uuid,
    role: Role,
    /// Whether contexts, outputs and logs are shown.
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
    /// Signed in with a session.
    User,
    /// Came with a bearer token.
    Token,
}

/// What somebody may do. Each may do all that the one before it may.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "entity::user::Role")]
pub(crate) enum Role {
    /// Look.
    Viewer,
    /// Trigger, cancel, retry, pause, resume, backfill.
    Operator,
    /// Make, change and delete schedules and workflows, deploy modules.
    Editor,
    /// People, tokens, secrets.
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
