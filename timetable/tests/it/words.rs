//! What a person reads: descriptions and warnings.

use std::time::Duration;

use timetable::{Definition, DstPolicy, Gap, Overlap, Timetable, Warning, WarningCode};

use crate::support::{definition, instant, timetable};

/// The words for when it fires, without the sentences about zone and clock changes.
fn when(expression: &str) -> String {
    let words = timetable(expression, "UTC").describe();
    words.strip_suffix(" Times are those of UTC.").unwrap_or(&words).to_owned()
}

#[test]
fn an_expression_is_described_by_what_fires() {
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
        ("0 0 LW * *", "At 00:00 on the last Monday to Friday of the month."),
        ("0 9 * 6 5L", "At 09:00 on the last Friday of the month in June."),
        ("0 9 * * MON#1", "At 09:00 on the 1st Monday of the month."),
        ("0 0 12 1 1 ? */2", "At 12:00 on the 1st of January in even years."),
        (
            "0 0 0 1 1 * 2025-2033/4",
            "At 00:00 on the 1st of January in every 4th year from 2025 to 2033.",
        ),
        ("@every 90m", "Every 1 h 30 min, counted from 1970-01-01T00:00:00Z."),
        ("@at 1800000000", "Once, at 2027-01-15T08:00:00Z."),
        ("H H(1-3) * * *", "At 01:41 every day (`H` chose the minute and hour for this schedule)."),
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
         they go back, a time that comes twice fires both times. Each fire is delayed by up to \
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
        (
            "0 0 1 */5 *",
            UnevenStep,
            "the last step of the year is 2 months long",
            Some("0 0 1 */4 *"),
        ),
        ("0 0 */2 * *", UnevenStep, "begins anew on the 1st of every month", None),
        ("0 0 * * */3", UnevenStep, "begins anew on Sunday", None),
        ("*/90 * * * *", StepTooLarge, "longer than the hour", Some("0 * * * *")),
        ("0 0 13 * 5", EitherDay, "62 days in the next 365", Some("0 0 13 * +5")),
        ("0 0 */2 * 1", BothDays, "26 days in the next 365", None),
        (
            "0 0 31 * *",
            SkipsMonths,
            "months without a day 31, in a common year 5",
            Some("0 0 L * *"),
        ),
        ("0 0 29 2 *", FiresRarely, "2028-02-29 and 2032-02-29", None),
        ("* * * * * *", FiresOften, "86400 times a day", None),
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
            "02:30 comes twice on 2026-10-25 in Europe/Berlin: it fires the first time",
            None,
        ),
        (
            "*/30 2 * * *",
            WildcardMissesGap,
            "does not fire at all on that date",
            Some("0/30 2 * * *"),
        ),
        ("*/30 2 * * *", WildcardRepeats, "it fires both times", Some("0/30 2 * * *")),
        ("0 0-23 * * *", SkipsRepeatedHour, "one of the two equal hours", Some("0 * * * *")),
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
