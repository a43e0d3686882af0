//! Deploys a module's file: changes the tables to match it.

use std::collections::{BTreeSet, HashMap};

use serde_json::json;
use uuid::Uuid;

use super::{
    alerts::Alerts,
    declared::Declared,
    effect::{Effect, Outlooks, ScheduleOutlook},
    file::{File, Format},
    plan::{Deployment, ObjectChange},
};
use crate::{
    access::{Editor, Viewer},
    commands::{
        BadInput, Call, CommandError, Commands, Work,
        alerts::Aftermath,
        audit::Entry,
        calendars::{silence::ForeseenEffect, spec_of},
        secrets,
        workflows::{At, Judgement},
    },
    model::{Definition, check, naming},
    store::{DatabaseTransaction, calendars, modules, schedules, workflows},
};

/// A module's file to deploy, and how.
#[derive(Clone, Copy, Debug)]
pub struct DeploymentSource<'a> {
    /// The module's file.
    pub text: &'a str,
    /// The file's format.
    pub format: Format,
    /// Whether to only report what would happen.
    pub dry_run: bool,
    /// Whether to delete objects that the module no longer declares.
    pub prune: bool,
    /// Whether to take over objects of the same names that were created by hand.
    pub adopt: bool,
    /// The reason, for the audit entries of the deployment and of all its changes.
    pub reason: Option<&'a str>,
}

impl<'a> DeploymentSource<'a> {
    /// A module in YAML, deployed for real, with removal of objects that it no longer declares.
    pub fn yaml(text: &'a str) -> Self {
        let format = Format::Yaml;
        Self { text, format, dry_run: false, prune: true, adopt: false, reason: None }
    }
}

/// Maximum number of objects in one module, groups aside. One transaction deploys all of them, and
/// SQLite allows no other write meanwhile.
pub(super) const MAX_ENTRIES: usize = 1_000;

/// Maximum number of schedules outside the module that are checked because a changed calendar
/// affects them.
const OTHERS: u64 = 200;

/// The context shared by all writes of one deployment.
pub(super) struct DeploymentContext<'a> {
    pub(super) tx: &'a DatabaseTransaction,
    pub(super) who: &'a Viewer,
    pub(super) namespace: Uuid,
    pub(super) module: &'a str,
    pub(super) adopt: bool,
    /// The judgements on the file's definitions, by object name.
    pub(super) judged: &'a HashMap<String, Judgement>,
    /// The module's declarations at its previous deployment.
    pub(super) last: &'a Declared,
}

impl Commands {
    /// Makes the tables match the module's file.
    pub async fn deploy(
        &self,
        right: &Editor,
        source: DeploymentSource<'_>,
        call: &Call,
    ) -> Result<Deployment, CommandError> {
        let file = File::read(source.text, source.format)?;
        check::name("module", &file.module)?;
        if let Some(reason) = source.reason {
            check::text("reason", reason, 500)?;
        }
        within_bounds(&file)?;
        let names = DeclaredNames::of(&file);
        if !source.dry_run {
            self.shorten_before(right, source, &file, &names).await?;
        }
        let foreseen = self.foresee_calendars(right, &file, &names).await?;
        let judged = &self.judge_file(right, &file).await?;
        let (module, declared) = (file.module.clone(), Declared::of(&file));
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let namespace = self.namespace(&tx, right.permit(), &file.namespace).await?;
        // Locks schedules before calendars, like every command that saves a schedule.
        schedules::lock_declared(&tx, namespace, &file.module, &names.schedules).await?;
        if source.dry_run {
            // A dry run does not report the rows that a deployment writes beforehand, so it need
            // not write them.
            let (module, now) = (&file.module, self.clock.now().into());
            schedules::pass_over_far_behind(&tx, namespace, module, &names.schedules, now).await?;
        }
        let last = self.declared(&tx, namespace, &module).await?;
        let mut who = right.who().clone();
        who.reason = source.reason.map(str::to_owned).or(who.reason);
        let (who, adopt, last, module) = (&who, source.adopt, &last, &*module);
        let site = DeploymentContext { tx: &tx, who, namespace, module, adopt, judged, last };
        let mut outlooks = self.before(&site, &names).await?;
        let dated = calendars::by_names(&tx, namespace, &names.calendars, false).await?;
        let mut aftermath = Aftermath::default();
        let changes = self.apply(&site, file, source.prune, &mut aftermath).await?;
        let redrawn = self.silences_nobody(&tx, &dated, foreseen.as_ref()).await?;
        self.after(&site, &names, &mut outlooks).await?;
        let dry_run = source.dry_run;
        let module = module.to_owned();
        let mut deployment = Deployment { module, dry_run, changes, effect: None };
        if dry_run {
            tx.rollback().await?;
            deployment.effect = Some(self.effect(outlooks).await?);
            return Ok(deployment);
        }
        if deployment.changes.iter().any(ObjectChange::is_one) {
            let told = |change: &ObjectChange| json!([change.action, change.kind, change.name]);
            let changed = deployment.changes.iter().filter(|change| change.is_one());
            let entry = Entry {
                action: "module.deploy",
                namespace: Some(namespace),
                subject: &deployment.module,
                after: Some(serde_json::Value::Array(changed.map(told).collect())),
                ..Entry::default()
            };
            self.audit(&tx, who, entry).await?;
        }
        self.keep_declared(&tx, right.who(), namespace, &deployment.module, &declared).await?;
        self.remember(&tx, right.who(), call, &deployment).await?;
        self.store.commit_after_handoffs(tx).await?;
        self.signals.wake_planner();
        // The deployment may have raised a group's limit.
        self.signals.wake_dispatcher();
        self.signals.wake_backfill();
        self.signals.wake_canceller();
        self.clear_up(aftermath).await;
        for calendar in &redrawn {
            self.tell_users_of(calendar).await;
        }
        deployment.effect = Some(self.effect(outlooks).await?);
        Ok(deployment)
    }

    /// Accounts for schedules that are far behind, before the deployment's own transaction.
    async fn shorten_before(
        &self,
        right: &Editor,
        source: DeploymentSource<'_>,
        file: &File,
        names: &DeclaredNames,
    ) -> Result<(), CommandError> {
        let read = self.store.read();
        let namespace = match self.namespace(read, right.permit(), &file.namespace).await {
            Ok(namespace) => namespace,
            // The deployment reports the error later, once it is known that the call is not a
            // repeated one.
            Err(_) => return Ok(()),
        };
        let (prunes, adopts) = (source.prune, source.adopt);
        let (permit, names) = (right.permit(), &names.schedules);
        self.shorten_before_deployment(permit, namespace, &file.module, names, prunes, adopts).await
    }

    /// Computes the effect of the file's calendars on all schedules that name them, also on those
    /// of other modules, before the deployment's own transaction.
    async fn foresee_calendars(
        &self,
        right: &Editor,
        file: &File,
        names: &DeclaredNames,
    ) -> Result<Option<ForeseenEffect>, CommandError> {
        let read = self.store.read();
        let Ok(namespace) = self.namespace(read, right.permit(), &file.namespace).await else {
            return Ok(None);
        };
        let mut changes = Vec::new();
        for row in calendars::by_names(read, namespace, &names.calendars, false).await? {
            let Some(entry) = file.calendars.get(&row.name) else { continue };
            let spec = entry.clone().spec(&row.name);
            if spec_of(&row).is_ok_and(|was| was != spec) {
                changes.push((row, spec));
            }
        }
        if changes.is_empty() {
            return Ok(None);
        }
        self.foresee(namespace, &changes).await
    }

    /// Judges the file's workflows and tasks before the deployment's own transaction. Masks in them
    /// are replaced by what is stored now.
    async fn judge_file(
        &self,
        right: &Editor,
        file: &File,
    ) -> Result<HashMap<String, Judgement>, CommandError> {
        let read = self.store.read();
        let Ok(namespace) = self.namespace(read, right.permit(), &file.namespace).await else {
            return Ok(HashMap::new());
        };
        let mut all = Vec::new();
        for (name, entry) in &file.schedules {
            all.extend(entry.task.clone().map(|task| (name, task.definition())));
        }
        // A workflow is applied before a task of the same name, which is refused.
        all.extend(file.workflows.iter().map(|(name, entry)| (name, entry.clone().definition())));
        let mut judged = HashMap::with_capacity(all.len());
        for (name, mut definition) in all {
            if let Some(row) = workflows::by_name(read, namespace, name).await? {
                unmask(&mut definition, &self.definition_of(read, &row).await?);
            }
            judged.insert(name.clone(), self.judge(&definition, None).await?);
        }
        Ok(judged)
    }

    async fn apply(
        &self,
        site: &DeploymentContext<'_>,
        file: File,
        prune: bool,
        aftermath: &mut Aftermath,
    ) -> Result<Vec<ObjectChange>, CommandError> {
        let alerts = Alerts { channels: file.alert_channels, rules: file.alert_rules };
        let declared: BTreeSet<String> = file.schedules.keys().cloned().collect();
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
            let (at, definition) = (At::Workflow(""), entry.definition());
            changes.push(self.declare_workflow(site, &field, &name, at, definition).await?);
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
                    let (at, definition) = (At::Task("task"), task.definition());
                    let own = self.declare_workflow(site, &field, &name, at, definition).await?;
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
        changes.extend(self.apply_alerts(site, alerts, prune, aftermath).await?);
        Ok(changes)
    }

    /// The schedules that the deployment may affect, as they are before it.
    async fn before(
        &self,
        site: &DeploymentContext<'_>,
        names: &DeclaredNames,
    ) -> Result<Outlooks, CommandError> {
        let (tx, namespace) = (site.tx, site.namespace);
        let mut rows = schedules::of_module(tx, namespace, site.module).await?;
        rows.extend(schedules::by_names(tx, namespace, &names.schedules).await?);
        let mut outlooks = Outlooks::default();
        for calendar in calendars::by_names(tx, namespace, &names.calendars, false).await? {
            rows.extend(calendars::users(tx, self.store.dialect(), &calendar, None, OTHERS).await?);
            outlooks.versions.insert(calendar.id, calendar.version);
        }
        outlooks.before = self.outlooks(tx, rows).await?;
        Ok(outlooks)
    }

    /// The schedules that the deployment may affect, as they are after it.
    async fn after(
        &self,
        site: &DeploymentContext<'_>,
        names: &DeclaredNames,
        outlooks: &mut Outlooks,
    ) -> Result<(), CommandError> {
        let (tx, namespace) = (site.tx, site.namespace);
        let keys: Vec<Uuid> = outlooks.before.keys().copied().collect();
        let mut rows = schedules::by_ids(tx, &keys).await?;
        rows.retain(|row| row.deleted_at.is_none());
        rows.extend(schedules::by_names(tx, namespace, &names.schedules).await?);
        let calendars = calendars::by_names(tx, namespace, &names.calendars, false).await?;
        outlooks.versions.retain(|id, version| {
            calendars.iter().any(|row| row.id == *id && row.version != *version)
        });
        outlooks.after = self.outlooks(tx, rows).await?;
        Ok(())
    }

    async fn outlooks(
        &self,
        tx: &DatabaseTransaction,
        rows: Vec<entity::schedule::Model>,
    ) -> Result<HashMap<Uuid, ScheduleOutlook>, CommandError> {
        let mut found = HashMap::with_capacity(rows.len());
        for row in rows {
            if found.contains_key(&row.id) {
                continue;
            }
            match self.timetable_of(tx, &row).await {
                Ok(timetable) => {
                    found.insert(row.id, ScheduleOutlook { row, timetable });
                }
                // If the timing of a schedule cannot be read, the schedule does not fire.
                Err(CommandError::BadInput(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// Counts the fires in a blocking thread, because counting may take a while.
    async fn effect(&self, outlooks: Outlooks) -> Result<Effect, CommandError> {
        let now = self.clock.now();
        let counted = tokio::task::spawn_blocking(move || outlooks.effect(now)).await;
        counted.map_err(|error| {
            CommandError::conflict(format!("the effect was not counted: {error}"), "try again")
        })
    }
}

fn within_bounds(file: &File) -> Result<(), BadInput> {
    let entries = file.entries();
    if entries <= MAX_ENTRIES {
        return Ok(());
    }
    let problem = format!(
        "declares {entries} calendars, workflows, schedules, alert channels and rules; the limit is \
         {MAX_ENTRIES}"
    );
    Err(BadInput::new("source", "", problem, "divide it into several modules"))
}

/// The names in a file that may belong to existing objects.
struct DeclaredNames {
    schedules: Vec<String>,
    calendars: Vec<String>,
}

impl DeclaredNames {
    fn of(file: &File) -> Self {
        Self {
            schedules: file.schedules.keys().cloned().collect(),
            calendars: file.calendars.keys().cloned().collect(),
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
    ) -> Result<Declared, CommandError> {
        let Some(row) = modules::find(tx, namespace, module).await? else {
            return Ok(Declared::default());
        };
        serde_json::from_value(row.declared).map_err(|source| CommandError::Unreadable {
            what: format!("the module {module:?} as it was deployed"),
            source,
        })
    }

    async fn keep_declared(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        namespace: Uuid,
        module: &str,
        declared: &Declared,
    ) -> Result<(), CommandError> {
        if declared.is_empty() {
            return Ok(modules::forget(tx, namespace, module).await?);
        }
        let at = self.clock.now().into();
        Ok(modules::keep(tx, namespace, module, json!(declared), &who.name, at).await?)
    }
}

/// Replaces the masks in a definition by the values of the stored one. Masks that are not in their
/// original position stay, and are refused when the definition is judged.
pub(super) fn unmask(definition: &mut Definition, old: &Definition) {
    for task in &mut definition.tasks {
        if let Some(kept) = old.tasks.iter().find(|old| old.name == task.name) {
            secrets::unmask(&mut task.target, &kept.target);
        }
    }
}

/// Moves the error's field inside `place` of the file.
pub(super) fn inside(error: CommandError, place: &str) -> CommandError {
    let CommandError::BadInput(bad) = error else { return error };
    let field = naming::in_module(&bad.field);
    BadInput { field, ..bad }.inside(place).into()
}

/// Makes the key itself the error's field, because a group's value follows its name directly.
pub(super) fn at_key(error: CommandError, key: &str) -> CommandError {
    let CommandError::BadInput(bad) = error else { return error };
    BadInput { field: key.to_owned(), ..bad }.into()
}
