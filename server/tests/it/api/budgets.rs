//! Budgets of tags: set, judged, shown and removed.

use std::time::Duration;

use entity::{
    fire::{self, Reason, Verdict},
    user::Role,
};
use futures::StreamExt;
use sea_orm::ConnectionTrait;
use serde_json::{Value, json};

use super::{
    desk::{CREATE, Desk},
    ledger::{plant, planted_fire},
    walking::{member_of, namespace},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_budget_judges_the_schedules_with_its_tag_in_its_span,
    a_follower_of_the_health_hears_of_an_exceeded_budget,
    a_budget_limits_how_late_fires_are,
    a_budget_is_replaced_removed_and_audited,
    a_budget_that_limits_nothing_or_too_much_is_refused,
    budgets_of_other_namespaces_are_not_there,
    a_budget_is_not_taken_from_one_that_has_just_set_it,
);

const SET: &str =
    "mutation ($in: String!, $tag: String!, $limits: HealthBudgetInput!, $key: String) {
    setHealthBudget(namespace: $in, tag: $tag, limits: $limits, reason: \"an agreement\",
        idempotencyKey: $key) {
        budget { id namespace tag spanMinutes updatedBy } } }";
const REMOVE: &str = "mutation ($tag: String!) { removeHealthBudget(tag: $tag) { id } }";
const LIST: &str = "query ($in: String) { healthBudgets(namespace: $in) {
    namespace tag spanMinutes healthy issues
    missed { value limit own exceeded } failed { value limit own exceeded }
    stalled { value limit own exceeded } late { value limit own exceeded } } }";

async fn set(desk: &Desk, tag: &str, limits: Value) -> Value {
    let variables = json!({ "in": "default", "tag": tag, "limits": limits });
    desk.ask(SET, variables).await["setHealthBudget"]["budget"].take()
}

async fn budgets(desk: &Desk) -> Vec<Value> {
    let answer = desk.ask(LIST, json!({})).await;
    answer["healthBudgets"].as_array().unwrap().clone()
}

/// Creates a schedule with this tag, and returns its key.
async fn tagged(desk: &Desk, name: &str, tag: &str) -> String {
    let input = json!({
        "name": name, "tags": [tag], "timing": { "expressions": ["@yearly"] },
        "task": { "target": { "noop": {} } },
    });
    let made = desk.ask(CREATE, json!({ "input": input })).await;
    made["createSchedule"]["schedule"]["id"].as_str().unwrap().to_owned()
}

/// Adds a row of so many fires that were missed so many minutes ago.
async fn lose(desk: &Desk, schedule: &str, count: i64, minutes: i64) {
    let home = namespace(desk, "default").await;
    let fire = planted_fire(schedule, home, minutes, (Verdict::Missed, Reason::Outage));
    plant(desk, [fire::Model { count, ..fire }]).await;
}

async fn a_budget_judges_the_schedules_with_its_tag_in_its_span(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let invoices = tagged(&desk, "invoices", "billing").await;
    let reports = tagged(&desk, "reports", "reporting").await;
    set(&desk, "billing", json!({ "missed": 3, "spanMinutes": 30 })).await;
    set(&desk, "reporting", json!({ "stalled": 0, "spanMinutes": 1440 })).await;
    lose(&desk, &invoices, 3, 10).await;
    lose(&desk, &invoices, 50, 45).await;
    lose(&desk, &reports, 11, 600).await;
    let found = budgets(&desk).await;
    assert_eq!(
        found[0],
        json!({
            "namespace": "default", "tag": "billing", "spanMinutes": 30, "healthy": true,
            "issues": [],
            "missed": { "value": 3, "limit": 3, "own": 3, "exceeded": false },
            "failed": { "value": 0, "limit": null, "own": null, "exceeded": false },
            "stalled": { "value": 0, "limit": 5, "own": null, "exceeded": false },
            "late": { "value": null, "limit": null, "own": null, "exceeded": false },
        })
    );
    // The server's limit applies where the budget has none, in the budget's span.
    assert_eq!(
        found[1]["missed"],
        json!({ "value": 11, "limit": 10, "own": null, "exceeded": true })
    );
    assert_eq!(
        found[1]["issues"],
        json!([
            "11 fires with the tag reporting of the namespace default were missed in the last 24 \
             hours, more than 10"
        ])
    );
    // The whole health names the tag, the value and the limit, and does not fail for it.
    let health = "{ health { checks { name healthy value } findings { code severity message namespace search } } }";
    let health = desk.ask(health, json!({})).await["health"].take();
    let checks = health["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["name"] == "budgets").unwrap();
    assert_eq!(check, &json!({ "name": "budgets", "healthy": true, "value": "1" }));
    let findings = health["findings"].as_array().unwrap();
    let finding = findings.iter().find(|finding| finding["code"] == "budgets").unwrap();
    assert_eq!(finding["severity"], "WARNING");
    assert_eq!(
        (&finding["namespace"], &finding["search"]),
        (&json!("default"), &json!("tag:reporting"))
    );
    assert!(finding["message"].as_str().unwrap().contains("the tag reporting"), "{finding}");
    lose(&desk, &invoices, 1, 5).await;
    assert_eq!(budgets(&desk).await[0]["missed"]["exceeded"], true);
}

async fn a_follower_of_the_health_hears_of_an_exceeded_budget(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = tagged(&desk, "invoices", "billing").await;
    set(&desk, "billing", json!({ "missed": 0, "spanMinutes": 1440 })).await;
    let query = "subscription($since: String) { healthEvents(since: $since) {
        cursor health { healthy checks { name value } } } }";
    let next = async |since: Value| {
        let mut events = desk.subscribe(query, json!({ "since": since }));
        let event = tokio::time::timeout(Duration::from_secs(60), events.next()).await;
        let event = event.unwrap().unwrap().data.into_json().unwrap()["healthEvents"].take();
        let checks = event["health"]["checks"].as_array().unwrap();
        let check = checks.iter().find(|check| check["name"] == "budgets").unwrap();
        (event["cursor"].clone(), check["value"].clone())
    };
    let (before, exceeded) = next(Value::Null).await;
    assert_eq!(exceeded, "0");
    lose(&desk, &id, 1, 10).await;
    desk.clock.pass(Duration::from_secs(60));
    let (after, exceeded) = next(before.clone()).await;
    assert_eq!(exceeded, "1");
    assert_ne!(after, before);
}

async fn a_budget_limits_how_late_fires_are(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = tagged(&desk, "invoices", "billing").await;
    set(&desk, "billing", json!({ "lateMs": 5000 })).await;
    desk.trigger(&id).await;
    let late = async || budgets(&desk).await[0]["late"].clone();
    assert_eq!(late().await["value"], Value::Null, "no fire has started this run");
    let store = &desk.database.store;
    let delay = async |ms: i64| {
        let tx = store.begin().await.unwrap();
        let sql = format!("UPDATE run SET fire_id = id, due_at = created_at - {ms}");
        tx.execute_unprepared(&sql).await.unwrap();
        store.commit(tx).await.unwrap();
    };
    delay(5_000).await;
    let at_most = json!({ "value": 5000, "limit": 5000, "own": 5000, "exceeded": false });
    assert_eq!(late().await, at_most);
    delay(9_000).await;
    let over = json!({ "value": 9000, "limit": 5000, "own": 5000, "exceeded": true });
    assert_eq!(late().await, over);
    desk.clock.advance(Duration::from_secs(3_601));
    assert_eq!(late().await["value"], Value::Null, "the span has passed");
}

async fn a_budget_is_replaced_removed_and_audited(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let variables = json!({
        "in": "default", "tag": "billing", "limits": { "missed": 0 }, "key": "once",
    });
    let first = desk.ask(SET, variables.clone()).await["setHealthBudget"]["budget"].take();
    assert_eq!((&first["spanMinutes"], &first["updatedBy"]), (&json!(60), &json!("ada")));
    let again = desk.ask(SET, variables).await["setHealthBudget"]["budget"].take();
    assert_eq!((&again, desk.audited("health_budget.set").await), (&first, 1));
    // The audit log is sorted by time.
    desk.clock.advance(Duration::from_secs(1));
    let other = set(&desk, "billing", json!({ "failed": 2, "spanMinutes": 5 })).await;
    assert_eq!(other["id"], first["id"]);
    let found = budgets(&desk).await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((&found[0]["missed"]["own"], &found[0]["failed"]["own"]), (&Value::Null, &json!(2)));
    let log = "{ auditEvents(filter: { kind: \"health_budget\" }) {
        nodes { action subject reason before after } } }";
    let log = desk.ask(log, json!({})).await["auditEvents"]["nodes"].take();
    assert_eq!(
        (&log[0]["subject"], &log[0]["reason"]),
        (&json!("billing"), &json!("an agreement"))
    );
    assert!(log[0]["before"].to_string().contains("missed"), "{log}");
    let removed = desk.ask(REMOVE, json!({ "tag": "billing" })).await;
    assert_eq!(removed["removeHealthBudget"]["id"], first["id"]);
    assert!(budgets(&desk).await.is_empty());
    assert_eq!(desk.audited("health_budget.remove").await, 1);
    let error = desk.refused(REMOVE, json!({ "tag": "billing" })).await;
    assert_eq!(error["extensions"]["code"], "NOT_FOUND");
}

async fn a_budget_that_limits_nothing_or_too_much_is_refused(database: TestDatabase) {
    let desk = Desk::open(database).await;
    for (tag, limits, field) in [
        ("billing", json!({}), "limits"),
        ("billing", json!({ "missed": -1 }), "limits.missed"),
        ("billing", json!({ "failed": 1_000_001 }), "limits.failed"),
        ("billing", json!({ "lateMs": 0 }), "limits.lateMs"),
        ("billing", json!({ "missed": 1, "spanMinutes": 0 }), "limits.spanMinutes"),
        ("billing", json!({ "missed": 1, "spanMinutes": 1441 }), "limits.spanMinutes"),
        ("two words", json!({ "missed": 1 }), "tag"),
    ] {
        let variables = json!({ "in": "default", "tag": tag, "limits": limits });
        let error = desk.refused(SET, variables).await;
        let told = &error["extensions"];
        assert_eq!((&told["code"], &told["field"]), (&json!("BAD_USER_INPUT"), &json!(field)));
    }
    for number in 0..50 {
        set(&desk, &format!("tag-{number}"), json!({ "missed": 0 })).await;
    }
    let one_more = json!({ "in": "default", "tag": "more", "limits": { "missed": 0 } });
    let error = desk.refused(SET, one_more).await;
    assert_eq!(error["extensions"]["code"], "CONFLICT", "{error}");
    set(&desk, "tag-7", json!({ "missed": 1 })).await;
}

async fn budgets_of_other_namespaces_are_not_there(database: TestDatabase) {
    let desk = Desk::open(database).await;
    desk.ask("mutation { createNamespace(name: \"other\") { namespace { id } } }", json!({})).await;
    set(&desk, "billing", json!({ "missed": 0 })).await;
    let eve = member_of(namespace(&desk, "other").await, Role::Editor);
    let all = desk.send_as(&eve, LIST, json!({})).await.data.into_json().unwrap();
    assert_eq!(all["healthBudgets"], json!([]));
    assert_eq!(desk.code_for(&eve, LIST, json!({ "in": "default" })).await, "NOT_FOUND");
    let limits = json!({ "missed": 5 });
    let theirs = json!({ "in": "default", "tag": "billing", "limits": limits });
    assert_eq!(desk.code_for(&eve, SET, theirs).await, "NOT_FOUND");
    assert_eq!(desk.code_for(&eve, REMOVE, json!({ "tag": "billing" })).await, "NOT_FOUND");
    let own = json!({ "in": "other", "tag": "billing", "limits": limits });
    assert_eq!(desk.code_for(&eve, SET, own).await, "");
    assert_eq!(budgets(&desk).await.len(), 2);
}

/// Lets a deployment declare a budget just before a person's is written.
async fn declare_meanwhile(desk: &Desk) {
    const OTHER: &str = "INSERT INTO health_budget \
        (id, namespace_id, tag, missed, span_ms, module, updated_by, updated_at) VALUES \
        (NEW.namespace_id, NEW.namespace_id, NEW.tag, 9, 60000, 'other', 'bo', NEW.updated_at);";
    let store = &desk.database.store;
    let when = "WHEN (NEW.updated_by <> 'bo')";
    let trigger = if store.dialect().is_postgres() {
        format!(
            "CREATE FUNCTION meanwhile() RETURNS trigger LANGUAGE plpgsql AS \
               $$ BEGIN {OTHER} RETURN NEW; END $$; \
             CREATE TRIGGER meanwhile BEFORE INSERT ON health_budget FOR EACH ROW {when} \
               EXECUTE FUNCTION meanwhile()"
        )
    } else {
        format!("CREATE TRIGGER meanwhile BEFORE INSERT ON health_budget {when} BEGIN {OTHER} END")
    };
    let tx = store.begin().await.unwrap();
    tx.execute_unprepared(&trigger).await.unwrap();
    store.commit(tx).await.unwrap();
}

async fn a_budget_is_not_taken_from_one_that_has_just_set_it(database: TestDatabase) {
    let desk = Desk::open(database).await;
    set(&desk, "reporting", json!({ "missed": 1 })).await;
    declare_meanwhile(&desk).await;
    let variables = json!({ "in": "default", "tag": "billing", "limits": { "missed": 3 } });
    let error = desk.refused(SET, variables).await;
    assert_eq!(error["extensions"]["code"], "CONFLICT", "{error}");
    assert!(error["message"].as_str().unwrap().contains("has just been set"), "{error}");
    assert_eq!(budgets(&desk).await.len(), 1, "nothing of the refused request stays");
    // A budget that is there is locked, and replaced.
    set(&desk, "reporting", json!({ "missed": 2 })).await;
    assert_eq!(budgets(&desk).await[0]["missed"]["own"], 2);
}
