use std::{fmt::Write, pin::pin};

use carillon::{
    api::{self, AnswerPlace},
    store::Cursor,
};
use entity::user::Role;
use futures::StreamExt;
use serde_json::{Value, json};

use super::desk::{CREATE, Desk, request};
use crate::support::TestDatabase;

/// The error message for a query that must be refused.
async fn refused(query: &str) -> String {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    let error: Value = desk.refused(query, json!({})).await;
    let code = error["extensions"]["code"].as_str().unwrap();
    assert!(code == "GRAPHQL_VALIDATION_FAILED" || code == "GRAPHQL_PARSE_FAILED", "{error}");
    error["message"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_request_that_nests_too_deep_is_refused() {
    let nest = |times: usize| {
        let (open, close) = ("lastRun { schedule { ".repeat(times), "} }".repeat(times));
        format!("{{ schedules(first: 1) {{ nodes {{ {open} id {close} }} }} }}")
    };
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    desk.ask(&nest(6), json!({})).await;
    assert!(refused(&nest(7)).await.contains("nested too deep"));
    assert!(refused(&nest(17)).await.contains("nests deeper than 32"));
    // A deeply nested document is refused cheaply, even if it consists of opening braces only.
    for query in [nest(1_000), "{ a ".repeat(200_000)] {
        assert!(!refused(&query).await.is_empty());
    }
}

#[tokio::test]
async fn a_request_that_asks_for_too_much_is_refused() {
    let list = "nodes { lastRun { taskRuns { id } } versions(first: 200) { nodes { by } } }";
    let message = refused(&format!("{{ schedules(first: 200) {{ {list} }} }}")).await;
    assert!(message.contains("complex"), "{message}");
}

#[tokio::test]
async fn fields_that_count_rows_are_few_in_a_request() {
    let previews: String =
        (0..6).map(|number| format!("a{number}: retentionPreview {{ partitions }} ")).collect();
    let message = refused(&format!("{{ {previews} }}")).await;
    assert!(message.contains("complex"), "{message}");
    let secrets = |times: usize| {
        let one = "secrets(first: 1) { nodes { usedBy { count } } }";
        let all: String = (0..times).map(|number| format!("a{number}: {one} ")).collect();
        format!("{{ {all} }}")
    };
    let message = refused(&secrets(12)).await;
    assert!(message.contains("complex"), "{message}");
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    desk.ask(&secrets(2), json!({})).await;
}

#[tokio::test]
async fn a_list_of_a_billion_is_refused() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    for count in ["1000000000", "1e9", "-1", "99999999999999999999"] {
        let query = format!("{{ schedules(first: {count}) {{ nodes {{ id }} }} }}");
        let error = desk.refused(&query, json!({})).await;
        assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{error}");
        assert_eq!(error["extensions"]["field"], "first", "{error}");
    }
}

#[tokio::test]
async fn the_same_under_many_names_is_refused() {
    let same = |times: usize| {
        let mut query = "{ ".to_owned();
        for number in 0..times {
            write!(query, "a{number}: me {{ id }} ").unwrap();
        }
        query + "}"
    };
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    desk.ask(&same(500), json!({})).await;
    assert!(refused(&same(501)).await.contains("501 aliases"));
    // Aliases in a fragment count once for each spread, and once for the fragment.
    let fragment = "fragment f on Viewer { a: id b: id }";
    let spreads: String = (0..251).map(|number| format!("m{number}: me {{ ...f }} ")).collect();
    let message = refused(&format!("{{ {spreads} }} {fragment}")).await;
    assert!(message.contains("755 aliases"), "{message}");
}

#[tokio::test]
async fn a_large_variable_that_is_named_often_is_refused() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    let names = |times: usize| "$x ".repeat(times);
    let list =
        |times: usize| format!("query($x: ID!) {{ nodes(ids: [{}]) {{ id }} }}", names(times));
    let large = |bytes: usize| json!({ "x": "x".repeat(bytes) });
    desk.ask(&list(100), large(30_000)).await;
    desk.ask(&list(1), large(3_000_000)).await;
    let error = desk.refused(&list(100), large(100_000)).await;
    assert_eq!(error["extensions"]["code"], "GRAPHQL_VALIDATION_FAILED", "{error}");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("copies take 10000200 bytes"), "{message}");
    // A fragment counts once for each spread, and a default as a value that was sent.
    let spread = |times: usize| {
        let spreads: String = (0..times).map(|_| "...f ").collect();
        let fragment = format!("fragment f on Query {{ nodes(ids: [{}]) {{ id }} }}", names(50));
        format!("query($x: ID! = \"{}\") {{ {spreads} }} {fragment}", "y".repeat(30_000))
    };
    desk.ask(&spread(2), json!({})).await;
    for (times, variables) in [(3, json!({})), (2, large(60_000))] {
        let error = desk.refused(&spread(times), variables).await;
        assert!(error["message"].as_str().unwrap().contains("copies take"), "{error}");
    }
}

#[tokio::test]
async fn fragments_that_spread_each_other_cost_nothing() {
    // Thirty fragments that each spread the next one twice: a billion fields.
    let mut query = "{ schedules { nodes { ...f0 } } }".to_owned();
    for number in 0..25 {
        let next = number + 1;
        write!(query, " fragment f{number} on Schedule {{ ...f{next} ...f{next} }}").unwrap();
    }
    query.push_str(" fragment f25 on Schedule { id }");
    assert!(refused(&query).await.contains("the limit is 10000"));
    // Fragments in a cycle.
    let circle = "{ schedules { nodes { ...a } } } fragment a on Schedule { id ...b } \
                  fragment b on Schedule { name ...a }";
    assert!(refused(circle).await.contains("spreads itself"));
    // A long chain of fragments.
    assert!(refused(&chain("...f0", 40)).await.contains("nests deeper"));
    assert!(refused(&chain("...f0", 5_000)).await.contains("5001 fragments"));
    assert!(refused(&chain("...f0", 50_000)).await.contains("more than 50000 tokens"));
}

/// Fragments that each spread the next one; the last one selects `id`.
fn chain(begin: &str, length: usize) -> String {
    let mut chain = format!("{{ schedules {{ nodes {{ id {begin} }} }} }}");
    for number in 0..length {
        let next = number + 1;
        write!(chain, " fragment f{number} on Schedule {{ ...f{next} }}").unwrap();
    }
    write!(chain, " fragment f{length} on Schedule {{ id }}").unwrap();
    chain
}

#[tokio::test]
async fn unused_fragments_are_counted_as_well() {
    assert!(refused(&chain("", 5_000)).await.contains("5001 fragments"));
    assert!(refused(&chain("", 40)).await.contains("nests deeper"));
    // Each fragment spreads the next one twice, and the last one selects an unknown field.
    let mut twice = "{ me { id } }".to_owned();
    for number in 0..25 {
        let next = number + 1;
        write!(twice, " fragment f{number} on Schedule {{ ...f{next} ...f{next} }}").unwrap();
    }
    assert!(refused(&twice).await.contains("the limit is 10000"));
    let wide = format!("{{ me {{ id }} }} fragment f on Schedule {{ {} }}", "id ".repeat(10_000));
    assert!(refused(&wide).await.contains("10002 fields"));
}

#[tokio::test]
async fn all_operations_of_a_document_are_counted_together() {
    let operations = |times: usize, fields: usize| {
        let mut query = String::new();
        for number in 0..times {
            write!(query, "query q{number} {{ me {{ {} }} }} ", "id ".repeat(fields)).unwrap();
        }
        query
    };
    assert!(refused(&operations(51, 1)).await.contains("51 operations"));
    assert!(refused(&operations(50, 200)).await.contains("10050 fields"));
}

#[tokio::test]
async fn values_that_nest_without_end_are_refused_and_texts_with_brackets_are_not() {
    for (open, close) in [("[", "]"), ("{ a: ", " }")] {
        let value = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
        let message = refused(&format!("{{ schedules(first: {value}) {{ edges }} }}")).await;
        assert!(message.contains("more than 100 brackets"), "{message}");
    }
    let brackets = "{[(".repeat(150);
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    for text in [
        format!("\"{brackets}\\\"{brackets}\""),
        format!("\"\"\"\n{brackets}\\\"\"\"{brackets}\"\"\""),
        format!("\"\" # \"{brackets}\n"),
    ] {
        desk.ask(&format!("{{ schedules(search: {text}) {{ edges {{ cursor }} }} }}"), json!({}))
            .await;
    }
}

#[tokio::test]
async fn directives_by_the_hundred_are_refused() {
    let many = "@include(if: true) ".repeat(100);
    assert!(!refused(&format!("{{ me {many} {{ id }} }}")).await.is_empty());
}

#[tokio::test]
async fn an_error_about_a_document_repeats_only_a_part_of_it() {
    let message = refused(&format!("{{ me {{ {} ! }} }}", "näme ".repeat(10_000))).await;
    assert!(message.chars().count() < 320, "{message}");
    assert!(message.contains("1:") && message.contains("expected"), "{message}");
}

#[tokio::test]
async fn introspection_is_for_those_who_have_signed_in() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    for query in ["{ __schema { queryType { name } } }", "{ t: __type(name: \"Query\") { name } }"]
    {
        desk.ask(query, json!({})).await;
        let error = desk.refused_as(None, query, json!({})).await;
        assert_eq!(error["extensions"]["code"], "UNAUTHENTICATED", "{error}");
    }
    // Introspection in a fragment counts, too; `__typename` is not introspection.
    let hidden = "{ ...f } fragment f on Query { __schema { queryType { name } } }";
    let error = desk.refused_as(None, hidden, json!({})).await;
    assert_eq!(error["extensions"]["code"], "UNAUTHENTICATED", "{error}");
    let who = desk.send(None, "{ __typename me { name } }", json!({})).await;
    assert!(who.errors.is_empty(), "{:?}", who.errors);
}

#[tokio::test]
async fn introspection_that_multiplies_is_refused() {
    let nest = |times: usize| {
        let (open, close) = ("fields { type { ".repeat(times), "} }".repeat(times));
        format!("{{ __schema {{ types {{ {open} name {close} }} }} }}")
    };
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    desk.ask(&nest(1), json!({})).await;
    assert!(refused(&nest(3)).await.contains("more than 2 lists"));
    // The check visits each fragment only once, however often it is spread.
    let mut wide = "{ __schema { types { ...f0 } } }".to_owned();
    for number in 0..12 {
        let next = number + 1;
        write!(wide, " fragment f{number} on __Type {{ ...f{next} ...f{next} }}").unwrap();
    }
    wide.push_str(" fragment f12 on __Type { name kind }");
    let message = refused(&wide).await;
    assert!(message.contains("limit is 10000") || message.contains("1000000"), "{message}");
    let names: String = (0..300).map(|number| format!("a{number}: __schema {{ types {{ fields {{ args {{ name type {{ name }} }} }} }} }} ")).collect();
    let message = refused(&format!("{{ {names} }}")).await;
    assert!(message.contains("introspection costs"), "{message}");
}

#[tokio::test]
async fn a_stranger_sends_little() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    let wide = |times: usize| format!("{{ me {{ {} }} }}", "id ".repeat(times));
    let large = desk.refused_as(None, &wide(1_500), json!({})).await;
    assert_eq!(large["extensions"]["limit"], 4096, "{large}");
    let many =
        desk.refused_as(None, &format!("{{ me {{ {} }} }}", "a ".repeat(1_100)), json!({})).await;
    assert_eq!(many["extensions"]["limit"], 1_000, "{many}");
    desk.ask(&wide(1_500), json!({})).await;
}

#[tokio::test]
async fn fields_that_compute_are_few_in_a_request() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    let lint = "lint(timing: { expressions: [\"* * * * *\"] }) { code }";
    let many = |times: usize| {
        let all: String = (0..times).map(|number| format!("a{number}: {lint} ")).collect();
        format!("{{ {all} }}")
    };
    desk.ask(&many(20), json!({})).await;
    let message = refused(&many(21)).await;
    assert!(
        message.contains("21 fields that compute") && message.contains("limit is 20"),
        "{message}"
    );
    // The texts of workflows, which are written and parsed again, count as computed fields, too.
    let texts: String =
        (0..21).map(|number| format!("a{number}: workflow(name: \"a\") {{ yaml }} ")).collect();
    let message = refused(&format!("{{ {texts} }}")).await;
    assert!(message.contains("21 fields that compute"), "{message}");
    // So do the rows that a pause will leave, which are not stored yet.
    let pauses: String =
        (0..21).map(|number| format!("a{number}: pausedFires {{ totalCount }} ")).collect();
    let message = refused(&format!("{{ schedule(name: \"a\") {{ {pauses} }} }}")).await;
    assert!(message.contains("21 fields that compute"), "{message}");
    let listed = "{ schedules(first: 200) { nodes { pausedFires(first: 1) { totalCount } } } }";
    assert!(refused(listed).await.contains("too complex"));
    // A backfill is created from the instants of its window.
    let order = "createBackfill(scheduleId: \"00000000-0000-0000-0000-000000000001\", \
                 from: \"2026-01-01T00:00:00Z\", to: \"2026-02-01T00:00:00Z\", reason: \"x\")";
    let orders: String =
        (0..21).map(|number| format!("a{number}: {order} {{ backfill {{ id }} }} ")).collect();
    let message = refused(&format!("mutation {{ {orders} }}")).await;
    assert!(message.contains("21 fields that compute"), "{message}");
    // A field that computes more costs more.
    let preview = |expressions: usize| {
        let all = vec!["\"* * * * *\""; expressions].join(" ");
        let one = format!("schedulePreview(timing: {{ expressions: [{all}] }}, count: 200)");
        (0..20).map(|number| format!("a{number}: {one} {{ fires {{ at }} }} ")).collect::<String>()
    };
    desk.ask(&format!("{{ {} }}", preview(1)), json!({})).await;
    let message = refused(&format!("{{ {} }}", preview(16))).await;
    assert!(message.contains("too complex") && message.contains("60000"), "{message}");
}

#[tokio::test]
async fn what_is_said_about_stored_timings_costs_what_it_takes() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    let many = |field: &str, times: usize| {
        (0..times).map(|number| format!("a{number}: {field} ")).collect::<String>()
    };
    let zones = desk.ask(&format!("{{ {} }}", many("timezones", 20)), json!({})).await;
    assert!(zones["a19"].as_array().unwrap().iter().any(|zone| zone == "Europe/Berlin"));
    let message = refused(&format!("{{ {} }}", many("timezones", 500))).await;
    assert!(message.contains("500 fields that compute"), "{message}");

    let warnings = many("warnings { code message }", 21);
    for query in [
        format!("{{ schedules(first: 1) {{ nodes {{ timing {{ {warnings} }} }} }} }}"),
        format!(
            "{{ schedules(first: 1) {{ nodes {{ t: timing {{ ...f }} }} }} }} \
             fragment f on Timing {{ ... on Timing {{ {warnings} }} }}"
        ),
    ] {
        let message = refused(&query).await;
        assert!(message.contains("fields that compute") && message.contains("timing.warnings"));
    }
    // In a list, the cost of a computed field is multiplied by the number of rows. One such field
    // is permitted.
    let listed = |fields: &str| {
        format!("{{ schedules(first: 200) {{ nodes {{ timing {{ {fields} }} }} }} }}")
    };
    desk.ask(&listed("description warnings { code message field suggestion }"), json!({})).await;
    for (field, times) in [("warnings { code }", 2), ("description", 6)] {
        let message = refused(&listed(&many(field, times))).await;
        assert!(message.contains("too complex"), "{message}");
    }
}

/// The events of a subscription are resolved on the threads that serve all requests, so each event
/// may compute only a little.
#[tokio::test]
async fn events_of_a_subscription_compute_little() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    desk.schedule("seldom", "0 0 31 * *").await;
    let first = async |fields: &str| {
        let start = Cursor::START;
        let query = format!("subscription {{ scheduleEvents(since: \"{start}\") {{ {fields} }} }}");
        desk.subscribe(&query, json!({})).next().await.unwrap()
    };
    // The fields of a schedule that the console's list shows.
    let shown = "fragment f on Schedule { timing { description warnings { code } } }";
    let query = format!(
        "subscription {{ scheduleEvents(since: \"{}\") {{ schedule {{ ...f }} }} }} {shown}",
        Cursor::START
    );
    let event = desk.subscribe(&query, json!({})).next().await.unwrap();
    assert!(event.errors.is_empty(), "{:?}", event.errors);
    let event = event.data.into_json().unwrap();
    let warnings = &event["scheduleEvents"]["schedule"]["timing"]["warnings"];
    assert!(warnings[0]["code"].is_string(), "{event}");
    let many = (0..2).map(|number| format!("w{number}: warnings {{ code }} ")).collect::<String>();
    for fields in [
        "schedule { nextFires(count: 1000) { at } }".to_owned(),
        format!("schedule {{ timing {{ {many} }} }}"),
        // One computed field for each row of a list is refused.
        "schedule { recentFires(first: 60) { schedule { timing { warnings { code } } } } }"
            .to_owned(),
    ] {
        let refused = first(&fields).await;
        let error = serde_json::to_value(&refused.errors[0]).unwrap();
        assert_eq!(error["extensions"]["code"], "GRAPHQL_VALIDATION_FAILED", "{fields}: {error}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("query the others when an event comes"), "{message}");
    }
    // A query that computes may be in the same document as a subscription.
    let both = "query Lint { lint(timing: { expressions: [\"* * * * *\"] }) { code } } \
                subscription Follow { scheduleEvents { cursor } }";
    let request = request(Some(Role::Admin), both, json!({})).operation_name("Lint");
    let response = api::execute(&desk.schema, request).await;
    assert!(response.errors.is_empty(), "{:?}", response.errors);
}

/// A caller's large answers wait for one another until they are sent, and delay nothing else.
#[tokio::test]
async fn a_caller_has_few_large_answers_at_once() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    let large = "{ schedules(first: 200) { nodes { recentFires(first: 60) { id } } } }";
    let mut written = Vec::new();
    for _ in 0..2 {
        let place = AnswerPlace::default();
        let request = request(Some(Role::Admin), large, json!({})).data(place.clone());
        let response = api::execute(&desk.schema, request).await;
        assert!(response.errors.is_empty() && place.is_taken(), "{:?}", response.errors);
        written.push(place);
    }
    let mut third = pin!(desk.ask(large, json!({})));
    for _ in 0..20 {
        tokio::select! {
            biased;
            _ = &mut third => panic!("it did not wait"),
            _ = desk.ask("{ me { name } }", json!({})) => {}
        }
    }
    written.pop();
    third.await;
}

/// The results of queries are in memory before the answers are sent: a caller's seventh query
/// waits.
#[tokio::test]
async fn a_caller_has_few_queries_at_once_and_any_number_of_mutations() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    let large = "{ schedules(first: 200) { nodes { recentFires(first: 60) { id } } } }";
    let mut written = Vec::new();
    for _ in 0..2 {
        let place = AnswerPlace::default();
        let request = request(Some(Role::Admin), large, json!({})).data(place.clone());
        api::execute(&desk.schema, request).await;
        written.push(place);
    }
    // The answers wait for a place, and so does the caller's next query.
    let waiting = futures::future::join_all((0..6).map(|_| desk.ask(large, json!({}))));
    let mut waiting = pin!(waiting);
    let mut next = pin!(desk.ask("{ me { name } }", json!({})));
    for number in 0..20 {
        let task = json!({ "target": { "noop": {} } });
        let input = json!({ "name": format!("s{number}"), "task": task,
            "timing": { "expressions": ["@daily"] } });
        tokio::select! {
            biased;
            _ = &mut waiting => panic!("they did not wait"),
            _ = &mut next => panic!("it did not wait"),
            _ = desk.ask(CREATE, json!({ "input": input })) => {}
        }
    }
    drop(written);
    futures::future::join(waiting, next).await;
}

#[tokio::test]
async fn a_value_that_cannot_be_read_is_refused_by_its_field() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    let make = "mutation ($input: CreateScheduleInput!) { createSchedule(input: $input) { schedule { id } } }";
    let input = |timing: Value| {
        json!({ "input": {
        "name": "a", "timing": timing, "task": { "target": { "noop": {} } } } })
    };
    for (timing, field) in [
        (
            json!({ "expressions": ["@daily"], "startAt": "2026-03-01T00:00:00Z", "endAt": "soon" }),
            "timing.endAt",
        ),
        (json!({ "expressions": ["@daily"], "startAt": "soon" }), "timing.startAt"),
        (json!({ "expressions": ["@daily"], "gap": "SOMETIMES" }), "timing.gap"),
        (json!({ "expressions": ["@daily"], "zoned": "UTC" }), "timing.zoned"),
        (json!({ "expressions": ["@daily", 7] }), "timing.expressions[1]"),
        (json!({}), "timing.expressions"),
    ] {
        let error = desk.refused(make, input(timing)).await;
        assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{error}");
        assert_eq!(error["extensions"]["field"], field, "{error}");
        assert!(error["locations"][0]["line"].is_number(), "{error}");
    }
    let error = desk.refused("{ run(id: \"7\") { id } }", json!({})).await;
    assert_eq!(error["extensions"]["field"], "id", "{error}");
    assert_eq!(error["extensions"]["value"], "7", "{error}");
    let error = desk.refused("{ upcoming(from: \"now\") { from } }", json!({})).await;
    assert_eq!(error["extensions"]["field"], "from", "{error}");
}

#[tokio::test]
async fn an_answer_ends_where_it_grows_too_large() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    let text = "x".repeat(60_000);
    for number in 0..6 {
        let query = "mutation ($name: String!, $context: JSON!) { createSchedule(input: {
            name: $name, context: $context, timing: { expressions: [\"@daily\"] },
            task: { target: { noop: {} } } }) { schedule { id } } }";
        let context = json!({ "text": text });
        desk.ask(query, json!({ "name": format!("s{number}"), "context": context })).await;
    }
    let contexts = |times: usize| {
        let all: String = (0..times).map(|number| format!("c{number}: context ")).collect();
        format!("{{ schedules {{ nodes {{ {all} }} }} }}")
    };
    desk.ask(&contexts(20), json!({})).await;
    let error = desk.refused(&contexts(60), json!({})).await;
    assert_eq!(error["extensions"]["code"], "ANSWER_TOO_LARGE", "{error}");
    assert_eq!(error["extensions"]["limit"], 16 * 1024 * 1024, "{error}");
}

/// Other callers get answers while some callers compute as much as they may.
#[tokio::test]
async fn what_computes_keeps_nobody_waiting() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    let timing = "{ expressions: [\"*/7 3-4 29 2 1\" \"0 0 31 * *\" \"1 2 * 2 5#5\"] }";
    let all: String = (0..10)
        .map(|number| format!("a{number}: schedulePreview(timing: {timing}, count: 200) {{ firesPerYear fires {{ at }} }} "))
        .collect();
    let heavy = format!("{{ {all} }}");
    let computed = futures::future::join_all((0..6).map(|_| desk.ask(&heavy, json!({}))));
    // The runtime of this test has only this thread, and the thread itself never computes. It
    // answers all of these queries before the first computation ends.
    let looked = async {
        for _ in 0..20 {
            desk.ask("{ me { name } }", json!({})).await;
        }
    };
    match futures::future::select(Box::pin(looked), Box::pin(computed)).await {
        futures::future::Either::Left(((), computed)) => assert_eq!(computed.await.len(), 6),
        futures::future::Either::Right(_) => panic!("a look waited for what computes"),
    }
}
