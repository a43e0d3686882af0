//! Finds what differs from a module's last deployment.
//!
//! Most drift is intended: pauses, notes and mutes belong to the operators, and no deployment
//! reverts them. Objects that the module owns can differ only if someone bypassed the commands; the
//! next deployment corrects them.

use chrono::{DateTime, SecondsFormat, Utc};
use entity::{alert_rule, module, schedule};
use serde_json::Value;
use uuid::Uuid;

use super::{
    alerts,
    declared::{self, DeclaredObjects, own_task},
    difference::{MaskedDefinition, between},
    file::{ChannelEntry, ScheduleEntry},
    plan::FieldChange,
};
use crate::{
    access::Permit,
    commands::{
        CommandError, Commands,
        alerts::{MAX_CHANNELS, MAX_RULES},
        calendars::spec_of,
    },
    store::{
        DatabaseLink,
        alerts::{channels, rules},
        calendars, groups, modules, schedules, workflows,
    },
    vault::MASK,
};

/// The differences between a module and its last deployment.
#[derive(Clone, Debug)]
pub struct Drift {
    /// The module's name.
    pub module: String,
    /// Who deployed the module, and when.
    pub deployed: (String, DateTime<Utc>),
    /// The objects that differ.
    pub drifted: Vec<DriftedObject>,
}

/// An object that differs.
#[derive(Clone, Debug)]
pub struct DriftedObject {
    /// `calendar`, `group`, `workflow`, `schedule`, `alert_channel` or `alert_rule`.
    pub kind: &'static str,
    /// The object's name.
    pub name: String,
    /// Who decides whether the difference remains.
    pub side: DriftOwner,
    /// The differences: the declared and the current values.
    pub fields: Vec<FieldChange>,
    /// Who changed the object last, if known.
    pub by: Option<String>,
    /// When the object was changed.
    pub at: Option<DateTime<Utc>>,
    /// The stated reason, if one was required.
    pub reason: Option<String>,
}

/// Who decides whether a difference remains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriftOwner {
    /// The operators: the difference stays.
    Operators,
    /// The module: the next deployment restores the declared values.
    Module,
}

impl Commands {
    /// The drift of a module; `None` if no module of that name is deployed.
    pub async fn drift(
        &self,
        permit: Permit<'_>,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Drift>, CommandError> {
        let read = self.store.read();
        let namespace = self.namespace(read, permit, namespace).await?;
        let Some(row) = modules::find(read, namespace, name).await? else { return Ok(None) };
        let module::Model { declared, deployed_by, deployed_at, .. } = row;
        let declared = DeclaredObjects::stored(declared, name)?;
        let mut drifted = self.drifted_shared(read, namespace, name, &declared).await?;
        let rows = schedules::of_module(read, namespace, name).await?;
        let is_open = permit.who().sees_payloads(namespace);
        for (schedule, entry) in &declared.schedules {
            match rows.iter().find(|row| row.name == *schedule) {
                Some(row) => {
                    let found = self.drifted_schedule(read, row, entry, is_open).await?;
                    drifted.extend(found);
                }
                None => drifted.push(missing("schedule", schedule)),
            }
        }
        drifted.extend(self.drifted_alerts(read, namespace, name, &declared).await?);
        let deployed = (deployed_by, deployed_at.utc());
        Ok(Some(Drift { module: name.to_owned(), deployed, drifted }))
    }

    async fn drifted_shared(
        &self,
        read: &DatabaseLink,
        namespace: Uuid,
        module: &str,
        declared: &DeclaredObjects,
    ) -> Result<Vec<DriftedObject>, CommandError> {
        let mut found = Vec::new();
        let rows = calendars::of_module(read, namespace, module).await?;
        for (name, entry) in &declared.calendars {
            let now = match rows.iter().find(|row| row.name == *name) {
                Some(row) => Some((declared::calendar(spec_of(row)?), row.updated_at.utc())),
                None => None,
            };
            found.extend(compared("calendar", name, entry, now));
        }
        let rows = groups::of_module(read, namespace, module).await?;
        for (name, entry) in &declared.groups {
            let row = rows.iter().find(|row| row.name == *name);
            let now = row.map(|row| (declared::group(row.max_runs.into()), row.updated_at.utc()));
            found.extend(compared("group", name, entry, now));
        }
        let rows = workflows::of_module(read, namespace, module).await?;
        for (name, entry) in &declared.workflows {
            let now = match rows.iter().find(|row| row.name == *name) {
                Some(row) => {
                    let definition = self.definition_of(read, row).await?;
                    Some((declared::workflow(&definition), row.updated_at.utc()))
                }
                None => None,
            };
            found.extend(compared("workflow", name, entry, now));
        }
        Ok(found)
    }

    async fn drifted_alerts(
        &self,
        read: &DatabaseLink,
        namespace: Uuid,
        module: &str,
        declared: &DeclaredObjects,
    ) -> Result<Vec<DriftedObject>, CommandError> {
        let mut found = Vec::new();
        if declared.alert_channels.is_empty() && declared.alert_rules.is_empty() {
            return Ok(found);
        }
        let rows = channels::list(read, namespace, MAX_CHANNELS).await?;
        let names = rows.iter().map(|row| (row.id, row.name.clone())).collect();
        let is_own = |owner: &Option<String>| owner.as_deref() == Some(module);
        for (name, entry) in &declared.alert_channels {
            let row = rows.iter().find(|row| row.name == *name && is_own(&row.module));
            let now = row.map(|row| {
                let entry = ChannelEntry::of_shown(row.kind, &row.shown);
                (declared::channel(&entry), row.updated_at.utc())
            });
            found.extend(compared("alert_channel", name, entry, now));
        }
        let rows = rules::list(read, namespace, MAX_RULES).await?;
        for (name, entry) in &declared.alert_rules {
            let row = rows.iter().find(|row| row.name == *name && is_own(&row.module));
            let now = row.map(|row| alerts::pictured(row, &names)).transpose()?;
            let now = now.zip(row.map(|row| row.updated_at.utc()));
            found.extend(compared("alert_rule", name, entry, now));
            found.extend(row.and_then(|row| muted(row, self.clock.now())));
        }
        Ok(found)
    }

    async fn drifted_schedule(
        &self,
        read: &DatabaseLink,
        row: &schedule::Model,
        declared: &Value,
        is_open: bool,
    ) -> Result<Vec<DriftedObject>, CommandError> {
        let mut entry = ScheduleEntry::of(self.spec_of(read, row).await?);
        entry.paused = !row.enabled;
        if let Some(workflow) = workflows::by_ids(read, &[row.workflow_id]).await?.pop() {
            // Shows the workflow in the same form as the file: by name, or as the schedule's own
            // task.
            if declared.get("task").is_some() && workflow.name == row.name {
                entry.task = own_task(&self.definition_of(read, &workflow).await?);
            } else {
                entry.workflow = Some(workflow.name);
            }
        }
        let before = pictured(declared.clone(), is_open);
        let now = pictured(declared::schedule(entry).shown, is_open);
        let is_theirs = |field: &FieldChange| matches!(&*field.path, "paused" | "note");
        let (theirs, ours): (Vec<_>, Vec<_>) =
            between(&before, &now).into_iter().partition(is_theirs);
        let version = schedules::version(read, row.id, row.version).await?;
        let changed = version.map(|version| (version.changed_by, version.changed_at.utc()));
        let mut found = Vec::new();
        for field in theirs {
            let is_pause = field.path == "paused";
            let (by, at, reason) = if is_pause {
                let at = row.paused_at.map_or(row.updated_at, |at| at).utc();
                (row.paused_by.clone(), Some(at), row.paused_reason.clone())
            } else {
                let (by, at) = changed.clone().unzip();
                (by, at, None)
            };
            let (kind, name, side) = ("schedule", row.name.clone(), DriftOwner::Operators);
            found.push(DriftedObject { kind, name, side, fields: vec![field], by, at, reason });
        }
        if !ours.is_empty() {
            let (by, at) = changed.unzip();
            let (kind, name, side) = ("schedule", row.name.clone(), DriftOwner::Module);
            found.push(DriftedObject { kind, name, side, fields: ours, by, at, reason: None });
        }
        Ok(found)
    }
}

/// Includes the context only if the caller may see payloads.
fn pictured(shown: Value, is_open: bool) -> MaskedDefinition {
    let mut pictured = MaskedDefinition::open(shown);
    if !is_open && let Some(context) = pictured.shown.get_mut("context") {
        *context = MASK.into();
    }
    pictured
}

fn compared(
    kind: &'static str,
    name: &str,
    declared: &Value,
    now: Option<(MaskedDefinition, DateTime<Utc>)>,
) -> Option<DriftedObject> {
    let Some((now, at)) = now else { return Some(missing(kind, name)) };
    // The stored declaration contains no secrets, so masked values are compared.
    let fields =
        between(&MaskedDefinition::open(declared.clone()), &MaskedDefinition::open(now.shown));
    let (name, side, at) = (name.to_owned(), DriftOwner::Module, Some(at));
    (!fields.is_empty()).then_some(DriftedObject {
        kind,
        name,
        side,
        fields,
        by: None,
        at,
        reason: None,
    })
}

/// The current mute of a rule, which files cannot declare.
fn muted(row: &alert_rule::Model, now: DateTime<Utc>) -> Option<DriftedObject> {
    let until = row.muted_until.map(|until| until.utc()).filter(|until| *until > now)?;
    let after = Some(until.to_rfc3339_opts(SecondsFormat::AutoSi, true));
    Some(DriftedObject {
        kind: "alert_rule",
        name: row.name.clone(),
        side: DriftOwner::Operators,
        fields: vec![FieldChange { path: "muted_until".to_owned(), before: None, after }],
        by: row.muted_by.clone(),
        at: None,
        reason: row.muted_reason.clone(),
    })
}

fn missing(kind: &'static str, name: &str) -> DriftedObject {
    let gone =
        FieldChange { path: String::new(), before: Some("declared".to_owned()), after: None };
    let (name, side) = (name.to_owned(), DriftOwner::Module);
    DriftedObject { kind, name, side, fields: vec![gone], by: None, at: None, reason: None }
}
