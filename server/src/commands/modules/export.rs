//! Exports existing objects as files that declare them.
//!
//! What a module owns becomes a file of that module; objects created by hand become a file that can
//! adopt them. Secrets are exported as masks, which keep the stored values when the file is applied
//! to the server that it came from.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use entity::{schedule, workflow};
use uuid::Uuid;

use super::{
    declared::own_task,
    deploy::MAX_ENTRIES,
    file::{
        BudgetEntry, CalendarEntry, ChannelEntry, File, FileFormat, MaintenanceEntry, RuleEntry,
        ScheduleEntry, WorkflowEntry,
    },
};
use crate::{
    access::Permit,
    commands::{
        BadInput, BudgetLimits, CommandError, Commands, PlannedWindow,
        alerts::{MAX_CHANNELS, MAX_RULES, spec_of as alert_spec_of},
        bulk::query::sought,
        calendars::spec_of,
        groups::MAX_GROUPS,
        secrets,
    },
    model::check,
    search::SearchedList,
    store::{
        DatabaseLink,
        alerts::{channels, rules},
        calendars, groups, health_budgets, maintenance,
        reads::{self, within::Within},
        schedules, workflows,
    },
};

/// The objects to export.
#[derive(Clone, Debug)]
pub struct ExportRequest {
    /// The namespace, by name.
    pub namespace: String,
    /// Restricts the export to the objects of this module.
    pub module: Option<String>,
    /// Restricts the export to schedules that match this search, and the objects that they refer
    /// to.
    pub search: Option<String>,
    /// The name of the module for objects created by hand.
    pub name: String,
    /// The format of the files.
    pub format: FileFormat,
}

impl ExportRequest {
    /// Whether the export covers the objects of this module; `None` stands for objects created by
    /// hand.
    fn includes(&self, module: &Option<String>) -> bool {
        self.module.is_none() || self.module == *module
    }
}

/// A module's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// The module's name.
    pub module: String,
    /// Whether the file contains the objects created by hand.
    pub is_by_hand: bool,
    /// Whether the file contains only a part of the module.
    pub is_part: bool,
    /// How many schedules the file declares.
    pub schedules: usize,
    /// The file.
    pub source: String,
}

/// Maximum number of schedules in one export.
const MAX: usize = 5_000;

/// Files under construction, by the module that owns their contents.
type ModuleFiles = BTreeMap<Option<String>, File>;

impl Commands {
    /// The files that declare the existing objects.
    pub async fn export(
        &self,
        permit: Permit<'_>,
        wanted: &ExportRequest,
    ) -> Result<Vec<Exported>, CommandError> {
        check::name("name", &wanted.name)?;
        let read = self.store.read();
        let namespace = self.namespace(read, permit, &wanted.namespace).await?;
        if !permit.who().sees_payloads(namespace) {
            return Err(CommandError::Denied {
                problem: "to export contexts needs the right to see payloads",
                help: "ask an administrator of the namespace for it: it is granted with a membership",
            });
        }
        let rows = self.wanted_schedules(read, namespace, wanted).await?;
        let mut files = ModuleFiles::new();
        self.put_schedules(read, wanted, &rows, &mut files).await?;
        let is_part = wanted.search.is_some();
        if !is_part {
            self.put_all(read, namespace, wanted, &mut files).await?;
        }
        let mut exported = Vec::with_capacity(files.len());
        for (owner, file) in files {
            let entries = file.entries();
            if entries > MAX_ENTRIES {
                let problem = format!(
                    "finds {entries} objects of the module {:?}; a module has at most \
                     {MAX_ENTRIES}",
                    file.module
                );
                let help = "narrow the search, and give each part a name of its own";
                return Err(BadInput::new("search", "", problem, help).into());
            }
            exported.push(Exported {
                module: file.module.clone(),
                is_by_hand: owner.is_none(),
                is_part,
                schedules: file.schedules.len(),
                source: format!(
                    "{}{}",
                    head(&file, owner.is_none(), is_part),
                    file.write(wanted.format)?
                ),
            });
        }
        Ok(exported)
    }

    async fn wanted_schedules(
        &self,
        read: &DatabaseLink,
        namespace: Uuid,
        wanted: &ExportRequest,
    ) -> Result<Vec<schedule::Model>, CommandError> {
        let mut filter = reads::schedules::Filter::default();
        if let Some(text) = &wanted.search {
            // Only callers who may see payloads can export.
            filter.search = Some(sought(&self.clock, SearchedList::Schedules, text, true)?);
        }
        let ids =
            reads::schedules::keys(&self.store, &Within::One(namespace), &filter, MAX as u64 + 1)
                .await?;
        if ids.len() > MAX {
            let problem = format!("finds more than {MAX} schedules");
            let help = "narrow the search, or export module by module";
            let search = wanted.search.clone().unwrap_or_default();
            return Err(BadInput::new("search", search, problem, help).into());
        }
        let mut rows = Vec::with_capacity(ids.len());
        for ids in ids.chunks(500) {
            rows.extend(schedules::by_ids(read, ids).await?);
        }
        rows.retain(|row| row.deleted_at.is_none() && wanted.includes(&row.module));
        rows.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(rows)
    }

    async fn put_schedules(
        &self,
        read: &DatabaseLink,
        wanted: &ExportRequest,
        rows: &[schedule::Model],
        files: &mut ModuleFiles,
    ) -> Result<(), CommandError> {
        let mut known: HashMap<Uuid, workflow::Model> = HashMap::new();
        let ids: BTreeSet<Uuid> = rows.iter().map(|row| row.workflow_id).collect();
        for ids in ids.into_iter().collect::<Vec<_>>().chunks(500) {
            let found = workflows::by_ids(read, ids).await?;
            known.extend(found.into_iter().map(|row| (row.id, row)));
        }
        for row in rows {
            let Some(workflow) = known.get(&row.workflow_id) else { continue };
            let mut entry = ScheduleEntry::of(self.spec_of(read, row).await?);
            // A maintenance window ends its pauses itself.
            entry.paused = !row.enabled && row.paused_window_id.is_none();
            entry.context = secrets::masked_json(&entry.context);
            let definition = self.definition_of(read, workflow).await?;
            let file = file_of(files, wanted, &row.module);
            let is_own = workflow.name == row.name
                && workflow.module == row.module
                && workflows::users(read, workflow.id, Some(row.id)).await? == 0;
            match own_task(&definition).filter(|_| is_own) {
                Some(task) => entry.task = Some(task.masked()),
                None => {
                    entry.workflow = Some(workflow.name.clone());
                    if workflow.module == row.module {
                        let declared = WorkflowEntry::of(&definition).masked();
                        file.workflows.insert(workflow.name.clone(), declared);
                    }
                }
            }
            let namespace = row.namespace_id;
            for calendar in calendars::by_names(read, namespace, &entry.calendars, false).await? {
                if calendar.module == row.module {
                    let declared = CalendarEntry::of(spec_of(&calendar)?);
                    file.calendars.insert(calendar.name, declared);
                }
            }
            if let Some(name) = &entry.group
                && let Some(group) = groups::by_name(read, namespace, name).await?
                && group.module == row.module
            {
                file.groups.insert(group.name, group.max_runs.into());
            }
            file.schedules.insert(row.name.clone(), entry);
        }
        Ok(())
    }

    /// Adds the objects that no schedule names.
    async fn put_all(
        &self,
        read: &DatabaseLink,
        namespace: Uuid,
        wanted: &ExportRequest,
        files: &mut ModuleFiles,
    ) -> Result<(), CommandError> {
        for row in calendars::all(read, namespace).await? {
            if wanted.includes(&row.module) {
                let declared = CalendarEntry::of(spec_of(&row)?);
                file_of(files, wanted, &row.module).calendars.insert(row.name, declared);
            }
        }
        for row in groups::list(read, namespace, MAX_GROUPS).await? {
            if wanted.includes(&row.module) {
                let file = file_of(files, wanted, &row.module);
                file.groups.insert(row.name, row.max_runs.into());
            }
        }
        for row in workflows::all(read, namespace, MAX as u64).await? {
            let file = file_of(files, wanted, &row.module);
            let is_there = file.schedules.get(&row.name).is_some_and(|entry| entry.task.is_some());
            if wanted.includes(&row.module) && !is_there && !file.workflows.contains_key(&row.name)
            {
                let declared = WorkflowEntry::of(&self.definition_of(read, &row).await?).masked();
                file.workflows.insert(row.name, declared);
            }
        }
        self.put_alerts(read, namespace, wanted, files).await?;
        self.put_health(read, namespace, wanted, files).await?;
        files.retain(|_, file| file.entries() + file.groups.len() > 0);
        Ok(())
    }

    /// Adds alert channels and rules. No encryption key is needed, because secrets are exported as
    /// masks.
    async fn put_alerts(
        &self,
        read: &DatabaseLink,
        namespace: Uuid,
        wanted: &ExportRequest,
        files: &mut ModuleFiles,
    ) -> Result<(), CommandError> {
        let mut names = HashMap::new();
        for row in channels::list(read, namespace, MAX_CHANNELS).await? {
            names.insert(row.id, row.name.clone());
            if wanted.includes(&row.module) {
                let entry = ChannelEntry::of_shown(row.kind, &row.shown);
                file_of(files, wanted, &row.module).alert_channels.insert(row.name, entry);
            }
        }
        for row in rules::list(read, namespace, MAX_RULES).await? {
            if wanted.includes(&row.module) {
                let entry = RuleEntry::of(alert_spec_of(&row)?, &names);
                file_of(files, wanted, &row.module).alert_rules.insert(row.name, entry);
            }
        }
        Ok(())
    }

    /// Adds budgets, and the maintenance windows that are not over. Of several windows that people
    /// have given the same title, the file has the one that begins first.
    async fn put_health(
        &self,
        read: &DatabaseLink,
        namespace: Uuid,
        wanted: &ExportRequest,
        files: &mut ModuleFiles,
    ) -> Result<(), CommandError> {
        for row in health_budgets::list(read, namespace).await? {
            if wanted.includes(&row.module) {
                let entry = BudgetEntry::of(&BudgetLimits::of(&row));
                file_of(files, wanted, &row.module).health_budgets.insert(row.tag, entry);
            }
        }
        for row in maintenance::list_not_over(read, namespace).await? {
            if wanted.includes(&row.module) {
                let entry = MaintenanceEntry::of(&PlannedWindow::of(&row));
                let file = file_of(files, wanted, &row.module);
                file.maintenance_windows.entry(row.title).or_insert(entry);
            }
        }
        Ok(())
    }
}

fn file_of<'a>(
    files: &'a mut ModuleFiles,
    wanted: &ExportRequest,
    owner: &Option<String>,
) -> &'a mut File {
    let name = owner.as_ref().unwrap_or(&wanted.name);
    files.entry(owner.clone()).or_insert_with(|| File::new(name, &wanted.namespace))
}

/// Comments for the reader at the top of a file. Both formats allow them.
fn head(file: &File, is_by_hand: bool, is_part: bool) -> String {
    let mut head = String::new();
    let mut line = |text: &str| head += &format!("# {text}\n");
    if is_by_hand {
        line("Created by hand. 'carillon apply --adopt' lets this module take it over.");
    }
    if is_part && !is_by_hand {
        line(&format!("A part of the module {}: apply it with --no-prune.", file.module));
    }
    line("Secrets are masked as ***: where they are known, a mask keeps what is there.");
    head
}
