//! Makes the maintenance windows match the module's file.
//!
//! A file stays in its repository after its windows are over. So a window whose end is past is left
//! alone, whether it was ever planned or not, and so is one that an operator has cancelled, until
//! the file declares other times for it or the drift of its module is reverted.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use entity::maintenance_window::{ActiveModel, Model, State};
use sea_orm::Set;

use super::{
    declared,
    deploy::{DeploymentContext, inside},
    difference::between,
    file::MaintenanceEntry,
    plan::{ObjectChange, PlanAction},
};
use crate::{
    commands::{BadInput, CommandError, Commands, PlannedWindow},
    store::{DatabaseTransaction, StoreError, maintenance, modules::DeclaredKind},
};

const KIND: &str = "maintenance_window";

impl Commands {
    /// Makes the windows match the file. Removals come first, because a namespace has a limit.
    pub(super) async fn apply_windows(
        &self,
        site: &DeploymentContext<'_>,
        entries: BTreeMap<String, MaintenanceEntry>,
        prune: bool,
    ) -> Result<Vec<ObjectChange>, CommandError> {
        let mut changes = Vec::new();
        let gone = |row: &&Model| prune && is_own(site, row) && !entries.contains_key(&row.title);
        let gone: Vec<&Model> = site.windows.iter().filter(gone).collect();
        for row in gone {
            if !is_over(row) {
                self.cancel_window(site.tx, site.who, row, "no longer declared").await?;
                changes.push(ObjectChange::gone(KIND, &row.title));
            }
            release(site.tx, row).await?;
        }
        for (title, entry) in entries {
            let declared = self.declare_window(site, &title, entry).await;
            let place = format!("maintenance_windows.{title}");
            changes.push(declared.map_err(|error| inside(error, &place))?);
        }
        Ok(changes)
    }

    async fn declare_window(
        &self,
        site: &DeploymentContext<'_>,
        title: &str,
        entry: MaintenanceEntry,
    ) -> Result<ObjectChange, CommandError> {
        let (entry, now) = (entry.usual(), self.clock.now());
        entry.check(title)?;
        let named = site.windows.iter().filter(|row| row.title == title);
        let (own, others): (Vec<&Model>, Vec<&Model>) = named.partition(|row| is_own(site, row));
        let own = own.first().copied();
        if let Some(row) = own {
            let replans = site.replans && row.state == State::Cancelled;
            if !replans && is_same(row, &entry, now) {
                let told = left_alone(row);
                return Ok(ObjectChange::new(PlanAction::Unchanged, KIND, title, told));
            }
            if !is_over(row) {
                return self.revise_declared_window(site, row, entry, false).await;
            }
        }
        if entry.end <= now {
            return Ok(ObjectChange::new(PlanAction::Unchanged, KIND, title, "is over"));
        }
        // From here on, the declaration stands for another window.
        if let Some(row) = own {
            release(site.tx, row).await?;
        }
        let Some(row) = others.first().copied() else {
            let window = entry.spec(title).planned(&self.clock, None)?;
            let DeploymentContext { tx, who, namespace, module, .. } = *site;
            self.add_window(tx, who, namespace, &window, Some(module), None).await?;
            return Ok(ObjectChange::new(PlanAction::Create, KIND, title, "made"));
        };
        if others.len() > 1 {
            let help = "choose another title, or cancel all of them but one";
            let problem = "is the title of several windows that are not over";
            return Err(BadInput::new("title", title, problem, help).into());
        }
        let (kind, owner) = (DeclaredKind::MaintenanceWindow, row.module.as_deref());
        let adopted = self.own(site, "title", title, kind, row.id, owner).await?;
        self.revise_declared_window(site, row, entry, adopted).await
    }

    /// Makes a window that is not over match its entry.
    async fn revise_declared_window(
        &self,
        site: &DeploymentContext<'_>,
        row: &Model,
        entry: MaintenanceEntry,
        adopted: bool,
    ) -> Result<ObjectChange, CommandError> {
        let now = self.clock.now();
        if is_same(row, &entry, now) {
            return Ok(ObjectChange::of(adopted, KIND, &row.title, None, vec![]));
        }
        let spec = entry.begun_like(row, now).spec(&row.title);
        let window = spec.planned(&self.clock, Some(row))?;
        self.revise_window(site.tx, site.who, row, &window, None).await?;
        let before = declared::window(MaintenanceEntry::of(&PlannedWindow::of(row)));
        let fields = between(&before, &declared::window(MaintenanceEntry::of(&window)));
        let told = Some("changed".to_owned());
        Ok(ObjectChange::of(adopted, KIND, &row.title, told, fields))
    }
}

/// Makes a window history: its module declares it no more, and may declare another one of the
/// title.
async fn release(tx: &DatabaseTransaction, row: &Model) -> Result<(), StoreError> {
    maintenance::update(tx, row.id, ActiveModel { module: Set(None), ..ActiveModel::default() })
        .await
}

fn is_own(site: &DeploymentContext<'_>, row: &Model) -> bool {
    row.module.as_deref() == Some(site.module)
}

fn is_over(row: &Model) -> bool {
    matches!(row.state, State::Ended | State::Cancelled)
}

/// Whether the entry declares the window as it is.
fn is_same(row: &Model, entry: &MaintenanceEntry, now: DateTime<Utc>) -> bool {
    entry.clone().begun_like(row, now) == MaintenanceEntry::of(&PlannedWindow::of(row))
}

/// Why nothing is done about a window that is as it is declared.
fn left_alone(row: &Model) -> String {
    match row.state {
        State::Planned | State::Active => String::new(),
        State::Ended => "is over".to_owned(),
        State::Cancelled => {
            let by = row.cancelled_by.as_deref().unwrap_or_default();
            format!("was cancelled by {by}, and stays so until its times change")
        }
    }
}
