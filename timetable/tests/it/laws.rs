//! Laws that hold for every definition.

use std::{collections::BTreeSet, time::Duration};

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use croner::parser::CronParser;
use proptest::prelude::*;
use timetable::{Definition, Fire, FireKind, Timetable, zone_names};

use crate::{
    expressions::{any_minutely, any_secondly},
    support::{definition, instant, parse, timetable},
};

fn any_expression() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => any_minutely(),
        2 => any_secondly(),
        1 => (1_u32..100_000).prop_map(|seconds| format!("@every {seconds}s")),
        1 => (1_500_000_000_u32..2_000_000_000).prop_map(|at| format!("@at {at}")),
    ]
}

pub(crate) fn any_instant() -> impl Strategy<Value = DateTime<Utc>> {
    (946_684_800_000_i64..2_524_608_000_000)
        .prop_map(|ms| DateTime::from_timestamp_millis(ms).expect("within bounds"))
}

fn any_zone() -> impl Strategy<Value = &'static str> {
    prop::sample::select(zone_names().collect::<Vec<_>>())
}

/// Definitions of up to four expressions, each of which can fire.
fn any_definition() -> impl Strategy<Value = Definition> {
    (
        prop::collection::vec(any_expression(), 1..=4),
        any_zone(),
        any_instant(),
        prop::option::weighted(0.2, any_instant()),
        prop::option::weighted(0.2, any_instant()),
        any::<[u8; 16]>(),
    )
        .prop_filter_map("it can fire", |(expressions, zone, anchor, start, end, seed)| {
            let jitter = Duration::from_secs(30);
            let asked = Definition {
                expressions,
                anchor,
                start,
                end,
                jitter,
                seed,
                ..definition("", zone)
            };
            Timetable::new(&asked).is_ok().then_some(asked)
        })
}

fn made(asked: &Definition) -> Timetable {
    Timetable::new(asked).unwrap_or_else(|error| panic!("{error}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn every_way_of_asking_gets_the_same_answer(asked in any_definition(), after in any_instant()) {
        let timetable = made(&asked);
        let first: Vec<Fire> = timetable.fires(after, DateTime::<Utc>::MAX_UTC).take(300).collect();
        prop_assert_eq!(timetable.next(after), first.first().copied());
        prop_assert!(first.is_sorted_by(|a, b| a.at < b.at));
        prop_assert!(first.iter().all(|fire| fire.at > after));
        prop_assert!(first.iter().all(|fire| asked.start.is_none_or(|start| fire.at >= start)));
        prop_assert!(first.iter().all(|fire| asked.end.is_none_or(|end| fire.at < end)));
        let Some(last) = first.last() else { return Ok(()) };
        prop_assert_eq!(timetable.count(after, last.at), first.len() as u64);
        prop_assert_eq!(timetable.last(last.at, after), Some(*last));
        let earlier = last.at - TimeDelta::milliseconds(1);
        prop_assert_eq!(timetable.count(after, earlier), first.len() as u64 - 1);
        prop_assert_eq!(timetable.last(earlier, after), first.iter().rev().nth(1).copied());
    }

    #[test]
    fn a_union_fires_whenever_one_of_its_expressions_does(
        asked in any_definition(), after in any_instant(),
    ) {
        let until = after + TimeDelta::days(3);
        let alone = |text: &String| Definition { expressions: vec![text.clone()], ..asked.clone() };
        let each: BTreeSet<DateTime<Utc>> = asked
            .expressions
            .iter()
            .flat_map(|text| made(&alone(text)).fires(after, until).map(|f| f.at).collect::<Vec<_>>())
            .collect();
        let union: Vec<DateTime<Utc>> = made(&asked).fires(after, until).map(|f| f.at).collect();
        prop_assert_eq!(union, each.into_iter().collect::<Vec<_>>());
    }

    /// Without clock changes, the answers are exactly those of croner.
    #[test]
    fn without_clock_changes_the_answers_are_croners(
        expression in prop_oneof![any_minutely(), any_secondly()], after in any_instant(),
    ) {
        let Ok(timetable) = parse(&expression, "UTC") else { return Ok(()) };
        let fields: Vec<&str> = expression.split(' ').collect();
        let days = if fields.len() == 5 { [fields[2], fields[4]] } else { [fields[3], fields[5]] };
        let both = days.iter().any(|field| field.starts_with('*'));
        let cron = CronParser::builder().dom_and_dow(both).sloppy_ranges(true).build();
        let cron = cron.parse(&expression).expect("croner takes it");
        let mut at: NaiveDateTime = after.naive_utc();
        for fire in timetable.fires(after, DateTime::<Utc>::MAX_UTC).take(20) {
            at = cron.find_next_occurrence(&at, false).expect("croner finds it");
            prop_assert_eq!(fire.local, at);
            prop_assert_eq!(fire.kind, FireKind::Normal);
        }
    }

    /// Every expression that the linter suggests is itself accepted.
    #[test]
    fn every_suggestion_is_accepted(
        expression in prop_oneof![
            any_minutely(),
            any_secondly(),
            "[0-9]{1,2}/[0-9]{1,2} (H/[1-9]|[0-9]-23/[1-9]) (H/9|[1-9]/9) [1-9]/[1-9] [0-7]/[1-9]",
        ],
        zone in any_zone(),
        after in any_instant(),
    ) {
        let Ok(timetable) = parse(&expression, zone) else { return Ok(()) };
        for warning in timetable.lint(after) {
            let Some(suggestion) = warning.suggestion else { continue };
            prop_assert!(parse(&suggestion, zone).is_ok(), "{}: {}", expression, suggestion);
        }
    }

    #[test]
    fn jitter_is_bounded_and_belongs_to_the_fire(asked in any_definition(), at in any_instant()) {
        let due = made(&asked).due_at(at);
        prop_assert!(due >= at && due <= at + TimeDelta::seconds(30));
        prop_assert_eq!(made(&asked).due_at(at), due);
    }

    #[test]
    fn fires_are_due_in_their_order(asked in any_definition(), after in any_instant()) {
        let timetable = made(&asked);
        let fires: Vec<Fire> = timetable.fires(after, DateTime::<Utc>::MAX_UTC).take(50).collect();
        for pair in fires.windows(2) {
            prop_assert!(timetable.due_at(pair[0].at) <= pair[1].at);
        }
    }

    #[test]
    fn a_hashed_field_is_one_of_its_values_for_every_schedule(seed in any::<[u8; 16]>()) {
        let asked = Definition { seed, ..definition("H(10-20) H(3-5) * * *", "UTC") };
        let fire = made(&asked).next(instant("2026-01-01T00:00:00Z")).expect("daily");
        let (hour, minute) = (fire.at.timestamp() / 3_600 % 24, fire.at.timestamp() / 60 % 60);
        prop_assert!((3..=5).contains(&hour) && (10..=20).contains(&minute));
    }
}

#[test]
fn a_year_of_seconds_is_counted_in_a_zone_with_clock_changes() {
    let (from, until) = (instant("2026-01-01T00:00:00Z"), instant("2027-01-01T00:00:00Z"));
    let seconds = 365 * 86_400;
    assert_eq!(timetable("* * * * * *", "Europe/Berlin").count(from, until), seconds);
    // With fixed times, the hour that is missing in spring becomes one shifted second, and the
    // repeated hour of autumn fires once.
    let fixed = timetable("0-59 0-59 0-23 * * *", "Europe/Berlin").count(from, until);
    assert_eq!(fixed, seconds - 3_600);
}

#[test]
fn distant_fires_are_found_and_impossible_ones_are_recognised() {
    let from = instant("2026-01-01T00:00:00Z");
    let far = timetable("0 0 0 1 1 * 4999", "Europe/Berlin").next(from).expect("it comes");
    assert_eq!(far.local.to_string(), "4999-01-01 00:00:00");
    let leap = timetable("0 0 29 2 */7", "UTC").next(from).expect("a leap day on a Sunday");
    assert_eq!(leap.local.to_string(), "2032-02-29 00:00:00");
    assert_eq!(timetable("0 0 0 1 1 * 1999", "UTC").next(from), None);
    assert!(parse("0 0 31 2,4,6,9,11 *", "UTC").is_err());
    assert!(parse("0 0 30 2 */7", "UTC").is_err());
}

#[test]
fn start_is_inclusive_and_end_exclusive() {
    let asked = Definition {
        start: Some(instant("2026-05-01T00:00:00Z")),
        end: Some(instant("2026-05-03T00:00:00Z")),
        ..definition("0 0 * * *", "UTC")
    };
    let timetable = Timetable::new(&asked).expect("valid");
    let fires: Vec<_> = timetable
        .fires(DateTime::UNIX_EPOCH, DateTime::<Utc>::MAX_UTC)
        .map(|fire| fire.at.to_rfc3339())
        .collect();
    assert_eq!(fires, ["2026-05-01T00:00:00+00:00", "2026-05-02T00:00:00+00:00"]);
    assert_eq!(timetable.count(DateTime::<Utc>::MIN_UTC, DateTime::<Utc>::MAX_UTC), 2);
}

#[test]
fn nicknames_are_known_in_any_case_and_one_never_fires() {
    let from = instant("2026-11-01T00:00:00Z");
    for (odd, plain) in
        [("@EVERY 1h", "@every 1h"), ("@At 1800000000", "@at 1800000000"), ("@Daily", "@daily")]
    {
        let next = |text| timetable(text, "UTC").next(from);
        assert_eq!(next(odd), next(plain), "{odd}");
        assert!(next(odd).is_some(), "{odd}");
    }
    for text in ["@manually", "@Manually"] {
        let manual = timetable(text, "UTC");
        assert_eq!((manual.next(from), manual.lint(from)), (None, vec![]));
        assert_eq!(manual.count(from, instant("2030-01-01T00:00:00Z")), 0);
    }
    let both = Definition {
        expressions: vec!["@manually".to_owned(), "@daily".to_owned()],
        ..definition("", "UTC")
    };
    assert!(Timetable::new(&both).unwrap_err().problem.contains("@manually"));
}

#[test]
fn days_are_counted_back_from_the_last_of_each_month() {
    let (from, until) = (instant("2027-12-31T12:00:00Z"), instant("2028-05-01T00:00:00Z"));
    let days = |text: &str| {
        let fires = timetable(text, "UTC");
        let days = fires.fires(from, until).map(|fire| fire.local.format("%m-%d").to_string());
        days.collect::<Vec<_>>().join(" ")
    };
    // 2028 is a leap year.
    assert_eq!(days("0 0 L-3 * *"), "01-28 02-26 03-28 04-27");
    assert_eq!(days("0 0 L-27,L * *"), "01-04 01-31 02-02 02-29 03-04 03-31 04-03 04-30");
    assert_eq!(days("0 0 L-6,L-5,L-4,L-3,L-2,L-1,L * +1"), days("0 0 * * 1L"));
    for odd in ["L-", "L-0", "L-28", "L-x", "L-1-2", "L-+1", "L-3W", "L-3/2"] {
        let error = Timetable::new(&definition(&format!("0 0 {odd} * *"), "UTC"));
        assert!(error.is_err(), "{odd}");
    }
}
