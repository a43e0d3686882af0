//! Runs that are started by hand, repeated, or stopped.

use chrono::{DateTime, Utc};
use entity::{run, schedule};
use sea_orm::{ActiveEnum, IntoActiveModel};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Call, CommandError, Commands, audit::AuditEntry, stored};
use crate::{
    access::{Operator, Permit, Viewer},
    engine::{execution::handoff::unmark_recovery, kept_tasks},
    model::{Definition, check, laid_over},
    random::new_id,
    store::{DatabaseTransaction, retention::FireKey, schedules, workflows},
};

/// A run that was started or stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderedRun {
    /// The run.
    pub id: Uuid,
}

/// A manual run.
#[derive(Clone, Debug, Default)]
pub struct ByHand {
    /// Context that is merged over the schedule's, key by key.
    pub context: Option<Value>,
    /// The scheduled instant of the run; now if `None`.
    pub as_of: Option<DateTime<Utc>>,
    /// Why the run is requested.
    pub reason: Option<String>,
}

impl Commands {
    /// Runs a schedule's workflow once in addition to its timing. Works for a paused schedule, too.
    pub async fn trigger(
        &self,
        right: &Operator,
        id: Uuid,
        order: &ByHand,
        call: &Call,
    ) -> Result<OrderedRun, CommandError> {
        if let Some(context) = &order.context {
            check::context("context", context)?;
        }
        check::optional_reason(order.reason.as_deref())?;
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let schedule = schedules::by_id(&tx, id)
            .await?
            .filter(|schedule| schedule.deleted_at.is_none())
            .ok_or_else(|| CommandError::not_found("schedule", id))?;
        right.permit().over(schedule.namespace_id, "schedule", id)?;
        let context = laid_over(&schedule.context, order.context.as_ref());
        check::context("context", &context)?;
        let now = self.clock.now();
        let run_id = new_id(now);
        let (workflow_version, definition) = self.current(&tx, schedule.workflow_id).await?;
        let run = run::Model {
            id: run_id,
            namespace_id: schedule.namespace_id,
            schedule_id: Some(schedule.id),
            fire_id: None,
            workflow_id: schedule.workflow_id,
            workflow_version,
            trigger: run::Trigger::Manual,
            scheduled_at: order.as_of.unwrap_or(now).into(),
            max_attempts: definition.max_attempts(),
            runs_on: definition.asked_tags(),
            origin: origin_of(&definition, schedule.namespace_id),
            context,
            idempotency_key: run_id.to_string(),
            retry_of: None,
            group_id: schedule.group_id,
            priority: schedule.priority,
            ..queued(now)
        };
        self.queue(
            tx,
            right.who(),
            run,
            "schedule.trigger",
            order.reason.as_deref(),
            &schedule.name,
            call,
        )
        .await
    }

    /// Repeats a settled run for the same instant and with the same idempotency key, but with the
    /// current definition of its workflow.
    pub async fn retry(
        &self,
        right: &Operator,
        id: Uuid,
        call: &Call,
    ) -> Result<OrderedRun, CommandError> {
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let old = self.existing_run(&tx, right.permit(), id).await?;
        check_settled(id, old.state)?;
        let (version, definition) = self.current(&tx, old.workflow_id).await?;
        let (run, name) = self.again(&tx, old, version, &definition).await?;
        self.queue(tx, right.who(), run, "run.retry", None, &name, call).await
    }

    /// Repeats a settled run from where it failed, with the workflow definition that it had, and
    /// with the results of the tasks that need not be repeated.
    pub async fn rerun_from_failed(
        &self,
        right: &Operator,
        id: Uuid,
        call: &Call,
    ) -> Result<OrderedRun, CommandError> {
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let old = self.existing_run(&tx, right.permit(), id).await?;
        let problem = match old.state {
            run::State::Queued | run::State::Running | run::State::Retrying => {
                Some(("is still", "wait until it has settled, or cancel it"))
            }
            run::State::Succeeded => Some(("has", "use retryRun to repeat all of it")),
            run::State::Failed | run::State::TimedOut | run::State::Cancelled => None,
        };
        if let Some((is, help)) = problem {
            let problem = format!("run {id} {is} {}", old.state.to_value());
            return Err(CommandError::conflict(problem, help));
        }
        let version = old.workflow_version;
        let definition = self.definition_at(&tx, old.workflow_id, version).await?;
        let tasks = self.store.attempts_in(&tx, id).await?;
        let last = |name: &str| {
            let attempts = tasks.iter().filter(|attempt| attempt.task == name);
            attempts.max_by_key(|attempt| attempt.attempt).map(|attempt| attempt.state)
        };
        let kept = kept_tasks(&definition, last);
        let (run, name) = self.again(&tx, old, version, &definition).await?;
        self.store.keep_successes(&tx, run.id, id, &kept).await?;
        self.queue(tx, right.who(), run, "run.rerun", None, &name, call).await
    }

    /// A new run of the same subject as `old`, with the given version of its workflow, and the
    /// subject's name for the audit log.
    async fn again(
        &self,
        tx: &DatabaseTransaction,
        old: run::Model,
        workflow_version: i32,
        definition: &Definition,
    ) -> Result<(run::Model, String), CommandError> {
        let now = self.clock.now();
        let schedule = self.schedule_of(tx, &old).await?;
        let name = subject(&old, schedule.as_ref());
        let fire_id = self.fire_of(tx, &old).await?;
        let mut context = old.context;
        if old.is_recovery {
            unmark_recovery(&mut context);
        }
        let run = run::Model {
            id: new_id(now),
            namespace_id: old.namespace_id,
            schedule_id: old.schedule_id,
            fire_id,
            workflow_id: old.workflow_id,
            workflow_version,
            trigger: run::Trigger::Retry,
            scheduled_at: old.scheduled_at,
            max_attempts: definition.max_attempts(),
            runs_on: definition.asked_tags(),
            origin: origin_of(definition, old.namespace_id),
            context,
            idempotency_key: old.idempotency_key,
            retry_of: Some(old.id),
            group_id: schedule.as_ref().and_then(|schedule| schedule.group_id),
            priority: schedule.as_ref().map_or(old.priority, |schedule| schedule.priority),
            ..queued(now)
        };
        Ok((run, name))
    }

    /// Stops a run: a waiting run at once, a running one through its node.
    pub async fn cancel(
        &self,
        right: &Operator,
        id: Uuid,
        reason: Option<&str>,
        call: &Call,
    ) -> Result<OrderedRun, CommandError> {
        check::optional_reason(reason)?;
        let who = right.who();
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, who, call).await? {
            return Ok(earlier);
        }
        let run = self.existing_run(&tx, right.permit(), id).await?;
        let now = self.clock.now().into();
        if !self.store.cancel_if_live(&tx, id, &who.name, reason, now).await? {
            return Err(no_longer_live(id, run.state));
        }
        let name = subject(&run, self.schedule_of(&tx, &run).await?.as_ref());
        let entry = AuditEntry {
            action: "run.cancel",
            namespace: Some(run.namespace_id),
            subject_id: Some(id),
            subject: &name,
            reason,
            before: Some(json!({ "state": run.state.to_value() })),
            after: None,
        };
        self.audit(&tx, who, entry).await?;
        let ordered = OrderedRun { id };
        self.remember(&tx, who, call, &ordered).await?;
        self.store.commit(tx).await?;
        self.signals.wake_canceller();
        // A waiting run has ended, so fires that wait for its end may start.
        self.signals.wake_planner();
        self.signals.wake_dispatcher();
        self.signals.wake_backfill();
        Ok(ordered)
    }

    async fn queue(
        &self,
        tx: DatabaseTransaction,
        who: &Viewer,
        run: run::Model,
        action: &'static str,
        reason: Option<&str>,
        subject: &str,
        call: &Call,
    ) -> Result<OrderedRun, CommandError> {
        let ordered = OrderedRun { id: run.id };
        let after = json!({ "run": run.id, "scheduledAt": run.scheduled_at.utc() });
        let entry = AuditEntry {
            action,
            namespace: Some(run.namespace_id),
            subject_id: run.schedule_id.or(Some(run.id)),
            subject,
            reason,
            before: None,
            after: Some(after),
        };
        self.store.insert_queued_run(&tx, run.into_active_model()).await?;
        self.audit(&tx, who, entry).await?;
        self.remember(&tx, who, call, &ordered).await?;
        self.store.commit(tx).await?;
        self.signals.wake_dispatcher();
        Ok(ordered)
    }

    /// The version of the workflow with which new runs start, and its definition.
    async fn current(
        &self,
        tx: &DatabaseTransaction,
        workflow_id: Uuid,
    ) -> Result<(i32, Definition), CommandError> {
        let missing = || CommandError::not_found("workflow", workflow_id);
        let workflow = workflows::by_ids(tx, &[workflow_id])
            .await?
            .pop()
            .filter(|workflow| workflow.deleted_at.is_none())
            .ok_or_else(missing)?;
        let version = workflow.version;
        let definition = self.definition_at(tx, workflow_id, version).await?;
        Ok((version, definition))
    }

    async fn definition_at(
        &self,
        tx: &DatabaseTransaction,
        workflow_id: Uuid,
        version: i32,
    ) -> Result<Definition, CommandError> {
        let json = self.store.definition(tx, workflow_id, version).await?;
        let json = json.ok_or_else(|| CommandError::not_found("workflow", workflow_id))?;
        stored::read(json, || format!("workflow {workflow_id} version {version}"))
    }

    /// The run, if the permission covers it.
    async fn existing_run(
        &self,
        tx: &DatabaseTransaction,
        permit: Permit<'_>,
        id: Uuid,
    ) -> Result<run::Model, CommandError> {
        let found = self.store.run(tx, id).await?;
        let run = found.ok_or_else(|| CommandError::not_found("run", id))?;
        permit.over(run.namespace_id, "run", id)?;
        Ok(run)
    }

    /// The fire that a run repeats, if it is still in the ledger. From now on, retention keeps that
    /// fire.
    async fn fire_of(
        &self,
        tx: &DatabaseTransaction,
        run: &run::Model,
    ) -> Result<Option<Uuid>, CommandError> {
        let Some(id) = run.fire_id else { return Ok(None) };
        let fire = FireKey { id, scheduled_at: run.scheduled_at };
        Ok(self.store.hold_fires(tx, &[fire]).await?.into_iter().next())
    }

    /// The schedule of a run, if it has one, deleted or not.
    async fn schedule_of(
        &self,
        tx: &DatabaseTransaction,
        run: &run::Model,
    ) -> Result<Option<schedule::Model>, CommandError> {
        Ok(match run.schedule_id {
            Some(id) => schedules::by_id(tx, id).await?,
            None => None,
        })
    }
}

/// Refuses to repeat all of a run that is live.
pub(super) fn check_settled(id: Uuid, state: run::State) -> Result<(), CommandError> {
    if !state.is_live() {
        return Ok(());
    }
    let problem = format!("run {id} is still {}", state.to_value());
    Err(CommandError::conflict(problem, "wait until it has settled, or cancel it"))
}

/// Refuses to cancel a run that has settled.
pub(super) fn check_live(id: Uuid, state: run::State) -> Result<(), CommandError> {
    if state.is_live() { Ok(()) } else { Err(no_longer_live(id, state)) }
}

fn no_longer_live(id: Uuid, state: run::State) -> CommandError {
    let problem = format!("run {id} has {} already", state.to_value());
    CommandError::conflict(problem, "only a run that is alive can be cancelled")
}

/// The name of a run in the audit log: its schedule's name, if it has one.
fn subject(run: &run::Model, schedule: Option<&schedule::Model>) -> String {
    schedule.map_or_else(|| run.id.to_string(), |schedule| schedule.name.clone())
}

/// The origin of a run in this namespace, as stored in its row.
fn origin_of(definition: &Definition, namespace: Uuid) -> Option<String> {
    definition.origin().map(|origin| origin.within(namespace).to_string())
}

/// A run that waits from `now` on; the caller fills in its subject and origin.
fn queued(now: DateTime<Utc>) -> run::Model {
    let now = now.into();
    run::Model {
        id: Uuid::nil(),
        namespace_id: Uuid::nil(),
        schedule_id: None,
        fire_id: None,
        workflow_id: Uuid::nil(),
        workflow_version: 0,
        trigger: run::Trigger::Manual,
        state: run::State::Queued,
        scheduled_at: now,
        due_at: now,
        created_at: now,
        available_at: now,
        started_at: None,
        finished_at: None,
        attempt: 0,
        max_attempts: 1,
        recovery_attempts: 0,
        node_id: None,
        epoch: 0,
        hard_deadline_at: None,
        error: None,
        cancel_requested_at: None,
        cancel_by: None,
        cancel_reason: None,
        context: Value::Null,
        is_recovery: false,
        idempotency_key: String::new(),
        retry_of: None,
        group_id: None,
        priority: 0,
        runs_on: None,
        origin: None,
        backfill_id: None,
        changed: 0,
    }
}
