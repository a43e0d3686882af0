//! The chart and the plain manifests conform to the schemas of Kubernetes. kubernetes-validate brings
//! these along. The resources of the Prometheus operator have none there; those two are checked
//! here, by the fields that the operator's reference lists for `monitoring.coreos.com/v1`.

use std::{fs, process::Command};

use serde_json::{Value, json};

use super::chart::{Renderer, everything, manifests};
use crate::{settings::repository, support::tool};

/// The oldest Kubernetes that the chart allows, and the newest whose schemas are there.
const VERSIONS: [&str; 2] = ["1.25", "1.37"];

/// The group of the Prometheus operator.
const OPERATOR: &str = "monitoring.coreos.com/v1";

/// What kubernetes-validate says about manifests, one line for each of them and version.
fn judged(manifests: &[&Value]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(tool("kubernetes-validate"));
    command.arg("--strict").args(VERSIONS.map(|version| ["-k", version]).concat());
    for (number, manifest) in manifests.iter().enumerate() {
        // JSON is also valid YAML.
        let path = folder.path().join(format!("{number}.json"));
        fs::write(&path, serde_json::to_string_pretty(manifest).unwrap()).unwrap();
        command.arg(path);
    }
    let output = command.output().expect("scripts/python-tools kubernetes-validate");
    String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr)
}

/// Every manifest is found, of a known kind, and without a field that is wrong or unknown.
#[track_caller]
fn assert_conform(manifests: &[Value]) {
    let is_operators = |manifest: &&Value| manifest["apiVersion"] == OPERATOR;
    let (operators, own): (Vec<&Value>, Vec<&Value>) = manifests.iter().partition(is_operators);
    let judged = judged(&own);
    let passed = judged.lines().filter(|line| line.starts_with("INFO ")).count();
    assert_eq!(passed, own.len() * VERSIONS.len(), "{judged}");
    operators.into_iter().for_each(assert_operators);
}

/// A mapping has the first of these fields, may have the others, and has no further ones.
#[track_caller]
fn assert_fields(value: &Value, required: &[&str], optional: &[&str]) {
    let fields = value.as_object().unwrap_or_else(|| panic!("{value} is not a mapping"));
    for name in required {
        assert!(fields.contains_key(*name), "no {name} in {value}");
    }
    for name in fields.keys().map(String::as_str) {
        assert!(required.contains(&name) || optional.contains(&name), "{name} in {value}");
    }
}

/// The items of a list that is not empty.
#[track_caller]
fn items(value: &Value) -> &[Value] {
    let items = value.as_array().unwrap_or_else(|| panic!("{value} is not a list"));
    assert!(!items.is_empty());
    items
}

/// A duration as Prometheus writes it, in one unit.
#[track_caller]
fn assert_duration(value: &Value) {
    let text = value.as_str().unwrap_or_else(|| panic!("{value} is not text"));
    let number = text.trim_end_matches(char::is_alphabetic);
    let unit = &text[number.len()..];
    let is_known = ["ms", "s", "m", "h", "d", "w", "y"].contains(&unit);
    assert!(number.parse::<u32>().is_ok() && is_known, "{text}");
}

/// A mapping of texts, if there is one.
#[track_caller]
fn assert_texts(value: &Value) {
    let texts = value.as_object().into_iter().flatten();
    texts.for_each(|(name, text)| assert!(text.is_string(), "{name} is not text: {text}"));
}

#[track_caller]
fn assert_operators(manifest: &Value) {
    assert_fields(manifest, &["apiVersion", "kind", "metadata", "spec"], &[]);
    let spec = &manifest["spec"];
    match manifest["kind"].as_str().unwrap() {
        "ServiceMonitor" => {
            assert_fields(spec, &["endpoints", "selector"], &["jobLabel"]);
            assert_fields(&spec["selector"], &["matchLabels"], &[]);
            assert_texts(&spec["selector"]["matchLabels"]);
            for endpoint in items(&spec["endpoints"]) {
                assert_fields(endpoint, &["port"], &["authorization", "interval", "path"]);
                assert_duration(&endpoint["interval"]);
                if let Some(authorization) = endpoint.get("authorization") {
                    assert_fields(authorization, &["credentials"], &["type"]);
                    assert_fields(&authorization["credentials"], &["key"], &["name", "optional"]);
                }
            }
        }
        "PrometheusRule" => {
            assert_fields(spec, &["groups"], &[]);
            for group in items(&spec["groups"]) {
                assert_fields(group, &["name", "rules"], &["interval"]);
                items(&group["rules"]).iter().for_each(assert_rule);
            }
        }
        other => panic!("there is no schema for {other}"),
    }
}

#[track_caller]
fn assert_rule(rule: &Value) {
    let optional = ["alert", "annotations", "for", "keep_firing_for", "labels", "record"];
    assert_fields(rule, &["expr"], &optional);
    assert_ne!(rule["alert"].is_string(), rule["record"].is_string(), "one of them: {rule}");
    for name in ["for", "keep_firing_for"] {
        rule.get(name).into_iter().for_each(assert_duration);
    }
    assert_texts(&rule["annotations"]);
    assert_texts(&rule["labels"]);
}

#[test]
fn every_manifest_conforms_to_the_schemas() {
    let plain = repository("assets/kubernetes/carillon.yaml");
    let plain: Vec<Value> =
        plain.split("\n---\n").map(|text| serde_saphyr::from_str(text).unwrap()).collect();
    assert_conform(&plain);
    assert_conform(&manifests(&Renderer::new(&[])));
    assert_conform(&manifests(&everything()));
}

#[test]
fn an_unknown_field_and_an_unknown_kind_are_noticed() {
    let service = |kind: &str, ports: Value| {
        json!({
            "apiVersion": "v1", "kind": kind, "metadata": { "name": "cron" },
            "spec": { "selector": {}, "ports": ports },
        })
    };
    let good = json!([{ "name": "http", "port": 80 }]);
    assert_conform(&[service("Service", good.clone())]);
    let misspelt =
        service("Service", json!([{ "name": "http", "port": 80, "targetport": "http" }]));
    let misspelt = judged(&[&misspelt]);
    assert!(misspelt.contains("ERROR ") && misspelt.contains("targetport"), "{misspelt}");
    let unknown = judged(&[&service("Srevice", good)]);
    assert!(unknown.contains("WARN ") && !unknown.contains("INFO "), "{unknown}");
}
