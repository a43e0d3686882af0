use carillon::api;
use serde_json::json;

use super::desk::Desk;
use crate::support::TestDatabase;

#[test]
fn the_committed_schema_is_the_one_that_is_spoken() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema.graphql");
    let committed = std::fs::read_to_string(path).unwrap();
    assert!(
        committed.trim() == api::sdl().trim(),
        "server/schema.graphql is out of date: run `make schema` and commit it"
    );
}

#[tokio::test]
async fn a_request_that_nests_too_deep_or_asks_for_too_much_is_refused() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    let deep =
        (0..9).fold("id".to_owned(), |inner, _| format!("lastRun {{ schedule {{ {inner} }} }}"));
    let deep = format!("{{ schedules {{ nodes {{ {deep} }} }} }}");
    let much =
        "{ schedules(first: 200) { nodes { versions(first: 200) { nodes { version by at } } } } }";
    for query in [deep.as_str(), much] {
        let error = desk.refused(query, json!({})).await;
        assert_eq!(error["extensions"]["code"], "GRAPHQL_VALIDATION_FAILED", "{error}");
        assert!(error["message"].as_str().unwrap().contains("too"), "{error}");
    }
}

#[tokio::test]
async fn a_request_that_cannot_be_understood_is_the_callers_fault() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    for (query, code) in [
        ("{", "GRAPHQL_PARSE_FAILED"),
        ("{ nothing }", "GRAPHQL_VALIDATION_FAILED"),
        ("{ schedules(first: true) { totalCount } }", "BAD_USER_INPUT"),
    ] {
        let error = desk.refused(query, json!({})).await;
        assert_eq!(error["extensions"]["code"], code, "{query}: {error}");
    }
    let query = "query($from: DateTime) { schedulePreview(timing: { expressions: [\"@daily\"] }, from: $from) { description } }";
    let error = desk.refused(query, json!({ "from": "yesterday" })).await;
    assert!(error["message"].as_str().unwrap().contains("2026-03-29T01:00:00Z"), "{error}");
}
