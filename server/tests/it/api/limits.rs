use std::fmt::Write;

use serde_json::{Value, json};

use super::desk::Desk;
use crate::support::TestDatabase;

/// What the API says to a request that it refuses.
async fn refused(query: &str) -> String {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    let error: Value = desk.refused(query, json!({})).await;
    assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{error}");
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
    // Nor does a deeper one cost anything, nor one that only opens.
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
async fn what_counts_rows_fits_into_a_request_a_few_times() {
    let previews: String =
        (0..6).map(|number| format!("a{number}: retentionPreview {{ partitions }} ")).collect();
    let message = refused(&format!("{{ {previews} }}")).await;
    assert!(message.contains("complex"), "{message}");
}

#[tokio::test]
async fn a_list_of_a_billion_is_refused() {
    for count in ["1000000000", "1e9", "-1", "99999999999999999999"] {
        let message =
            refused(&format!("{{ schedules(first: {count}) {{ nodes {{ id }} }} }}")).await;
        assert!(!message.is_empty());
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
    // In a fragment they count as often as it is spread, and once for itself.
    let fragment = "fragment f on Viewer { a: id b: id }";
    let spreads: String = (0..251).map(|number| format!("m{number}: me {{ ...f }} ")).collect();
    let message = refused(&format!("{{ {spreads} }} {fragment}")).await;
    assert!(message.contains("755 aliases"), "{message}");
}

#[tokio::test]
async fn fragments_that_spread_each_other_cost_nothing() {
    // Thirty that each spread the next one twice: a billion fields.
    let mut query = "{ schedules { nodes { ...f0 } } }".to_owned();
    for number in 0..25 {
        let next = number + 1;
        write!(query, " fragment f{number} on Schedule {{ ...f{next} ...f{next} }}").unwrap();
    }
    query.push_str(" fragment f25 on Schedule { id }");
    assert!(refused(&query).await.contains("the limit is 10000"));
    // In a circle.
    let circle = "{ schedules { nodes { ...a } } } fragment a on Schedule { id ...b } \
                  fragment b on Schedule { name ...a }";
    assert!(refused(circle).await.contains("spreads itself"));
    // A long chain.
    assert!(refused(&chain("...f0", 40)).await.contains("nests deeper"));
    assert!(refused(&chain("...f0", 50_000)).await.contains("50001 fragments"));
}

/// Fragments that each spread the next one, the last of which asks for `id`.
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
async fn fragments_that_nobody_spreads_are_counted_as_well() {
    assert!(refused(&chain("", 100_000)).await.contains("100001 fragments"));
    assert!(refused(&chain("", 40)).await.contains("nests deeper"));
    // Each spreads the next one twice, and the last one what is not there.
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
async fn what_cannot_be_read_is_not_repeated_in_full() {
    let message = refused(&format!("{{ me {{ {} ! }} }}", "näme ".repeat(10_000))).await;
    assert!(message.chars().count() < 320, "{message}");
    assert!(message.contains("1:") && message.contains("expected"), "{message}");
}
