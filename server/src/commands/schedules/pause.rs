//! Pausing and resuming. Neither creates a new version of the definition, and live runs are not
//! affected.

use chrono::{DateTime, TimeDelta, Utc};
use entity::{
    Timestamp,
    fire::Verdict,
    schedule::{ActiveModel, CatchUp, Model},
};
use sea_orm::Set;
use serde_json::{Value, json};
use timetable::Warning;
use uuid::Uuid;

use super::{Saved, cursor, rows::changed_at};
use crate::{
    access::{Operator, Reader, Viewer},
    commands::{BadInput, Call, CommandError, Commands, audit::Entry},
    engine::planning::{
        accounting::{self, Account, PauseEnd, PauseProgress},
        prepared::PreparedTimetable,
    },
    model::check,
    store::{DatabaseTransaction, claims::NewFire, schedules},
};

/// What a resume needs to know about a schedule, worked out before its transaction.
#[derive(Debug)]
struct ForeseenResume {
    timetable: PreparedTimetable,
    /// Likely mistakes in the timing.
    warnings: Vec<Warning>,
}

/// The effect of resuming a schedule at an instant.
#[derive(Clone, Debug)]
pub struct ResumePreview {
    /// The instant of the resume.
    pub at: DateTime<Utc>,
    /// Whether the schedule is paused; otherwise resuming does nothing.
    pub paused: bool,
    /// The choices for missed fires, each with its effect; empty if the schedule is not paused.
    pub choices: Vec<ResumeChoice>,
}

/// The effect of resuming with one policy for missed fires.
#[derive(Clone, Debug)]
pub struct ResumeChoice {
    /// The policy for the fires that fell into the pause.
    pub missed: CatchUp,
    /// The rows that the resume would write.
    pub foreseen: ForeseenRows,
    /// The next instant of the schedule after the resume.
    pub next: Option<DateTime<Utc>>,
}

/// The rows that a resume would write.
#[derive(Clone, Debug, Default)]
pub struct ForeseenRows {
    /// The first of the rows, in order.
    pub fires: Vec<NewFire>,
    /// The number of the rows.
    pub rows: usize,
    /// How many of the rows would run.
    pub runs: usize,
    /// How many instants would not run.
    pub others: i64,
}

/// Maximum number of rows kept for one choice. They are shown page by page, and all rows are
/// counted.
pub const MAX_FORESEEN: usize = 10_000;

impl Commands {
    /// Stops a schedule from firing, until an instant or until it is resumed. Its cursor stays
    /// where it is; the end of the pause accounts for the instants during the pause.
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
            ..ActiveModel::default()
        };
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        // Checked only here, because a repeated call must get its answer even if `until` has
        // passed.
        if let Some(until) = until.filter(|until| *until <= now) {
            let help = "give an instant in the future, or leave it out to pause for good";
            return Err(BadInput::new("until", until.to_rfc3339(), "is past", help).into());
        }
        let row = self.permitted(&tx, right.permit(), id).await?;
        // Pausing a paused schedule changes the reason and the end of the pause, but not its
        // beginning.
        let is_over = row.paused_until.is_some_and(|until| until.utc() <= now);
        let columns = ActiveModel { updated_at: Set(changed_at(&row, now)), ..columns };
        let columns = match row.paused_at {
            Some(since) if !row.enabled && !is_over => {
                ActiveModel { paused_at: Set(Some(since)), ..columns }
            }
            _ => columns,
        };
        let after = json!({ "paused": true, "until": until });
        schedules::update_if_version(&tx, self.store.dialect(), id, row.version, columns).await?;
        self.audit_switch(&tx, right.who(), &row, "schedule.pause", Some(reason), after).await?;
        let saved = Saved { id, row: None, warnings: vec![], unset: vec![] };
        self.remember(&tx, right.who(), call, &saved).await?;
        self.store.commit_after_handoffs(tx).await?;
        self.signals.wake_planner();
        Ok(saved)
    }

    /// Lets a schedule fire again, and accounts for the instants in the pause according to
    /// `missed`. If there are many, this takes several transactions, and the schedule stays paused
    /// until the last of them.
    pub async fn resume(
        &self,
        right: &Operator,
        id: Uuid,
        missed: CatchUp,
        call: &Call,
    ) -> Result<Saved, CommandError> {
        let now = self.clock.now();
        let foresee = move |timetable: PreparedTimetable| {
            let warnings = cursor::warnings(timetable.timetable(), now);
            ForeseenResume { timetable, warnings }
        };
        let foreseen = self.prepare_timetable(right.permit(), id, foresee).await?;
        loop {
            let tx = self.store.begin().await?;
            if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
                return Ok(earlier);
            }
            let row = self.permitted(&tx, right.permit(), id).await?;
            let saved = self.resume_in(&tx, right.who(), &row, missed, foreseen.as_ref());
            let Some(saved) = saved.await? else {
                self.store.commit(tx).await?;
                continue;
            };
            self.remember(&tx, right.who(), call, &saved).await?;
            self.store.commit(tx).await?;
            self.signals.wake_planner();
            return Ok(saved);
        }
    }

    /// Resumes in one transaction; `None` if more instants must be accounted for first.
    async fn resume_in(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        row: &Model,
        missed: CatchUp,
        foreseen: Option<&ForeseenResume>,
    ) -> Result<Option<Saved>, CommandError> {
        let now = self.clock.now();
        let warnings = match foreseen {
            Some(foreseen) => foreseen.warnings.clone(),
            None => cursor::warnings(&self.timetable_of(tx, row).await?, now),
        };
        let saved = Saved { id: row.id, row: None, warnings, unset: vec![] };
        if row.enabled {
            return Ok(Some(saved));
        }
        self.has_right_zones(tx).await?;
        let (Self { store, cache, .. }, word) = (self, engine_word(missed));
        let timetable = foreseen.map(|foreseen| &foreseen.timetable);
        let resumed = accounting::resume(store, cache, tx, row.id, timetable, word, now);
        let PauseProgress { is_done, .. } = resumed.await?;
        if !is_done {
            return Ok(None);
        }
        let after = json!({ "paused": false, "missed": missed });
        self.audit_switch(tx, who, row, "schedule.resume", None, after).await?;
        Ok(Some(saved))
    }

    /// The effect of resuming a schedule at an instant (by default now), for each policy for missed
    /// fires. It uses the function that resumes. With `if_paused`, a schedule that is not paused is
    /// treated as if it were paused from now on.
    pub async fn resume_preview(
        &self,
        right: &Reader,
        id: Uuid,
        at: Option<DateTime<Utc>>,
        if_paused: bool,
    ) -> Result<ResumePreview, CommandError> {
        let (now, connection) = (self.clock.now(), self.store.read());
        let row = self.readable(right, id).await?;
        let asked = at;
        let at = at.unwrap_or(now);
        if row.enabled && (!if_paused || row.next_scheduled_at.is_none()) {
            return Ok(ResumePreview { at, paused: false, choices: vec![] });
        }
        if let Some(at) = asked {
            let since = row.paused_at.filter(|_| !row.enabled).map(Timestamp::utc);
            within_reach(at, since.or(Some(now)), now)?;
        }
        let mut end = self.pause_end(&row, at).await?;
        let mut foreseen = ForeseenRows::default();
        while end.is_old() {
            foreseen.add(end.next_part(&self.store, connection, engine_word(CatchUp::Skip)).await?);
        }
        let mut choices = Vec::with_capacity(3);
        for missed in [CatchUp::Skip, CatchUp::Latest, CatchUp::All] {
            let (mut end, mut foreseen) = (end.clone(), foreseen.clone());
            while !end.is_done() {
                foreseen.add(end.next_part(&self.store, connection, engine_word(missed)).await?);
            }
            choices.push(ResumeChoice { missed, foreseen, next: end.cursor() });
        }
        Ok(ResumePreview { at, paused: !row.enabled, choices })
    }

    /// The rows for a schedule's pause so far, as the automatic end of the pause would write them,
    /// at most the first [`MAX_FORESEEN`]. It uses the function that resumes.
    pub async fn paused_fires(
        &self,
        right: &Reader,
        id: Uuid,
    ) -> Result<Vec<NewFire>, CommandError> {
        let row = self.readable(right, id).await?;
        if row.enabled {
            return Ok(vec![]);
        }
        let mut end = self.pause_end(&row, self.clock.now()).await?;
        let (connection, mut fires) = (self.store.read(), Vec::new());
        while !end.is_done() && fires.len() < MAX_FORESEEN {
            let skip = engine_word(CatchUp::Skip);
            fires.extend(end.next_part(&self.store, connection, skip).await?.fires);
        }
        fires.truncate(MAX_FORESEEN);
        Ok(fires)
    }

    async fn readable(&self, right: &Reader, id: Uuid) -> Result<Model, CommandError> {
        let row = schedules::by_id(self.store.read(), id).await?;
        let row = row.filter(|row| row.deleted_at.is_none());
        let row = row.ok_or_else(|| CommandError::not_found("schedule", id))?;
        right.permit().over(row.namespace_id, "schedule", id)?;
        Ok(row)
    }

    async fn pause_end(&self, row: &Model, at: DateTime<Utc>) -> Result<PauseEnd, CommandError> {
        let connection = self.store.read();
        let schedule = self.store.schedule_with_cursor(connection, row.id).await?;
        let schedule = schedule.ok_or_else(|| CommandError::not_found("schedule", row.id))?;
        let timetable = self.timetable_of(connection, row).await?;
        Ok(PauseEnd::new(schedule, timetable, at))
    }

    async fn audit_switch(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        row: &Model,
        action: &'static str,
        reason: Option<&str>,
        after: Value,
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

/// How far ahead a resume can be previewed.
const AHEAD: TimeDelta = TimeDelta::days(366);

/// Refuses an instant before the pause began, and one that is years ahead, because too much will
/// have changed by then.
fn within_reach(
    at: DateTime<Utc>,
    since: Option<DateTime<Utc>>,
    now: DateTime<Utc>,
) -> Result<(), BadInput> {
    let bad = |problem: &str, help: &str| Err(BadInput::new("at", at.to_rfc3339(), problem, help));
    if since.is_some_and(|since| at < since) {
        return bad("is before the schedule was paused", "give a later instant, or leave it out");
    }
    if at > now + AHEAD {
        return bad("is more than a year ahead", "give an earlier instant");
    }
    Ok(())
}

impl ForeseenRows {
    fn add(&mut self, Account { fires, .. }: Account) {
        let (runs, others): (Vec<_>, Vec<_>) =
            fires.iter().partition(|fire| fire.verdict == Verdict::Pending);
        self.rows += fires.len();
        self.runs += runs.len();
        self.others += others.iter().map(|fire| fire.count).sum::<i64>();
        let left = MAX_FORESEEN.saturating_sub(self.fires.len());
        self.fires.extend(fires.into_iter().take(left));
    }
}

fn engine_word(missed: CatchUp) -> timetable::misfire::CatchUp {
    match missed {
        CatchUp::Skip => timetable::misfire::CatchUp::Skip,
        CatchUp::Latest => timetable::misfire::CatchUp::Latest,
        CatchUp::All => timetable::misfire::CatchUp::All,
    }
}
