use async_graphql::{Enum, SimpleObject};

use super::timing::TimingWarning;
use crate::engine::commands;

/// What a deployment did, or would do.
#[derive(SimpleObject)]
pub(crate) struct DeployPayload {
    module: String,
    dry_run: bool,
    changes: Vec<DeployChange>,
}

/// What happened to one thing that the module declares or declared.
#[derive(SimpleObject)]
pub(crate) struct DeployChange {
    action: ChangeAction,
    /// `group`, `workflow` or `schedule`.
    kind: String,
    name: String,
    /// What changed, in words.
    detail: String,
    warnings: Vec<TimingWarning>,
}

/// What happened.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "commands::Action")]
pub(crate) enum ChangeAction {
    /// It was made.
    Create,
    /// It was changed.
    Update,
    /// It was deleted.
    Delete,
    /// It is as declared.
    Unchanged,
}

impl From<commands::Deployment> for DeployPayload {
    fn from(deployment: commands::Deployment) -> Self {
        let change = |change: commands::Change| DeployChange {
            action: change.action.into(),
            kind: change.kind,
            name: change.name,
            detail: change.detail,
            warnings: change.warnings.into_iter().map(Into::into).collect(),
        };
        Self {
            module: deployment.module,
            dry_run: deployment.dry_run,
            changes: deployment.changes.into_iter().map(change).collect(),
        }
    }
}
