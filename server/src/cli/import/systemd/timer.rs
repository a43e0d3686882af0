//! Converts the times at which a timer elapses.

use chrono::{DateTime, TimeDelta, Utc};
use entity::schedule::{CatchUp, DstGap};
use timetable::{Definition, FireKind, Timetable};

use super::{
    on_calendar, span,
    unit::{Unit, is_true},
};
use crate::{
    clock::Clock,
    commands::modules::file::{DstEntry, MisfireEntry, ScheduleEntry, Seconds},
};

const DAY: i64 = 24 * 60 * 60;
/// The longest catch-up window.
const WINDOW: i64 = 30 * DAY;

/// The schedule of a timer, without its task or workflow.
pub(super) fn schedule(
    timer: &Unit,
    zone: &str,
    changes: &mut Vec<String>,
) -> Result<ScheduleEntry, String> {
    let mut when = Vec::new();
    let mut zones: Vec<String> = Vec::new();
    for text in timer.values("Timer", "OnCalendar") {
        let read = on_calendar::read(text).map_err(|why| format!("OnCalendar={text}: {why}"))?;
        when.push(read.expression);
        zones.push(read.zone.unwrap_or_else(|| zone.to_owned()));
    }
    let interval = monotonic(timer, when.is_empty(), changes)?;
    when.extend(interval);
    zones.dedup();
    if zones.len() > 1 {
        return Err(format!("its OnCalendar= are of several zones: {}", zones.join(", ")));
    }
    let mut schedule = ScheduleEntry::new(when);
    schedule.zone = zones.pop().unwrap_or_else(|| zone.to_owned());
    if schedule.zone != "UTC" {
        // systemd waits for the next matching time that exists, so it skips times in a gap.
        schedule.dst = DstEntry { gap: Some(DstGap::Skip), overlap: None };
        if let Some(at) = repeated(&schedule) {
            changes.push(format!(
                "in the hour that occurs twice when the clock goes back (next on {}) systemd fires \
                 the first time only; here, times written with * fire both times",
                at.format("%Y-%m-%d")
            ));
        }
    }
    schedule.misfire = if is_true(timer.value("Timer", "Persistent")) {
        MisfireEntry { window: Some(Seconds(WINDOW)), ..MisfireEntry::default() }
    } else {
        MisfireEntry { catch_up: Some(CatchUp::Skip), ..MisfireEntry::default() }
    };
    if let Some(text) = timer.value("Timer", "RandomizedDelaySec") {
        let ms = span::parse(text)
            .ok_or_else(|| format!("RandomizedDelaySec={text} is not a duration"))?;
        let seconds = (ms + 999) / 1_000;
        if seconds > DAY {
            changes.push(format!("RandomizedDelaySec={text}: a jitter is at most a day"));
        }
        schedule.jitter = Some(Seconds(seconds.min(DAY))).filter(|seconds| seconds.0 > 0);
    }
    let known = [
        "OnCalendar",
        "OnActiveSec",
        "OnBootSec",
        "OnStartupSec",
        "OnUnitActiveSec",
        "OnUnitInactiveSec",
        "RandomizedDelaySec",
        "FixedRandomDelay",
        "Persistent",
        "AccuracySec",
        "Unit",
        "RemainAfterElapse",
    ];
    let others: Vec<&str> =
        timer.keys("Timer").into_iter().filter(|key| !known.contains(key)).collect();
    if !others.is_empty() {
        changes.push(format!("of the timer is left out: {}", others.join(", ")));
    }
    Ok(schedule)
}

/// The timer's triggers that count from an event instead of naming a calendar time.
fn monotonic(
    timer: &Unit,
    is_alone: bool,
    changes: &mut Vec<String>,
) -> Result<Option<String>, String> {
    let mut found = None;
    for key in ["OnUnitActiveSec", "OnUnitInactiveSec"] {
        for text in timer.values("Timer", key) {
            let ms = span::parse(text).ok_or_else(|| format!("{key}={text} is not a duration"))?;
            let seconds = ms / 1_000;
            if seconds < 1 || found.is_some() {
                return Err(format!("{key}={text}: one interval of at least a second is imported"));
            }
            changes.push(format!(
                "{key}={text}: becomes '@every {seconds}s', counted from when the schedule is \
                 created and not from the run before"
            ));
            found = Some(format!("@every {seconds}s"));
        }
    }
    let starts = ["OnActiveSec", "OnBootSec", "OnStartupSec"].into_iter();
    let starts: Vec<String> = starts
        .flat_map(|key| timer.values("Timer", key).into_iter().map(move |text| (key, text)))
        .map(|(key, text)| format!("{key}={text}"))
        .collect();
    if starts.is_empty() {
        return if is_alone && found.is_none() {
            Err("it has no OnCalendar=".to_owned())
        } else {
            Ok(found)
        };
    }
    let starts = starts.join(", ");
    if is_alone && found.is_none() {
        return Err(format!(
            "{starts}: there is no start of a machine to count from; leave it to systemd, or \
             trigger a schedule from there"
        ));
    }
    changes.push(format!("{starts}: left out, there is no start of a machine to count from"));
    Ok(found)
}

/// The next fire within 400 days that falls into the second pass of a repeated hour.
fn repeated(schedule: &ScheduleEntry) -> Option<DateTime<Utc>> {
    /// The largest backward change of the clock that is considered.
    const PASS: TimeDelta = TimeDelta::hours(3);
    /// Maximum number of fires examined in one pass: one per second.
    const MAX_FIRES: usize = 3 * 3_600;

    let definition = |expressions| Definition::new(expressions, &schedule.zone);
    let second = |fire: &timetable::Fire| fire.kind == FireKind::SecondOfTwo;
    // Expressions like `@every` do not depend on a zone.
    let texts = schedule.when.0.iter().filter(|text| !text.starts_with('@'));
    let asked = Timetable::new(&definition(texts.cloned().collect())).ok()?;
    let clock = Timetable::new(&definition(vec!["*/15 * * * *".to_owned()])).ok()?;
    let now = Clock::system().now();
    let change = clock.fires(now, now + TimeDelta::days(400)).find(second)?;
    let pass = asked.fires(change.at - TimeDelta::minutes(15), change.at + PASS);
    Some(pass.take(MAX_FIRES).find(second)?.at)
}
