//! The declarations of a module's last deployment, as its row stores them: with the keys of its
//! file, and with secrets masked.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    difference::MaskedDefinition,
    file::{
        BudgetEntry, CalendarEntry, ChannelEntry, File, MaintenanceEntry, RuleEntry, ScheduleEntry,
        TaskEntry, WorkflowEntry,
    },
};
use crate::{
    access::Viewer,
    commands::{BudgetLimits, CalendarSpec, CommandError, Commands, stored},
    model::Definition,
    store::{DatabaseTransaction, modules},
};

/// The declared objects by their names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct DeclaredObjects {
    pub(super) groups: BTreeMap<String, Value>,
    pub(super) calendars: BTreeMap<String, Value>,
    pub(super) workflows: BTreeMap<String, Value>,
    pub(super) schedules: BTreeMap<String, Value>,
    pub(super) alert_channels: BTreeMap<String, Value>,
    pub(super) alert_rules: BTreeMap<String, Value>,
    pub(super) health_budgets: BTreeMap<String, Value>,
    pub(super) maintenance_windows: BTreeMap<String, Value>,
}

/// Checks whether the stored declarations of a module can be parsed.
pub(crate) fn check_declared(declared: Value) -> Result<(), serde_json::Error> {
    serde_json::from_value::<DeclaredObjects>(declared).map(drop)
}

impl DeclaredObjects {
    /// The stored declarations of a module.
    pub(super) fn stored(declared: Value, module: &str) -> Result<Self, CommandError> {
        stored::read(declared, || format!("the module {module:?} as it was deployed"))
    }

    /// The declarations of a file. Default values are left out, whether or not the file states
    /// them.
    pub(super) fn of(file: &File) -> Self {
        let groups = file.groups.iter().map(|(name, max)| (name.clone(), group(*max).shown));
        let calendars = file
            .calendars
            .iter()
            .map(|(name, entry)| (name.clone(), calendar(entry.clone().spec(name)).shown));
        let workflows = file
            .workflows
            .iter()
            .map(|(name, entry)| (name.clone(), workflow(&entry.clone().definition()).shown));
        let schedules = file.schedules.iter().map(|(name, entry)| {
            let (task, paused) = (entry.task.clone(), entry.paused);
            let runs = entry.workflow.clone();
            let usual = ScheduleEntry::of(entry.clone().spec(name));
            let task = task.and_then(|task| own_task(&task.definition()));
            (name.clone(), schedule(ScheduleEntry { task, workflow: runs, paused, ..usual }).shown)
        });
        let channels = file
            .alert_channels
            .iter()
            .map(|(name, entry)| (name.clone(), channel(&entry.clone()).shown));
        let rules =
            file.alert_rules.iter().map(|(name, entry)| (name.clone(), rule(entry.clone()).shown));
        let budgets = file
            .health_budgets
            .iter()
            .map(|(tag, entry)| (tag.clone(), budget(&entry.limits()).shown));
        let windows = file
            .maintenance_windows
            .iter()
            .map(|(title, entry)| (title.clone(), window(entry.clone()).shown));
        Self {
            groups: groups.collect(),
            calendars: calendars.collect(),
            workflows: workflows.collect(),
            schedules: schedules.collect(),
            alert_channels: channels.collect(),
            alert_rules: rules.collect(),
            health_budgets: budgets.collect(),
            maintenance_windows: windows.collect(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The file that declares the same, with secrets masked.
    pub(super) fn file(&self, module: &str, namespace: &str) -> Result<File, CommandError> {
        let mut file = json!(self);
        file["module"] = module.into();
        file["namespace"] = namespace.into();
        if let Some(groups) = file["groups"].as_object_mut() {
            for group in groups.values_mut() {
                *group = group["limit"].take();
            }
        }
        stored::read(file, || format!("the module {module:?} as it was deployed"))
    }

    /// Whether the file declares the schedule as paused.
    pub(super) fn is_paused(&self, schedule: &str) -> bool {
        let entry = self.schedules.get(schedule);
        entry.is_some_and(|entry| entry.get("paused").and_then(Value::as_bool) == Some(true))
    }

    /// The note that the file gave the schedule.
    pub(super) fn note(&self, schedule: &str) -> Option<&str> {
        let entry = self.schedules.get(schedule)?;
        Some(entry.get("note").and_then(Value::as_str).unwrap_or_default())
    }
}

/// The names in a file that may belong to existing objects.
pub(super) struct DeclaredNames {
    pub(super) schedules: Vec<String>,
    pub(super) calendars: Vec<String>,
    pub(super) maintenance_windows: Vec<String>,
}

impl DeclaredNames {
    pub(super) fn of(file: &File) -> Self {
        Self {
            schedules: file.schedules.keys().cloned().collect(),
            calendars: file.calendars.keys().cloned().collect(),
            maintenance_windows: file.maintenance_windows.keys().cloned().collect(),
        }
    }
}

impl Commands {
    /// The declarations of a module's last deployment; empty if it was never deployed.
    pub(super) async fn declared(
        &self,
        tx: &DatabaseTransaction,
        namespace: Uuid,
        module: &str,
    ) -> Result<DeclaredObjects, CommandError> {
        let Some(row) = modules::find(tx, namespace, module).await? else {
            return Ok(DeclaredObjects::default());
        };
        DeclaredObjects::stored(row.declared, module)
    }

    /// Fails if the module no longer has these declarations. Locks the module's row, so a deployment
    /// calls this where it would write the row: two of them then lock in the same order.
    pub(super) async fn check_still_declared(
        &self,
        tx: &DatabaseTransaction,
        namespace: Uuid,
        module: &str,
        expected: &DeclaredObjects,
    ) -> Result<(), CommandError> {
        let row = modules::lock(tx, namespace, module).await?;
        let stored = row.map(|row| DeclaredObjects::stored(row.declared, module)).transpose()?;
        if stored.as_ref() == Some(expected) {
            return Ok(());
        }
        let problem = format!("the module {module:?} was deployed in the meantime");
        Err(CommandError::conflict(problem, "read its drift again, and decide anew"))
    }

    /// Stores the declarations of a deployment, or forgets the module if it declares nothing.
    pub(super) async fn keep_declared(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        namespace: Uuid,
        module: &str,
        declared: &DeclaredObjects,
    ) -> Result<(), CommandError> {
        if declared.is_empty() {
            return Ok(modules::forget(tx, namespace, module).await?);
        }
        let at = self.clock.now().into();
        Ok(modules::keep(tx, namespace, module, json!(declared), &who.name, at).await?)
    }
}

/// The task of a workflow that could be a schedule's own: everything except the task has default
/// values.
pub(super) fn own_task(definition: &Definition) -> Option<TaskEntry> {
    let task = definition.only_task()?;
    let plain = Definition::single(task.clone());
    (plain == *definition).then(|| TaskEntry::of(task))
}

pub(super) fn group(max_runs: i64) -> MaskedDefinition {
    MaskedDefinition::open(json!({ "limit": max_runs }))
}

pub(super) fn calendar(spec: CalendarSpec) -> MaskedDefinition {
    MaskedDefinition::open(json_of(&CalendarEntry::of(spec)))
}

pub(super) fn workflow(definition: &Definition) -> MaskedDefinition {
    let entry = WorkflowEntry::of(definition);
    MaskedDefinition { real: json_of(&entry), shown: json_of(&entry.masked()) }
}

pub(super) fn schedule(entry: ScheduleEntry) -> MaskedDefinition {
    MaskedDefinition { real: json_of(&entry), shown: json_of(&entry.masked()) }
}

pub(super) fn channel(entry: &ChannelEntry) -> MaskedDefinition {
    MaskedDefinition { real: json_of(entry), shown: json_of(&entry.clone().masked()) }
}

pub(super) fn rule(entry: RuleEntry) -> MaskedDefinition {
    MaskedDefinition::open(json_of(&entry.usual()))
}

pub(super) fn budget(limits: &BudgetLimits) -> MaskedDefinition {
    MaskedDefinition::open(json_of(&BudgetEntry::of(limits)))
}

pub(super) fn window(entry: MaintenanceEntry) -> MaskedDefinition {
    MaskedDefinition::open(json_of(&entry.usual()))
}

/// An entry of a file as JSON; serialization always succeeds.
fn json_of(entry: &impl Serialize) -> Value {
    serde_json::to_value(entry).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::modules::file::FileFormat;

    #[test]
    fn the_file_of_a_declaration_declares_the_same() {
        let file = File::read(include_str!("every_key.yaml"), FileFormat::Yaml).unwrap();
        let declared = DeclaredObjects::of(&file);
        assert!(!declared.groups.is_empty() && !declared.alert_rules.is_empty());
        let again = declared.file(&file.module, &file.namespace).unwrap();
        assert_eq!((&again.module, &again.namespace), (&file.module, &file.namespace));
        assert_eq!(DeclaredObjects::of(&again), declared);
    }
}
