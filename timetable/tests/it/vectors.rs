//! The project's test vectors: cases on which independent
//! implementations and the written rule agree.

use std::{fs, path::Path};

use chrono::{DateTime, SecondsFormat, Utc};
use serde::Deserialize;
use timetable::{Definition, Timetable};

use crate::support::definition;

#[derive(Deserialize)]
struct Vector {
    id: String,
    expr: String,
    tz: String,
    from: DateTime<Utc>,
    expected: Vec<DateTime<Utc>>,
    /// Whether there are no fires other than the expected ones.
    #[serde(default)]
    exhausted: bool,
}

#[derive(Deserialize)]
struct Invalid {
    id: String,
    expr: String,
    tz: String,
    from: DateTime<Utc>,
    outcome: String,
}

fn read<T: for<'de> Deserialize<'de>>(file: &str) -> Vec<T> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(file);
    let text = fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("the vectors in {} are needed: {error}", path.display()));
    let lines = text.lines().filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect()
}

/// In the vectors, `@every` counts from `from`.
fn asked(expr: &str, tz: &str, from: DateTime<Utc>) -> Definition {
    Definition { anchor: from, ..definition(expr, tz) }
}

fn check(vectors: Vec<Vector>) {
    assert!(!vectors.is_empty());
    let mut wrong = Vec::new();
    for vector in &vectors {
        let Vector { id, expr, tz, from, expected, exhausted } = vector;
        let timetable = match Timetable::new(&asked(expr, tz, *from)) {
            Ok(timetable) => timetable,
            // Three vectors give 29 February in common years only and expect no fire.
            // The calculator refuses expressions that can never match, which is the same result.
            Err(error) if expected.is_empty() && error.never_fires => continue,
            Err(error) => {
                wrong.push(format!("{id} {expr:?} {tz}: {error}"));
                continue;
            }
        };
        let wanted = expected.len() + usize::from(*exhausted);
        let fires: Vec<_> =
            timetable.fires(*from, DateTime::<Utc>::MAX_UTC).take(wanted).map(|f| f.at).collect();
        if fires != *expected {
            let fires: Vec<_> =
                fires.iter().map(|f| f.to_rfc3339_opts(SecondsFormat::AutoSi, true)).collect();
            wrong.push(format!("{id} {expr:?} {tz} from {from}: {fires:?}, not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} wrong:\n{}", wrong.len(), vectors.len(), wrong.join("\n"));
}

#[test]
fn every_vector_fires_as_expected() {
    check(read("cron-vectors.jsonl"));
}

#[test]
fn every_vector_of_current_zone_data_fires_as_expected() {
    check(read("cron-vectors-tzdata.jsonl"));
}

#[test]
fn every_invalid_text_is_refused_and_every_past_one_never_fires() {
    let invalid: Vec<Invalid> = read("cron-invalid.jsonl");
    assert!(!invalid.is_empty());
    for Invalid { id, expr, tz, from, outcome } in &invalid {
        let answer = Timetable::new(&asked(expr, tz, *from));
        match (outcome.as_str(), answer) {
            ("reject", Err(error)) => {
                let line = error.to_string();
                assert!(line.lines().count() == 1 && line.len() < 600, "{id}: {line}");
                let value = if error.field == "zone" { tz } else { expr };
                if let Some(position) = error.position {
                    assert!(
                        value.get(position.clone()).is_some(),
                        "{id}: {position:?} in {value:?}"
                    );
                }
            }
            ("never_fires", Ok(timetable)) => assert_eq!(timetable.next(*from), None, "{id}"),
            (outcome, answer) => panic!("{id} {expr:?} {tz:?} should {outcome}: {answer:?}"),
        }
    }
}
