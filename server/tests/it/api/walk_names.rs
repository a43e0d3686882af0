//! Tries each position for a name with the name of another namespace's object.
//!
//! As in `walk_keys`, the caller has all permissions in their own namespace. They send a name that
//! exists only in another namespace: the server refuses the name as unknown, or its answer does not
//! contain the object. The same name is accepted once it exists in the caller's own namespace.

use serde_json::{Value, json};

use super::{
    desk::{CREATE, Desk},
    walk::{Place, Walk},
    walk_keys::{administrator_of, is_nothing, named, refusal},
    walking::namespace,
};
use crate::support::{TestDatabase, on_both};

on_both!(no_argument_accepts_the_name_of_another_namespaces_object, a_secret_of_elsewhere_is_none);

/// A feed belongs to a user in the database, and the administrator of this test is not there.
const OF_PEOPLE: &str = "createCalendarFeed.input.schedule";

/// Creates one of each object that can be looked up by name, all with this name.
async fn one_of_each_named(desk: &Desk, namespace: &str, name: &str) {
    let source = format!(
        "module: {name}\nnamespace: {namespace}\nschedules:\n  of-{name}:\n    when: '@yearly'\n    \
         task: {{ target: {{ noop: {{}} }} }}\n"
    );
    desk.ask(
        "mutation ($in: String!, $name: String!, $source: String!) {
            createCalendar(input: { namespace: $in, name: $name, mode: EXCLUDE }) {
                calendar { id } }
            createConcurrencyGroup(input: { namespace: $in, name: $name, maxRuns: 1 }) {
                group { id } }
            createWorkflow(input: {
                namespace: $in, name: $name, tasks: [{ name: \"main\", target: { noop: {} } }]
            }) { workflow { id } }
            createSchedule(input: {
                namespace: $in, name: $name, timing: { expressions: [\"@yearly\"] }, workflow: $name
            }) { schedule { id } }
            setSecret(input: { namespace: $in, name: $name, value: \"open-sesame\" }) {
                secret { name } }
            deployModule(source: $source) { module }
        }",
        json!({ "in": namespace, "name": name, "source": source }),
    )
    .await;
}

/// The query for a position, with this name in the position.
fn asked(walk: &Walk, operation: &str, root: &str, place: &Place, name: &str) -> String {
    let text = walk.with_key(root, place, name);
    // A bulk operation reports the unknown name per item, and a preview reports it beside its
    // result.
    let refusals = " { done refused refusals { message } }";
    let text = match &*place.field {
        "updateSchedules" => text.replace(" { __typename }", refusals),
        "schedulePreview" | "definitionEffect" => {
            text.replace(" { __typename }", " { problem { problem } }")
        }
        "scheduleGroups" => text.replace(" { __typename }", " { without groups { name } }"),
        _ => text,
    };
    format!("{operation} {{ {text} }}")
}

/// Whether an answer says that the object does not exist.
fn is_missing(answer: &Result<Value, String>, place: &Place) -> bool {
    match answer {
        Ok(data) if place.field == "updateSchedules" => {
            let done = &data["updateSchedules"];
            let message = done["refusals"][0]["message"].as_str().unwrap_or_default();
            done["done"] == 0 && done["refused"] == 1 && message.contains("does not exist")
        }
        Ok(data) if ["schedulePreview", "definitionEffect"].contains(&&*place.field) => {
            let problem = data[&*place.field]["problem"]["problem"].as_str();
            problem.is_some_and(|problem| problem.contains("does not exist"))
        }
        Ok(data) if place.field == "scheduleGroups" => {
            data["scheduleGroups"] == json!({ "without": 0, "groups": [] })
        }
        Ok(data) => is_nothing(&data[&*place.field]),
        Err(code) => code == "NOT_FOUND",
    }
}

async fn no_argument_accepts_the_name_of_another_namespaces_object(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let own = Walk::begin(&desk).await.beside(&desk, "other").await;
    one_of_each_named(&desk, "default", "theirs").await;
    one_of_each_named(&desk, "other", "ours").await;
    let eve = administrator_of(namespace(&desk, "other").await);
    let mut tried = Vec::new();
    for (operation, root) in [("query", "Query"), ("mutation", "Mutation")] {
        for place in own.places_for_names(root) {
            let query = asked(&own, operation, root, &place, "theirs");
            let answer = refusal(&desk, &eve, &query).await;
            assert!(is_missing(&answer, &place), "{query}: {answer:?}");
            tried.push((operation, root, place));
        }
    }
    let names: Vec<_> = tried.iter().map(|(_, _, place)| named(place)).collect();
    for known in [
        "createSchedule.input.workflow",
        "createSchedules.inputs.calendars",
        "updateSchedule.input.group",
        "updateSchedules.change.calendars",
        "schedules.filter.workflow",
        "retentionPreview.if.schedule",
        "exportModules.module",
        "deleteSecret.name",
        OF_PEOPLE,
    ] {
        assert!(names.iter().any(|name| name == known), "{known} is no place of {names:?}");
    }
    // Proves that the name was the reason for each refusal: the object with that name in the
    // caller's own namespace is found.
    tried.sort_by_key(|(_, _, place)| place.field.starts_with("delete"));
    for (operation, root, place) in tried.iter().filter(|(.., place)| named(place) != OF_PEOPLE) {
        let query = asked(&own, operation, root, place, "ours");
        let answer = refusal(&desk, &eve, &query).await;
        assert!(!is_missing(&answer, place), "{query}: {answer:?}");
        assert_ne!(answer, Err("FORBIDDEN".to_owned()), "{query}");
    }
}

async fn a_secret_of_elsewhere_is_none(database: TestDatabase) {
    let desk = Desk::open(database).await;
    desk.ask("mutation { createNamespace(name: \"other\") { namespace { id } } }", json!({})).await;
    let set = "mutation { setSecret(input: { name: \"theirs\", value: \"open-sesame\" }) {
        secret { name } } }";
    desk.ask(set, json!({})).await;
    let eve = administrator_of(namespace(&desk, "other").await);
    let input = json!({
        "namespace": "other", "name": "hook", "timing": { "expressions": ["@daily"] },
        "task": { "target": { "http": { "url": "https://example.org/{{ secrets.theirs }}" } } },
    });
    let made = desk.send_as(&eve, CREATE, json!({ "input": input })).await;
    let made = made.data.into_json().unwrap();
    assert_eq!(made["createSchedule"]["warnings"][0]["code"], "secret_not_set", "{made}");
}
