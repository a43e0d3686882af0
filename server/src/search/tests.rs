use chrono::{DateTime, NaiveDate};
use proptest::{collection::vec, prelude::*};

use super::{field::Field, parser::MAX_SEARCH_BYTES, *};

fn schedules(text: &str) -> Search {
    Search::parse(SearchedList::Schedules, text).unwrap()
}

fn refused(list: SearchedList, text: &str) -> SearchError {
    Search::parse(list, text).unwrap_err()
}

#[test]
fn the_example_of_the_language_is_read() {
    let text = r#"state:failed tag:billing workflow:report "free text" next:<1h"#;
    let hour = SearchSpan::from_millis(3_600_000).unwrap();
    let expected = [
        Criterion::State(vec![State::Failed]),
        Criterion::Word(WordField::Tag, vec!["billing".to_owned()]),
        Criterion::Word(WordField::Workflow, vec!["report".to_owned()]),
        Criterion::Text("free text".to_owned()),
        Criterion::Time(TimeField::Next, TimeOperand::Away(Comparator::Less, hour)),
    ];
    for list in [SearchedList::Schedules, SearchedList::Runs] {
        let read = Search::parse(list, text).unwrap();
        assert!(read.terms.iter().all(|term| !term.negated));
        let tests: Vec<_> = read.terms.into_iter().map(|term| term.test).collect();
        assert_eq!(tests, expected, "{list:?}");
    }
}

#[test]
fn a_search_is_printed_in_one_way() {
    for (text, printed) in [
        ("", ""),
        ("  nightly\treport ", "nightly report"),
        ("STATE:Paused,timed-out -Tag:x", "state:paused,timed_out -tag:x"),
        (r#"tag:"a b",c name:"say \"hi\"""#, r#"tag:"a b",c name:"say \"hi\"""#),
        ("last:>90m next:never", "last:>1h30m next:never"),
        ("Skipped:<24h -skipped:never", "skipped:<1d -skipped:never"),
        ("LOST:<24h late:>=90s -lost:never", "lost:<1d late:>=1m30s -lost:never"),
        ("No:Tag,module -no:group", "no:tag,module -no:group"),
        (r#"Calendar:de,"Long nights" no:Calendar"#, r#"calendar:de,"Long nights" no:calendar"#),
        ("created:2026-01-31", "created:2026-01-31"),
        ("updated:>=2026-01-31", "updated:>=2026-01-31T00:00:00Z"),
        ("12:30 50%", r#""12:30" "50%""#),
    ] {
        assert_eq!(schedules(text).to_string(), printed, "{text}");
    }
}

#[test]
fn an_error_names_the_position_and_valid_alternatives() {
    for (list, text, place, problem, help) in [
        (
            SearchedList::Schedules,
            "tag:x stat:failed",
            6..10,
            "no field 'stat'",
            "did you mean 'state'",
        ),
        (
            SearchedList::Schedules,
            "took:>5s",
            0..4,
            "schedules have no field 'took'",
            "the fields are",
        ),
        (SearchedList::Runs, "lost:<1d", 0..4, "runs have no field 'lost'", "the fields are"),
        (SearchedList::Runs, "calendar:x", 0..8, "runs have no field 'calendar'", "the fields are"),
        (
            SearchedList::Schedules,
            "calender:x",
            0..8,
            "no field 'calender'",
            "did you mean 'calendar'",
        ),
        (SearchedList::Runs, "skipped:<1d", 0..7, "runs have no field 'skipped'", "the fields are"),
        (SearchedList::Schedules, "lost:1d", 5..7, "lacks a comparison", "lost:<1d or lost:>1d"),
        (SearchedList::Runs, "https://x", 0..5, "no field 'https'", "in quotes"),
        (SearchedList::Runs, "state:faild", 6..11, "'faild' is not known", "did you mean 'failed'"),
        (
            SearchedList::Runs,
            "state:failed,paused",
            13..19,
            "'paused' is not known",
            "there are: queued",
        ),
        (SearchedList::Runs, "trigger:cron", 8..12, "'cron' is not known", "schedule, manual"),
        (SearchedList::Schedules, "no:tags", 3..7, "'tags' is not known", "did you mean 'tag'"),
        (
            SearchedList::Schedules,
            "no:node",
            3..7,
            "'node' is not known",
            "there are: tag, module, group, calendar, note",
        ),
        (
            SearchedList::Runs,
            "no:tag,note",
            7..11,
            "'note' is not known",
            "tag, module, group, node",
        ),
        (SearchedList::Runs, "no:", 3..3, "nothing after it", "right after"),
        (SearchedList::Runs, "id:0190163d", 3..11, "'0190163d' is not an id", "a whole id"),
        (
            SearchedList::Schedules,
            "id:0190163d",
            0..2,
            "schedules have no field 'id'",
            "the fields are",
        ),
        (SearchedList::Runs, "late:5s", 5..7, "not a comparison", ">5s"),
        (SearchedList::Runs, "took:>1y", 5..8, "not a comparison", "1h30m"),
        (SearchedList::Schedules, "next:1h", 5..7, "lacks a comparison", "next:<1h or next:>1h"),
        (SearchedList::Schedules, "next:soon", 5..9, "is not a time", "2026-01-31"),
        (SearchedList::Schedules, "next:<1h,>2h", 9..12, "several values", "another term"),
        (SearchedList::Schedules, "tag:", 4..4, "nothing after it", "right after"),
        (SearchedList::Schedules, "tag:a,", 6..6, "nothing after it", "right after"),
        (SearchedList::Schedules, "é \"open", 3..8, "not closed", "another \""),
        (SearchedList::Schedules, "\"a\"b", 3..4, "follows a quote", "space"),
        (SearchedList::Schedules, "a - b", 2..3, "stands alone", "-tag:test"),
        (SearchedList::Schedules, "\"\"", 0..2, "empty", "to find"),
        (SearchedList::Schedules, "a\0b", 1..2, "NUL", "remove"),
    ] {
        let error = refused(list, text);
        assert_eq!(error.position, place, "{text}: {error}");
        assert!(error.problem.contains(problem), "{text}: {error}");
        assert!(error.help.contains(help), "{text}: {error}");
    }
}

#[test]
fn a_search_has_limits() {
    assert!(refused(SearchedList::Runs, &"x".repeat(1_001)).problem.contains("1000"));
    assert!(refused(SearchedList::Runs, &"x ".repeat(21)).problem.contains("21 terms"));
    let many = format!("tag:{}", vec!["x"; 21].join(","));
    assert!(refused(SearchedList::Runs, &many).problem.contains("21 values"));
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,8}", "[^\0]{1,6}", r#"[-:,"\\ <>=%_]{1,6}"#]
}

fn order() -> impl Strategy<Value = Comparator> {
    prop_oneof![
        Just(Comparator::Less),
        Just(Comparator::AtMost),
        Just(Comparator::More),
        Just(Comparator::AtLeast)
    ]
}

fn span() -> impl Strategy<Value = SearchSpan> {
    (0_i64..4_000_000_000).prop_map(|millis| SearchSpan::from_millis(millis).unwrap())
}

fn moment() -> impl Strategy<Value = TimeOperand> {
    let day = (0_i32..200_000).prop_map(|days| {
        TimeOperand::On(
            NaiveDate::from_ymd_opt(1970, 1, 1).unwrap() + chrono::Days::new(days as u64),
        )
    });
    let at = (order(), 0_i64..253_402_000_000_000).prop_map(|(order, millis)| {
        TimeOperand::At(order, DateTime::from_timestamp_millis(millis).unwrap())
    });
    let away = (order(), span()).prop_map(|(order, span)| TimeOperand::Away(order, span));
    prop_oneof![Just(TimeOperand::Never), day, away, at]
}

fn test(list: SearchedList) -> impl Strategy<Value = Criterion> {
    let states: Vec<_> = list.states().collect();
    let (fields, optional) = (list.fields(), list.optional_fields());
    let field = prop::sample::select(fields).prop_flat_map(move |field| match field {
        Field::State => {
            vec(prop::sample::select(states.clone()), 1..4).prop_map(Criterion::State).boxed()
        }
        Field::Trigger => {
            vec(prop::sample::select(Trigger::ALL), 1..4).prop_map(Criterion::Trigger).boxed()
        }
        Field::Id => vec(any::<u128>(), 1..4)
            .prop_map(|ids| Criterion::Id(ids.into_iter().map(Uuid::from_u128).collect()))
            .boxed(),
        Field::Word(field) => {
            vec(text(), 1..4).prop_map(move |words| Criterion::Word(field, words)).boxed()
        }
        Field::No => vec(prop::sample::select(optional), 1..4).prop_map(Criterion::No).boxed(),
        Field::Time(field) => {
            moment().prop_map(move |moment| Criterion::Time(field, moment)).boxed()
        }
        Field::Span(field) => (order(), span())
            .prop_map(move |(order, span)| Criterion::Span(field, order, span))
            .boxed(),
    });
    prop_oneof![1 => text().prop_map(Criterion::Text), 3 => field]
}

fn search(list: SearchedList) -> impl Strategy<Value = Search> {
    let term = (any::<bool>(), test(list)).prop_map(|(negated, test)| Term { negated, test });
    vec(term, 0..6).prop_map(|terms| Search { terms })
}

proptest! {
    #[test]
    fn a_printed_search_of_schedules_reads_back_as_itself(search in search(SearchedList::Schedules)) {
        prop_assert_eq!(Search::parse(SearchedList::Schedules, &search.to_string()), Ok(search));
    }

    #[test]
    fn a_printed_search_of_runs_reads_back_as_itself(search in search(SearchedList::Runs)) {
        prop_assert_eq!(Search::parse(SearchedList::Runs, &search.to_string()), Ok(search));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn nothing_that_can_be_typed_panics(text in ".{0,40}") {
        read_or_refused(&text)?;
    }

    #[test]
    fn nothing_that_looks_like_a_search_panics(
        text in r#"([-" \\]|state|tag|no|next|late|lost|skipped|:|,|<|>=|1h|é|2026-01-31|never){0,12}"#,
    ) {
        read_or_refused(&text)?;
    }
}

/// A search of any length is parsed in one pass or refused.
#[test]
fn a_search_of_any_length_is_read_or_refused() {
    for part in
        ["a ", "-", "\"", "tag:", "tag:x,", "tag:x ", "\\", "late:>1h", "next:<1h ", ":", "\u{e9}"]
    {
        for times in [1_000, 100_000] {
            read_or_refused(&part.repeat(times)).unwrap();
        }
    }
}

fn read_or_refused(text: &str) -> Result<(), TestCaseError> {
    for list in [SearchedList::Schedules, SearchedList::Runs] {
        match Search::parse(list, text) {
            Ok(read) => {
                // The printed text has additional quotes, so it may exceed the limit.
                let printed = read.to_string();
                if printed.len() <= MAX_SEARCH_BYTES {
                    prop_assert_eq!(Search::parse(list, &printed), Ok(read));
                }
            }
            Err(error) => {
                prop_assert!(text.get(error.position.clone()).is_some(), "{error:?}");
                prop_assert!(!error.problem.is_empty() && !error.help.is_empty());
            }
        }
    }
    Ok(())
}
