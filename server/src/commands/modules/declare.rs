//! Makes one object of a module match the file: creates, changes or adopts it, or leaves it as it
//! is.

use uuid::Uuid;

use super::{
    declared,
    deploy::{DeploymentContext, at_key, inside, unmask},
    difference::between,
    file::{CalendarEntry, ScheduleEntry},
    plan::{FieldChange, ObjectChange, PlanAction},
};
use crate::{
    commands::{
        BadInput, CommandError, Commands, NewSchedule, ScheduleWork, UnsetSecret,
        audit::AuditEntry,
        calendars::spec_of,
        schedules::update::{ChangeNote, StoredSchedule},
        secrets::{self, watchdog::unmasked},
        workflows::{DefinitionPlace, Judgement},
    },
    model::Definition,
    store::{
        calendars, groups,
        modules::{self, DeclaredKind},
        schedules, workflows,
    },
};

impl Commands {
    pub(super) async fn declare_calendar(
        &self,
        site: &DeploymentContext<'_>,
        name: &str,
        entry: CalendarEntry,
    ) -> Result<ObjectChange, CommandError> {
        let spec = entry.spec(name);
        let Some(row) = calendars::by_name(site.tx, site.namespace, name).await? else {
            let module = Some(site.module);
            self.create_calendar_in(site.tx, site.who, site.namespace, &spec, module).await?;
            return Ok(ObjectChange::new(PlanAction::Create, "calendar", name, "made"));
        };
        let adopted = self
            .own(site, "name", name, DeclaredKind::Calendar, row.id, row.module.as_deref())
            .await?;
        let before = declared::calendar(spec_of(&row)?);
        let is_other = self.update_calendar_in(site.tx, site.who, &row, &spec, None).await?;
        let told = is_other.then(|| "changed".to_owned());
        let fields = between(&before, &declared::calendar(spec));
        Ok(ObjectChange::of(adopted, "calendar", name, told, fields))
    }

    pub(super) async fn declare_group(
        &self,
        site: &DeploymentContext<'_>,
        name: &str,
        max_runs: i64,
    ) -> Result<ObjectChange, CommandError> {
        let field = format!("groups.{name}");
        let Some(row) = groups::by_name(site.tx, site.namespace, name).await? else {
            let DeploymentContext { tx, who, namespace, .. } = *site;
            let module = Some(site.module);
            let added = self.add_group(tx, who, namespace, name, max_runs, module).await;
            added.map_err(|error| at_key(error, &field))?;
            return Ok(ObjectChange::new(PlanAction::Create, "group", name, "made"));
        };
        let adopted = self
            .own(site, &field, name, DeclaredKind::Group, row.id, row.module.as_deref())
            .await?;
        let revised = self.revise_group(site.tx, site.who, &row, name, max_runs).await;
        let told = revised.map_err(|error| at_key(error, &field))?;
        let before = declared::group(row.max_runs.into());
        let fields = between(&before, &declared::group(max_runs));
        Ok(ObjectChange::of(adopted, "group", name, told, fields))
    }

    pub(super) async fn declare_workflow(
        &self,
        site: &DeploymentContext<'_>,
        field: &str,
        name: &str,
        at: DefinitionPlace<'_>,
        mut definition: Definition,
    ) -> Result<ObjectChange, CommandError> {
        let inside = |error| inside(error, field);
        let none = Judgement::default();
        let judgement = site.judged.get(name).unwrap_or(&none);
        let Some(row) = workflows::by_name(site.tx, site.namespace, name).await? else {
            let secrets = judgement.pass(at, &mut definition, None).map_err(inside)?;
            let allowed = self.check_namespace(site.tx, site.namespace, at, &definition).await;
            allowed.map_err(inside)?;
            let DeploymentContext { tx, who, namespace, .. } = *site;
            let module = Some(site.module);
            let added = self.add_workflow(tx, who, namespace, name, &definition, secrets, module);
            let added = added.await.map_err(inside)?;
            let made = ObjectChange::new(PlanAction::Create, "workflow", name, "made");
            return Ok(ObjectChange { unset: added.unset, ..made });
        };
        let adopted = self
            .own(site, field, name, DeclaredKind::Workflow, row.id, row.module.as_deref())
            .await?;
        let old = self.definition_of(site.tx, &row).await?;
        unmask(&mut definition, &old);
        let secrets = judgement.pass(at, &mut definition, None).map_err(inside)?;
        let allowed = self.check_namespace(site.tx, site.namespace, at, &definition).await;
        allowed.map_err(inside)?;
        let revised = self.revise_workflow(site.tx, site.who, &row, &old, &definition, secrets);
        let revised = revised.await?;
        let fields = between(&declared::workflow(&old), &declared::workflow(&definition));
        let change = ObjectChange::of(adopted, "workflow", name, revised.change, fields);
        Ok(ObjectChange { unset: revised.unset, ..change })
    }

    /// Makes a schedule match the file. `own` is the change of the workflow that belongs to the
    /// schedule's own task.
    pub(super) async fn declare_schedule(
        &self,
        site: &DeploymentContext<'_>,
        name: &str,
        entry: ScheduleEntry,
        work: ScheduleWork,
        own: Option<ObjectChange>,
    ) -> Result<ObjectChange, CommandError> {
        let (paused, none) = (entry.paused, Judgement::default());
        let timing = site.timings.get(name);
        let mut spec = entry.spec(name);
        let unset = own.iter().flat_map(|own| own.unset.clone());
        let unset = unset.map(UnsetSecret::of_own_task).collect();
        let Some(row) = schedules::by_name(site.tx, site.namespace, name).await? else {
            let new = NewSchedule { namespace: String::new(), spec, work, paused };
            let DeploymentContext { tx, who, namespace, .. } = *site;
            let module = Some(site.module);
            let saved = self.create_in(tx, who, namespace, new, &none, timing, module).await?;
            let made = ObjectChange::new(PlanAction::Create, "schedule", name, "made");
            return Ok(ObjectChange { warnings: saved.warnings, unset, ..made });
        };
        // The row was found without a lock, so a claim or a pause may have changed it since.
        let row = self.locked(site.tx, row.id).await?;
        let adopted = self
            .own(site, "name", name, DeclaredKind::Schedule, row.id, row.module.as_deref())
            .await?;
        // The file sets the note. An operator's change to the note stays until the note in the file
        // changes.
        let is_theirs = match site.last.note(name) {
            Some(last) => last == spec.note,
            None => spec.note.is_empty(),
        };
        if is_theirs {
            spec.note.clone_from(&row.note);
        }
        let old = self.spec_with(site.tx, &row, site.calendar_names).await?;
        spec.ping = spec.ping.map(|ping| unmasked(ping, old.ping.as_ref()));
        spec.context = secrets::unmasked_json(spec.context, &old.context);

        let mut before = ScheduleEntry::of(old.clone());
        let mut after = ScheduleEntry::of(spec.clone());
        let runs = workflows::by_ids(site.tx, &[row.workflow_id]).await?.pop();
        before.workflow = runs.map(|workflow| workflow.name);
        after.workflow = match &work {
            ScheduleWork::Workflow(name) => Some(name.clone()),
            ScheduleWork::Task(_) | ScheduleWork::Past { .. } => None,
        };
        let mut fields = between(&declared::schedule(before), &declared::schedule(after));
        let note = ChangeNote::default();
        let (tx, who, work) = (site.tx, site.who, Some(work));
        let stored = StoredSchedule { row: &row, spec: old, ended: site.ended.get(&row.id) };
        let updated = self.update_in(tx, who, stored, &spec, work, &none, timing, note);
        let (saved, told) = updated.await?;
        // The schedule's own workflow is not reported if it was only adopted along with the
        // schedule.
        let is_told =
            |own: &ObjectChange| own.action != PlanAction::Adopt || !own.fields.is_empty();
        let own = own.filter(ObjectChange::is_one).filter(is_told);
        let task = own.as_ref().map(|own| own.detail.clone());
        fields.extend(own.into_iter().flat_map(task_fields));
        let told: Vec<String> =
            [Some(told).filter(|told| !told.is_empty()), task].into_iter().flatten().collect();
        let told = (!told.is_empty()).then(|| told.join("; "));
        let change = ObjectChange::of(adopted, "schedule", name, told, fields);
        Ok(ObjectChange { warnings: saved.warnings, unset, ..change })
    }

    /// Whether the module must adopt the object. If so, this function adopts it, or fails if
    /// adoption is not allowed.
    pub(super) async fn own(
        &self,
        site: &DeploymentContext<'_>,
        field: &str,
        name: &str,
        kind: DeclaredKind,
        id: Uuid,
        module: Option<&str>,
    ) -> Result<bool, CommandError> {
        let (problem, help) = match module {
            Some(module) if module == site.module => return Ok(false),
            Some(module) => (
                format!("is declared by the module {module:?}"),
                "choose another name, or remove it from that module first",
            ),
            None if site.adopt => {
                modules::adopt(site.tx, self.store.dialect(), kind, id, site.module).await?;
                let entry = AuditEntry {
                    action: "module.adopt",
                    namespace: Some(site.namespace),
                    subject_id: Some(id),
                    subject: name,
                    after: Some(serde_json::json!({ "module": site.module })),
                    ..AuditEntry::default()
                };
                self.audit(site.tx, site.who, entry).await?;
                return Ok(true);
            }
            None => (
                "was created by hand".to_owned(),
                "choose another name, remove the existing one, or adopt it",
            ),
        };
        Err(BadInput::new(field, name, problem, help).into())
    }
}

/// The changes of a schedule's own task, under the keys that they have in the schedule's entry.
fn task_fields(own: ObjectChange) -> Vec<FieldChange> {
    if own.action == PlanAction::Create {
        let after = Some(own.detail);
        return vec![FieldChange { path: "task".to_owned(), before: None, after }];
    }
    let renamed = own.fields.into_iter().map(|field| {
        let inner = field.path.split_once("].").filter(|(head, _)| head.starts_with("tasks["));
        let path = inner.map_or_else(|| field.path.clone(), |(_, rest)| format!("task.{rest}"));
        FieldChange { path, ..field }
    });
    renamed.collect()
}
