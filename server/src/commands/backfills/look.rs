use std::ops::Range;

use chrono::{DateTime, TimeDelta, Utc};
use entity::{Timestamp, backfill::Mode, schedule};
use timetable::Fire;
use uuid::Uuid;

use crate::{
    access::{Permit, Reader},
    commands::{BadInput, CommandError, Commands},
    engine::planning::backfill::{InstantState, MAX, Window, selects, survey},
    store::{namespaces, schedules},
};

/// The fires of a schedule that a caller requests.
#[derive(Clone, Copy, Debug)]
pub struct RequestedFires {
    /// The schedule.
    pub schedule_id: Uuid,
    /// Beginning of the window, inclusive.
    pub from: DateTime<Utc>,
    /// The end of the window, exclusive; not in the future.
    pub to: DateTime<Utc>,
    /// Which of the window's fires.
    pub mode: Mode,
}

/// The fires of a window, with their states.
#[derive(Clone, Debug)]
pub struct FiresPreview {
    /// The current row of the schedule.
    pub schedule: schedule::Model,
    /// The fires, in the order of their instants.
    pub fires: Vec<PreviewedFire>,
}

/// A fire of a window.
#[derive(Clone, Copy, Debug)]
pub struct PreviewedFire {
    /// The instant of the fire.
    pub fire: Fire,
    /// The state of the instant.
    pub standing: InstantState,
    /// The ledger row that accounts for the instant.
    pub fire_id: Option<Uuid>,
    /// Whether a backfill would run it.
    pub selected: bool,
}

impl Commands {
    /// Previews a backfill: the exact fires of the window.
    pub async fn preview_backfill(
        &self,
        right: &Reader,
        wanted: RequestedFires,
    ) -> Result<FiresPreview, CommandError> {
        let window = self.backfill_window(wanted)?;
        self.look_at_window(right.permit(), wanted, window).await
    }

    pub(super) fn backfill_window(&self, wanted: RequestedFires) -> Result<Window, BadInput> {
        let RequestedFires { from, to, .. } = wanted;
        let now = self.clock.now();
        if from < DateTime::UNIX_EPOCH {
            let help = "give an instant from 1970-01-01T00:00:00Z on";
            return Err(BadInput::new("from", from.to_rfc3339(), "is before 1970", help));
        }
        if to > now {
            let problem = format!("is in the future: it is {} now", now.to_rfc3339());
            let help = "a backfill is for the past: end it now or earlier";
            return Err(BadInput::new("to", to.to_rfc3339(), problem, help));
        }
        if from >= to {
            let problem = format!("is not before the end, {}", to.to_rfc3339());
            let help = "'from' is inclusive and 'to' exclusive: move one of them";
            return Err(BadInput::new("from", from.to_rfc3339(), problem, help));
        }
        Ok(Window::new(from, to))
    }

    pub(super) async fn look_at_window(
        &self,
        permit: Permit<'_>,
        wanted: RequestedFires,
        window: Window,
    ) -> Result<FiresPreview, CommandError> {
        let id = wanted.schedule_id;
        let schedule = schedules::by_id(self.store.read(), id)
            .await?
            .filter(|schedule| schedule.deleted_at.is_none())
            .ok_or_else(|| CommandError::not_found("schedule", id))?;
        permit.over(schedule.namespace_id, "schedule", id)?;
        // The schedule's own fires follow the calendars that were in force at the time. A backfill
        // follows the current calendars, so that a wrong calendar can be corrected first.
        let by_itself = self.timetable_of(self.store.read(), &schedule).await?;
        let timetable = self.timetable_as_of_now(self.store.read(), &schedule).await?;
        let fires = window.fires(&timetable).map_err(|many| {
            let problem = format!("the window contains {} fires; the limit is {MAX}", many.count);
            let help = format!("end it at {}, or create several backfills", many.end.to_rfc3339());
            BadInput::new("to", wanted.to.to_rfc3339(), problem, help)
        })?;
        let instants: Vec<Timestamp> = fires.iter().map(|fire| fire.at.into()).collect();
        let read = self.store.read();
        let facts = survey(&self.store, read, &self.cache, &schedule, &instants).await?;
        let forgotten = self.forgotten(&schedule).await?;
        let looked = |fire: Fire| {
            let mut facts = facts.get(&Timestamp::from(fire.at)).cloned().unwrap_or_default();
            let is_suppressed = timetable.suppressed_by(fire.at).is_some();
            // The schedule does not fire at an instant that its own calendars suppress.
            facts.is_to_come &= by_itself.suppressed_by(fire.at).is_none();
            let is_forgotten = facts.fire_id().is_none() && forgotten.contains(&fire.at);
            let standing = match facts.standing() {
                InstantState::Missing if is_suppressed => InstantState::Suppressed,
                InstantState::Missing if is_forgotten => InstantState::Forgotten,
                standing @ (InstantState::Missing
                | InstantState::Failed
                | InstantState::Succeeded
                | InstantState::Live
                | InstantState::Suppressed
                | InstantState::Forgotten) => standing,
            };
            let selected = selects(wanted.mode, standing);
            PreviewedFire { fire, standing, fire_id: facts.fire_id(), selected }
        };
        Ok(FiresPreview { fires: fires.into_iter().map(looked).collect(), schedule })
    }

    /// The part of the schedule's life whose history has been removed: from its creation up to its
    /// retention before now.
    async fn forgotten(
        &self,
        schedule: &schedule::Model,
    ) -> Result<Range<DateTime<Utc>>, CommandError> {
        let namespaces = namespaces::by_ids(self.store.read(), &[schedule.namespace_id]).await?;
        let of_namespace = namespaces.first().and_then(|namespace| namespace.retention_days);
        let days = schedule.retention_days.or(of_namespace).unwrap_or(self.retention.days);
        let kept = self.clock.now() - TimeDelta::days(days.into());
        Ok(schedule.created_at.utc()..kept)
    }
}
