//! Calendars, compared with an oracle that checks every fire, in the plainest way,
//! for an entry that contains its local time.

use std::sync::Arc;

use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Timelike, Utc};
use jiff::Timestamp;
use proptest::prelude::*;
use timetable::{
    Calendar, CalendarEntries, CalendarMode, DateRange, Definition, Fire, TimeWindow, Timetable,
    Weekday, misfire,
};

use crate::{
    expressions::{any_minutely, any_secondly},
    support::{definition, instant, timetable},
};

const WEEKDAYS: [Weekday; 7] = [
    Weekday::Sun,
    Weekday::Mon,
    Weekday::Tue,
    Weekday::Wed,
    Weekday::Thu,
    Weekday::Fri,
    Weekday::Sat,
];

/// Zones whose clocks change in spring 2026, one of them by half an hour and one over midnight, and
/// one zone whose clock never changes.
const ZONES: [&str; 5] =
    ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Nuuk", "UTC"];

fn entries() -> CalendarEntries {
    CalendarEntries::default()
}

fn made(name: &str, mode: CalendarMode, entries: &CalendarEntries) -> Arc<Calendar> {
    let made = Calendar::new(name, mode, entries);
    Arc::new(made.unwrap_or_else(|error| panic!("{error}")))
}

fn any_date() -> impl Strategy<Value = NaiveDate> {
    (0_u64..60).prop_map(|days| {
        NaiveDate::from_ymd_opt(2026, 3, 1).expect("a date") + chrono::Days::new(days)
    })
}

fn any_time() -> impl Strategy<Value = String> {
    (0_u32..24, 0_u32..4).prop_map(|(hour, quarter)| format!("{hour:02}:{:02}", quarter * 15))
}

fn any_weekdays() -> impl Strategy<Value = Vec<Weekday>> {
    prop::collection::vec(prop::sample::select(WEEKDAYS.to_vec()), 0..4)
}

fn any_entries() -> impl Strategy<Value = CalendarEntries> {
    let dates = prop::collection::vec(any_date().prop_map(|date| date.to_string()), 0..4);
    let yearly = any_date().prop_map(|date| date.format("%m-%d").to_string());
    let range = (any_date(), 0_u64..5, any_time(), any::<bool>()).prop_map(
        |(from, days, time, is_timed)| {
            let to = from + chrono::Days::new(days);
            if is_timed {
                let to = to + chrono::Days::new(1);
                DateRange { from: format!("{from}T{time}"), to: format!("{to}T{time}:30") }
            } else {
                DateRange { from: from.to_string(), to: to.to_string() }
            }
        },
    );
    let window = (any_time(), any_time(), any_weekdays())
        .prop_filter("it has a length", |(from, to, _)| from != to)
        .prop_map(|(from, to, weekdays)| TimeWindow { from, to, weekdays });
    (
        dates,
        prop::collection::vec(yearly, 0..3),
        any_weekdays(),
        prop::collection::vec(range, 0..2),
        prop::collection::vec(window, 1..3),
    )
        .prop_map(|(dates, yearly, weekdays, ranges, windows)| CalendarEntries {
            dates,
            yearly,
            weekdays,
            ranges,
            windows,
        })
}

fn any_calendars() -> impl Strategy<Value = Vec<(CalendarMode, CalendarEntries)>> {
    let mode = prop_oneof![Just(CalendarMode::Exclude), Just(CalendarMode::Only)];
    prop::collection::vec((mode, any_entries()), 1..4)
}

/// A text that is nearly an entry of a calendar, or nothing like an entry.
fn any_text() -> impl Strategy<Value = String> {
    let number = || prop_oneof![Just(0_u32), 0_u32..70, any::<u32>()];
    prop_oneof![
        4 => (number(), number(), number())
            .prop_map(|(year, month, day)| format!("{year:04}-{month:02}-{day:02}")),
        4 => (number(), number()).prop_map(|(one, other)| format!("{one:02}-{other:02}")),
        4 => (number(), number()).prop_map(|(hour, minute)| format!("{hour:02}:{minute:02}")),
        4 => (any_date(), number(), number())
            .prop_map(|(date, hour, minute)| format!("{date}T{hour:02}:{minute:02}")),
        2 => "[0-9T:+. -]{0,24}",
        1 => "\\PC{0,16}",
        1 => (0_usize..5_000).prop_map(|length| "9".repeat(length)),
    ]
}

fn any_mode() -> impl Strategy<Value = CalendarMode> {
    prop_oneof![Just(CalendarMode::Exclude), Just(CalendarMode::Only)]
}

/// Calendar entries, most of which are invalid.
fn any_given() -> impl Strategy<Value = CalendarEntries> {
    let texts = || prop::collection::vec(any_text(), 0..3);
    let range = (any_text(), any_text()).prop_map(|(from, to)| DateRange { from, to });
    let window = (any_text(), any_text(), any_weekdays())
        .prop_map(|(from, to, weekdays)| TimeWindow { from, to, weekdays });
    (
        texts(),
        texts(),
        any_weekdays(),
        prop::collection::vec(range, 0..2),
        prop::collection::vec(window, 0..2),
    )
        .prop_map(|(dates, yearly, weekdays, ranges, windows)| CalendarEntries {
            dates,
            yearly,
            weekdays,
            ranges,
            windows,
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    #[test]
    fn whatever_a_calendar_names_is_refused_by_its_field_or_judges_fires(
        mode in any_mode(), given in any_given(), after in any_after(),
    ) {
        match Calendar::new("given", mode, &given) {
            Err(error) => {
                let known = ["dates", "yearly", "ranges", "windows"];
                prop_assert!(known.iter().any(|name| error.field.starts_with(name)), "{error}");
                prop_assert!(error.to_string().len() < 1_000, "an error repeats no long value");
            }
            Ok(calendar) => {
                let plain = timetable("*/15 * * * *", "Europe/Berlin");
                let judged = plain.with_calendars([Arc::new(calendar)]);
                let judged = judged.unwrap_or_else(|error| panic!("{error}"));
                let fires = judged.fires(after, after + TimeDelta::days(7)).count() as u64;
                prop_assert_eq!(judged.count(after, after + TimeDelta::days(7)), fires);
            }
        }
    }
}

fn weekday(date: NaiveDate) -> Weekday {
    WEEKDAYS[date.weekday().num_days_from_sunday() as usize]
}

/// Whether any entry contains this wall-clock time.
fn names(entries: &CalendarEntries, local: NaiveDateTime) -> bool {
    let CalendarEntries { dates, yearly, weekdays, ranges, windows } = entries;
    let date = local.date();
    let edge = |text: &str| -> (NaiveDateTime, bool) {
        match text.parse::<NaiveDate>() {
            Ok(day) => (day.and_time(NaiveTime::MIN), true),
            Err(_) => {
                let seconds = if text.len() == 16 { ":00" } else { "" };
                (format!("{text}{seconds}").parse().expect("a local time"), false)
            }
        }
    };
    let in_range = |range: &DateRange| {
        let ((from, _), (to, is_whole_day)) = (edge(&range.from), edge(&range.to));
        let to = if is_whole_day { to + TimeDelta::days(1) } else { to };
        from <= local && local < to
    };
    let time = |text: &str| -> NaiveTime { format!("{text}:00").parse().expect("a time") };
    let in_window = |window: &TimeWindow| {
        let begins =
            |day: NaiveDate| window.weekdays.is_empty() || window.weekdays.contains(&weekday(day));
        let (from, to, now) = (time(&window.from), time(&window.to), local.time());
        if from < to {
            begins(date) && from <= now && now < to
        } else {
            (begins(date) && from <= now) || (begins(date.pred_opt().expect("a day")) && now < to)
        }
    };
    dates.iter().any(|text| text.parse() == Ok(date))
        || yearly.iter().any(|text| *text == date.format("%m-%d").to_string())
        || weekdays.contains(&weekday(date))
        || ranges.iter().any(in_range)
        || windows.iter().any(in_window)
}

/// The wall-clock time of a zone, read from the zone data and not from the calculator's tables.
fn local(zone: &str, at: DateTime<Utc>) -> NaiveDateTime {
    let rules = crate::support::rules(zone);
    let offset = rules.to_offset(Timestamp::from_second(at.timestamp()).expect("within bounds"));
    at.naive_utc().with_nanosecond(0).expect("whole") + TimeDelta::seconds(offset.seconds().into())
}

/// The index of the first calendar that suppresses a fire.
fn suppressor(
    calendars: &[(CalendarMode, CalendarEntries)],
    zone: &str,
    at: DateTime<Utc>,
) -> Option<usize> {
    let local = local(zone, at);
    calendars.iter().position(|(mode, entries)| match mode {
        CalendarMode::Exclude => names(entries, local),
        CalendarMode::Only => !names(entries, local),
    })
}

fn with(asked: &Definition, calendars: &[(CalendarMode, CalendarEntries)]) -> Option<Timetable> {
    let plain = Timetable::new(asked).ok()?;
    let calendars = calendars.iter().enumerate();
    let compiled =
        calendars.map(|(index, (mode, entries))| made(&index.to_string(), *mode, entries));
    Some(plain.with_calendars(compiled).unwrap_or_else(|error| panic!("{error}")))
}

fn any_rhythm() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => any_minutely(),
        1 => any_secondly(),
        2 => Just("*/15 * * * *".to_owned()),
        1 => Just("30 1-3 * * *".to_owned()),
        1 => (600_u32..100_000).prop_map(|seconds| format!("@every {seconds}s")),
    ]
}

/// An instant from early March to late April 2026.
fn any_after() -> impl Strategy<Value = DateTime<Utc>> {
    (0_i64..50 * 86_400_000)
        .prop_map(|ms| instant("2026-03-01T00:00:00Z") + TimeDelta::milliseconds(ms))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_fire_is_suppressed_if_the_oracle_says_so(
        expression in any_rhythm(),
        zone in prop::sample::select(ZONES.to_vec()),
        calendars in any_calendars(),
        after in any_after(),
    ) {
        let asked = Definition { anchor: instant("2026-02-01T00:00:00.250Z"), ..definition(&expression, zone) };
        let Some(timetable) = with(&asked, &calendars) else { return Ok(()) };
        let until = after + TimeDelta::days(6);
        let fires: Vec<Fire> = timetable.fires(after, until).take(2_000).collect();
        let Some(last) = fires.last() else { return Ok(()) };
        let until = if fires.len() == 2_000 { last.at } else { until };

        let expected: Vec<Option<usize>> =
            fires.iter().map(|fire| suppressor(&calendars, zone, fire.at)).collect();
        for (fire, expected) in fires.iter().zip(&expected) {
            let found = timetable.suppressed_by(fire.at).map(|name| name.to_string());
            prop_assert_eq!(found, expected.map(|index| index.to_string()), "at {}", fire.at);
        }
        let open = fires.iter().zip(&expected).find(|(_, suppressor)| suppressor.is_none());
        if let Some((fire, _)) = open {
            prop_assert_eq!(timetable.next_allowed(after), Some(*fire));
        }
        let allowed = expected.iter().filter(|suppressor| suppressor.is_none()).count();
        prop_assert_eq!(timetable.count_allowed(after, until), Some(allowed as u64));

        // The same fires in pieces, each suppressed by a different calendar than its neighbours.
        let mut rest = fires.iter().zip(&expected);
        let mut before = None;
        for piece in timetable.pieces(after, until) {
            let name = piece.suppressed_by.as_ref().map(|name| name.to_string());
            prop_assert_ne!(&before, &Some(name.clone()));
            for index in 0..piece.count {
                let (fire, expected) = rest.next().expect("as many as the pieces say");
                prop_assert_eq!(expected.map(|index| index.to_string()), name.clone());
                prop_assert!(index > 0 || *fire == piece.first);
                prop_assert!(index + 1 < piece.count || fire.at == piece.last);
            }
            before = Some(name);
        }
        prop_assert!(rest.next().is_none());
    }

    /// Changes of the calendar have any instants, not necessarily in the order in which they were
    /// made. Of the changes in force at a fire, the one that was made last determines the calendar.
    #[test]
    fn a_fire_goes_by_the_calendar_of_its_own_time(
        expression in any_rhythm(),
        zone in prop::sample::select(ZONES.to_vec()),
        calendars in any_calendars(),
        changes in prop::collection::vec((any_after(), any_calendars()), 1..4),
        after in any_after(),
    ) {
        let asked = Definition { anchor: instant("2026-02-01T00:00:00.250Z"), ..definition(&expression, zone) };
        let Ok(plain) = Timetable::new(&asked) else { return Ok(()) };
        // Each version was in force up to the change that replaced it with the next one.
        let versions: Vec<_> =
            changes.iter().map(|(_, was)| was[0].clone()).chain([calendars[0].clone()]).collect();
        let made = |(mode, entries): &(CalendarMode, CalendarEntries)| made("0", *mode, entries);
        let was = changes.iter().zip(&versions).map(|((until, _), was)| (*until, made(was)));
        let current = Arc::new(made(&calendars[0]).with_past(was));
        let timetable = plain.with_calendars([current]).unwrap_or_else(|error| panic!("{error}"));
        let suppresses = |at: DateTime<Utc>| {
            let begun = changes.iter().rposition(|(change, _)| *change <= at);
            let version = begun.map_or(0, |change| change + 1);
            suppressor(&versions[version..=version], zone, at).is_some()
        };
        let until = after + TimeDelta::days(6);
        let fires: Vec<Fire> = timetable.fires(after, until).take(2_000).collect();
        let Some(last) = fires.last() else { return Ok(()) };
        let until = if fires.len() == 2_000 { last.at } else { until };
        for fire in &fires {
            let found = timetable.suppressed_by(fire.at).is_some();
            prop_assert_eq!(found, suppresses(fire.at), "at {}", fire.at);
        }
        let open = fires.iter().filter(|fire| !suppresses(fire.at));
        prop_assert_eq!(timetable.count_allowed(after, until), Some(open.clone().count() as u64));
        if let Some(first) = open.clone().next() {
            prop_assert_eq!(timetable.next_allowed(after), Some(*first));
        }
    }

    /// Every instant from the cursor to now has exactly one fate, whatever the policy.
    #[test]
    fn a_plan_under_calendars_gives_every_instant_its_fate(
        expression in any_rhythm(),
        zone in prop::sample::select(ZONES.to_vec()),
        calendars in prop::option::of(any_calendars()),
        cursor in any_after(),
        (grace, window, down) in (0_i64..7_200, 0_i64..150_000, 1_i64..200_000),
        catch_up in prop::sample::select(vec![
            misfire::CatchUp::Skip, misfire::CatchUp::Latest, misfire::CatchUp::All,
        ]),
        max in 1_u32..20,
    ) {
        let calendars = calendars.unwrap_or_default();
        let asked = definition(&expression, zone);
        let Some(timetable) = with(&asked, &calendars) else { return Ok(()) };
        let (grace, window) = (TimeDelta::seconds(grace), TimeDelta::seconds(window));
        let policy = misfire::Policy { catch_up, grace, max, spacing: TimeDelta::zero(), window };
        let Some(first) = timetable.next(cursor) else { return Ok(()) };
        let now = first.at + TimeDelta::seconds(down);
        if timetable.count(cursor, now) > 2_000 {
            return Ok(());
        }
        let mut entries = Vec::new();
        let mut next = Some(first);
        while let Some(due) = next.filter(|due| due.at <= now) {
            let plan = misfire::plan(&timetable, due.at, now, &policy);
            prop_assert!(!plan.entries.is_empty());
            entries.extend(plan.entries);
            next = plan.next;
        }
        prop_assert_eq!(next, timetable.next(now));

        let instants: Vec<Fire> = timetable.fires(cursor, now).collect();
        let is_open = |fire: &&Fire| suppressor(&calendars, zone, fire.at).is_none();
        let open: Vec<&Fire> = instants.iter().filter(is_open).collect();
        let newest = open.last().filter(|newest| now - newest.at <= grace.max(misfire::ON_TIME)).map(|fire| fire.at);
        let is_alone = open.len() == 1 && newest.is_some();
        let in_time = newest.filter(|at| !is_alone && now - *at <= misfire::ON_TIME);
        let in_window = |fire: &&Fire| now - fire.at < window || Some(fire.at) == in_time;
        let most = match catch_up {
            misfire::CatchUp::Skip => 0,
            misfire::CatchUp::Latest => 1,
            misfire::CatchUp::All => max as usize,
        };
        let young = open.iter().copied().filter(in_window);
        let runs: Vec<DateTime<Utc>> = young.rev().take(most).map(|fire| fire.at).collect();
        let expected = instants.iter().map(|fire| {
            let fate = if !is_open(&fire) {
                misfire::Fate::Suppressed
            } else if is_alone || Some(fire.at) == in_time {
                misfire::Fate::Run
            } else if !in_window(&fire) {
                misfire::Fate::OutsideWindow
            } else if runs.contains(&fire.at) {
                misfire::Fate::CatchUp
            } else {
                match catch_up {
                    misfire::CatchUp::Skip => misfire::Fate::Missed,
                    misfire::CatchUp::Latest => misfire::Fate::Collapsed,
                    misfire::CatchUp::All => misfire::Fate::OverLimit,
                }
            };
            (fire.at, fate, suppressor(&calendars, zone, fire.at).map(|index| index.to_string()))
        });
        let expected: Vec<_> = expected.collect();

        let mut found = Vec::new();
        for entry in &entries {
            let of_entry = timetable.fires(entry.fire.at - TimeDelta::milliseconds(1), entry.last);
            let before = found.len();
            let name = entry.calendar.as_ref().map(|name| name.to_string());
            found.extend(of_entry.map(|fire| (fire.at, entry.fate, name.clone())));
            prop_assert_eq!((found.len() - before) as u64, entry.count);
        }
        prop_assert_eq!(found, expected);
    }
}

/// The newest of several due fires is on time, so no run replaces it.
#[test]
fn what_is_on_time_is_not_caught_up_whatever_was_missed() {
    use misfire::Fate::{CatchUp, Collapsed, Missed, OverLimit, Run};

    let timetable = timetable("* * * * * *", "UTC");
    let (from, now) = (instant("2026-03-01T11:59:56Z"), instant("2026-03-01T12:00:00.500Z"));
    let policy = |catch_up, max| misfire::Policy {
        catch_up,
        grace: TimeDelta::zero(),
        max,
        spacing: TimeDelta::seconds(10),
        window: TimeDelta::days(1),
    };
    let fates = |catch_up, max| {
        let plan = misfire::plan(&timetable, from, now, &policy(catch_up, max));
        let waits = |entry: &misfire::Entry| (entry.due_at - now).num_seconds().max(0);
        plan.entries.iter().map(|entry| (entry.fate, waits(entry))).collect::<Vec<_>>()
    };
    let skip = fates(misfire::CatchUp::Skip, 10);
    assert_eq!(skip, [(Missed, 0), (Missed, 0), (Missed, 0), (Missed, 0), (Run, 0)]);
    let latest = fates(misfire::CatchUp::Latest, 10);
    assert_eq!(latest, [(Collapsed, 0), (Collapsed, 0), (Collapsed, 0), (Collapsed, 0), (Run, 0)]);
    let all = fates(misfire::CatchUp::All, 10);
    assert_eq!(all, [(CatchUp, 0), (CatchUp, 10), (CatchUp, 20), (CatchUp, 30), (Run, 0)]);
    // The fire that is on time counts towards the maximum number of runs.
    let few = fates(misfire::CatchUp::All, 2);
    assert_eq!(few, [(OverLimit, 0), (OverLimit, 0), (OverLimit, 0), (CatchUp, 0), (Run, 0)]);
}

fn weekend() -> CalendarEntries {
    CalendarEntries { weekdays: vec![Weekday::Sat, Weekday::Sun], ..entries() }
}

/// The cost is measured in steps, not in time: one step per boundary,
/// however many fires lie between two boundaries.
#[test]
fn a_year_of_seconds_under_a_weekday_calendar_is_a_hundred_ranges() {
    let calendar = made("weekends", CalendarMode::Exclude, &weekend());
    let timetable = timetable("* * * * * *", "Europe/Berlin").with_calendars([calendar]);
    let timetable = timetable.expect("one calendar");
    let (from, now) = (instant("2025-03-01T12:00:00Z"), instant("2026-03-01T12:00:00Z"));
    let policy = misfire::Policy {
        catch_up: misfire::CatchUp::Latest,
        grace: TimeDelta::minutes(5),
        max: 100,
        spacing: TimeDelta::zero(),
        window: TimeDelta::days(1),
    };
    let plan = misfire::plan(&timetable, from, now, &policy);
    let counted: u64 = plan.entries.iter().map(|entry| entry.count).sum();
    assert_eq!(counted, 365 * 86_400 + 1);
    // There are 53 weekends; the start cuts one, and the grace and the window cut the last.
    assert!((105..=110).contains(&plan.entries.len()), "{} ranges", plan.entries.len());
    let pieces: Vec<_> = timetable.pieces(from, now).collect();
    let steps = pieces.last().expect("some").steps;
    // The midnight within each weekend and each clock change cost one more step.
    assert!(steps <= pieces.len() * 3 / 2 + 4, "{steps} steps for {} pieces", pieces.len());
    let suppressed = plan.entries.iter().filter(|entry| entry.fate == misfire::Fate::Suppressed);
    assert!(suppressed.clone().all(|entry| entry.calendar.as_deref() == Some("weekends")));
    assert_eq!(plan.next.map(|fire| fire.at), Some(now + TimeDelta::seconds(1)));
}

/// Six years of minutes, cut eight times an hour,
/// are planned part by part without a missing instant.
#[test]
fn an_outage_under_a_hostile_calendar_is_planned_in_bounded_parts() {
    let window = |index: i32| TimeWindow {
        from: format!("{:02}:{:02}", index / 4, index % 4 * 15),
        to: format!("{:02}:{:02}", index / 4, index % 4 * 15 + 7),
        weekdays: vec![],
    };
    let windows = CalendarEntries { windows: (0..96).map(window).collect(), ..entries() };
    let calendar = made("stripes", CalendarMode::Exclude, &windows);
    let timetable = timetable("* * * * *", "UTC").with_calendars([calendar]).expect("valid");
    let (from, now) = (instant("2020-01-01T00:00:00Z"), instant("2026-01-01T00:00:00Z"));
    let policy = misfire::Policy {
        catch_up: misfire::CatchUp::Skip,
        grace: TimeDelta::zero(),
        max: 1,
        spacing: TimeDelta::zero(),
        window: TimeDelta::days(1),
    };
    let plan = misfire::plan(&timetable, from, now, &policy);
    assert_eq!(plan.entries.len(), 1_000);
    let last = plan.entries.last().expect("some").last;
    assert_eq!(plan.next, timetable.next(last), "it goes on where it ended");
}

#[test]
fn calendars_that_never_allow_anything_are_known() {
    let from = instant("2026-03-01T00:00:00Z");
    let only = |expression: &str, entries: CalendarEntries| {
        let calendar = made("only", CalendarMode::Only, &entries);
        timetable(expression, "Europe/Berlin").with_calendars([calendar]).expect("one calendar")
    };
    assert_eq!(only("0 9 * * 1-5", weekend()).next_allowed(from), None);
    let past = CalendarEntries { dates: vec!["2025-12-24".to_owned()], ..entries() };
    assert_eq!(only("0 9 * * *", past).next_allowed(from), None);
    let late = CalendarEntries { dates: vec!["2047-12-24".to_owned()], ..entries() };
    let fire = only("0 9 * * *", late).next_allowed(from).expect("in time");
    assert_eq!(fire.local.to_string(), "2047-12-24 09:00:00");
    let leap = CalendarEntries { yearly: vec!["02-29".to_owned()], ..entries() };
    let fire = only("* * * * * *", leap).next_allowed(from).expect("in 2028");
    assert_eq!(fire.local.to_string(), "2028-02-29 00:00:00");
    let warnings = only("0 9 * * 1-5", weekend()).lint(from);
    assert_eq!(serde_json::to_value(warnings[0].code).expect("a word"), "never_allowed");
}

#[test]
fn a_description_names_the_calendars() {
    let holidays = made("holidays", CalendarMode::Exclude, &weekend());
    let business = made("business", CalendarMode::Only, &weekend());
    let timetable = timetable("0 9 * * *", "UTC").with_calendars([holidays, business]);
    let words = timetable.expect("two calendars").describe();
    assert!(
        words.ends_with("Not in the calendar `holidays`. Only in the calendar `business`."),
        "{words}"
    );
}

#[test]
fn more_calendars_than_eight_are_refused() {
    let calendar = made("weekends", CalendarMode::Exclude, &weekend());
    let many = timetable("@daily", "UTC").with_calendars(vec![calendar; 9]);
    assert_eq!(many.expect_err("too many").field, "calendars");
}

#[test]
fn a_timetable_without_a_range_suppresses_its_fires_to_the_millisecond() {
    let plain = timetable("*/10 * * * *", "Europe/Berlin");
    let (from, until) = (instant("2026-03-01T12:10:00Z"), instant("2026-03-01T12:40:00Z"));
    let paused = plain.without("Upgrade", from, until);
    let times = |timetable: &Timetable| -> Vec<bool> {
        let fires = timetable.fires(instant("2026-03-01T12:00:00Z"), until);
        fires.map(|fire| timetable.suppressed_by(fire.at).is_some()).collect()
    };
    // From 12:10 to 12:40: the start is inside, the end is not.
    assert_eq!(times(&paused), [true, true, true, false]);
    assert_eq!(times(&plain), [false; 4]);
    let next = paused.next_allowed(instant("2026-03-01T12:00:00Z"));
    assert_eq!(next.map(|fire| fire.at), Some(until));
    assert_eq!(paused.count_allowed(instant("2026-03-01T12:00:00Z"), until), Some(1));
    assert_eq!(paused.suppressed_by(from).map(|name| &**name), Some("Upgrade"));
    let later = plain.without("Upgrade", from + TimeDelta::milliseconds(1), until);
    assert_eq!(times(&later), [false, true, true, false]);
    // It does not count against the limit of calendars.
    let calendar = made("weekends", CalendarMode::Exclude, &weekend());
    let full = plain.with_calendars(vec![calendar; 8]).expect("eight calendars");
    let sunday = full.without("Upgrade", from, until);
    assert_eq!(sunday.suppressed_by(from).map(|name| &**name), Some("weekends"));
}

#[test]
fn a_plan_up_to_an_end_is_as_late_as_now_says() {
    let timetable = timetable("*/10 * * * *", "UTC");
    let (cursor, end) = (instant("2026-03-01T12:30:00Z"), instant("2026-03-01T13:00:00Z"));
    let policy = misfire::Policy {
        catch_up: misfire::CatchUp::Latest,
        grace: TimeDelta::minutes(5),
        max: 100,
        spacing: TimeDelta::zero(),
        window: TimeDelta::days(1),
    };
    let fates = |now: &str, end| -> (Vec<misfire::Fate>, Option<DateTime<Utc>>) {
        let plan = misfire::plan_before(&timetable, cursor, end, instant(now), &policy);
        let fates = plan.entries.iter().map(|entry| entry.fate).collect();
        (fates, plan.next.map(|fire| fire.at))
    };
    use misfire::Fate::{CatchUp, Collapsed, Run};
    let late = fates("2026-03-01T13:04:00Z", Some(end));
    assert_eq!(late, (vec![Collapsed, Collapsed, CatchUp], Some(end)));
    // Without the end, the instant at the end is within the grace, and the others collapse into it.
    let (all, next) = fates("2026-03-01T13:00:01Z", None);
    assert_eq!(all, [Collapsed, Collapsed, Collapsed, Run]);
    assert_eq!(next, Some(instant("2026-03-01T13:10:00Z")));
    let on_time = fates("2026-03-01T12:30:00Z", Some(end));
    assert_eq!(on_time, (vec![Run], Some(instant("2026-03-01T12:40:00Z"))));
    let nothing = fates("2026-03-01T13:04:00Z", Some(cursor));
    assert_eq!(nothing, (vec![], Some(cursor)));
}
