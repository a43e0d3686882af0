//! Previews of outages: what each catch-up policy does about the instants of a time in which no
//! scheduler runs. They use the functions of the planner's claims.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, TimeDelta, Utc};
use entity::{
    Timestamp,
    fire::{MadeUpFor, Reason, Verdict},
    schedule::{CatchUp, Model},
};
use timetable::{Timetable, misfire::ON_TIME};
use uuid::Uuid;

use crate::{
    access::Reader,
    commands::{BadInput, CommandError, Commands},
    engine::planning::{
        planner::{OutageEnd, after_outage},
        prepared::ManyTimetableParts,
        windows::pause_text,
    },
    store::{
        claims::{DueSchedule, NewFire},
        maintenance,
    },
};

/// Maximum number of rows kept for each policy. All rows are counted.
const MAX_ROWS: usize = 200;

/// The longest outage, and how far from now it may begin.
const LONGEST: TimeDelta = TimeDelta::days(31);
const FARTHEST: TimeDelta = TimeDelta::days(366);

/// What becomes of a schedule's instants in an outage.
#[derive(Clone, Debug, Default)]
pub struct ScheduleOutage {
    /// Number of instants that are due, without those that a calendar suppresses.
    pub expected: u64,
    /// Number of instants that a calendar suppresses.
    pub suppressed: u64,
    /// Whether all instants are counted.
    pub is_complete: bool,
    /// The effect of each policy, in the requested order.
    pub effects: Vec<OutageEffect>,
}

/// What one catch-up policy does about the instants of an outage.
#[derive(Clone, Debug)]
pub struct OutageEffect {
    /// The policy.
    pub catch_up: CatchUp,
    /// Number of instants that run within two seconds of their due time.
    pub on_time: i64,
    /// Number of instants that run late.
    pub late: i64,
    /// Number of instants in whose place a later one runs.
    pub collapsed: i64,
    /// Number of instants that never run.
    pub missed: i64,
    /// Number of instants that are skipped, without those that a calendar suppresses.
    pub skipped: i64,
    /// When the last of the runs may start.
    pub last_start: Option<DateTime<Utc>>,
    /// Number of rows that the ledger gets.
    pub rows: usize,
    /// The first of these rows, in order: at most 200.
    pub fires: Vec<NewFire>,
}

impl Commands {
    /// What each of `policies` does about the instants of these schedules, all of one namespace, if
    /// no scheduler runs from `from` until `to`. A schedule whose timing cannot be used is left
    /// out. The schedules have their present definition, and the calendars those of the time.
    ///
    /// A schedule that is paused for all of a future outage loses nothing in it. A planned pause
    /// suppresses instants as a calendar does.
    pub async fn outage_preview(
        &self,
        right: &Reader,
        namespace: Uuid,
        rows: &[Model],
        from: DateTime<Utc>,
        to: DateTime<Utc>,
        policies: &[CatchUp],
    ) -> Result<HashMap<Uuid, ScheduleOutage>, CommandError> {
        let now = self.clock.now();
        check_outage(from, to, now)?;
        let mut outages = HashMap::with_capacity(rows.len());
        let mut ids = Vec::with_capacity(rows.len());
        for row in rows {
            right.permit().over(row.namespace_id, "schedule", row.id)?;
            if is_paused_for(row, from, to, now) {
                let nothing = |policy: &CatchUp| OutageEffect::of(*policy, vec![], to);
                let effects = policies.iter().map(nothing).collect();
                let paused =
                    ScheduleOutage { effects, is_complete: true, ..ScheduleOutage::default() };
                outages.insert(row.id, paused);
            } else {
                ids.push(row.id);
            }
        }
        if ids.is_empty() {
            return Ok(outages);
        }
        let read = self.store.read();
        let found = self.store.schedules_with_cursor(read, &ids).await?;
        let open = |schedule: DueSchedule| match from < now {
            true => at_the_time(schedule, from),
            false => after_pause(schedule),
        };
        let schedules: Vec<DueSchedule> = found.into_iter().map(open).collect();
        let parts = ManyTimetableParts::read(read, schedules.clone()).await?;
        let pauses = self.planned_pauses(rows).await?;
        let (cache, policies) = (self.cache.clone(), policies.to_vec());
        let work = move || {
            let built = parts.build(&cache);
            let of = |schedule: DueSchedule| {
                let (id, plain) = (schedule.id, built.get(&schedule.id)?.timetable());
                let paused = pauses.get(&id).map(|pause| pause.taken_from(plain));
                let timetable = paused.as_ref().unwrap_or(plain);
                Some((id, ScheduleOutage::of(schedule, timetable, from, to, &policies)))
            };
            schedules.into_iter().filter_map(of).collect::<Vec<_>>()
        };
        outages.extend(self.compute(namespace, work).await?);
        Ok(outages)
    }

    /// The pauses that are planned for these schedules, by their keys.
    async fn planned_pauses(
        &self,
        rows: &[Model],
    ) -> Result<HashMap<Uuid, PlannedPause>, CommandError> {
        let named: HashSet<Uuid> = rows.iter().filter_map(|row| row.pause_window_id).collect();
        if named.is_empty() {
            return Ok(HashMap::new());
        }
        let named: Vec<Uuid> = named.into_iter().collect();
        let windows = maintenance::by_ids(self.store.read(), &named).await?;
        let pause = |row: &Model| {
            let window = windows.iter().find(|window| Some(window.id) == row.pause_window_id)?;
            let (reason, until) = (pause_text(window).reason, window.ends_at.utc());
            Some((row.id, PlannedPause { reason, from: row.pause_from?.utc(), until }))
        };
        Ok(rows.iter().filter_map(pause).collect())
    }
}

/// The pause that a maintenance window plans for a schedule.
struct PlannedPause {
    reason: String,
    from: DateTime<Utc>,
    until: DateTime<Utc>,
}

impl PlannedPause {
    fn taken_from(&self, timetable: &Timetable) -> Timetable {
        timetable.without(&self.reason, self.from, self.until)
    }
}

/// Whether a schedule is paused for all of an outage that is still to come.
pub(crate) fn is_paused_for(
    row: &Model,
    from: DateTime<Utc>,
    to: DateTime<Utc>,
    now: DateTime<Utc>,
) -> bool {
    let is_over = |until: Timestamp| until.utc() < to;
    !row.enabled && from >= now && !row.paused_until.is_some_and(is_over)
}

/// Refuses an outage that is too long or too far from now.
fn check_outage(
    from: DateTime<Utc>,
    to: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Result<(), BadInput> {
    let bad = |field: &str, at: DateTime<Utc>, problem: &str, help: &str| {
        Err(BadInput::new(field, at.to_rfc3339(), problem, help))
    };
    if to <= from {
        return bad("to", to, "is not after 'from'", "give a later instant");
    }
    if to - from > LONGEST {
        return bad("to", to, "is more than 31 days after 'from'", "give an earlier instant");
    }
    if from > now + FARTHEST {
        return bad("from", from, "is more than a year ahead", "give an earlier instant");
    }
    if from < now - FARTHEST {
        return bad("from", from, "is more than a year ago", "give a later instant");
    }
    Ok(())
}

/// A schedule at a time in the past: it had not decided about the instants from there on. Its first
/// instant is after its creation. How many fires it had left then is unknown, so a limit of them
/// does not count.
fn at_the_time(schedule: DueSchedule, from: DateTime<Utc>) -> DueSchedule {
    let reach = Timestamp::from(from - TimeDelta::milliseconds(schedule.jitter_ms));
    let next_scheduled_at = reach.max(Timestamp(schedule.created_at.0.saturating_add(1)));
    DueSchedule { next_scheduled_at, max_fires: None, pause_from: None, ..schedule }
}

/// A schedule after its pause, if that has a set end: the outage is about the instants from there on.
/// A planned pause is not the end of the instants; the timetable is without those in it.
fn after_pause(schedule: DueSchedule) -> DueSchedule {
    let cursor = schedule.next_scheduled_at;
    let next_scheduled_at = schedule.paused_until.map_or(cursor, |until| until.max(cursor));
    DueSchedule { next_scheduled_at, pause_from: None, ..schedule }
}

/// Counts the fires of a schedule before `from`, if their number is limited.
fn with_fires_until(
    schedule: DueSchedule,
    timetable: &Timetable,
    from: DateTime<Utc>,
) -> DueSchedule {
    let moment = TimeDelta::milliseconds(1);
    let (after, until) = (schedule.next_scheduled_at.utc() - moment, from - moment);
    if schedule.max_fires.is_none() || until <= after {
        return schedule;
    }
    let fires = timetable.count_allowed(after, until);
    let fires = fires.unwrap_or_else(|| timetable.count(after, until));
    let fire_count = schedule.fire_count.saturating_add(i64::try_from(fires).unwrap_or(i64::MAX));
    DueSchedule { fire_count, ..schedule }
}

impl ScheduleOutage {
    fn of(
        schedule: DueSchedule,
        timetable: &Timetable,
        from: DateTime<Utc>,
        to: DateTime<Utc>,
        policies: &[CatchUp],
    ) -> Self {
        let mut schedule = with_fires_until(schedule, timetable, from);
        let mut outage = Self { is_complete: true, ..Self::default() };
        for catch_up in policies {
            schedule.catch_up = *catch_up;
            let OutageEnd { fires, expected, suppressed, is_complete } =
                after_outage(&schedule, timetable, from, to);
            (outage.expected, outage.suppressed) = (expected, suppressed);
            outage.is_complete &= is_complete;
            outage.effects.push(OutageEffect::of(*catch_up, fires, to));
        }
        outage
    }
}

impl OutageEffect {
    fn of(catch_up: CatchUp, mut fires: Vec<NewFire>, to: DateTime<Utc>) -> Self {
        let rows = fires.len();
        let mut effect = Self {
            catch_up,
            on_time: 0,
            late: 0,
            collapsed: 0,
            missed: 0,
            skipped: 0,
            last_start: None,
            rows,
            fires: Vec::new(),
        };
        for fire in &fires {
            effect.add(fire, to);
        }
        fires.truncate(MAX_ROWS);
        effect.fires = fires;
        effect
    }

    fn add(&mut self, fire: &NewFire, to: DateTime<Utc>) {
        let part = match fire.verdict {
            Verdict::Pending | Verdict::Started => {
                self.last_start = self.last_start.max(Some(starts_at(fire, to)));
                if is_late(fire, to) { &mut self.late } else { &mut self.on_time }
            }
            Verdict::Collapsed => &mut self.collapsed,
            Verdict::Missed | Verdict::Abandoned => &mut self.missed,
            Verdict::Skipped if fire.reason == Reason::Calendar => return,
            Verdict::Skipped => &mut self.skipped,
        };
        *part = part.saturating_add(fire.count);
    }
}

/// The earliest start of a fire that runs after an outage.
pub(crate) fn starts_at(fire: &NewFire, to: DateTime<Utc>) -> DateTime<Utc> {
    fire.due_at.utc().max(to)
}

/// Whether a fire that runs after an outage is late.
pub(crate) fn is_late(fire: &NewFire, to: DateTime<Utc>) -> bool {
    fire.made_up_for == Some(MadeUpFor::Outage) || to - fire.due_at.utc() > ON_TIME
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    #[test]
    fn an_outage_is_bounded() {
        let now = at("2026-03-01T12:00:00Z");
        let field =
            |from: &str, to: &str| check_outage(at(from), at(to), now).map_err(|error| error.field);
        assert_eq!(field("2026-03-01T01:00:00Z", "2026-03-01T03:30:00Z"), Ok(()));
        assert_eq!(field("2026-03-01T00:00:00Z", "2026-04-01T00:00:00Z"), Ok(()));
        for (from, to, bad) in [
            ("2026-03-01T01:00:00Z", "2026-03-01T01:00:00Z", "to"),
            ("2026-03-01T00:00:00Z", "2026-04-01T00:00:01Z", "to"),
            ("2027-03-03T00:00:00Z", "2027-03-04T00:00:00Z", "from"),
            ("2025-02-27T00:00:00Z", "2025-02-28T00:00:00Z", "from"),
        ] {
            assert_eq!(field(from, to), Err(bad.to_owned()), "{from}");
        }
    }
}
