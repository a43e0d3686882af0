//! Skips the next fires: the decision is recorded before they are due, with the person and the
//! reason.

use chrono::{DateTime, Utc};
use entity::{
    Timestamp,
    fire::{Reason, Verdict},
    schedule::Model,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use timetable::misfire::{self, Entry, Fate};
use uuid::Uuid;

use crate::{
    access::Operator,
    commands::{BadInput, Call, CommandError, Commands, audit},
    engine::planning::{accounting, prepared},
    model::check,
    store::claims::{CursorAdvance, DueSchedule, NewFire},
};

/// The skipped fires.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RequestedSkips {
    /// The schedule.
    pub id: Uuid,
    /// The instants that will not run, in order, without those that a calendar suppresses anyway.
    pub instants: Vec<DateTime<Utc>>,
}

impl Commands {
    /// Skips the next `count` fires of a schedule from its cursor on, or all of them if fewer are
    /// left. Fires in between that calendars suppress are recorded as suppressed.
    pub async fn skip_next(
        &self,
        right: &Operator,
        id: Uuid,
        count: i64,
        reason: &str,
        call: &Call,
    ) -> Result<RequestedSkips, CommandError> {
        check_order(count, reason)?;
        let (who, now) = (right.who(), self.clock.now());
        let prepared = self.prepare_timetable(right.permit(), id, |timetable| timetable).await?;
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, who, call).await? {
            return Ok(earlier);
        }
        self.has_right_zones(&tx).await?;
        let row = self.permitted(&tx, right.permit(), id).await?;
        check_row(&row)?;
        let found = self.store.schedule_with_cursor(&tx, id).await?;
        let schedule = found.ok_or_else(|| CommandError::not_found("schedule", id))?;
        let built = prepared::timetable(&self.cache, &tx, &schedule, prepared.as_ref()).await?;
        let timetable = match built {
            Ok(timetable) => timetable,
            // Names the field that cannot be read.
            Err(_) => self.timetable_of(&tx, &row).await?,
        };
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let entries = match row.next_scheduled_at {
            Some(cursor) => misfire::upcoming(&timetable, cursor.utc(), count),
            None => vec![],
        };
        let instants: Vec<DateTime<Utc>> = entries
            .iter()
            .filter(|entry| entry.fate == Fate::Run)
            .map(|entry| entry.fire.at)
            .collect();
        let Some(last) = instants.last().copied() else {
            return Err(no_fire_left(&row));
        };
        let next = timetable.next(last);
        let asked = format!("{}: {}", who.name, reason.trim());
        let fires = skipped_fires(&schedule, entries, &asked, now);
        self.store.insert_fires_if_absent(&tx, &fires, now.into()).await?;
        let advance = CursorAdvance {
            schedule_id: id,
            next_scheduled_at: next.map(|fire| fire.at.into()),
            next_fire_at: next.map(|fire| timetable.due_at(fire.at).into()),
            last_fire_at: Some(Timestamp::from(last)),
            fires: 0,
        };
        self.store.advance_cursors(&tx, &[advance]).await?;
        let entry = audit::AuditEntry {
            action: "schedule.skip_next",
            namespace: Some(row.namespace_id),
            subject_id: Some(id),
            subject: &row.name,
            reason: Some(reason),
            before: None,
            after: Some(json!({ "count": instants.len(), "from": instants.first(), "to": last })),
        };
        self.audit(&tx, who, entry).await?;
        let skipped = RequestedSkips { id, instants };
        self.remember(&tx, who, call, &skipped).await?;
        self.store.commit(tx).await?;
        self.signals.wake_planner();
        Ok(skipped)
    }
}

/// The rows of the skipped instants; `asked` is the request. Those that a calendar suppresses are
/// not skipped by it.
fn skipped_fires(
    schedule: &DueSchedule,
    entries: Vec<Entry>,
    asked: &str,
    now: DateTime<Utc>,
) -> Vec<NewFire> {
    let fire = |entry: Entry| {
        let skipped =
            |entry, reason| accounting::new_fire(schedule, entry, Verdict::Skipped, reason, now);
        if entry.fate == Fate::Suppressed {
            return skipped(entry, Reason::Calendar);
        }
        let fire = skipped(entry, Reason::ByRequest);
        NewFire { detail: Some(asked.to_owned()), ..fire }
    };
    entries.into_iter().map(fire).collect()
}

/// Refuses a schedule whose row shows that there is nothing to skip. Whether calendars suppress all
/// of its fires, only its timetable shows.
pub(in crate::commands) fn check_row(row: &Model) -> Result<(), CommandError> {
    if !row.enabled {
        let help = "a paused schedule fires nothing: resume it first";
        return Err(CommandError::conflict(format!("{:?} is paused", row.name), help));
    }
    if row.next_scheduled_at.is_none() {
        return Err(no_fire_left(row));
    }
    Ok(())
}

fn no_fire_left(row: &Model) -> CommandError {
    let help = "there is nothing to skip";
    CommandError::conflict(format!("{:?} has no fire left", row.name), help)
}

/// Checks the parts of a request that do not depend on the schedule.
pub(in crate::commands) fn check_order(count: i64, reason: &str) -> Result<(), BadInput> {
    check::number("count", count, 1..=100, "fires")?;
    check::reason("reason", reason)
}
