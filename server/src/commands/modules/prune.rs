//! Removes objects that a module no longer declares.

use std::collections::BTreeSet;

use super::{deploy::DeploymentContext, plan::ObjectChange};
use crate::{
    commands::{CommandError, Commands},
    store::{calendars, groups, schedules, workflows},
};

impl Commands {
    pub(super) async fn prune_schedules(
        &self,
        site: &DeploymentContext<'_>,
        declared: &BTreeSet<String>,
    ) -> Result<Vec<ObjectChange>, CommandError> {
        let mut changes = Vec::new();
        for row in schedules::of_module(site.tx, site.namespace, site.module).await? {
            if declared.contains(&row.name) {
                continue;
            }
            let row = self.locked(site.tx, row.id).await?;
            let (ended, reason) = (site.ended.get(&row.id), Some("no longer declared"));
            self.delete_in(site.tx, site.who, &row, ended, reason).await?;
            changes.push(ObjectChange::gone("schedule", &row.name));
        }
        Ok(changes)
    }

    pub(super) async fn prune_calendars(
        &self,
        site: &DeploymentContext<'_>,
        declared: &BTreeSet<String>,
    ) -> Result<Vec<ObjectChange>, CommandError> {
        let mut changes = Vec::new();
        for row in calendars::of_module(site.tx, site.namespace, site.module).await? {
            if declared.contains(&row.name) {
                continue;
            }
            self.delete_calendar_in(site.tx, site.who, &row, Some("no longer declared")).await?;
            changes.push(ObjectChange::gone("calendar", &row.name));
        }
        Ok(changes)
    }

    pub(super) async fn prune_workflows(
        &self,
        site: &DeploymentContext<'_>,
        kept: &BTreeSet<String>,
    ) -> Result<Vec<ObjectChange>, CommandError> {
        let mut changes = Vec::new();
        for row in workflows::of_module(site.tx, site.namespace, site.module).await? {
            if kept.contains(&row.name) {
                continue;
            }
            let users = workflows::users(site.tx, row.id, None).await?;
            if users > 0 {
                return Err(CommandError::conflict(
                    format!("{users} schedules outside the module run workflow {:?}", row.name),
                    "point them at another workflow, declare it again, or deploy without prune",
                ));
            }
            let reason = Some("no longer declared");
            self.delete_workflow_in(site.tx, site.who, &row, reason).await?;
            changes.push(ObjectChange::gone("workflow", &row.name));
        }
        Ok(changes)
    }

    pub(super) async fn prune_groups(
        &self,
        site: &DeploymentContext<'_>,
        kept: &BTreeSet<String>,
    ) -> Result<Vec<ObjectChange>, CommandError> {
        let mut changes = Vec::new();
        for row in groups::of_module(site.tx, site.namespace, site.module).await? {
            if !kept.contains(&row.name) {
                self.remove_group(site.tx, site.who, &row).await?;
                changes.push(ObjectChange::gone("group", &row.name));
            }
        }
        Ok(changes)
    }
}
