//! Damages a module that has every key, in thousands of ways. Each result must be read and checked,
//! or refused with an error of bounded size.

use std::{collections::BTreeSet, time::Duration};

use chrono::DateTime;
use proptest::{
    prelude::*,
    sample::Index,
    strategy::ValueTree,
    test_runner::{Config, TestRunner},
};
use serde_json::{Map, Value, json};

use super::{
    file::{File, FileFormat, schema},
    lint::LintedSchedule,
};
use crate::{clock::Clock, model::BadInput};

const GOOD: &str = include_str!("every_key.yaml");

/// The time limit for one file: far more than any file needs, so that tests pass on a busy machine.
const SOON: Duration = Duration::from_secs(10);

/// Values of every type, and texts that are valid in some kind of field.
const TEXTS: &[&str] = &[
    "",
    "a",
    "***",
    "@daily",
    "@every 1s",
    "*/7 * * * *",
    "61 * * * *",
    "UTC",
    "Europe/Atlantis",
    "5m",
    "-5m",
    "99999999999999d",
    "1500ms",
    "2027-01-01T00:00:00Z",
    "2027-02-30",
    "25:00",
    "skip",
    "all",
    "https://example.org/{{ context.a }}",
    "{{ secrets.token }}",
    "{{ secrets.",
    "{% for i in range(9999) %}{{ i }}{% endfor %}",
    "{{ a|upper|upper|upper }}",
    "file:///etc/passwd",
    "\u{0}\n\t",
    "é𝕏",
    "200-299",
    "fetch",
    "no-such-task",
];

/// Keys of the format in wrong places, and unknown keys.
const KEYS: &[&str] = &[
    "when",
    "task",
    "tasks",
    "target",
    "http",
    "command",
    "noop",
    "url",
    "zone",
    "windows",
    "from",
    "retry",
    "misfire",
    "workflow",
    "needs",
    "on",
    "kind",
    "__proto__",
    "",
    "a.b",
    "é",
    "<<",
];

#[derive(Clone, Debug)]
enum Damage {
    Replace(Value),
    Remove,
    Rename(String),
    Add(String, Value),
    /// Wraps the value in arrays or objects.
    Bury(u8, bool),
    /// Copies the value into itself.
    Repeat(u8),
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-3_i64..200).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(TEXTS).prop_map(Value::from),
        prop::sample::select(TEXTS).prop_map(Value::from),
        ".{0,200}".prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
        Just(json!("x".repeat(5_000))),
        prop::sample::select(KEYS).prop_map(|key| json!({ key: {} })),
    ]
}

fn damage() -> impl Strategy<Value = Damage> {
    let key = || {
        prop_oneof![
            4 => prop::sample::select(KEYS).prop_map(str::to_owned),
            1 => ".{0,80}",
        ]
    };
    prop_oneof![
        6 => value().prop_map(Damage::Replace),
        2 => Just(Damage::Remove),
        1 => key().prop_map(Damage::Rename),
        1 => (key(), value()).prop_map(|(key, value)| Damage::Add(key, value)),
        1 => (1_u8..=200, any::<bool>()).prop_map(|(times, array)| Damage::Bury(times, array)),
        1 => (1_u8..5).prop_map(Damage::Repeat),
    ]
}

fn good() -> Value {
    serde_saphyr::from_str(GOOD).unwrap()
}

/// The module with up to three places damaged.
fn damaged() -> impl Strategy<Value = Value> {
    prop::collection::vec((any::<Index>(), damage()), 1..4).prop_map(|all| {
        let mut module = good();
        for (place, damage) in all {
            let place = place.index(count(&module));
            apply(&mut module, place, &damage);
        }
        module
    })
}

fn children(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match value {
        Value::Array(items) => Box::new(items.iter()),
        Value::Object(map) => Box::new(map.values()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            Box::new(std::iter::empty())
        }
    }
}

/// The number of values inside, including the value itself.
fn count(value: &Value) -> usize {
    1 + children(value).map(count).sum::<usize>()
}

/// Damages the value at this place, counted depth first.
fn apply(value: &mut Value, place: usize, damage: &Damage) {
    let Some(mut place) = place.checked_sub(1) else {
        return alter(value, damage);
    };
    match value {
        Value::Array(items) => {
            for index in 0..items.len() {
                let inside = count(&items[index]);
                if place < inside {
                    if place == 0 && matches!(damage, Damage::Remove) {
                        items.remove(index);
                        return;
                    }
                    return apply(&mut items[index], place, damage);
                }
                place -= inside;
            }
        }
        Value::Object(map) => {
            for key in map.keys().cloned().collect::<Vec<_>>() {
                let inside = count(&map[&key]);
                if place < inside {
                    return match damage {
                        Damage::Remove if place == 0 => drop(map.remove(&key)),
                        Damage::Rename(new) if place == 0 => rename(map, &key, new),
                        Damage::Replace(_)
                        | Damage::Remove
                        | Damage::Rename(_)
                        | Damage::Add(..)
                        | Damage::Bury(..)
                        | Damage::Repeat(_) => apply(&mut map[&key], place, damage),
                    };
                }
                place -= inside;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn rename(map: &mut Map<String, Value>, old: &str, new: &str) {
    if let Some(value) = map.remove(old) {
        map.insert(new.to_owned(), value);
    }
}

fn alter(value: &mut Value, damage: &Damage) {
    match damage {
        Damage::Replace(new) => *value = new.clone(),
        Damage::Remove | Damage::Rename(_) => *value = Value::Null,
        Damage::Add(key, new) => match value {
            Value::Object(map) => drop(map.insert(key.clone(), new.clone())),
            Value::Array(items) => items.push(new.clone()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                *value = json!({ key: new });
            }
        },
        Damage::Bury(times, array) => {
            for _ in 0..*times {
                let inner = value.take();
                *value = if *array { json!([inner]) } else { json!({ "a": inner }) };
            }
        }
        Damage::Repeat(times) => match value {
            Value::Array(items) => {
                let one = items.clone();
                (0..*times).for_each(|_| items.extend(one.clone()));
            }
            Value::String(text) => *text = text.repeat(usize::from(*times)),
            Value::Object(map) => {
                for (key, value) in map.clone() {
                    (0..*times).for_each(|n| drop(map.insert(format!("{key}{n}"), value.clone())));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        },
    }
}

/// Reads and checks a file as `carillon lint` does; returns whether it could be read.
fn judged(text: &str, format: FileFormat) -> bool {
    let clock = Clock::system();
    let began = clock.instant();
    let read = File::read(text, format);
    let is_read = read.is_ok();
    match read.and_then(|file| file.lint(DateTime::UNIX_EPOCH)) {
        Ok(linted) => linted.iter().for_each(described),
        Err(refused) => names_the_place(&refused),
    }
    assert!(began.elapsed() < SOON, "{:?}: {text}", began.elapsed());
    is_read
}

fn described(schedule: &LintedSchedule) {
    assert!(!schedule.description.is_empty(), "{schedule:?}");
}

fn names_the_place(refused: &BadInput) {
    assert!(!refused.field.is_empty() && !refused.problem.is_empty(), "{refused:?}");
    assert!(refused.to_string().len() < 4_096, "{refused:?}");
}

fn judged_in_each_format(module: &Value) -> bool {
    // TOML has no null.
    if let Ok(text) = toml::to_string(module) {
        judged(&text, FileFormat::Toml);
    }
    judged(&module.to_string(), FileFormat::Yaml)
}

/// The text of the module with up to three places damaged.
fn damaged_text() -> impl Strategy<Value = String> {
    const PIECES: &[&str] = &[
        "",
        " ",
        "\n",
        "\t",
        ":",
        ": ",
        "- ",
        "[",
        "]",
        "{",
        "}",
        "'",
        "\"",
        "#",
        "&a ",
        "*a",
        "!!x ",
        "|",
        ">",
        "? ",
        "---\n",
        "...\n",
        "<<: ",
        "{{",
        "}}",
        "{% if a %}",
        "\\",
        "\u{0}",
        "é",
        "𝕏",
        "%YAML 9\n",
        "0x",
        "1e999",
        "~",
    ];
    let change = (any::<Index>(), 0_usize..30, prop::sample::select(PIECES));
    prop::collection::vec(change, 1..4).prop_map(|changes| {
        let mut text = GOOD.to_owned();
        for (place, length, piece) in changes {
            // Not all of the text is ASCII, so only whole characters are replaced.
            let from = text.floor_char_boundary(place.index(text.len() + 1));
            let until = text.floor_char_boundary((from + length).min(text.len())).max(from);
            text.replace_range(from..until, piece);
        }
        text
    })
}

proptest! {
    #![proptest_config(Config::with_cases(2_000))]

    #[test]
    fn a_module_with_damaged_values_is_answered(module in damaged()) {
        judged_in_each_format(&module);
    }

    #[test]
    fn a_module_with_damaged_text_is_answered(text in damaged_text()) {
        judged(&text, FileFormat::Yaml);
    }
}

#[test]
fn the_module_that_is_damaged_has_every_key_and_is_accepted() {
    assert!(judged_in_each_format(&good()));
    File::read(GOOD, FileFormat::Yaml).unwrap().lint(DateTime::UNIX_EPOCH).unwrap();
    let mut keys = BTreeSet::new();
    keys_of(&good(), &mut keys);
    let schema: Value = serde_json::from_str(&schema()).unwrap();
    let mut missing = BTreeSet::new();
    properties_of(&schema, &mut missing);
    missing.retain(|key| !keys.contains(key));
    assert!(missing.is_empty(), "every_key.yaml lacks {missing:?}");
}

fn keys_of(value: &Value, keys: &mut BTreeSet<String>) {
    if let Value::Object(map) = value {
        keys.extend(map.keys().cloned());
    }
    children(value).for_each(|child| keys_of(child, keys));
}

fn properties_of(schema: &Value, keys: &mut BTreeSet<String>) {
    if let Some(properties) = schema["properties"].as_object() {
        keys.extend(properties.keys().cloned());
    }
    children(schema).for_each(|child| properties_of(child, keys));
}

/// Enough damaged modules must be readable; otherwise no test would reach the checks that follow
/// the parser.
#[test]
fn many_damaged_modules_can_be_read() {
    let mut runner = TestRunner::deterministic();
    let is_read = |_: &i32| {
        let module = damaged().new_tree(&mut runner).unwrap().current();
        judged(&module.to_string(), FileFormat::Yaml)
    };
    let read = (0..200).filter(is_read).count();
    assert!((20..180).contains(&read), "{read} of 200");
}
