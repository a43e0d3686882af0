//! Descriptions and warnings as users read them.

use std::time::Duration;

use timetable::{Definition, DstPolicy, Gap, Overlap, Timetable, Warning, WarningCode};

use crate::support::{definition, instant, timetable};

/// The description of `*/1` agrees with its fires.
#[test]
fn a_step_of_one_restricts_nothing() {
    let (from, until) = (instant("2026-01-01T00:00:00Z"), instant("2027-01-01T00:00:00Z"));
    for (one, plain) in [
        ("0 0 */1 * 1", "0 0 * * 1"),
        ("0 0 13 * */1", "0 0 13 * *"),
        ("0 0 0 1 */1 * */1", "0 0 0 1 * * *"),
    ] {
        let fires = |text: &str| timetable(text, "UTC").fires(from, until).collect::<Vec<_>>();
        assert_eq!(fires(one), fires(plain), "{one}");
        assert_eq!(warnings(&definition(one, "UTC")), [], "{one}");
    }
    // Steps of years begin with 1970.
    let moon = timetable("0 0 0 1 1 * */1", "UTC").next(instant("1960-01-01T00:00:00Z"));
    assert_eq!(moon.map(|fire| fire.at), Some(instant("1970-01-01T00:00:00Z")));
}

#[test]
fn no_suggestion_takes_away_the_star_that_makes_both_day_fields_match() {
    for text in ["0 0 */31 * 1", "0 0 13 * */8"] {
        let warnings = timetable(text, "UTC").lint(instant("2026-01-01T00:00:00Z"));
        let large: Vec<_> =
            warnings.iter().filter(|w| w.code == WarningCode::StepTooLarge).collect();
        assert!(matches!(large[..], [one] if one.suggestion.is_none()), "{text}: {warnings:?}");
    }
}

#[test]
fn a_star_that_is_not_first_in_a_list_makes_no_field_free() {
    for text in ["0 0 1,*/1 * 1", "0 0 13 * 1,*/1"] {
        let timetable = timetable(text, "UTC");
        let from = instant("2026-11-03T00:00:00Z");
        let next = timetable.next(from).unwrap().at;
        assert_eq!(next, instant("2026-11-04T00:00:00Z"), "{text}");
        let words = timetable.describe();
        assert!(words.starts_with("At 00:00 every day."), "{text}: {words}");
    }
}

#[test]
fn a_field_that_names_every_day_says_so() {
    for (expression, words) in [
        ("0 0 1/1 * *", "At 00:00 every day."),
        ("0 0 1-31 * *", "At 00:00 every day."),
        ("0 0 1/1 * 1", "At 00:00 every day."),
        ("0 0 * * 0/1", "At 00:00 every day."),
        ("0 0 * * 1-7", "At 00:00 every day."),
        ("0 0 1/1 * +1", "At 00:00 on Monday."),
        ("0 0 L-3 * *", "At 00:00 on the day 3 days before the last of the month."),
        ("0 0 L-1 2 *", "At 00:00 on the day before the last of February."),
        ("@manually", "Only when it is triggered."),
    ] {
        assert_eq!(when(expression), words, "{expression}");
    }
}

#[test]
fn weekdays_numbered_as_in_quartz_cause_a_warning() {
    for (expression, suggestion) in [
        ("0 15 10 ? * 2-6", Some("0 15 10 * * 1-5")),
        ("0 15 10 ? * 6#3 2027", Some("0 15 10 * * 5#3 2027")),
        ("0 15 10 ? * 0", None),
        ("0 15 10 ? * MON-FRI", Some("")),
        ("0 15 10 5 * ?", Some("")),
        ("15 10 ? * 1", Some("")),
    ] {
        let found = warnings(&definition(expression, "UTC"));
        let found = found.iter().find(|warning| warning.code == WarningCode::OtherDialect);
        let told = found.map(|warning| warning.suggestion.as_deref());
        assert_eq!(told, (suggestion != Some("")).then_some(suggestion), "{expression}");
    }
    for expression in ["cron(0 10 * * ? *)", "0 10 * * ? *", "0 18 ? * 2 *", "rate(5 minutes)"] {
        let error = Timetable::new(&definition(expression, "UTC")).unwrap_err();
        assert!(error.problem.contains("EventBridge"), "{error}");
        assert!(error.help.contains("write `"), "{error}");
    }
}

/// The description of the times, without the sentences about zone and clock changes.
fn when(expression: &str) -> String {
    let words = timetable(expression, "UTC").describe();
    words.strip_suffix(" Times are those of UTC.").unwrap_or(&words).to_owned()
}

#[test]
fn an_expression_is_described_by_its_fires() {
    for (expression, words) in [
        ("* * * * *", "Every minute."),
        ("*/15 * * * *", "Every 15 minutes."),
        ("*/40 * * * *", "At minutes 0 and 40 of every hour."),
        ("0-10/3 * * * *", "At minutes 0, 3, 6 and 9 of every hour."),
        ("*/7 * * * *", "Every 7 minutes from minute 0 to 56 of every hour."),
        ("0 * * * *", "Every hour."),
        ("0 */2 * * *", "Every 2 hours."),
        ("0 9-17 * * 1-5", "Every hour from 09:00 to 17:00 on Monday to Friday."),
        ("*/20 9-17 * * *", "Every 20 minutes from 09:00 to 17:59 every day."),
        ("30 2 * * *", "At 02:30 every day."),
        ("0 */6 * * *", "At 00:00, 06:00, 12:00 and 18:00 every day."),
        ("15 30 2 * * *", "At 02:30:15 every day."),
        ("*/10 * 9-17 * * *", "Every 10 seconds from 09:00 to 17:59 every day."),
        ("* 5 3,4 * * *", "Every second of minute 5 of hours 3 and 4 every day."),
        ("0 0 31 12 *", "At 00:00 on the 31st of December."),
        ("0 0 1,15 1-6/2 *", "At 00:00 on the 1st and the 15th of January, March and May."),
        ("0 0 13 * 5", "At 00:00 on the 13th of the month or on Friday (either will do)."),
        (
            "0 0 13 * +5",
            "At 00:00 on the 13th of the month if it is also Friday (both must match).",
        ),
        ("0 0 * * */2", "At 00:00 on Sunday, Tuesday, Thursday and Saturday."),
        ("0 0 * * SUN-SUN", "At 00:00 on Sunday."),
        ("0 0 LW * *", "At 00:00 on the last weekday (Monday to Friday) of the month."),
        ("0 9 * 6 5L", "At 09:00 on the last Friday of June."),
        ("0 9 * * MON#1", "At 09:00 on the 1st Monday of the month."),
        ("0 0 12 1 1 ? */2", "At 12:00 on the 1st of January in even years."),
        (
            "0 0 0 1 1 * 2025-2033/4",
            "At 00:00 on the 1st of January in every 4th year from 2025 to 2033.",
        ),
        ("@every 90m", "Every 1 h 30 min, counted from 1970-01-01T00:00:00Z."),
        ("@at 1800000000", "Once, at 2027-01-15T08:00:00Z."),
        (
            "H H(1-3) * * *",
            "At 01:41 every day (by `H`, the schedule's identity chose the minute and hour).",
        ),
        ("0 0 */1 * *", "At 00:00 every day."),
        ("0 0 */1 * 1", "At 00:00 on Monday."),
        ("0 0 13 * */1", "At 00:00 on the 13th of the month."),
        ("0 0 1 */1 *", "At 00:00 on the 1st of the month."),
        ("0 0 0 1 1 * */1", "At 00:00 on the 1st of January in every year from 1970 on."),
        ("0 0 1-31 * 1", "At 00:00 every day."),
        ("0 0 */40 * *", "At 00:00 on the 1st of the month."),
        ("0 0 */10 * *", "At 00:00 on the 1st, the 11th, the 21st and the 31st of the month."),
        ("0 0 */2 * *", "At 00:00 on every 2nd day from the 1st to the 31st of the month."),
        ("0 0 5/1 * *", "At 00:00 on days 5 to 31 of the month."),
        ("0 0 1,1,1-2 * *", "At 00:00 on the 1st and the 2nd of the month."),
        ("0 0 * * 0-7", "At 00:00 every day."),
        ("0 0 * * 6-7", "At 00:00 on Saturday and Sunday."),
        ("0 0 1 1-12 *", "At 00:00 on the 1st of the month."),
        ("0 0 * * 5L,1#2", "At 00:00 on the last Friday and the 2nd Monday of the month."),
        ("0 0 * 3 5L,1", "At 00:00 on the last Friday of the month and Monday in March."),
        ("*/7 * * * * *", "Every 7 seconds from second 0 to 56 of every minute."),
        ("5,20 * 3,5 * * *", "At seconds 5 and 20 of every minute of hours 3 and 5 every day."),
        ("5 */3 * * *", "Every 3 hours from 00:05 to 21:05."),
        ("0 1-23/2 * * *", "Every 2 hours from 01:00 to 23:00 every day."),
        ("30 9-17 * * *", "Every hour from 09:30 to 17:30 every day."),
        ("* 9 * * *", "Every minute from 09:00 to 09:59 every day."),
        ("* * 9 * * *", "Every second from 09:00 to 09:59 every day."),
        ("0 8-18,20 * * *", "At minute 0 of hours 8 to 18 and 20 every day."),
        ("0 2 8-14 3 0", "At 02:00 on days 8 to 14 or on Sunday in March (either will do)."),
        (
            "0 0 13 * */2",
            "At 00:00 on the 13th of the month if it is also Sunday, Tuesday, Thursday or Saturday \
             (both must match).",
        ),
        (
            "0 0 15W,L * *",
            "At 00:00 on the last day and the weekday (Monday to Friday) nearest to the 15th of the \
             month.",
        ),
        (
            "0 0 15W * *",
            "At 00:00 on the weekday (Monday to Friday) nearest to the 15th of the month.",
        ),
    ] {
        assert_eq!(when(expression), words, "{expression}");
    }
}

#[test]
fn the_rest_of_a_definition_is_described_where_it_matters() {
    let asked = Definition {
        expressions: vec!["30 2 * * *".to_owned(), "@every 1d".to_owned()],
        dst: DstPolicy { gap: Gap::Skip, overlap: Overlap::Both },
        start: Some(instant("2026-05-01T00:00:00Z")),
        jitter: Duration::from_secs(30),
        ..definition("", "Europe/Berlin")
    };
    assert_eq!(
        Timetable::new(&asked).expect("valid").describe(),
        "At 02:30 every day; and every 1 d, counted from 1970-01-01T00:00:00Z. Times are those of \
         Europe/Berlin. When the clocks go forward, a time that does not exist does not fire; when \
         they go back, a time that occurs twice fires both times. Each fire is delayed by up to \
         30 s, always the same for it. Not before 2026-05-01T00:00:00Z."
    );
}

fn warnings(asked: &Definition) -> Vec<Warning> {
    Timetable::new(asked).expect("valid").lint(instant("2026-03-01T00:00:00Z"))
}

#[test]
fn every_rule_warns_and_says_what_to_write_instead() {
    use WarningCode::*;
    for (expression, code, part, suggestion) in [
        (
            "*/7 * * * *",
            UnevenStep,
            "the last step of the hour is 4 minutes long, not 7",
            Some("@every 7m"),
        ),
        ("0 */5 * * *", UnevenStep, "the last step of the day is 4 hours long", Some("@every 5h")),
        // `@every` fires once per interval, but these fire
        // many times in each matching hour or minute.
        ("* */5 * * *", UnevenStep, "the last step of the day is 4 hours", Some("* */4 * * *")),
        ("0,30 */5 * * *", UnevenStep, "4 hours long", Some("0,30 */4 * * *")),
        ("* */7 * * * *", UnevenStep, "4 minutes long", Some("* */6 * * * *")),
        ("*/7 * * * * *", UnevenStep, "the last step of the minute is 4 s", Some("@every 7s")),
        // The same steps, written differently.
        ("0/7 * * * *", UnevenStep, "`0/7` starts over with every hour", Some("@every 7m")),
        ("0-59/7 3 * * *", UnevenStep, "is 4 minutes long, not 7", Some("0-59/6 3 * * *")),
        ("5/7 3 * * *", UnevenStep, "is 11 minutes long, not 7", Some("5/6 3 * * *")),
        ("6/7 3 * * *", UnevenStep, "is 11 minutes long, not 7", Some("0/6 3 * * *")),
        ("H/7 3 * * *", UnevenStep, "`H/7` starts over", Some("H/6 3 * * *")),
        ("0 0 1-31/2 * *", UnevenStep, "starts over on the 1st of every month", None),
        ("*/55 3 * * *", UnevenStep, "is 5 minutes long, not 55", Some("0 3 * * *")),
        (
            "0 0 1 */5 *",
            UnevenStep,
            "the last step of the year is 2 months long",
            Some("0 0 1 */4 *"),
        ),
        ("0 0 */2 * *", UnevenStep, "starts over on the 1st of every month", None),
        ("0 0 * * */3", UnevenStep, "starts over every Sunday, so the step over the end of", None),
        ("*/90 * * * *", StepTooLarge, "longer than the hour", Some("0 * * * *")),
        ("5/90 * * * *", StepTooLarge, "longer than the hour", Some("5 * * * *")),
        ("10-20/15 * * * *", StepTooLarge, "only 10 fires", Some("10 * * * *")),
        ("45/20 * * * *", StepTooLarge, "from 45 leads past 59", Some("45 * * * *")),
        ("0 */30 * * *", StepTooLarge, "30 hours is longer than the day", Some("0 0 * * *")),
        (
            "0 0 */31 * *",
            StepTooLarge,
            "is as long as the month: only the first",
            Some("0 0 1 * *"),
        ),
        ("0 0 * * */9", StepTooLarge, "9 days is longer than the week", Some("0 0 * * 0")),
        ("0 0 13 * +*/9", StepTooLarge, "longer than the week", Some("0 0 13 * +0")),
        ("0 0 13 * 5", EitherDay, "62 days in the next 365", Some("0 0 13 * +5")),
        ("0 0 */2 * 1", BothDays, "26 days in the next 365", None),
        (
            "0 0 31 * *",
            SkipsMonths,
            "February, April, June, September and November have no day 31",
            Some("0 0 L * *"),
        ),
        (
            "0 0 29 * *",
            SkipsMonths,
            "has no day 29 in a common year, so it does",
            Some("0 0 L * *"),
        ),
        // 30 February does not exist, so the two day fields never coincide.
        ("0 0 30 2 1", EitherDay, "either will do, which is 4 days", None),
        ("0 0 29 2 *", FiresRarely, "2028-02-29 and 2032-02-29", None),
        ("* * * * * *", FiresOften, "86400 times a day", None),
        ("* * * * * 1", FiresOften, "86400 times on every day that it names, 52 in the", None),
        ("@every 2s", FiresOften, "43200 times a day", None),
        ("@at 0", NeverFires, "the last was 1970-01-01T00:00:00Z", None),
        ("0 0 0 1 1 * 2020", NeverFires, "the last was 2019-12-31T23:00:00Z", None),
        (
            "30 2 * * *",
            DstGap,
            "02:30 does not exist on 2026-03-29 in Europe/Berlin: it fires at 03:00",
            None,
        ),
        (
            "30 2 * * *",
            DstOverlap,
            "02:30 occurs twice on 2026-10-25 in Europe/Berlin: it fires the first time",
            None,
        ),
        (
            "*/30 2 * * *",
            WildcardMissesGap,
            "does not fire at all on that date",
            Some("0/30 2 * * *"),
        ),
        ("*/30 2 * * *", WildcardRepeats, "it fires both times", Some("0/30 2 * * *")),
        (
            "0 0-23 * * *",
            SkipsRepeatedHour,
            "next on 2026-10-25 in Europe/Berlin, it does not fire in one of the two equal hours",
            Some("0 * * * *"),
        ),
        // The 29th of October is a Sunday of a clock change in 2028, not in this year.
        ("0 0-23 29 10 *", SkipsRepeatedHour, "next on 2028-10-29", Some("0 * 29 10 *")),
        ("0,30 2 * * *", DstGap, "in Europe/Berlin: it fires once at 03:00 instead", None),
        ("30 0-23 * * *", DstGap, "02:30 does not exist on 2026-03-29", None),
        (
            "0 2,3 * * *",
            DstGap,
            "it fires once at 03:00, the first instant after the gap, as",
            None,
        ),
        (
            "30 2,14 * * *",
            DstGap,
            "02:30 does not exist on 2026-03-29 in Europe/Berlin: it fires at 03:00 instead",
            None,
        ),
        (
            "*/60 2,14 * * *",
            WildcardMissesGap,
            "it fires 1 time on that date",
            Some("0/60 2,14 * * *"),
        ),
    ] {
        let warnings = warnings(&definition(expression, "Europe/Berlin"));
        let found = warnings.iter().find(|warning| warning.code == code);
        let found = found.unwrap_or_else(|| panic!("{expression}: no {code:?} in {warnings:?}"));
        assert!(found.message.contains(part), "{expression}: {}", found.message);
        assert_eq!(found.suggestion.as_deref(), suggestion, "{expression}");
        if let Some(better) = suggestion {
            let better = self::warnings(&definition(better, "Europe/Berlin"));
            assert!(better.iter().all(|warning| warning.code != code), "{expression}: {better:?}");
        }
    }
}

#[test]
fn what_is_plainly_meant_gets_no_warning() {
    for expression in [
        "* * * * *",
        "*/15 * * * *",
        "0 9 * * 1-5",
        "0 0 1 * *",
        "@daily",
        "@hourly",
        "@every 1h",
        "0 9-17 * * *",
        "0 0 L * *",
        "@at 1800000000",
        "30 4 1,15 * *",
        "0 0 0 29 2 * 2028",
        "*/60 * * * *",
        "0 */24 * * *",
        "0 0 1 */12 *",
        "0 0 * * */7",
        "5/15 * * * *",
        "9-59/10 * * * *",
        "0-30/7 * * * *",
        "0 9-17/3 * * *",
        "0 9-23/3 * * *",
        // No clock change falls on these days.
        "0 0-23 1 1 *",
        "0 0-23 1 6 *",
    ] {
        let warnings = warnings(&definition(expression, "Europe/Berlin"));
        assert_eq!(warnings, [], "{expression}");
    }
}

#[test]
fn the_fields_of_a_definition_are_judged_together() {
    let ended =
        Definition { end: Some(instant("2026-02-01T00:00:00Z")), ..definition("0 9 * * *", "UTC") };
    let twice = Definition {
        expressions: vec!["0 9 * * 1-5".to_owned(), "0 9 * * MON-FRI".to_owned()],
        ..definition("", "UTC")
    };
    let jitter = Definition { jitter: Duration::from_secs(90), ..definition("* * * * *", "UTC") };
    for (asked, code, field) in [
        (ended, WarningCode::OutsideBounds, "end"),
        (twice, WarningCode::Duplicate, "expressions[1]"),
        (jitter, WarningCode::JitterOverlaps, "jitter"),
    ] {
        let warnings = warnings(&asked);
        let found: Vec<_> = warnings.iter().map(|w| (w.code, w.field.as_str())).collect();
        assert_eq!(found, [(code, field)]);
    }
}

/// If the definition's start or end prevents fires,
/// the warning names that field, not the expression.
#[test]
fn a_warning_names_the_field_because_of_which_nothing_fires() {
    let asked = |text: &str, start: Option<&str>, end: Option<&str>| Definition {
        start: start.map(instant),
        end: end.map(instant),
        ..definition(text, "UTC")
    };
    for (asked, code, field, message) in [
        (
            asked("@at 2026-06-01T00:00:00Z", Some("2026-07-01T00:00:00Z"), None),
            WarningCode::OutsideBounds,
            "start",
            "it never fires: the last instant that it names, 2026-06-01T00:00:00Z, lies before its \
             start, 2026-07-01T00:00:00Z",
        ),
        (
            asked("0 0 0 1 1 * 2027", Some("2027-01-01T00:00:01Z"), Some("2028-01-01T00:00:00Z")),
            WarningCode::OutsideBounds,
            "start",
            "it never fires: the last instant that it names, 2027-01-01T00:00:00Z, lies before its \
             start, 2027-01-01T00:00:01Z",
        ),
        (
            asked("0 0 1 1 *", Some("2026-05-01T00:00:00Z"), Some("2026-06-01T00:00:00Z")),
            WarningCode::OutsideBounds,
            "end",
            "it never fires: no instant that it names lies between its start, 2026-05-01T00:00:00Z, \
             and its end, 2026-06-01T00:00:00Z",
        ),
        (
            asked("0 9 * * *", None, Some("2026-02-01T00:00:00Z")),
            WarningCode::OutsideBounds,
            "end",
            "it never fires again: it ends at 2026-02-01T00:00:00Z, and its last fire was \
             2026-01-31T09:00:00Z",
        ),
        (
            asked("@at 2026-06-01T00:00:00Z", None, Some("2026-05-01T00:00:00Z")),
            WarningCode::OutsideBounds,
            "end",
            "it never fires: no instant that it names lies before its end, 2026-05-01T00:00:00Z",
        ),
        (
            asked("@at 2026-01-01T00:00:00Z", Some("2026-07-01T00:00:00Z"), None),
            WarningCode::NeverFires,
            "expressions",
            "it will never fire: every instant that it names is past; the last was \
             2026-01-01T00:00:00Z",
        ),
    ] {
        let warnings = warnings(&asked);
        let found: Vec<_> =
            warnings.iter().map(|w| (w.code, w.field.as_str(), w.message.as_str())).collect();
        assert_eq!(found, [(code, field, message)], "{asked:?}");
    }
    // A start that is itself a fire counts as inside the bounds.
    let first = asked("@at 2026-06-01T00:00:00Z", Some("2026-06-01T00:00:00Z"), None);
    assert_eq!(warnings(&first), []);
}

/// A zone that crosses the date line: the warning mentions
/// no policy, and no `*` where none was typed.
#[test]
fn a_correction_is_called_one() {
    for (zone, from, expression, code, message) in [
        (
            "Pacific/Apia",
            "2011-12-01T00:00:00Z",
            "0 12 * * *",
            WarningCode::DstGap,
            "12:00 does not exist on 2011-12-30 in Pacific/Apia: the clock is put forward by 1 d, a \
             correction for which nothing is made up, so it does not fire then",
        ),
        (
            "Pacific/Apia",
            "2011-12-01T00:00:00Z",
            "*/30 12 * * *",
            WarningCode::WildcardMissesGap,
            "12:00 and 12:30 do not exist on 2011-12-30 in Pacific/Apia, and `*` follows the clock: \
             it does not fire at all on that date",
        ),
        (
            "America/Juneau",
            "1867-10-01T00:00:00Z",
            "0 20 * * *",
            WarningCode::DstOverlap,
            "20:00 occurs twice on 1867-10-18 in America/Juneau: the clock is put back by 1 d, a \
             correction after which times fire again, so it fires both times",
        ),
    ] {
        let warnings = timetable(expression, zone).lint(instant(from));
        let found = warnings.iter().find(|warning| warning.code == code);
        let found = found.unwrap_or_else(|| panic!("{expression}: no {code:?} in {warnings:?}"));
        assert_eq!((found.message.as_str(), &found.suggestion), (message, &None), "{expression}");
    }
}

/// In Nuuk the gap ends at midnight.
#[test]
fn a_fire_that_moves_to_the_next_date_names_it() {
    let warnings = timetable("30 23 * * *", "America/Nuuk").lint(instant("2026-03-01T00:00:00Z"));
    assert_eq!(
        warnings[0].message,
        "23:30 does not exist on 2026-03-28 in America/Nuuk: it fires at 00:00 on 2026-03-29 \
         instead, the first instant after the gap"
    );
}

#[test]
fn a_clock_change_before_the_start_or_after_the_end_is_no_warning() {
    let codes = |text: &str, start: Option<&str>, end: Option<&str>| {
        let asked = Definition {
            start: start.map(instant),
            end: end.map(instant),
            ..definition(text, "Europe/Berlin")
        };
        let timetable = Timetable::new(&asked).expect("valid");
        let warnings = timetable.lint(instant("2026-03-01T00:00:00Z"));
        warnings.into_iter().map(|warning| warning.code).collect::<Vec<_>>()
    };
    let (gap, overlap) = (WarningCode::DstGap, WarningCode::DstOverlap);
    // The clocks change on 29 March and 25 October 2026, and on 28 March 2027.
    assert_eq!(codes("30 2 * * *", None, None), [gap, overlap]);
    assert_eq!(codes("30 2 * * *", None, Some("2026-03-20T00:00:00Z")), []);
    assert_eq!(codes("30 2 * * *", None, Some("2026-06-01T00:00:00Z")), [gap]);
    assert_eq!(codes("30 2 * * *", Some("2026-06-01T00:00:00Z"), None), [overlap, gap]);
    assert_eq!(codes("30 2 * * *", Some("2026-03-29T01:00:00Z"), None), [gap, overlap]);
    let hourly = [WarningCode::SkipsRepeatedHour];
    assert_eq!(codes("0 0-23 * * *", None, Some("2027-01-01T00:00:00Z")), hourly);
    assert_eq!(codes("0 0-23 * * *", None, Some("2026-10-01T00:00:00Z")), []);
}

#[test]
fn a_jitter_is_compared_with_the_shortest_time_between_fires() {
    let asked = Definition {
        expressions: vec!["0 9,17 * * *".to_owned(), "30 17 * * 5".to_owned()],
        jitter: Duration::from_secs(3_600),
        ..definition("", "UTC")
    };
    let found = warnings(&asked);
    let [found] = &found[..] else { panic!("{found:?}") };
    assert_eq!(found.code, WarningCode::JitterOverlaps);
    assert_eq!(
        found.message,
        "the jitter of 1 h is longer than the 30 min between the fires at 2026-03-06 17:00:00 and \
         2026-03-06 17:30:00; no fire waits beyond the next one"
    );
    assert_eq!(found.suggestion.as_deref(), Some("1800 s"));
    let shorter = Definition { jitter: Duration::from_secs(1_800), ..asked };
    assert_eq!(warnings(&shorter), []);
}

#[test]
fn what_h_chose_without_a_schedule_is_an_example() {
    let asked = Definition {
        expressions: vec!["0 9 * * *".to_owned(), "H 3 * * *".to_owned()],
        ..definition("", "UTC")
    };
    let example = Timetable::new(&asked).expect("valid").example().expect("an `H`");
    assert_eq!(example.code, WarningCode::HashedExample);
    assert_eq!(example.field, "expressions[1]");
    assert!(example.message.contains("an example"), "{}", example.message);
    assert_eq!(timetable("0 9 * * *", "UTC").example(), None);
}

#[test]
fn the_next_clock_change_that_affects_a_time_is_found_with_its_effect() {
    let (from, until) = (instant("2027-03-20T00:00:00Z"), instant("2027-04-03T00:00:00Z"));
    let change =
        |text: &str, from, until| timetable(text, "Europe/Berlin").clock_change(from, until);
    let spring = change("30 2 * * *", from, until).expect("the clocks go forward");
    assert_eq!(spring.at, instant("2027-03-28T01:00:00Z"));
    let [effect] = &spring.effects[..] else { panic!("{spring:?}") };
    assert!(effect.contains("02:30 does not exist on 2027-03-28"), "{effect}");
    // A clock change outside the window, on another weekday or at another time does not affect
    // the expression, and neither does one that a wildcard follows.
    assert_eq!(change("30 2 * * *", from, instant("2027-03-27T00:00:00Z")), None);
    assert_eq!(change("30 2 * * 1-5", from, until), None);
    assert_eq!(change("30 4 * * *", from, until), None);
    assert_eq!(change("*/5 * * * *", from, until), None);
    // An expression that the change in spring does not affect may be affected by the one in autumn.
    let late = instant("2027-12-01T00:00:00Z");
    let autumn = change("30 2 31 10 *", from, late).expect("the clocks go back");
    assert_eq!(autumn.at, instant("2027-10-31T01:00:00Z"));
    assert_eq!(timetable("30 2 * * *", "UTC").clock_change(from, late), None);
}
