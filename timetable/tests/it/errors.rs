//! The errors that a person sees after a typing mistake.

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
            "at byte 2: the range 22-2 in the hour field runs backwards; a range does not wrap: write `22-23,0-2`",
        ),
        ("/5 * * * *", "at byte 0: a step without a start in the minute field; write `*/5`"),
        ("0 0 /5 * *", "write `*/5` for every value in steps, or `1/5` for a start"),
        ("0 0 * * 7-1", "runs backwards; a range does not wrap: write `0-1`"),
        ("0 0 * * 5-0", "runs backwards; a range does not wrap: write `5-7`"),
        ("0 0 * * FRI-MON", "runs backwards; a range does not wrap: write `5-6,0-1`"),
        ("0 22-2/2 * * *", "runs backwards; a range does not wrap: write `22,0-2/2`"),
        ("0 0 0 1 1 * 2030-2025", "runs backwards; a range does not wrap: write `2025-2030`"),
        ("H(29-0) * * * *", "write `H(0-29)`, or one side of it, `H(29-59)`"),
        ("0 0 * * H(SAT-MON)", "write `H(1-6)`, or one side of it, `H(0-1)`"),
        ("0 H(9) * * *", "write `H`, `H/6`, `H(0-7)` or `H(9-17)/4`"),
        ("0 x * * *", "\"x\" is not an hour; it takes"),
        ("0 0 * * +", "an empty item in the day of week field; write a number"),
        ("0 0 * * L", "at byte 8: `L` alone is not a day of week; write `6` for every Saturday"),
        (
            "0 0 L-28 * *",
            "at byte 4: \"28\" does not say how many days before the last; write `L-1`",
        ),
        ("0 0 LX * *", "at byte 4: \"LX\" is not a day of month; `L` is the last day"),
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

/// The parts of a text in backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Whether the text that an error advises is itself accepted in place of the refused one.
fn accepted(text: &str, position: Option<std::ops::Range<usize>>, advice: &str) -> bool {
    // The `n` of an advised form such as `*/n` stands for any number.
    let advice = advice.replace('n', "2");
    let whole = advice.contains(' ') || advice.starts_with('@');
    if whole || text.starts_with("@every") {
        let advice = if whole { advice } else { format!("@every {advice}") };
        return parse(&advice, "UTC").is_ok();
    }
    let Some(position) = position else { return true };
    // Replace the whole field that contains the position.
    let start = text[..position.start].rfind(' ').map_or(0, |space| space + 1);
    let end = text[start..].find(' ').map_or(text.len(), |length| start + length);
    parse(&format!("{}{advice}{}", &text[..start], &text[end..]), "UTC").is_ok()
}

#[test]
fn what_an_error_advises_is_accepted() {
    let items = [
        "/5",
        "1,,2",
        ",",
        "*,5",
        "7-1",
        "31-1",
        "50-10",
        "22-2/2",
        "9-1/3",
        "5-0",
        "5-1",
        "1-0",
        "x",
        "MON",
        "JAN",
        "MONDAY",
        "JANUARY",
        "SEPT",
        "L",
        "L-28",
        "LX",
        "W",
        "0W",
        "LL",
        "5#9",
        "5#",
        "5#0",
        "?/2",
        "1,?",
        "L/2",
        "*/0",
        "*/x",
        "5/",
        "*/99999",
        "99999",
        "-",
        "1-",
        "-1",
        "H(29-0)",
        "H(7-1)",
        "H(22-2)",
        "H(5-0)",
        "H(FRI-MON)",
        "H(9)",
        "H1",
        "H(",
        "+5",
        "+",
        "4999-1",
        "FRI-MON",
        "DEC-JAN",
    ];
    let whole =
        ["@every 1x", "@every 0s", "@every", "@every 1 h", "@at", "@at x", "@reboot", "* *", ""];
    let texts = (0..7).flat_map(|field| {
        items.map(|item| {
            let mut words = ["0", "0", "0", "1", "1", "*", "*"];
            words[field] = item;
            words.join(" ")
        })
    });
    let mut seen = 0;
    for text in texts.chain(whole.map(str::to_owned)) {
        let Err(error) = parse(&text, "UTC") else { continue };
        for advice in quoted(&error.help) {
            seen += 1;
            assert!(
                accepted(&text, error.position.clone(), advice),
                "{text:?}: `{advice}` in {error}"
            );
        }
    }
    assert!(seen > 500, "{seen}");
}
