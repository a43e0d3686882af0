//! Computes the slow way when a schedule should have fired: walks the wall clock minute by minute,
//! asks chrono-tz what each reading means, and applies the written rule. This code shares nothing
//! with the calculator under test.

use std::collections::BTreeMap;

use chrono::{DateTime, Datelike, LocalResult, NaiveDateTime, TimeDelta, TimeZone, Timelike, Utc};
use chrono_tz::Tz;
use entity::{
    fire::Kind,
    schedule::{DstGap, DstOverlap},
};

/// The parts of a schedule that the oracle needs to know.
pub(crate) struct Timing<'a> {
    pub(crate) expressions: Vec<&'a str>,
    pub(crate) zone: Tz,
    pub(crate) gap: DstGap,
    pub(crate) overlap: DstOverlap,
    pub(crate) anchor: DateTime<Utc>,
    /// The first instant at which the schedule may fire, and the first at which it may no longer.
    pub(crate) bounds: (Option<DateTime<Utc>>, Option<DateTime<Utc>>),
}

/// The fires in `(after, until]`.
pub(crate) fn fires(
    timing: &Timing<'_>,
    after: DateTime<Utc>,
    until: DateTime<Utc>,
) -> BTreeMap<DateTime<Utc>, Kind> {
    let mut fires = BTreeMap::new();
    for expression in &timing.expressions {
        match expression.split_once(' ') {
            Some(("@every", interval)) => elapsed(timing, interval, after, until, &mut fires),
            Some(("@at", instant)) => {
                let at: DateTime<Utc> = instant.parse().unwrap();
                fires.insert(at, reading(timing.zone, at));
            }
            _ => walk(timing, expression, after, until, &mut fires),
        }
    }
    let (start, end) = timing.bounds;
    fires.retain(|at, _| after < *at && *at <= until);
    fires.retain(|at, _| start.is_none_or(|start| start <= *at) && end.is_none_or(|end| *at < end));
    fires
}

fn elapsed(
    timing: &Timing<'_>,
    interval: &str,
    after: DateTime<Utc>,
    until: DateTime<Utc>,
    fires: &mut BTreeMap<DateTime<Utc>, Kind>,
) {
    let (number, unit) = interval.split_at(interval.len() - 1);
    let unit = match unit {
        "s" => TimeDelta::seconds(1),
        "m" => TimeDelta::minutes(1),
        "h" => TimeDelta::hours(1),
        "d" => TimeDelta::hours(24),
        other => panic!("the oracle does not know the unit {other}"),
    };
    let interval = unit * number.parse().unwrap();
    let mut at = timing.anchor + interval;
    while at <= until {
        if at > after {
            fires.insert(at, reading(timing.zone, at));
        }
        at += interval;
    }
}

/// Whether the wall clock shows the time of an instant once or twice, and if twice, which of the
/// two this instant is.
fn reading(zone: Tz, at: DateTime<Utc>) -> Kind {
    let local = at.with_timezone(&zone).naive_local();
    match zone.from_local_datetime(&local) {
        LocalResult::Ambiguous(first, _) if first == at => Kind::FirstOfTwo,
        LocalResult::Ambiguous(..) => Kind::SecondOfTwo,
        LocalResult::Single(_) | LocalResult::None => Kind::Normal,
    }
}

fn walk(
    timing: &Timing<'_>,
    expression: &str,
    after: DateTime<Utc>,
    until: DateTime<Utc>,
    fires: &mut BTreeMap<DateTime<Utc>, Kind>,
) {
    let fields = fields(expression);
    let wildcard = fields[..2].iter().any(|field| field.starts_with('*'));
    let fields: Vec<Vec<Item>> = fields.into_iter().map(items).collect();
    // Zones move their clocks by less than three hours.
    let margin = TimeDelta::hours(3);
    let mut civil = (after - margin).with_timezone(&timing.zone).naive_local();
    civil = civil.with_second(0).unwrap().with_nanosecond(0).unwrap();
    let last = (until + margin).with_timezone(&timing.zone).naive_local();
    while civil <= last {
        if matches(&fields, civil) {
            match timing.zone.from_local_datetime(&civil) {
                LocalResult::Single(at) => {
                    fires.insert(at.to_utc(), Kind::Normal);
                }
                LocalResult::Ambiguous(first, second) => {
                    if wildcard || timing.overlap != DstOverlap::Last {
                        fires.insert(first.to_utc(), Kind::FirstOfTwo);
                    }
                    if wildcard || timing.overlap != DstOverlap::First {
                        fires.insert(second.to_utc(), Kind::SecondOfTwo);
                    }
                }
                LocalResult::None if !wildcard && timing.gap == DstGap::Shift => {
                    // If the schedule fires at that instant anyway, both are one fire.
                    fires.entry(end_of_gap(timing.zone, civil)).or_insert(Kind::Shifted);
                }
                LocalResult::None => {}
            }
        }
        civil += TimeDelta::minutes(1);
    }
}

fn end_of_gap(zone: Tz, mut civil: NaiveDateTime) -> DateTime<Utc> {
    loop {
        civil += TimeDelta::minutes(1);
        if let Some(at) = zone.from_local_datetime(&civil).earliest() {
            return at.to_utc();
        }
    }
}

/// Minute, hour, day of month, month, day of week.
fn fields(expression: &str) -> Vec<&str> {
    let expression = if expression == "@daily" { "0 0 * * *" } else { expression };
    let fields: Vec<&str> = expression.split(' ').collect();
    match fields.as_slice() {
        ["0", minutely @ ..] if minutely.len() == 5 => minutely.to_vec(),
        _ => fields,
    }
}

fn matches(fields: &[Vec<Item>], civil: NaiveDateTime) -> bool {
    let weekday = civil.weekday().num_days_from_sunday();
    names(&fields[0], civil.minute())
        && names(&fields[1], civil.hour())
        && names(&fields[2], civil.day())
        && names(&fields[3], civil.month())
        && names(&fields[4], weekday)
}

/// One part of a field: first value, last value, step.
type Item = (u32, u32, u32);

/// A field: `*`, `*/n`, numbers, ranges and lists of these.
fn items(text: &str) -> Vec<Item> {
    let item = |item: &str| {
        let (range, step) = item.split_once('/').unwrap_or((item, "1"));
        let (from, to) = match (range, range.split_once('-')) {
            ("*", _) => (0, u32::MAX),
            (_, Some((from, to))) => (from.parse().unwrap(), to.parse().unwrap()),
            (_, None) => (range.parse().unwrap(), range.parse().unwrap()),
        };
        (from, to, step.parse().unwrap())
    };
    text.split(',').map(item).collect()
}

/// Whether a field contains `value`.
fn names(items: &[Item], value: u32) -> bool {
    items.iter().any(|&(from, to, step)| {
        (from..=to).contains(&value) && (value - from).is_multiple_of(step)
    })
}
