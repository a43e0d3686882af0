//! Pausing and resuming: the operator's switch. It makes no new version of the definition, and
//! leaves the runs in flight alone.

use chrono::{DateTime, Utc};
use entity::schedule::{ActiveModel, CatchUp, Model};
use sea_orm::Set;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    BadInput, Call, CommandError, Commands, Operator, Reader, Viewer, audit::Entry, check, cursor,
    schedules::Saved,
};
use crate::{
    engine::accounting,
    store::{DatabaseTransaction, claims::NewFire, schedules},
};

/// What resuming a schedule would do at an instant.
#[derive(Clone, Debug)]
pub struct ResumePreview {
    /// The instant.
    pub at: DateTime<Utc>,
    /// Whether it is paused; otherwise resuming does nothing.
    pub paused: bool,
    /// For each way to resume. None for a schedule that is not paused.
    pub choices: Vec<ResumeChoice>,
}

/// What one way to resume would do.
#[derive(Clone, Debug)]
pub struct ResumeChoice {
    /// What becomes of the fires that fell into the pause.
    pub missed: CatchUp,
    /// The rows that it would write, in order.
    pub fires: Vec<NewFire>,
    /// The next instant behind them.
    pub next: Option<DateTime<Utc>>,
}

impl Commands {
    /// Stops a schedule from firing, until an instant or until somebody resumes it. Its cursor
    /// stays: what falls into the pause is accounted for when it ends.
    pub async fn pause(
        &self,
        right: &Operator,
        id: Uuid,
        reason: &str,
        until: Option<DateTime<Utc>>,
        call: &Call,
    ) -> Result<Saved, CommandError> {
        check::reason("reason", reason)?;
        let now = self.clock.now();
        let columns = ActiveModel {
            enabled: Set(false),
            paused_reason: Set(Some(reason.trim().to_owned())),
            paused_by: Set(Some(right.who().name.clone())),
            paused_at: Set(Some(now.into())),
            paused_until: Set(until.map(Into::into)),
            updated_at: Set(now.into()),
            ..ActiveModel::default()
        };
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        // Only now: a call that is repeated is answered, whatever time it is.
        if let Some(until) = until.filter(|until| *until <= now) {
            let help = "give an instant in the future, or leave it out to pause for good";
            return Err(BadInput::new("until", until.to_rfc3339(), "is past", help).into());
        }
        let row = self.locked(&tx, id).await?;
        // Pausing what is paused changes reason and end, and keeps since when.
        let columns = match row.paused_at {
            Some(since) if !row.enabled => ActiveModel { paused_at: Set(Some(since)), ..columns },
            _ => columns,
        };
        let after = json!({ "paused": true, "until": until });
        schedules::update_if_version(&tx, self.store.dialect(), id, row.version, columns).await?;
        let what = ("schedule.pause", Some(reason), after);
        self.audit_switch(&tx, right.who(), &row, what).await?;
        let saved = Saved { id, warnings: vec![] };
        self.remember(&tx, right.who(), call, &saved).await?;
        self.store.commit_after_handoffs(tx).await?;
        self.signals.wake_planner();
        Ok(saved)
    }

    /// Lets a schedule fire again. What fell into the pause is accounted for, by `missed`.
    pub async fn resume(
        &self,
        right: &Operator,
        id: Uuid,
        missed: CatchUp,
        call: &Call,
    ) -> Result<Saved, CommandError> {
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let row = self.locked(&tx, id).await?;
        let saved = self.resume_in(&tx, right.who(), &row, missed).await?;
        self.remember(&tx, right.who(), call, &saved).await?;
        self.store.commit(tx).await?;
        self.signals.wake_planner();
        Ok(saved)
    }

    async fn resume_in(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        row: &Model,
        missed: CatchUp,
    ) -> Result<Saved, CommandError> {
        let now = self.clock.now();
        let timetable = self.timetable_of(tx, row).await?;
        let saved = Saved { id: row.id, warnings: cursor::warnings(&timetable, now) };
        if row.enabled {
            return Ok(saved);
        }
        accounting::resume(&self.store, &self.cache, tx, row.id, engine_word(missed), now).await?;
        let after = json!({ "paused": false, "missed": missed });
        self.audit_switch(tx, who, row, ("schedule.resume", None, after)).await?;
        Ok(saved)
    }

    /// What resuming a schedule now would do, for each way to resume: asked of the function that
    /// resumes.
    pub async fn resume_preview(
        &self,
        _right: &Reader,
        id: Uuid,
    ) -> Result<ResumePreview, CommandError> {
        let (at, connection) = (self.clock.now(), self.store.read());
        let missing = || CommandError::not_found("schedule", id);
        let row = schedules::by_id(connection, id).await?;
        let row = row.filter(|row| row.deleted_at.is_none()).ok_or_else(missing)?;
        if row.enabled {
            return Ok(ResumePreview { at, paused: false, choices: vec![] });
        }
        let schedule = self.store.schedule_with_cursor(connection, id).await?;
        let schedule = schedule.ok_or_else(missing)?;
        let timetable = self.timetable_of(connection, &row).await?;
        let taken = accounting::taken(&self.store, connection, &schedule, at).await?;
        let mut choices = Vec::with_capacity(3);
        for missed in [CatchUp::Skip, CatchUp::Latest, CatchUp::All] {
            let account =
                accounting::resumed(&schedule, &timetable, &taken, engine_word(missed), at);
            let spent = schedule
                .max_fires
                .is_some_and(|max| max <= schedule.fire_count + account.advance.fires);
            let next = account.advance.next_scheduled_at.filter(|_| !spent);
            choices.push(ResumeChoice { missed, fires: account.fires, next: next.map(Into::into) });
        }
        Ok(ResumePreview { at, paused: true, choices })
    }

    async fn audit_switch(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        row: &Model,
        (action, reason, after): (&'static str, Option<&str>, Value),
    ) -> Result<(), CommandError> {
        let entry = Entry {
            action,
            namespace: Some(row.namespace_id),
            subject_id: Some(row.id),
            subject: &row.name,
            reason,
            before: Some(json!({ "paused": !row.enabled, "reason": row.paused_reason })),
            after: Some(after),
        };
        Ok(self.audit(tx, who, entry).await?)
    }
}

fn engine_word(missed: CatchUp) -> timetable::misfire::CatchUp {
    match missed {
        CatchUp::Skip => timetable::misfire::CatchUp::Skip,
        CatchUp::Latest => timetable::misfire::CatchUp::Latest,
        CatchUp::All => timetable::misfire::CatchUp::All,
    }
}
