use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::json;
use timetable::Warning;
use uuid::Uuid;

use super::file::{CalendarEntry, File, ScheduleEntry};
use crate::{
    engine::{
        Definition,
        commands::{
            BadInput, Call, CommandError, Commands, Editor, NewSchedule, Viewer, Work,
            audit::Entry, check, naming, workflows::At,
        },
    },
    store::{DatabaseTransaction, calendars, groups, schedules, workflows},
};

/// What a deployment did, or would do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Deployment {
    /// The module's name.
    pub module: String,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// What happened to each thing that the module declares or declared.
    pub changes: Vec<Change>,
}

/// What happened to one thing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Change {
    /// See [`Action`].
    pub action: Action,
    /// `calendar`, `group`, `workflow` or `schedule`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// What changed, in words.
    pub detail: String,
    /// What is likely not meant by its timing.
    pub warnings: Vec<Warning>,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// It was made.
    Create,
    /// It was changed.
    Update,
    /// It was deleted.
    Delete,
    /// It is as declared.
    Unchanged,
}

/// So many calendars, workflows and schedules in one module: it is deployed in one transaction, and while that
/// lasts nothing else is written.
const MOST_ENTRIES: usize = 1_000;

/// What is the same for all that one deployment writes.
struct Site<'a> {
    tx: &'a DatabaseTransaction,
    who: &'a Viewer,
    namespace: Uuid,
    module: &'a str,
}

impl Commands {
    /// Makes the tables say what the module's file says.
    pub async fn deploy(
        &self,
        right: &Editor,
        source: &str,
        dry_run: bool,
        prune: bool,
        call: &Call,
    ) -> Result<Deployment, CommandError> {
        let file = File::read(source)?;
        check::name("module", &file.module)?;
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let namespace = self.namespace(&tx, &file.namespace).await?;
        let module = file.module.clone();
        let site = Site { tx: &tx, who: right.who(), namespace, module: &module };
        let changes = self.apply(&site, file, prune).await?;
        let deployment = Deployment { module, dry_run, changes };
        if dry_run {
            tx.rollback().await?;
            return Ok(deployment);
        }
        let changed = |change: &&Change| change.action != Action::Unchanged;
        if deployment.changes.iter().any(|change| changed(&change)) {
            let told = |change: &Change| json!([change.action, change.kind, change.name]);
            let after = deployment.changes.iter().filter(changed).map(told).collect();
            let entry = Entry {
                action: "module.deploy",
                namespace: Some(namespace),
                subject: &deployment.module,
                after: Some(serde_json::Value::Array(after)),
                ..Entry::default()
            };
            self.audit(&tx, right.who(), entry).await?;
        }
        self.remember(&tx, right.who(), call, &deployment).await?;
        self.store.commit_after_handoffs(tx).await?;
        self.signals.wake_planner();
        // A group's limit may have become higher.
        self.signals.wake_dispatcher();
        self.signals.wake_backfill();
        self.signals.wake_canceller();
        Ok(deployment)
    }

    async fn apply(
        &self,
        site: &Site<'_>,
        file: File,
        prune: bool,
    ) -> Result<Vec<Change>, CommandError> {
        let declared: BTreeSet<String> = file.schedules.keys().cloned().collect();
        let entries = file.calendars.len() + file.workflows.len() + file.schedules.len();
        if entries > MOST_ENTRIES {
            let problem = format!(
                "declares {entries} calendars, workflows and schedules; the limit is {MOST_ENTRIES}"
            );
            let help = "divide it into several modules";
            return Err(BadInput::new("source", "", problem, help).into());
        }
        let dated: BTreeSet<String> = file.calendars.keys().cloned().collect();
        let mut kept: BTreeSet<String> = file.workflows.keys().cloned().collect();
        let kept_groups: BTreeSet<String> = file.groups.keys().cloned().collect();
        let mut changes = Vec::new();
        if prune {
            changes.extend(self.prune_schedules(site, &declared).await?);
        }
        for (name, entry) in file.calendars {
            let declared = self.declare_calendar(site, &name, entry).await;
            let field = format!("calendars.{name}");
            changes.push(declared.map_err(|error| inside(error, &field))?);
        }
        for (name, max_runs) in file.groups {
            changes.push(self.declare_group(site, &name, max_runs).await?);
        }
        for (name, entry) in file.workflows {
            let field = format!("workflows.{name}");
            let work = (At::Workflow(""), entry.definition());
            changes.push(self.declare_workflow(site, &field, &name, work).await?);
        }
        for (name, mut entry) in file.schedules {
            let field = format!("schedules.{name}");
            let (own, work) = match (entry.task.take(), entry.workflow.take()) {
                (Some(task), None) => {
                    if !kept.insert(name.clone()) {
                        let help = "give the task in one place";
                        let problem = "is the name of a workflow in this file, too";
                        return Err(BadInput::new(field, name, problem, help).into());
                    }
                    let work = (At::Task("task"), task.definition());
                    let own = self.declare_workflow(site, &field, &name, work).await?;
                    (Some(own), Work::Workflow(name.clone()))
                }
                (None, Some(workflow)) => (None, Work::Workflow(workflow)),
                (Some(_), Some(_)) | (None, None) => {
                    let help = "give one of 'workflow' and 'task'";
                    let problem = "says what to run not at all, or twice";
                    return Err(BadInput::new(field, name, problem, help).into());
                }
            };
            let declared = self.declare_schedule(site, &name, entry, work, own).await;
            changes.push(declared.map_err(|error| inside(error, &field))?);
        }
        if prune {
            changes.extend(self.prune_workflows(site, &kept).await?);
            changes.extend(self.prune_calendars(site, &dated).await?);
            changes.extend(self.prune_groups(site, &kept_groups).await?);
        }
        Ok(changes)
    }

    async fn declare_calendar(
        &self,
        site: &Site<'_>,
        name: &str,
        entry: CalendarEntry,
    ) -> Result<Change, CommandError> {
        let spec = entry.spec(name);
        let change = |action, detail: String| Change {
            action,
            kind: "calendar".to_owned(),
            name: name.to_owned(),
            detail,
            warnings: vec![],
        };
        let Some(row) = calendars::by_name(site.tx, site.namespace, name).await? else {
            let module = Some(site.module);
            self.create_calendar_in(site.tx, site.who, site.namespace, &spec, module).await?;
            return Ok(change(Action::Create, "made".to_owned()));
        };
        owned(site, "name", name, row.module.as_deref())?;
        let updated = self.update_calendar_in(site.tx, site.who, &row, &spec, None).await?;
        let (saved, true) = updated else {
            return Ok(change(Action::Unchanged, String::new()));
        };
        let silenced = match &saved.silenced[..] {
            [] => String::new(),
            names => format!("; it lets no fire through of {}", names.join(", ")),
        };
        Ok(change(Action::Update, format!("changed{silenced}")))
    }

    async fn declare_group(
        &self,
        site: &Site<'_>,
        name: &str,
        max_runs: i64,
    ) -> Result<Change, CommandError> {
        let field = format!("groups.{name}");
        let change = |action, detail| Change {
            action,
            kind: "group".to_owned(),
            name: name.to_owned(),
            detail,
            warnings: vec![],
        };
        let Some(row) = groups::by_name(site.tx, site.namespace, name).await? else {
            let (module, group) = (Some(site.module), (name, max_runs));
            let added = self.add_group(site.tx, site.who, site.namespace, group, module).await;
            added.map_err(|error| at_key(error, &field))?;
            return Ok(change(Action::Create, "made".to_owned()));
        };
        owned(site, &field, name, row.module.as_deref())?;
        let revised = self.revise_group(site.tx, site.who, &row, (name, max_runs)).await;
        Ok(match revised.map_err(|error| at_key(error, &field))? {
            Some(told) => change(Action::Update, told),
            None => change(Action::Unchanged, String::new()),
        })
    }

    async fn declare_workflow(
        &self,
        site: &Site<'_>,
        field: &str,
        name: &str,
        (at, mut definition): (At<'_>, Definition),
    ) -> Result<Change, CommandError> {
        let checked = self.check_definition(at, &mut definition, None);
        checked.map_err(|error| inside(error, field))?;
        let change = |action, detail| Change {
            action,
            kind: "workflow".to_owned(),
            name: name.to_owned(),
            detail,
            warnings: vec![],
        };
        let Some(row) = workflows::by_name(site.tx, site.namespace, name).await? else {
            let module = Some(site.module);
            let added =
                self.add_workflow(site.tx, site.who, site.namespace, name, &definition, module);
            added.await.map_err(|error| inside(error, field))?;
            return Ok(change(Action::Create, "made".to_owned()));
        };
        owned(site, field, name, row.module.as_deref())?;
        let old = self.definition_of(site.tx, &row).await?;
        let revised = self.revise_workflow(site.tx, site.who, &row, &old, &definition).await?;
        Ok(match revised.change {
            Some(told) => change(Action::Update, told),
            None => change(Action::Unchanged, String::new()),
        })
    }

    /// `own` is what became of the workflow that the schedule's own task is.
    async fn declare_schedule(
        &self,
        site: &Site<'_>,
        name: &str,
        entry: ScheduleEntry,
        work: Work,
        own: Option<Change>,
    ) -> Result<Change, CommandError> {
        let paused = entry.paused;
        let spec = entry.spec(name);
        let change = |action, detail, warnings| Change {
            action,
            kind: "schedule".to_owned(),
            name: name.to_owned(),
            detail,
            warnings,
        };
        let Some(row) = schedules::by_name(site.tx, site.namespace, name).await? else {
            let new = NewSchedule { namespace: String::new(), spec, work, paused };
            let module = Some(site.module);
            let saved = self.create_in(site.tx, site.who, site.namespace, new, module).await?;
            return Ok(change(Action::Create, "made".to_owned(), saved.warnings));
        };
        // Found without a lock: a claim or a pause may have written it since.
        let row = self.locked(site.tx, row.id).await?;
        owned(site, "name", name, row.module.as_deref())?;
        let (saved, told) =
            self.update_in(site.tx, site.who, &row, &spec, Some(work), None).await?;
        let task = own.filter(|own| own.action != Action::Unchanged).map(|own| own.detail);
        let told: Vec<String> =
            [Some(told).filter(|told| !told.is_empty()), task].into_iter().flatten().collect();
        let action = if told.is_empty() { Action::Unchanged } else { Action::Update };
        Ok(change(action, told.join("; "), saved.warnings))
    }

    async fn prune_schedules(
        &self,
        site: &Site<'_>,
        declared: &BTreeSet<String>,
    ) -> Result<Vec<Change>, CommandError> {
        let mut changes = Vec::new();
        for row in schedules::of_module(site.tx, site.namespace, site.module).await? {
            if declared.contains(&row.name) {
                continue;
            }
            let row = self.locked(site.tx, row.id).await?;
            self.delete_in(site.tx, site.who, &row, Some("no longer declared")).await?;
            changes.push(gone("schedule", row.name));
        }
        Ok(changes)
    }

    async fn prune_calendars(
        &self,
        site: &Site<'_>,
        declared: &BTreeSet<String>,
    ) -> Result<Vec<Change>, CommandError> {
        let mut changes = Vec::new();
        for row in calendars::of_module(site.tx, site.namespace, site.module).await? {
            if declared.contains(&row.name) {
                continue;
            }
            self.delete_calendar_in(site.tx, site.who, &row, Some("no longer declared")).await?;
            changes.push(gone("calendar", row.name));
        }
        Ok(changes)
    }

    async fn prune_workflows(
        &self,
        site: &Site<'_>,
        kept: &BTreeSet<String>,
    ) -> Result<Vec<Change>, CommandError> {
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
            workflows::delete(site.tx, row.id, self.clock.now().into()).await?;
            changes.push(gone("workflow", row.name));
        }
        Ok(changes)
    }

    async fn prune_groups(
        &self,
        site: &Site<'_>,
        kept: &BTreeSet<String>,
    ) -> Result<Vec<Change>, CommandError> {
        let mut changes = Vec::new();
        for row in groups::of_module(site.tx, site.namespace, site.module).await? {
            if !kept.contains(&row.name) {
                self.remove_group(site.tx, site.who, &row).await?;
                changes.push(gone("group", row.name));
            }
        }
        Ok(changes)
    }
}

fn gone(kind: &str, name: String) -> Change {
    let detail = "no longer declared".to_owned();
    Change { action: Action::Delete, kind: kind.to_owned(), name, detail, warnings: vec![] }
}

fn owned(
    site: &Site<'_>,
    field: &str,
    name: &str,
    module: Option<&str>,
) -> Result<(), CommandError> {
    let problem = match module {
        Some(module) if module == site.module => return Ok(()),
        Some(module) => format!("is declared by the module {module:?}"),
        None => "was made by hand".to_owned(),
    };
    let help = "choose another name, or remove the one that is there";
    Err(BadInput::new(field, name, problem, help).into())
}

/// The same error, of a key inside `place` of the file.
fn inside(error: CommandError, place: &str) -> CommandError {
    let CommandError::BadInput(bad) = error else { return error };
    let field = naming::in_module(&bad.field);
    BadInput { field, ..bad }.inside(place).into()
}

/// The same error, of the key itself: what a group is stands behind its name.
fn at_key(error: CommandError, key: &str) -> CommandError {
    let CommandError::BadInput(bad) = error else { return error };
    BadInput { field: key.to_owned(), ..bad }.into()
}
