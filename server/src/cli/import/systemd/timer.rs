//! When a timer elapses.

use entity::schedule::{CatchUp, DstGap};

use super::{
    on_calendar, span,
    unit::{Unit, is_true},
};
use crate::engine::commands::modules::file::{DstEntry, MisfireEntry, ScheduleEntry, Seconds};

const DAY: i64 = 24 * 60 * 60;
/// The longest catch-up window.
const WINDOW: i64 = 30 * DAY;

/// The timer's schedule, without what it runs.
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
        // systemd waits for the next time that exists.
        schedule.dst = DstEntry { gap: Some(DstGap::Skip), overlap: None };
    }
    schedule.misfire = if is_true(timer.value("Timer", "Persistent")) {
        MisfireEntry { window: Some(Seconds(WINDOW)), ..MisfireEntry::default() }
    } else {
        MisfireEntry { catch_up: Some(CatchUp::Skip), ..MisfireEntry::default() }
    };
    if let Some(text) = timer.value("Timer", "RandomizedDelaySec") {
        let ms =
            span::parse(text).ok_or_else(|| format!("RandomizedDelaySec={text} is no duration"))?;
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

/// What counts from another event than the calendar's.
fn monotonic(
    timer: &Unit,
    is_alone: bool,
    changes: &mut Vec<String>,
) -> Result<Option<String>, String> {
    let mut found = None;
    for key in ["OnUnitActiveSec", "OnUnitInactiveSec"] {
        for text in timer.values("Timer", key) {
            let ms = span::parse(text).ok_or_else(|| format!("{key}={text} is no duration"))?;
            let seconds = ms / 1_000;
            if seconds < 1 || found.is_some() {
                return Err(format!("{key}={text}: one interval of at least a second is imported"));
            }
            changes.push(format!(
                "{key}={text}: becomes '@every {seconds}s', counted from when the schedule is \
                 made and not from the run before"
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
