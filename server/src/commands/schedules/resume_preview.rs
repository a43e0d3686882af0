//! Previews of the end of a pause, by hand or automatic. They use the function that ends pauses.

use chrono::{DateTime, TimeDelta, Utc};
use entity::{
    Timestamp,
    fire::Verdict,
    schedule::{CatchUp, Model},
};
use timetable::Timetable;
use uuid::Uuid;

use super::pause::{engine_word, not_past};
use crate::{
    access::Reader,
    commands::{BadInput, CommandError, Commands},
    engine::planning::accounting::{self, Account, PauseEnd},
    store::{
        claims::{DueSchedule, NewFire},
        schedules,
    },
};

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
        let now = self.clock.now();
        let row = self.readable(right, id).await?;
        let asked = at;
        let at = at.unwrap_or(now);
        if row.enabled && (!if_paused || row.next_scheduled_at.is_none()) {
            return Ok(ResumePreview { at, paused: false, choices: vec![] });
        }
        if let Some(at) = asked {
            let since = row.paused_at.filter(|_| !row.enabled).map(Timestamp::utc);
            within_reach("at", at, since.or(Some(now)), now)?;
        }
        let (schedule, timetable) = self.with_timetable(&row).await?;
        self.effects(&row, PauseEnd::new(schedule, timetable, at), at).await
    }

    /// The effect of the automatic end of a pause until an instant, for each policy for missed
    /// fires. It uses the function that ends pauses. A schedule that is not paused is treated as if
    /// it were paused from now on.
    pub async fn pause_end_preview(
        &self,
        right: &Reader,
        id: Uuid,
        until: DateTime<Utc>,
    ) -> Result<ResumePreview, CommandError> {
        let now = self.clock.now();
        let row = self.readable(right, id).await?;
        not_past(until, now, "give an instant in the future")?;
        within_reach("until", until, None, now)?;
        if row.enabled && row.next_scheduled_at.is_none() {
            return Ok(ResumePreview { at: until, paused: false, choices: vec![] });
        }
        let (schedule, timetable) = self.with_timetable(&row).await?;
        let schedule = DueSchedule { paused_until: Some(until.into()), ..schedule };
        self.effects(&row, PauseEnd::new(schedule, timetable, until), until).await
    }

    /// The effect of each policy for missed fires at the end of a pause.
    async fn effects(
        &self,
        row: &Model,
        mut end: PauseEnd,
        at: DateTime<Utc>,
    ) -> Result<ResumePreview, CommandError> {
        let connection = self.store.read();
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

    /// The rows for a schedule's pause so far, as the automatic end of the pause will write them,
    /// at most the first [`MAX_FORESEEN`]. It uses the function that resumes. Fires that are still
    /// to come decide as well: if only the latest one runs, those before it do not.
    pub async fn paused_fires(
        &self,
        right: &Reader,
        id: Uuid,
    ) -> Result<Vec<NewFire>, CommandError> {
        let row = self.readable(right, id).await?;
        if row.enabled {
            return Ok(vec![]);
        }
        let now = self.clock.now();
        let (schedule, timetable) = self.with_timetable(&row).await?;
        let policy = accounting::automatic_policy(schedule.paused_missed);
        // If none of the fires runs, those that are still to come change nothing.
        let is_open = policy != engine_word(CatchUp::Skip);
        let until = schedule.paused_until.filter(|_| is_open).map(Timestamp::utc);
        // Nothing that has happened so far is within the catch-up window of a later end.
        let at = until.map_or(now, |until| until.clamp(now, now + AHEAD));
        let mut end = PauseEnd::new(schedule, timetable.clone(), at);
        let (connection, mut fires) = (self.store.read(), Vec::new());
        let has_begun = |end: &PauseEnd| end.cursor().is_some_and(|next| next <= now);
        while !end.is_done() && has_begun(&end) && fires.len() < MAX_FORESEEN {
            fires.extend(end.next_part(&self.store, connection, policy).await?.fires);
        }
        keep_past(&timetable, &mut fires, now);
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

    /// The schedule as the engine reads it, and its timetable.
    async fn with_timetable(&self, row: &Model) -> Result<(DueSchedule, Timetable), CommandError> {
        let connection = self.store.read();
        let schedule = self.store.schedule_with_cursor(connection, row.id).await?;
        let schedule = schedule.ok_or_else(|| CommandError::not_found("schedule", row.id))?;
        Ok((schedule, self.timetable_of(connection, row).await?))
    }
}

/// How far ahead a resume can be previewed.
const AHEAD: TimeDelta = TimeDelta::days(366);

/// Refuses an instant before the pause began, and one that is years ahead, because too much will
/// have changed by then.
fn within_reach(
    field: &str,
    at: DateTime<Utc>,
    since: Option<DateTime<Utc>>,
    now: DateTime<Utc>,
) -> Result<(), BadInput> {
    let bad = |problem: &str, help: &str| Err(BadInput::new(field, at.to_rfc3339(), problem, help));
    if since.is_some_and(|since| at < since) {
        return bad("is before the schedule was paused", "give a later instant, or leave it out");
    }
    if at > now + AHEAD {
        return bad("is more than a year ahead", "give an earlier instant");
    }
    Ok(())
}

/// Leaves out instants after `now`, also of the last row if it stands for several.
fn keep_past(timetable: &Timetable, fires: &mut Vec<NewFire>, now: DateTime<Utc>) {
    fires.retain(|fire| fire.scheduled_at.utc() <= now);
    let Some(last) = fires.last_mut().filter(|last| last.last_scheduled_at.utc() > now) else {
        return;
    };
    let before = last.scheduled_at.utc() - TimeDelta::milliseconds(1);
    last.count = i64::try_from(timetable.count(before, now)).unwrap_or(i64::MAX);
    let end = timetable.last(now, before);
    last.last_scheduled_at = end.map_or(last.scheduled_at, |fire| fire.at.into());
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
