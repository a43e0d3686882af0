use async_graphql::{Enum, SimpleObject};
use uuid::Uuid;

use crate::engine::commands;

/// Who is asking.
#[derive(SimpleObject)]
pub(crate) struct Viewer {
    id: Uuid,
    name: String,
    kind: ViewerKind,
    role: Role,
}

/// A person or a program.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "commands::ViewerKind")]
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

impl From<&commands::Viewer> for Viewer {
    fn from(viewer: &commands::Viewer) -> Self {
        Self {
            id: viewer.id,
            name: viewer.name.clone(),
            kind: viewer.kind.into(),
            role: viewer.role.into(),
        }
    }
}
