//! Hostile texts of every shape: each is answered quickly, and a refusal names the position.

use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use proptest::prelude::*;
use timetable::{Dialect, TimingError};

use crate::{
    expressions::{any_minutely, any_secondly},
    laws::any_instant,
    support::parse,
};

/// The time limit for one text: far longer than any text needs,
/// so that a busy machine does not fail the test.
const SOON: Duration = Duration::from_secs(5);

/// Parses a text, and calls every function of a timetable.
fn answered(text: &str, zone: &str, after: DateTime<Utc>) {
    #[expect(clippy::disallowed_methods, reason = "what is measured is the machine's time")]
    let began = Instant::now();
    match parse(text, zone) {
        Ok(timetable) => {
            let next = timetable.next(after);
            assert!(next.is_none_or(|fire| fire.at > after), "{text:?}");
            assert!(timetable.last(after, DateTime::<Utc>::MIN_UTC).is_none_or(|f| f.at <= after));
            assert!(!timetable.describe().is_empty(), "{text:?}");
            timetable.lint(after);
        }
        Err(error) => names_the_place(text, &error),
    }
    assert!(began.elapsed() < SOON, "{text:?} took {:?}", began.elapsed());
}

fn names_the_place(text: &str, error: &TimingError) {
    assert_eq!(error.field, "expressions[0]", "{error}");
    assert!(!error.problem.is_empty() && !error.help.is_empty(), "{error}");
    let told = error.to_string();
    assert_eq!(told.lines().count(), 1, "{told}");
    assert!(told.len() < 2_000, "an error repeats no long value: {told}");
    // The position begins and ends at whole characters of the text, or at its end.
    let is_within = |position| text.get(position).is_some();
    assert!(error.position.clone().is_none_or(is_within), "{error:?}");
}

/// An expression that fires, damaged in up to three places.
fn damaged() -> impl Strategy<Value = String> {
    const PIECES: &[&str] = &[
        "",
        " ",
        "*",
        "/",
        ",",
        "-",
        "?",
        "L",
        "W",
        "LW",
        "L-3",
        "#",
        "5#3",
        "H",
        "H(0-59)",
        "H(",
        ")",
        "~",
        "@",
        "@every ",
        "+",
        "0",
        "7",
        "60",
        "2147483648",
        "99999999999999999999",
        "-1",
        "1/0",
        "*/0",
        "MON",
        "mon-fri",
        "JAN",
        "\t",
        "\n",
        "\u{0}",
        "é",
        "５",
        "TZ=UTC ",
        "cron(",
    ];
    let change = (any::<prop::sample::Index>(), 0_usize..4, prop::sample::select(PIECES));
    let expression = prop_oneof![any_minutely(), any_secondly()];
    (expression, prop::collection::vec(change, 0..4)).prop_map(|(mut text, changes)| {
        for (place, length, piece) in changes {
            // Not all pieces are ASCII, so only whole characters are replaced.
            let bounds: Vec<usize> =
                text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            let from = place.index(bounds.len());
            let until = (from + length).min(bounds.len() - 1);
            text.replace_range(bounds[from]..bounds[until], piece);
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    #[test]
    fn every_text_is_answered(text in ".{0,300}", zone in ".{0,50}", after in any_instant()) {
        answered(&text, "Europe/London", after);
        prop_assert!(parse("* * * * *", &zone).is_err());
    }

    /// Texts made of valid letters get further into the grammar than random ones.
    #[test]
    fn every_text_of_crons_letters_is_answered(
        text in "[-0-9*,/?LWH#+()@a-f JANMO]{0,40}", after in any_instant(),
    ) {
        answered(&text, "Europe/London", after);
    }

    /// Texts that are almost valid get through most of the grammar.
    #[test]
    fn every_damaged_expression_is_answered(text in damaged(), after in any_instant()) {
        answered(&text, "America/New_York", after);
    }

    #[test]
    fn every_damaged_expression_of_another_dialect_is_answered(text in damaged()) {
        for dialect in [Dialect::Quartz, Dialect::EventBridge] {
            match dialect.translate(&text) {
                Ok(translated) => answered(&translated, "UTC", DateTime::UNIX_EPOCH),
                Err(error) => {
                    let told = error.to_string();
                    prop_assert!(!told.is_empty() && told.len() < 2_000, "{}", told);
                }
            }
        }
    }
}

#[test]
fn long_texts_are_answered_soon() {
    for text in [
        "*".repeat(1_000_000),
        "* ".repeat(500_000),
        format!("{} * * * *", "0,".repeat(300_000)),
        format!("{} * * * *", "0-59/1,".repeat(100_000) + "1"),
        format!("0 0 {} * *", "L-3,".repeat(200_000) + "L"),
        format!("{} * * * *", "H(".repeat(400_000)),
        format!("@every {}", "1h".repeat(400_000)),
        format!("@every {}s", "9".repeat(1_000_000)),
        format!("@at {}", "1".repeat(1_000_000)),
        "é".repeat(400_000),
    ] {
        answered(&text, "Europe/London", DateTime::UNIX_EPOCH);
    }
}
