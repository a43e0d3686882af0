//! Documents that no client would write.

use proptest::{
    collection::vec,
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, TestRunner},
};
use serde_json::json;

use super::desk::Desk;
use crate::support::TestDatabase;

/// The largest permitted answer, plus the size of the largest error.
const MAX_ANSWER: usize = 17 * 1024 * 1024;
const CASES: u32 = 3_000;

/// Parts of documents, and tokens that have no place in one.
const TOKENS: [&str; 46] = [
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ":",
    "!",
    "$",
    "@",
    "...",
    "=",
    "|",
    "&",
    "query ",
    "mutation ",
    "subscription ",
    "fragment ",
    "on ",
    "Query ",
    "Schedule ",
    "a ",
    "b ",
    "me ",
    "id ",
    "name ",
    "__typename ",
    "__type(name: \"Run\") ",
    "fields ",
    "type ",
    "ofType ",
    "schedules ",
    "nodes ",
    "first: 200 ",
    "lint(timing: {expressions: [\"@daily\"]}) ",
    "code ",
    "@include(if: true) ",
    "-1 ",
    "1e999 ",
    "\"\\u0000\" ",
    "\"\"\" ",
    "\" ",
    "# ",
    "\n",
    "\u{feff}",
    "\u{1f512}",
];

fn soup() -> impl Strategy<Value = String> {
    vec(prop::sample::select(&TOKENS[..]), 0..60).prop_map(|tokens| tokens.concat())
}

const PAIRS: &[(&str, &str)] = &[
    ("{", "}"),
    ("[", "]"),
    ("(", ")"),
    ("{a", "}"),
    ("{a(b:[", "])}"),
    ("...on Query{", "}"),
    ("{me{...f}}fragment f on Viewer{id}", ""),
    ("query($a:[Int", "])"),
    ("a(b:{c:", "})"),
    ("{__schema{types{fields{type", "}}}}"),
    ("@include(if:true)", ""),
    ("!", ""),
    ("&", ""),
    ("\\", ""),
    ("\"", "\""),
    ("\"\"\"", ""),
    ("#", "\n"),
    ("-", ""),
    ("...", ""),
];

/// One token or pair, repeated many times: each costs one level of a parser's stack.
fn deep() -> impl Strategy<Value = String> {
    (prop::sample::select(PAIRS), 1..20_000_usize, any::<bool>(), any::<bool>()).prop_map(
        |((open, close), times, is_begun, is_ended)| {
            let begin = if is_begun { "{ me { id " } else { "" };
            let end = if is_ended { close.repeat(times) } else { String::new() };
            format!("{begin}{}{end}", open.repeat(times))
        },
    )
}

const NAMES: &[&str] = &[
    "id",
    "name",
    "__typename",
    "me",
    "schedules",
    "nodes",
    "lastRun",
    "schedule",
    "runs",
    "nextFires",
    "at",
    "a: id",
    "b: schedules(first: 3)",
    "node(id: \"x\")",
    "... on Schedule",
    "...f",
    "versions(first: 200)",
    "__schema",
    "types",
    "fields",
    "type",
];

/// Selections that roughly match the schema.
fn selection() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(NAMES).prop_map(str::to_owned);
    leaf.prop_recursive(8, 200, 6, |inner| {
        (prop::sample::select(NAMES), vec(inner, 1..6))
            .prop_map(|(name, inner)| format!("{name} {{ {} }}", inner.join(" ")))
    })
    .prop_map(|inner| format!("{{ {inner} }} fragment f on Schedule {{ id ...f }}"))
}

#[tokio::test]
async fn no_document_breaks_anything() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    let documents = prop_oneof![4 => soup(), 1 => deep(), 3 => selection(), 1 => ".{0,300}"];
    let mut runner = TestRunner::new(Config { cases: CASES, ..Config::default() });
    for case in 0..CASES {
        let document = documents.new_tree(&mut runner).unwrap().current();
        let role = if case % 2 == 0 { None } else { Some(entity::user::Role::Viewer) };
        let response = desk.send(role, &document, json!({})).await;
        let answer = serde_json::to_vec(&response).unwrap();
        assert!(answer.len() < MAX_ANSWER, "{} bytes for {document:.300}", answer.len());
        for error in &response.errors {
            let is_coded = error.extensions.as_ref().is_some_and(|set| set.get("code").is_some());
            assert!(is_coded, "{error:?} for {document:.300}");
        }
    }
    // After such documents the server still answers.
    desk.ask("{ me { name } }", json!({})).await;
}
