//! What a person reads who typed something wrong.

use std::time::Duration;

use timetable::{Definition, Timetable};

use crate::support::{definition, instant, parse};

fn line(expression: &str) -> String {
    parse(expression, "UTC").expect_err(expression).to_string()
}

#[test]
fn an_error_names_the_place_the_problem_and_the_way_out() {
    for (expression, expected) in [
        ("61 * * * *", r#"at byte 0: 61 is out of range for the minute field; it takes 0 to 59"#),
        (
            "0 0 * * MONDAY",
            r#"at byte 8: "MONDAY" is not a day of week; names have three letters: write `MON`"#,
        ),
        (
            "0 0 1,,3 * *",
            "at byte 6: an empty item in the day of month field; remove the extra comma",
        ),
        (
            "0 22-2 * * *",
            "at byte 2: the range 22-2 in the hour field runs backwards; a range does not wrap: write it as a list, `22-23,0-2`",
        ),
        ("/5 * * * *", "at byte 0: a step without a start in the minute field; write `*/5`"),
        ("0 0 * * L", "at byte 8: `L` alone is not a day of week; write `6` for every Saturday"),
        ("0 0 L-3 * *", "at byte 4: \"L-3\" is not a day of month; `L` is the last day"),
        ("0 0 30 2 *", "it can never fire: no such date exists"),
        ("* * * *", "at byte 0: 4 fields, beginning with \"*\"; write 5 fields"),
        ("CRON_TZ=UTC 0 0 * * *", "name the zone in the schedule's zone field"),
        ("@every 1h30", "at byte 9: the number has no unit; write it as `90s`"),
        ("@reboot", "\"@reboot\" is not a nickname; use @yearly"),
        ("５ * * * *", "at byte 0: '５' (U+FF15) is not an ASCII character"),
        ("", "the expression is empty; write five fields"),
    ] {
        let line = line(expression);
        assert!(line.contains(expected), "{line}\n  lacks {expected}");
    }
}

#[test]
fn a_long_text_is_refused_before_it_is_read_and_not_repeated() {
    let line = line(&"*,".repeat(50_000));
    assert!(line.contains("100000 bytes long") && line.len() < 300, "{line}");
}

#[test]
fn every_field_of_a_definition_is_named_when_it_is_wrong() {
    let good = || definition("0 9 * * *", "UTC");
    let many = vec!["0 9 * * *".to_owned(); 17];
    let second = vec!["0 9 * * *".to_owned(), "0 9 * *".to_owned()];
    let day = instant("2026-05-01T00:00:00Z");
    for (field, asked) in [
        ("expressions", Definition { expressions: Vec::new(), ..good() }),
        ("expressions", Definition { expressions: many, ..good() }),
        ("expressions[1]", Definition { expressions: second, ..good() }),
        ("zone", Definition { zone: "utc".to_owned(), ..good() }),
        ("end", Definition { start: Some(day), end: Some(day), ..good() }),
        ("jitter", Definition { jitter: Duration::from_secs(86_401), ..good() }),
    ] {
        assert_eq!(Timetable::new(&asked).expect_err(field).field, field);
    }
}
