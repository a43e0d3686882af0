use async_graphql::{
    Name,
    parser::{
        parse_schema,
        types::{
            FieldDefinition, InterfaceType, ObjectType, TypeDefinition, TypeKind,
            TypeSystemDefinition,
        },
    },
};
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

/// Names of fields that need no description in any type.
const SELF_EVIDENT: [&str; 12] = [
    "id",
    "name",
    "namespace",
    "at",
    "createdAt",
    "createdBy",
    "updatedAt",
    "deletedAt",
    "startedAt",
    "finishedAt",
    "scheduleId",
    "userId",
];

/// In an input: the reason for the change, which goes into the audit trail.
const REASON: &str = "reason";

/// Whether a field needs no description because it is named like its type, as in `channel:
/// AlertChannel!`.
fn is_named_like_its_type(field: &FieldDefinition) -> bool {
    let named = field.ty.node.to_string();
    let named = named.trim_end_matches('!').to_lowercase();
    named.ends_with(&field.name.node.to_lowercase())
}

/// The entries of a type that lack a description and need one, as `Type.entry`.
fn undescribed(definition: &TypeDefinition) -> Vec<String> {
    let owner = &definition.name.node;
    let is_payload = owner.ends_with("Payload");
    let entry = |name: &Name| format!("{owner}.{name}");
    let is_plain = |name: &Name| SELF_EVIDENT.contains(&name.as_str());
    match &definition.kind {
        TypeKind::Object(ObjectType { fields, .. })
        | TypeKind::Interface(InterfaceType { fields, .. }) => {
            let fields = fields.iter().map(|field| &field.node);
            let unsaid = fields.filter(|field| {
                field.description.is_none()
                    && !is_plain(&field.name.node)
                    && !(is_payload && is_named_like_its_type(field))
            });
            unsaid.map(|field| entry(&field.name.node)).collect()
        }
        TypeKind::InputObject(input) => {
            let fields = input.fields.iter().map(|field| &field.node);
            let unsaid = fields.filter(|field| {
                let name = &field.name.node;
                field.description.is_none() && !is_plain(name) && name.as_str() != REASON
            });
            unsaid.map(|field| entry(&field.name.node)).collect()
        }
        TypeKind::Enum(listed) => {
            let values = listed.values.iter().map(|value| &value.node);
            let unsaid = values.filter(|value| value.description.is_none());
            unsaid.map(|value| entry(&value.value.node)).collect()
        }
        TypeKind::Scalar | TypeKind::Union(_) => vec![],
    }
}

#[test]
fn every_entry_that_is_not_self_evident_has_a_description() {
    let document = parse_schema(api::sdl()).unwrap();
    let types = document.definitions.iter().filter_map(|definition| match definition {
        TypeSystemDefinition::Type(definition) => Some(&definition.node),
        TypeSystemDefinition::Schema(_) | TypeSystemDefinition::Directive(_) => None,
    });
    let mut missing = vec![];
    let mut entries = 0;
    for definition in types {
        // The library names connections after their edges, and describes their fields.
        let is_connection = definition.name.node.ends_with("Connection");
        if definition.description.is_none() && !is_connection {
            missing.push(definition.name.node.to_string());
        }
        missing.extend(undescribed(definition));
        entries += 1;
    }
    assert!(entries > 200, "only {entries} types were read");
    assert!(missing.is_empty(), "give these a description (`///`): {missing:#?}");
}
