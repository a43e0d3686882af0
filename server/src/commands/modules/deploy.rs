//! Deploys a module's file: changes the tables to match it.

use std::collections::{BTreeSet, HashMap};

use entity::maintenance_window;
use serde_json::json;
use uuid::Uuid;

use super::{
    alerts::DeclaredAlerts,
    declared::{DeclaredNames, DeclaredObjects},
    effect::{Effect, Outlooks},
    file::{File, FileFormat},
    plan::{Deployment, ObjectChange},
};
use crate::{
    access::{Editor, Viewer},
    commands::{
        BadInput, Call, CommandError, Commands, ScheduleWork,
        alerts::Aftermath,
        audit::AuditEntry,
        schedules::foreseen::ForeseenTiming,
        secrets,
        workflows::{DefinitionPlace, Judgement},
    },
    engine::planning::prepared::{self, PreparedTimetable},
    model::{Definition, calendars as compiled, check, naming},
    store::{DatabaseTransaction, calendars, maintenance, schedules},
};

/// A module's file to deploy, and how.
#[derive(Clone, Copy, Debug)]
pub struct DeploymentSource<'a> {
    /// The module's file.
    pub text: &'a str,
    /// The file's format.
    pub format: FileFormat,
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
        let format = FileFormat::Yaml;
        Self { text, format, dry_run: false, prune: true, adopt: false, reason: None }
    }
}

/// Maximum number of objects in one module, groups aside. One transaction deploys all of them, and
/// SQLite allows no other write meanwhile.
pub(super) const MAX_ENTRIES: usize = 1_000;

/// The context shared by all writes of one deployment.
pub(super) struct DeploymentContext<'a> {
    pub(super) tx: &'a DatabaseTransaction,
    pub(super) who: &'a Viewer,
    pub(super) namespace: Uuid,
    pub(super) module: &'a str,
    pub(super) adopt: bool,
    /// The judgements on the file's definitions, by object name.
    pub(super) judged: &'a HashMap<String, Judgement>,
    /// The timings of the file's schedules, by name, as worked out beforehand.
    pub(super) timings: &'a HashMap<String, ForeseenTiming>,
    /// The timetables that existing schedules with calendars have before the deployment, by the
    /// keys of the schedules, as built beforehand.
    pub(super) ended: &'a HashMap<Uuid, PreparedTimetable>,
    /// The names of the calendars that the declared schedules have before the deployment, by their
    /// keys.
    pub(super) calendar_names: &'a HashMap<Uuid, String>,
    /// What the module declared at its previous deployment.
    pub(super) last: &'a DeclaredObjects,
    /// The module's maintenance windows, and those with the titles of the file that are not over,
    /// all locked.
    pub(super) windows: &'a [maintenance_window::Model],
    /// Whether windows that operators have cancelled are planned again.
    pub(super) replans: bool,
}

impl Commands {
    /// Makes the tables match the module's file.
    pub async fn deploy(
        &self,
        right: &Editor,
        source: DeploymentSource<'_>,
        call: &Call,
    ) -> Result<Deployment, CommandError> {
        if let Some(earlier) = self.recall_early(right.who(), call).await? {
            return Ok(earlier);
        }
        let file = File::read(source.text, source.format)?;
        self.deploy_file(right, file, source, None, call).await
    }

    /// Makes the tables match a file that was read. A revert makes its file from declarations that
    /// it read before, and fails unless the module still has these `expected` ones. It also plans
    /// again the windows that operators have cancelled.
    pub(super) async fn deploy_file(
        &self,
        right: &Editor,
        file: File,
        source: DeploymentSource<'_>,
        expected: Option<&DeclaredObjects>,
        call: &Call,
    ) -> Result<Deployment, CommandError> {
        check::name("module", &file.module)?;
        check::optional_reason(source.reason)?;
        within_bounds(&file)?;
        let names = DeclaredNames::of(&file);
        if !source.dry_run {
            self.shorten_before(right, source, &file, &names).await?;
        }
        let foreseen = self.foresee_calendars(right, &file, &names).await?;
        let judged = &self.judge_file(right, &file).await?;
        let timings = &self.foresee_schedules(right, &file, &names).await?;
        let mut ended = self.prepare_declared(right, &file, &names).await?;
        let known = self.read_calendars(right, &file, &names).await?;
        let (module, declared) = (file.module.clone(), DeclaredObjects::of(&file));
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let namespace = self.namespace(&tx, right.permit(), &file.namespace).await?;
        // The service of the windows locks a window before its schedules.
        let (titles, declares) = (&names.maintenance_windows, &file.module);
        let windows = maintenance::lock_declared(&tx, namespace, declares, titles).await?;
        // Locks schedules before calendars, like every command that saves a schedule.
        schedules::lock_declared(&tx, namespace, &file.module, &names.schedules).await?;
        if source.dry_run {
            // A dry run does not report the rows that a deployment writes beforehand, so it need
            // not write them.
            let (module, now) = (&file.module, self.clock.now().into());
            schedules::pass_over_far_behind(&tx, namespace, module, &names.schedules, now).await?;
        }
        prepared::compare(&tx, &mut ended).await?;
        let last = self.declared(&tx, namespace, &module).await?;
        let mut who = right.who().clone();
        who.reason = source.reason.map(str::to_owned).or(who.reason);
        let (who, adopt, last, module) = (&who, source.adopt, &last, &*module);
        let calendar_names = &self.calendar_names(&tx, namespace, &names).await?;
        let site = DeploymentContext {
            tx: &tx,
            who,
            namespace,
            module,
            adopt,
            judged,
            timings,
            ended: &ended,
            calendar_names,
            last,
            windows: &windows,
            replans: expected.is_some(),
        };
        let mut outlooks = self.before(&site, &names, &known).await?;
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
            deployment.effect = Some(self.effect(namespace, outlooks).await?);
            return Ok(deployment);
        }
        if let Some(expected) = expected {
            self.check_still_declared(&tx, namespace, &deployment.module, expected).await?;
        }
        self.audit_deployment(&tx, who, namespace, &deployment).await?;
        self.keep_declared(&tx, right.who(), namespace, &deployment.module, &declared).await?;
        self.remember(&tx, right.who(), call, &deployment).await?;
        self.store.commit_after_handoffs(tx).await?;
        self.signals.wake_planner();
        // The deployment may have raised a group's limit.
        self.signals.wake_dispatcher();
        self.signals.wake_backfill();
        self.signals.wake_canceller();
        self.signals.wake_windows();
        self.clear_up(aftermath).await;
        for calendar in &redrawn {
            self.tell_users_of(calendar).await;
        }
        // The deployment is done, whether its effect can be counted now or not.
        deployment.effect = self.effect(namespace, outlooks).await.ok();
        Ok(deployment)
    }

    /// Records a deployment in the audit log, unless it changed nothing.
    async fn audit_deployment(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        namespace: Uuid,
        deployment: &Deployment,
    ) -> Result<(), CommandError> {
        let told = |change: &ObjectChange| json!([change.action, change.kind, change.name]);
        let changed = deployment.changes.iter().filter(|change| change.is_one());
        let changed: Vec<serde_json::Value> = changed.map(told).collect();
        if changed.is_empty() {
            return Ok(());
        }
        let entry = AuditEntry {
            action: "module.deploy",
            namespace: Some(namespace),
            subject: &deployment.module,
            after: Some(serde_json::Value::Array(changed)),
            ..AuditEntry::default()
        };
        Ok(self.audit(tx, who, entry).await?)
    }

    async fn apply(
        &self,
        site: &DeploymentContext<'_>,
        file: File,
        prune: bool,
        aftermath: &mut Aftermath,
    ) -> Result<Vec<ObjectChange>, CommandError> {
        let alerts = DeclaredAlerts { channels: file.alert_channels, rules: file.alert_rules };
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
            let (at, definition) = (DefinitionPlace::Workflow(""), entry.definition());
            changes.push(self.declare_workflow(site, &field, &name, at, definition).await?);
        }
        self.hold_calendars(site.tx, site.namespace, site.timings.values()).await?;
        for (name, mut entry) in file.schedules {
            let field = format!("schedules.{name}");
            let (own, work) = match (entry.task.take(), entry.workflow.take()) {
                (Some(task), None) => {
                    if !kept.insert(name.clone()) {
                        let help = "give the task in one place";
                        let problem = "is the name of a workflow in this file, too";
                        return Err(BadInput::new(field, name, problem, help).into());
                    }
                    let (at, definition) = (DefinitionPlace::Task("task"), task.definition());
                    let own = self.declare_workflow(site, &field, &name, at, definition).await?;
                    (Some(own), ScheduleWork::Workflow(name.clone()))
                }
                (None, Some(workflow)) => (None, ScheduleWork::Workflow(workflow)),
                (Some(_), Some(_)) | (None, None) => {
                    let help = "give one of 'workflow' and 'task'";
                    let problem = "does not say what to run, or says it twice";
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
        changes.extend(self.apply_budgets(site, file.health_budgets, prune).await?);
        changes.extend(self.apply_windows(site, file.maintenance_windows, prune).await?);
        Ok(changes)
    }

    /// The names of the calendars that the declared schedules have at present, by their keys.
    async fn calendar_names(
        &self,
        tx: &DatabaseTransaction,
        namespace: Uuid,
        names: &DeclaredNames,
    ) -> Result<HashMap<Uuid, String>, CommandError> {
        let rows = schedules::by_names(tx, namespace, &names.schedules).await?;
        let keys = compiled::named(rows.iter().map(|row| &row.calendars));
        let keys: Vec<Uuid> = keys.into_iter().collect();
        Ok(calendars::names(tx, &keys).await?)
    }

    /// Counts the fires.
    async fn effect(&self, namespace: Uuid, outlooks: Outlooks) -> Result<Effect, CommandError> {
        let (now, cache) = (self.clock.now(), self.cache.clone());
        self.compute(namespace, move || outlooks.effect(now, &cache)).await
    }
}

fn within_bounds(file: &File) -> Result<(), BadInput> {
    let entries = file.entries();
    if entries <= MAX_ENTRIES {
        return Ok(());
    }
    let problem = format!(
        "declares {entries} calendars, workflows, schedules, alert channels and rules, budgets and \
         maintenance windows; the limit is {MAX_ENTRIES}"
    );
    Err(BadInput::new("source", "", problem, "divide it into several modules"))
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
