use entity::backfill::{ActiveModel, Model, State};
use sea_orm::{ActiveEnum, Set};
use serde_json::json;
use uuid::Uuid;

use super::OrderedBackfill;
use crate::{
    access::{Operator, Permit, Viewer},
    commands::{Call, CommandError, Commands, audit::AuditEntry},
    engine::planning::backfill::stopped,
    model::check,
    store::{DatabaseTransaction, schedules},
};

impl Commands {
    /// Pauses a backfill: it starts no more runs until it is resumed; live ones continue.
    pub async fn pause_backfill(
        &self,
        right: &Operator,
        id: Uuid,
        call: &Call,
    ) -> Result<OrderedBackfill, CommandError> {
        let columns = ActiveModel {
            state: Set(State::Paused),
            paused_by: Set(Some(right.who().name.clone())),
            paused_at: Set(Some(self.clock.now().into())),
            ..ActiveModel::default()
        };
        self.switch_backfill(right, id, State::Paused, "backfill.pause", columns, call).await
    }

    /// Resumes a backfill.
    pub async fn resume_backfill(
        &self,
        right: &Operator,
        id: Uuid,
        call: &Call,
    ) -> Result<OrderedBackfill, CommandError> {
        let columns = ActiveModel {
            state: Set(State::Running),
            paused_by: Set(None),
            paused_at: Set(None),
            paused_reason: Set(None),
            ..ActiveModel::default()
        };
        self.switch_backfill(right, id, State::Running, "backfill.resume", columns, call).await
    }

    /// Cancels a backfill for good: waiting fires never run, and live runs are asked to stop.
    pub async fn cancel_backfill(
        &self,
        right: &Operator,
        id: Uuid,
        reason: Option<&str>,
        call: &Call,
    ) -> Result<OrderedBackfill, CommandError> {
        check::optional_reason(reason)?;
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let row = self.open_backfill(&tx, right.permit(), id).await?;
        self.stop_backfill(&tx, right.who(), &row, reason).await?;
        let ordered = OrderedBackfill { id };
        self.remember(&tx, right.who(), call, &ordered).await?;
        self.store.commit(tx).await?;
        self.signals.wake_backfill();
        self.signals.wake_canceller();
        Ok(ordered)
    }

    /// Cancels the backfills of a schedule that this transaction deletes. The caller wakes their
    /// service after the commit.
    pub(in crate::commands) async fn stop_backfills_of(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        schedule: Uuid,
    ) -> Result<(), CommandError> {
        for row in self.store.lock_backfills_of(tx, schedule).await? {
            self.stop_backfill(tx, who, &row, Some("the schedule was deleted")).await?;
        }
        Ok(())
    }

    async fn stop_backfill(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        row: &Model,
        reason: Option<&str>,
    ) -> Result<(), CommandError> {
        let now = self.clock.now();
        let why = reason.map(str::trim).filter(|reason| !reason.is_empty());
        let why = why.unwrap_or("the backfill was cancelled");
        self.store.cancel_pending_fires(tx, row.id, why, now.into()).await?;
        let at_work = self.store.fires_at_work(tx, row.id).await?;
        let runs: Vec<Uuid> = at_work.iter().map(|fire| fire.run_id).collect();
        self.store.cancel_if_live_and_free(tx, &runs, &who.name, why, now.into()).await?;
        let mut columns = stopped(&who.name, why, now);
        // If runs are still alive, the backfill service sets the end when the last one has ended.
        columns.finished_at = Set(at_work.is_empty().then_some(now.into()));
        self.store.update_locked_backfill(tx, row.id, columns).await?;
        self.audit_backfill(tx, who, row, "backfill.cancel", reason, State::Cancelled).await
    }

    async fn switch_backfill(
        &self,
        right: &Operator,
        id: Uuid,
        state: State,
        action: &'static str,
        columns: ActiveModel,
        call: &Call,
    ) -> Result<OrderedBackfill, CommandError> {
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let row = self.open_backfill(&tx, right.permit(), id).await?;
        if row.state != state {
            self.store.update_locked_backfill(&tx, id, columns).await?;
            self.audit_backfill(&tx, right.who(), &row, action, None, state).await?;
        }
        let ordered = OrderedBackfill { id };
        self.remember(&tx, right.who(), call, &ordered).await?;
        self.store.commit(tx).await?;
        self.signals.wake_backfill();
        Ok(ordered)
    }

    /// The backfill, locked. Fails if it may no longer be changed.
    async fn open_backfill(
        &self,
        tx: &DatabaseTransaction,
        permit: Permit<'_>,
        id: Uuid,
    ) -> Result<Model, CommandError> {
        let row = self.store.lock_backfill(tx, id).await?;
        let row = row.ok_or_else(|| CommandError::not_found("backfill", id))?;
        permit.over(row.namespace_id, "backfill", id)?;
        match row.state {
            State::Running | State::Paused => Ok(row),
            State::Cancelled | State::Completed => Err(CommandError::conflict(
                format!("backfill {id} is {} already", row.state.to_value()),
                "create a new one for what is left",
            )),
        }
    }

    async fn audit_backfill(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        row: &Model,
        action: &'static str,
        reason: Option<&str>,
        state: State,
    ) -> Result<(), CommandError> {
        let schedule = schedules::by_id(tx, row.schedule_id).await?;
        let entry = AuditEntry {
            action,
            namespace: Some(row.namespace_id),
            subject_id: Some(row.id),
            subject: schedule.as_ref().map_or("", |schedule| &schedule.name),
            reason,
            before: Some(json!({ "state": row.state.to_value() })),
            after: Some(json!({ "state": state.to_value() })),
        };
        Ok(self.audit(tx, who, entry).await?)
    }
}
