//! A naive oracle. It walks every minute of the real time line, reads the wall clock from the zone
//! data itself, asks croner whether that time matches, and applies the rule for clock changes.

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use croner::{Cron, parser::CronParser};
use jiff::{Timestamp, tz::TimeZone};
use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, TestRunner},
};
use timetable::{Definition, DstPolicy, Fire, FireKind, Gap, Overlap, Timetable, zone_names};

use crate::{
    expressions::{any_minutely, any_secondly, around},
    support::definition,
};

/// Fires by their unix second.
type Ledger = BTreeMap<i64, FireKind>;

const THREE_HOURS: i64 = 3 * 3_600;

/// A zone's rules, read from the zone data and not from the calculator's tables.
fn rules(zone: &str) -> TimeZone {
    crate::support::rules(zone)
}

fn offset(rules: &TimeZone, at: i64) -> i64 {
    rules.to_offset(Timestamp::from_second(at).expect("within bounds")).seconds().into()
}

fn matches(cron: &Cron, civil: i64) -> bool {
    let civil = DateTime::from_timestamp(civil, 0).expect("within bounds").naive_utc();
    cron.is_time_matching(&civil).expect("a valid date")
}

/// The fires of an expression in `(after, until]`, walked in steps of `step` seconds.
fn ledger(
    expression: &str,
    rules: &TimeZone,
    dst: DstPolicy,
    (after, until): (i64, i64),
    step: i64,
) -> Ledger {
    let fields: Vec<&str> = expression.split(' ').collect();
    let time_of_day = if fields.len() == 5 { &fields[..2] } else { &fields[..3] };
    let day_fields = [fields[time_of_day.len()], fields[time_of_day.len() + 2]];
    let both = day_fields.iter().any(|field| field.starts_with('*'));
    let wildcard = time_of_day.iter().any(|field| field.starts_with('*'));
    let cron = CronParser::builder().dom_and_dow(both).sloppy_ranges(true).build();
    let cron = cron.parse(expression).expect("croner takes it");

    // The walk has a margin on both sides, so it always includes the other pass of an overlap: in
    // these years no clock went back by more than three hours.
    let margin = 4 * 3_600;
    let mut passes: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    let mut shifted = Vec::new();
    let mut before = None;
    let mut at = after - margin;
    while at <= until + margin {
        let civil = at + offset(rules, at);
        passes.entry(civil).or_default().push(at);
        if let Some(last) = before
            && civil - last > step
            && civil - last - step < THREE_HOURS
        {
            // The clock jumped over these seconds, and `at` is the first instant after the gap.
            let missing = (last + step..civil).step_by(step as usize);
            if missing.into_iter().any(|missing| matches(&cron, missing)) {
                shifted.push(at);
            }
        }
        before = Some(civil);
        at += step;
    }

    let mut ledger = Ledger::new();
    if !wildcard && dst.gap == Gap::Shift {
        ledger.extend(shifted.into_iter().map(|at| (at, FireKind::Shifted)));
    }
    for (civil, instants) in passes {
        if instants.iter().all(|at| *at <= after || *at > until) || !matches(&cron, civil) {
            continue;
        }
        let [first, .., last] = instants[..] else {
            ledger.insert(instants[0], FireKind::Normal);
            continue;
        };
        let policy = !wildcard && last - first <= THREE_HOURS;
        if !policy || dst.overlap != Overlap::Last {
            ledger.insert(first, FireKind::FirstOfTwo);
        }
        if !policy || dst.overlap != Overlap::First {
            ledger.insert(last, FireKind::SecondOfTwo);
        }
    }
    ledger.retain(|at, _| (after + 1..=until).contains(at));
    ledger
}

fn fires(timetable: &Timetable, (after, until): (i64, i64)) -> Vec<Fire> {
    let instant = |at| DateTime::<Utc>::from_timestamp(at, 0).expect("within bounds");
    timetable.fires(instant(after), instant(until)).collect()
}

/// Compares the calculator with the oracle, and the calculator's answers with each other.
fn compare(
    expression: &str,
    zone: &str,
    rules: &TimeZone,
    dst: DstPolicy,
    window: (i64, i64),
    step: i64,
) {
    let asked = Definition { dst, ..definition(expression, zone) };
    let timetable = match Timetable::new(&asked) {
        Ok(timetable) => timetable,
        Err(error) => {
            assert!(error.problem.contains("can never fire"), "{error}");
            assert_eq!(ledger(expression, rules, dst, window, step), Ledger::new(), "{error}");
            return;
        }
    };
    let fires = fires(&timetable, window);
    let found: Ledger = fires.iter().map(|fire| (fire.at.timestamp(), fire.kind)).collect();
    let expected = ledger(expression, rules, dst, window, step);
    let context = || format!("{expression:?} in {zone} under {dst:?} in {window:?}");
    assert_eq!(found, expected, "{}", context());

    let instant = |at| DateTime::<Utc>::from_timestamp(at, 0).expect("within bounds");
    let (after, until) = (instant(window.0), instant(window.1));
    assert_eq!(timetable.count(after, until), fires.len() as u64, "{}", context());
    assert_eq!(timetable.last(until, after), fires.last().copied(), "{}", context());
    for fire in fires {
        assert_eq!(
            fire.local,
            fire.at.naive_utc() + TimeDelta::seconds(offset(rules, fire.at.timestamp()))
        );
        assert_eq!(fire.local, fire.at.with_timezone(&fire.offset).naive_local());
    }
}

fn policies() -> impl Strategy<Value = DstPolicy> {
    (
        prop_oneof![Just(Gap::Shift), Just(Gap::Skip)],
        prop_oneof![Just(Overlap::First), Just(Overlap::Last), Just(Overlap::Both)],
    )
        .prop_map(|(gap, overlap)| DstPolicy { gap, overlap })
}

/// The clock changes of a zone from 2000 to 2040.
fn changes(rules: &TimeZone) -> Vec<i64> {
    let from: Timestamp = "2000-01-01T00:00:00Z".parse().expect("an instant");
    let until: Timestamp = "2041-01-01T00:00:00Z".parse().expect("an instant");
    let changes = rules.following(from).map(|change| change.timestamp());
    changes
        .take_while(|at| *at < until)
        .map(Timestamp::as_second)
        .filter(|at| offset(rules, *at) != offset(rules, at - 1))
        .collect()
}

fn civil(rules: &TimeZone, at: i64) -> NaiveDateTime {
    DateTime::from_timestamp(at + offset(rules, at), 0).expect("within bounds").naive_utc()
}

#[test]
fn fires_agree_with_the_oracle_at_every_clock_change_of_every_zone() {
    let mut runner = TestRunner::deterministic();
    let policies = policies();
    let mut seen = std::collections::HashSet::new();
    let mut compared = 0;
    for zone in zone_names() {
        let rules = rules(zone);
        for change in changes(&rules) {
            // Zones whose clocks behave the same need to be walked only once.
            if !seen.insert((change, offset(&rules, change - 1), offset(&rules, change))) {
                continue;
            }
            let local = civil(&rules, change);
            let expression = around(local).new_tree(&mut runner).expect("a value").current();
            let dst = policies.new_tree(&mut runner).expect("a value").current();
            let window = (change - 5 * 3_600, change + 5 * 3_600);
            compare(&expression, zone, &rules, dst, window, 60);
            compared += 1;
        }
    }
    assert!(compared > 3_000, "only {compared} clock changes");
}

proptest! {
    #![proptest_config(Config::with_cases(96))]

    /// Tests whole fields and whole policies, starting anywhere near a clock change.
    #[test]
    fn fires_agree_with_the_oracle_minute_by_minute(
        (zone, rules, change) in near_a_change(),
        expression in any_minutely(),
        dst in policies(),
        start in -40_i64..3,
        hours in 1_i64..40,
    ) {
        let after = change + start * 3_600;
        compare(&expression, zone, &rules, dst, (after, after + hours * 3_600), 60);
    }

    #[test]
    fn fires_agree_with_the_oracle_second_by_second(
        (zone, rules, change) in near_a_change(),
        expression in any_secondly(),
        dst in policies(),
        start in -5_400_i64..3_600,
    ) {
        let after = change + start;
        compare(&expression, zone, &rules, dst, (after, after + 5_400), 1);
    }
}

fn near_a_change() -> impl Strategy<Value = (&'static str, TimeZone, i64)> {
    let zones: Vec<&'static str> = zone_names().collect();
    (prop::sample::select(zones), any::<prop::sample::Index>()).prop_filter_map(
        "the zone's clock changes",
        |(zone, index)| {
            let rules = rules(zone);
            let changes = changes(&rules);
            (!changes.is_empty()).then(|| (zone, rules, changes[index.index(changes.len())]))
        },
    )
}
