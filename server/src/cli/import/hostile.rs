//! Feeds arbitrary texts to every importer: each must return a result of bounded size.

use std::path::Path;

use proptest::{prelude::*, test_runner::Config};
use serde_json::Value;
use timetable::Dialect;

use super::{cronicle, crontab, dkron, eventbridge, gathered::Gathered, kubernetes};
use crate::commands::{FileFormat, modules::file::File};

/// Maximum size of a report in relation to its input: it repeats each entry, and may note each
/// word.
const MAX_GROWTH: usize = 200;

fn bounded(text: &str, gathered: &Gathered) {
    let most = 4_096 + text.len() * MAX_GROWTH;
    assert!(
        gathered.words().len() <= most,
        "{} bytes became {}",
        text.len(),
        gathered.words().len()
    );
    assert!(
        gathered.json().len() <= 2 * most,
        "{} bytes became {}",
        text.len(),
        gathered.json().len()
    );
    gathered.source(FileFormat::Yaml).unwrap_or_else(|error| panic!("{error}"));
}

fn every_importer(text: &str) {
    let new = || Gathered::new("imported", "default");
    for (system, dialect) in [
        (Some(true), None),
        (Some(false), None),
        (None, None),
        (Some(false), Some(Dialect::Quartz)),
        (Some(false), Some(Dialect::EventBridge)),
    ] {
        let mut gathered = new();
        let form = crontab::Form { system, dialect, user: None, zone: "Europe/Berlin" };
        let _ = crontab::gather(&mut gathered, Path::new("tab"), "tab", text, form);
        bounded(text, &gathered);
    }
    for runs in [kubernetes::ImportedRun::Job, kubernetes::ImportedRun::Command] {
        let mut gathered = new();
        let cluster = kubernetes::ClusterFacts { zone: "UTC", runs, dialect: None };
        kubernetes::gather(&mut gathered, "jobs", text, cluster);
        bounded(text, &gathered);
    }
    let mut gathered = new();
    cronicle::gather(&mut gathered, "export", text, "UTC");
    bounded(text, &gathered);
    if let Ok(json) = serde_json::from_str::<Value>(text) {
        let mut gathered = new();
        eventbridge::gather(&mut gathered, "export", &json);
        bounded(text, &gathered);
        let mut gathered = new();
        dkron::gather(&mut gathered, "export", &json, "UTC", None);
        bounded(text, &gathered);
    }
}

/// Texts made of random pieces that importers search for.
fn pieces() -> impl Strategy<Value = String> {
    const PIECES: &[&str] = &[
        "* * * * *",
        "@daily",
        "@reboot",
        "@every 1h",
        "root ",
        "%",
        "\\%",
        "\\",
        "=",
        "SHELL=/x",
        "CRON_TZ=Mars",
        "H(0-59)",
        "0~59",
        "~",
        "cron(",
        "rate(5 minutes)",
        "?",
        "L-3",
        "#",
        "6#3",
        "\n",
        " ",
        "\t",
        "'",
        "\"",
        "kind: CronJob\n",
        "metadata: { name: a }\n",
        "spec:\n",
        "  schedule: ",
        "{{ .x }}",
        "{%",
        "---\n",
        "&a [",
        "*a",
        "[",
        "]",
        "{",
        "}",
        ":",
        ",",
        "\u{0}",
        "é",
        "𝕏",
        "2147483648",
        "-1",
        "1e400",
        "global/schedule/0 - ",
        "\"items\"",
    ];
    prop::collection::vec(prop::sample::select(PIECES), 0..40).prop_map(|all| all.concat())
}

/// JSON with keys that importers know and values of any type.
fn exports() -> impl Strategy<Value = String> {
    const KEYS: &[&str] = &[
        "Name",
        "ScheduleExpression",
        "ScheduleExpressionTimezone",
        "State",
        "StartDate",
        "Target",
        "Arn",
        "Input",
        "RetryPolicy",
        "MaximumRetryAttempts",
        "FlexibleTimeWindow",
        "MaximumWindowInMinutes",
        "name",
        "schedule",
        "timezone",
        "executor",
        "executor_config",
        "command",
        "url",
        "headers",
        "timeout",
        "retries",
        "env",
        "id",
        "title",
        "plugin",
        "params",
        "script",
        "timing",
        "hours",
        "minutes",
        "days",
        "weekdays",
        "enabled",
        "max_children",
        "Schedules",
    ];
    const TEXTS: &[&str] = &[
        "",
        "a",
        "@daily",
        "cron(0 10 * * ? *)",
        "rate(1 day)",
        "0 0 * * * *",
        "shell",
        "http",
        "shellplug",
        "urlplug",
        "UTC",
        "Mars",
        "arn:aws:lambda:eu-west-1:1:function:f",
        "arn:aws:sqs:eu-west-1:1:q",
        "GET",
        "2027-01-01T00:00:00Z",
        "https://example.org/{{ x }}",
        "[\"A: b\"]",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(TEXTS).prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(4, 48, 12, |inner| {
        let key = prop::sample::select(KEYS).prop_map(str::to_owned);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(key, inner, 0..12)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    });
    value.prop_map(|value| value.to_string())
}

proptest! {
    #![proptest_config(Config::with_cases(2_000))]

    #[test]
    fn text_of_every_shape_is_answered(text in any::<String>()) {
        every_importer(&text);
    }

    #[test]
    fn pieces_in_any_order_are_answered(text in pieces()) {
        every_importer(&text);
        for format in [FileFormat::Yaml, FileFormat::Toml] {
            let _ = File::read(&text, format);
        }
    }

    #[test]
    fn exports_with_values_of_any_kind_are_answered(text in exports()) {
        every_importer(&text);
        let _ = File::read(&text, FileFormat::Yaml);
    }
}

#[test]
fn bombs_are_answered_and_stay_small() {
    let laughs: String =
        (1..30).map(|n| format!("a{n}: &a{n} [*a{0},*a{0},*a{0},*a{0}]\n", n - 1)).collect();
    for text in [
        "[".repeat(500_000),
        "{".repeat(500_000),
        "{\"a\":".repeat(200_000),
        "- ".repeat(250_000),
        "a:\n ".repeat(5),
        "? ".repeat(200_000),
        "!!x ".repeat(100_000),
        format!("a0: &a0 [x,x]\n{laughs}"),
        "&a [*a]".to_owned(),
        format!("kind: CronJob\nmetadata: {{ name: {} }}\n", "x".repeat(900_000)),
        format!("0 0 * * * {}", "%".repeat(300_000)),
        "kind: A\n---\n".repeat(5_000),
        "\u{0}".repeat(100_000),
    ] {
        let new = || Gathered::new("imported", "default");
        let mut gathered = new();
        let cluster = kubernetes::ClusterFacts {
            zone: "UTC",
            runs: kubernetes::ImportedRun::Command,
            dialect: None,
        };
        kubernetes::gather(&mut gathered, "jobs", &text, cluster);
        assert!(gathered.words().len() < 4_096 + 100 * text.len());
        let mut gathered = new();
        let form = crontab::Form { system: None, dialect: None, user: None, zone: "UTC" };
        let _ = crontab::gather(&mut gathered, Path::new("tab"), "tab", &text, form);
        cronicle::gather(&mut gathered, "export", &text, "UTC");
        for format in [FileFormat::Yaml, FileFormat::Toml] {
            if let Err(error) = File::read(&text, format) {
                assert!(format!("{error:?}").len() < 4_096, "{format:?}");
            }
        }
    }
}
