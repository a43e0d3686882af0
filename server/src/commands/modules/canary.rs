//! The canary: a built-in schedule that fires each minute and does nothing. Its due times and the
//! ends of its runs show how late fires are, even if no other schedule fires.
//!
//! It is a module in a namespace of its own, so that it does not appear in other lists and is not
//! edited by mistake. It can be paused like any other schedule. It is off by default, because a
//! server without work should do nothing and write nothing.
//!
//! The nodes with the role `scheduler` create and remove the canary, as configured. A node without
//! the setting leaves it alone, so that a node whose configuration was not updated does not remove
//! it.

use std::time::Duration;

use entity::user::Role;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{
    access::{Grants, Viewer, ViewerKind},
    commands::{
        BadInput, Call, CommandError, Commands, DeploymentSource,
        modules::{ObjectChange, PlanAction},
    },
    store::{
        namespaces,
        reads::canary::{NAME, NAMESPACE},
    },
};

const MODULE: &str = "carillon";

/// The pause after a failure before the next try.
const PAUSE: Duration = Duration::from_secs(30);

impl Commands {
    /// Creates or removes the canary. Retries until that succeeds, or until `stop`.
    pub async fn keep_canary_until(self, fires: bool, stop: CancellationToken) {
        while let Err(error) = self.keep_canary(fires).await {
            // Nothing else depends on the canary, so its failure stops nothing.
            tracing::warn!(%error, "failed to set up the canary; trying again");
            if stop.run_until_cancelled(self.clock.sleep(PAUSE)).await.is_none() {
                return;
            }
        }
    }

    /// Creates or removes the canary. If the canary is already as configured, this writes and locks
    /// nothing, because each node calls it at its start.
    pub async fn keep_canary(&self, fires: bool) -> Result<(), CommandError> {
        let grants = Grants::everywhere(Role::Admin);
        let us = Viewer::new(Uuid::nil(), MODULE, ViewerKind::User, grants, "configuration");
        if namespaces::by_name(self.store.read(), NAMESPACE).await?.is_none() {
            if !fires {
                return Ok(());
            }
            let made = self.create_namespace(&us.owner()?, NAMESPACE, None, &Call::default()).await;
            match made {
                // Another node created the canary first.
                Ok(_) | Err(CommandError::BadInput(BadInput { .. })) => {}
                Err(error) => return Err(error),
            }
        }
        let (right, source, call) = (us.editor()?, source(fires), Call::default());
        let differs = |change: &ObjectChange| change.action != PlanAction::Unchanged;
        let wanted = DeploymentSource::yaml(&source);
        let compared =
            self.deploy(&right, DeploymentSource { dry_run: true, ..wanted }, &call).await?;
        if compared.changes.iter().any(differs) {
            self.deploy(&right, DeploymentSource::yaml(&source), &call).await?;
            tracing::info!(fires, "the canary is as configured");
        }
        Ok(())
    }
}

fn source(fires: bool) -> String {
    let head = format!("module: {MODULE}\nnamespace: {NAMESPACE}\n");
    if !fires {
        return head;
    }
    format!(
        "{head}schedules:\n  {NAME}:\n    \
         note: Measures how late fires are. It is Carillon's own; see canary.enabled.\n    \
         when: \"@every 1m\"\n    task:\n      target:\n        noop: {{}}\n"
    )
}
