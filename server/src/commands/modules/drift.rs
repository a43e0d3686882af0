//! Finds what differs from a module's last deployment.
//!
//! Most drift is intended: pauses, notes and mutes belong to the operators, and no deployment
//! reverts them. Objects that the module owns can differ only if someone bypassed the commands; the
//! next deployment corrects them.

use chrono::{DateTime, SecondsFormat, Utc};
use entity::{
    alert_rule, health_budget,
    maintenance_window::{self, State},
    module, schedule,
};
use sea_orm::{ActiveEnum, ConnectionTrait};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::{
    alerts,
    declared::{self, DeclaredObjects, own_task},
    difference::{MaskedDefinition, between},
    file::{ChannelEntry, MaintenanceEntry, ScheduleEntry},
    plan::FieldChange,
};
use crate::{
    access::Permit,
    commands::{
        BudgetLimits, CommandError, Commands, PlannedWindow,
        alerts::{MAX_CHANNELS, MAX_RULES},
        calendars::spec_of,
        stored,
    },
    store::{
        alerts::{channels, rules},
        calendars, groups, health_budgets, maintenance, modules, schedules, workflows,
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

impl Drift {
    /// A digest of the differences. Adopting and reverting take it, so that they settle only what
    /// the caller has seen.
    pub fn digest(&self) -> String {
        let told = |one: &DriftedObject| json!([one.kind, one.name, one.fields]);
        let told: Vec<Value> = self.drifted.iter().map(told).collect();
        let deployed = self.deployed.1.to_rfc3339();
        format!("{:x}", Sha256::digest(json!([deployed, told]).to_string()))
    }
}

/// An object that differs.
#[derive(Clone, Debug)]
pub struct DriftedObject {
    /// `calendar`, `group`, `workflow`, `schedule`, `alert_channel`, `alert_rule`,
    /// `health_budget` or `maintenance_window`.
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
    /// The object's key, if operators can change it although a module declares it.
    pub(super) id: Option<Uuid>,
    /// The object as it is.
    pub(super) current: Current,
}

/// An object as it is, in the spelling of a module's file.
#[derive(Clone, Debug)]
pub(super) enum Current {
    /// The whole object, as a file would declare it.
    Entry(Value),
    /// The object no longer exists.
    Gone,
    /// A mute, which no file can declare.
    Muted,
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
        Ok(Some(self.drift_of(read, permit, row).await?.0))
    }

    /// The drift of a module, with its declaration.
    pub(super) async fn drift_of<C: ConnectionTrait>(
        &self,
        read: &C,
        permit: Permit<'_>,
        row: module::Model,
    ) -> Result<(Drift, DeclaredObjects), CommandError> {
        let module::Model { namespace_id: namespace, name, declared, deployed_by, deployed_at } =
            row;
        let declared = DeclaredObjects::stored(declared, &name)?;
        let mut drifted = self.drifted_shared(read, namespace, &name, &declared).await?;
        let rows = schedules::of_module(read, namespace, &name).await?;
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
        drifted.extend(self.drifted_alerts(read, namespace, &name, &declared).await?);
        let at = deployed_at.utc();
        drifted.extend(self.drifted_health(read, namespace, &name, &declared, at).await?);
        Ok((Drift { module: name, deployed: (deployed_by, at), drifted }, declared))
    }

    async fn drifted_shared<C: ConnectionTrait>(
        &self,
        read: &C,
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

    async fn drifted_alerts<C: ConnectionTrait>(
        &self,
        read: &C,
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

    /// What differs of the budgets and maintenance windows of a module that was deployed at this
    /// time.
    async fn drifted_health<C: ConnectionTrait>(
        &self,
        read: &C,
        namespace: Uuid,
        module: &str,
        declared: &DeclaredObjects,
        deployed_at: DateTime<Utc>,
    ) -> Result<Vec<DriftedObject>, CommandError> {
        let mut found = Vec::new();
        if !declared.health_budgets.is_empty() {
            let rows = health_budgets::list(read, namespace).await?;
            for (tag, entry) in &declared.health_budgets {
                let is_it = |row: &&health_budget::Model| {
                    row.tag == *tag && row.module.as_deref() == Some(module)
                };
                let row = rows.iter().find(is_it);
                let now =
                    row.map(|row| (declared::budget(&BudgetLimits::of(row)), row.updated_at.utc()));
                found.extend(compared("health_budget", tag, entry, now));
            }
        }
        if !declared.maintenance_windows.is_empty() {
            let rows = maintenance::of_module(read, namespace, module).await?;
            for (title, entry) in &declared.maintenance_windows {
                let entry: MaintenanceEntry = stored::read(entry.clone(), || {
                    format!("the module {module:?} as it was deployed")
                })?;
                let row = rows.iter().find(|row| row.title == *title);
                found.extend(drifted_window(title, entry, row, deployed_at, self.clock.now()));
            }
        }
        Ok(found)
    }

    async fn drifted_schedule<C: ConnectionTrait>(
        &self,
        read: &C,
        row: &schedule::Model,
        declared: &Value,
        is_open: bool,
    ) -> Result<Vec<DriftedObject>, CommandError> {
        let mut entry = ScheduleEntry::of(self.spec_of(read, row).await?);
        // A maintenance window ends its pauses itself.
        entry.paused = !row.enabled && row.paused_window_id.is_none();
        if let Some(workflow) = workflows::by_ids(read, &[row.workflow_id]).await?.pop() {
            // Shows the workflow in the same form as the file: by name, or as the schedule's own
            // task.
            if declared.get("task").is_some() && workflow.name == row.name {
                entry.task = own_task(&self.definition_of(read, &workflow).await?);
            }
            if entry.task.is_none() {
                entry.workflow = Some(workflow.name);
            }
        }
        let before = pictured(declared.clone(), is_open);
        let shown = declared::schedule(entry).shown;
        let now = pictured(shown.clone(), is_open);
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
            found.push(DriftedObject {
                kind: "schedule",
                name: row.name.clone(),
                side: DriftOwner::Operators,
                fields: vec![field],
                by,
                at,
                reason,
                id: Some(row.id),
                current: Current::Entry(shown.clone()),
            });
        }
        if !ours.is_empty() {
            let (by, at) = changed.unzip();
            found.push(DriftedObject {
                kind: "schedule",
                name: row.name.clone(),
                side: DriftOwner::Module,
                fields: ours,
                by,
                at,
                reason: None,
                id: Some(row.id),
                current: Current::Entry(shown),
            });
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
    let current = Current::Entry(now.shown.clone());
    let fields =
        between(&MaskedDefinition::open(declared.clone()), &MaskedDefinition::open(now.shown));
    (!fields.is_empty()).then(|| DriftedObject {
        kind,
        name: name.to_owned(),
        side: DriftOwner::Module,
        fields,
        by: None,
        at: Some(at),
        reason: None,
        id: None,
        current,
    })
}

/// What differs of a maintenance window. One that is over matches any declaration, and operators may
/// cancel one.
fn drifted_window(
    title: &str,
    entry: MaintenanceEntry,
    row: Option<&maintenance_window::Model>,
    deployed_at: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Option<DriftedObject> {
    const KIND: &str = "maintenance_window";
    let Some(row) = row else { return (entry.end > now).then(|| missing(KIND, title)) };
    match row.state {
        State::Ended => None,
        // Nothing is left to plan again.
        State::Cancelled if entry.end <= now => None,
        State::Cancelled => {
            let text = |state: State| Some(state.to_value());
            let (before, after) = (text(State::Planned), text(State::Cancelled));
            Some(DriftedObject {
                kind: KIND,
                name: title.to_owned(),
                side: DriftOwner::Operators,
                fields: vec![FieldChange { path: "state".to_owned(), before, after }],
                by: row.cancelled_by.clone(),
                at: row.cancelled_at.map(|at| at.utc()),
                reason: row.cancel_reason.clone(),
                id: None,
                current: Current::Gone,
            })
        }
        State::Planned | State::Active => {
            let entry = declared::window(entry.begun_like(row, deployed_at)).shown;
            let there = declared::window(MaintenanceEntry::of(&PlannedWindow::of(row)));
            let changed_at = row.changed_at.unwrap_or(row.planned_at).utc();
            compared(KIND, title, &entry, Some((there, changed_at)))
        }
    }
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
        id: Some(row.id),
        current: Current::Muted,
    })
}

fn missing(kind: &'static str, name: &str) -> DriftedObject {
    let gone =
        FieldChange { path: String::new(), before: Some("declared".to_owned()), after: None };
    DriftedObject {
        kind,
        name: name.to_owned(),
        side: DriftOwner::Module,
        fields: vec![gone],
        by: None,
        at: None,
        reason: None,
        id: None,
        current: Current::Gone,
    }
}
