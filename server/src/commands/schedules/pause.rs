//! Pausing and resuming. Neither creates a new version of the definition, and live runs are not
//! affected.

use chrono::{DateTime, Utc};
use entity::schedule::{ActiveModel, CatchUp, Model};
use sea_orm::{ActiveEnum, Set};
use serde_json::{Value, json};
use timetable::Warning;
use uuid::Uuid;

use super::{SavedSchedule, cursor, rows::changed_at};
use crate::{
    access::{Operator, Viewer},
    commands::{BadInput, Call, CommandError, Commands, audit::AuditEntry},
    engine::planning::{
        accounting::{self, PauseProgress},
        prepared::PreparedTimetable,
    },
    model::check,
    store::{DatabaseTransaction, schedules},
};

/// The automatic end of a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AutomaticEnd {
    /// When the schedule resumes.
    pub at: DateTime<Utc>,
    /// The policy for the fires that fall into the pause.
    pub missed: CatchUp,
}

impl AutomaticEnd {
    /// The end of a pause until an instant; `None` for a pause that lasts until someone resumes the
    /// schedule. None of the fires runs unless `missed` says otherwise.
    ///
    /// # Errors
    ///
    /// `missed` is given for a pause without an end: the resume by hand decides.
    pub fn new(
        until: Option<DateTime<Utc>>,
        missed: Option<CatchUp>,
    ) -> Result<Option<Self>, BadInput> {
        match (until, missed) {
            (Some(at), _) => Ok(Some(Self { at, missed: missed.unwrap_or(CatchUp::Skip) })),
            (None, None) => Ok(None),
            (None, Some(missed)) => {
                let problem = "is given for a pause without an end";
                let help = "give 'until' as well, or leave it out: the resume by hand decides";
                Err(BadInput::new("missed", missed.to_value().to_uppercase(), problem, help))
            }
        }
    }

    /// Refuses an end that is not in the future.
    pub(in crate::commands) fn check(self, now: DateTime<Utc>) -> Result<(), BadInput> {
        let help = "give an instant in the future, or leave it out to pause for good";
        not_past(self.at, now, help)
    }
}

/// What a resume needs to know about a schedule, worked out before its transaction.
#[derive(Debug)]
struct ForeseenResume {
    timetable: PreparedTimetable,
    /// Likely mistakes in the timing.
    warnings: Vec<Warning>,
}

impl Commands {
    /// Stops a schedule from firing, until an instant or until it is resumed. Its cursor stays
    /// where it is; the end of the pause accounts for the instants during the pause.
    pub async fn pause(
        &self,
        right: &Operator,
        id: Uuid,
        reason: &str,
        end: Option<AutomaticEnd>,
        call: &Call,
    ) -> Result<SavedSchedule, CommandError> {
        check::reason("reason", reason)?;
        let until = end.map(|end| end.at);
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        // Checked only here, because a repeated call must get its answer even if `until` has
        // passed.
        if let Some(end) = end {
            end.check(self.clock.now())?;
        }
        let row = self.permitted(&tx, right.permit(), id).await?;
        // A claim may have held the lock until now: what it fired came before the pause.
        let now = self.clock.now();
        let columns = ActiveModel {
            enabled: Set(false),
            paused_reason: Set(Some(reason.trim().to_owned())),
            paused_by: Set(Some(right.who().name.clone())),
            paused_at: Set(Some(now.into())),
            paused_until: Set(until.map(Into::into)),
            paused_missed: Set(end.map(|end| end.missed)),
            paused_window_id: Set(None),
            ..ActiveModel::default()
        };
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
        let mut after = json!({ "paused": true, "until": until });
        if let Some(end) = end {
            after["missed"] = json!(end.missed);
        }
        schedules::update_if_version(&tx, self.store.dialect(), id, row.version, columns).await?;
        self.audit_switch(&tx, right.who(), &row, "schedule.pause", Some(reason), after).await?;
        let saved = SavedSchedule { id, row: None, warnings: vec![], unset: vec![] };
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
    ) -> Result<SavedSchedule, CommandError> {
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
                self.release_key(&tx, right.who(), call).await?;
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
    ) -> Result<Option<SavedSchedule>, CommandError> {
        let now = self.clock.now();
        let warnings = match foreseen {
            Some(foreseen) => foreseen.warnings.clone(),
            None => cursor::warnings(&self.timetable_of(tx, row).await?, now),
        };
        let saved = SavedSchedule { id: row.id, row: None, warnings, unset: vec![] };
        if row.enabled {
            return Ok(Some(saved));
        }
        self.has_right_zones(tx).await?;
        let (Self { store, cache, .. }, word) = (self, engine_word(missed));
        let timetable = foreseen.map(|foreseen| &foreseen.timetable);
        let resumed = accounting::resume(store, cache, tx, row.id, timetable, Some(word), now);
        let PauseProgress { is_done, .. } = resumed.await?;
        if !is_done {
            return Ok(None);
        }
        let after = json!({ "paused": false, "missed": missed });
        self.audit_switch(tx, who, row, "schedule.resume", None, after).await?;
        Ok(Some(saved))
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
        let entry = AuditEntry {
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

/// Refuses an end of a pause that is not in the future.
pub(super) fn not_past(
    until: DateTime<Utc>,
    now: DateTime<Utc>,
    help: &str,
) -> Result<(), BadInput> {
    if until > now {
        return Ok(());
    }
    Err(BadInput::new("until", until.to_rfc3339(), "is past", help))
}

pub(super) fn engine_word(missed: CatchUp) -> timetable::misfire::CatchUp {
    match missed {
        CatchUp::Skip => timetable::misfire::CatchUp::Skip,
        CatchUp::Latest => timetable::misfire::CatchUp::Latest,
        CatchUp::All => timetable::misfire::CatchUp::All,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_pause_with_an_end_says_what_becomes_of_its_fires() {
        let at = DateTime::UNIX_EPOCH;
        let end = |missed| Ok(Some(AutomaticEnd { at, missed }));
        assert_eq!(AutomaticEnd::new(Some(at), None), end(CatchUp::Skip));
        assert_eq!(AutomaticEnd::new(Some(at), Some(CatchUp::All)), end(CatchUp::All));
        assert_eq!(AutomaticEnd::new(None, None), Ok(None));
        let refused = AutomaticEnd::new(None, Some(CatchUp::Skip)).unwrap_err();
        assert_eq!((refused.field.as_str(), refused.value.as_str()), ("missed", "SKIP"));
    }
}
