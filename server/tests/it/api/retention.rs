use entity::{audit_event, namespace, user::Role};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};
use serde_json::json;

use super::{
    desk::{CREATE, Desk},
    walking::{member_of, namespace as namespace_id},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_namespace_keeps_history_for_as_long_as_an_admin_says,
    a_schedule_keeps_history_for_as_long_as_it_says,
    a_retention_preview_names_the_rows_to_remove,
    a_preview_says_what_another_retention_would_free,
    an_administrator_of_a_namespace_previews_only_its_retention,
);

const SET: &str = "mutation($days: Int, $key: String) {
    setNamespaceRetention(namespace: \"default\", days: $days, reason: \"audit\",
        idempotencyKey: $key) { namespace days effectiveDays } }";

async fn a_namespace_keeps_history_for_as_long_as_an_admin_says(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let set = desk.ask(SET, json!({ "days": 90, "key": "once" })).await;
    let ninety = json!({ "namespace": "default", "days": 90, "effectiveDays": 90 });
    assert_eq!(set["setNamespaceRetention"], ninety);
    for days in [0, -1, 3_651] {
        let error = desk.refused(SET, json!({ "days": days })).await;
        assert_eq!(error["extensions"]["field"], "days");
        assert!(error["message"].as_str().unwrap().contains("give 1 to 3650 days"), "{error}");
    }
    let again = desk.ask(SET, json!({ "days": 90, "key": "once" })).await;
    assert_eq!(again["setNamespaceRetention"], ninety);
    let set = desk.ask(SET, json!({ "days": null })).await;
    assert_eq!(set["setNamespaceRetention"]["effectiveDays"], 45);
    let read = desk.database.store.read();
    let row = namespace::Entity::find().filter(namespace::Column::Name.eq("default"));
    assert_eq!(row.one(read).await.unwrap().unwrap().retention_days, None);
    let audit = audit_event::Entity::find().all(read).await.unwrap();
    let told: Vec<_> = audit.iter().map(|row| (&*row.action, row.after.clone().unwrap())).collect();
    let action = "namespace.retention";
    assert_eq!(
        told,
        [(action, json!({ "retentionDays": 90 })), (action, json!({ "retentionDays": null })),]
    );
}

async fn a_schedule_keeps_history_for_as_long_as_it_says(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let mut input = json!({
        "name": "tick",
        "timing": { "expressions": ["@daily"] },
        "task": { "target": { "noop": {} } },
        "retentionDays": 0,
    });
    let error = desk.refused(CREATE, json!({ "input": input })).await;
    assert_eq!(error["extensions"]["field"], "retentionDays");
    input["retentionDays"] = json!(7);
    let made = desk.ask(CREATE, json!({ "input": input })).await;
    let id = &made["createSchedule"]["schedule"]["id"];
    let edit = "mutation($input: UpdateScheduleInput!) { updateSchedule(input: $input) {
        schedule { retentionDays versions(first: 1) { nodes { change } } } } }";
    let input = json!({ "id": id, "expectedVersion": 1, "retentionDays": null });
    let edited = desk.ask(edit, json!({ "input": input })).await;
    let schedule = &edited["updateSchedule"]["schedule"];
    assert_eq!(schedule["retentionDays"], json!(null));
    assert_eq!(schedule["versions"]["nodes"][0]["change"], "retention days: `7` -> none");
    let source = "module: m\nschedules:\n  a:\n    when: '@daily'\n    retention: 30d\n    \
                  task: { target: { noop: {} } }\n";
    let deploy = "mutation($source: String!) { deployModule(source: $source) { module } }";
    desk.ask(deploy, json!({ "source": source })).await;
    let a = desk.ask("{ schedule(name: \"a\") { retentionDays } }", json!({})).await;
    assert_eq!(a["schedule"]["retentionDays"], 30);
    let half = source.replace("30d", "36h");
    let error = desk.refused(deploy, json!({ "source": half })).await;
    assert!(error["message"].as_str().unwrap().contains("whole days"), "{error}");
}

async fn a_retention_preview_names_the_rows_to_remove(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("tick", "@hourly").await;
    let run = desk.trigger(&id).await;
    let query = "{ retentionPreview { longestDays shortestDays partitions
        tables { table namespace rows estimatedBytes } oldestKept { table madeAt } } }";
    let before = desk.ask(query, json!({})).await;
    assert_eq!(before["retentionPreview"]["tables"], json!([]));
    assert_eq!(before["retentionPreview"]["oldestKept"][0]["table"], "run");
    let cancel = "mutation($id: UUID!) { cancelRun(id: $id) { run { id } } }";
    desk.ask(cancel, json!({ "id": run })).await;
    desk.clock.advance(std::time::Duration::from_secs(47 * 24 * 3600));
    let after = desk.ask(query, json!({})).await;
    let tables = &after["retentionPreview"]["tables"];
    assert_eq!(tables.as_array().unwrap().len(), 1, "{tables}");
    assert_eq!((&tables[0]["table"], &tables[0]["rows"]), (&json!("run"), &json!(1)));
    assert_eq!(tables[0]["namespace"], "default");
    assert!(tables[0]["estimatedBytes"].as_i64().unwrap() > 100, "{tables}");
}

/// Previews for a namespace and for a schedule, before any retention is set.
async fn a_preview_says_what_another_retention_would_free(database: TestDatabase) {
    let desk = Desk::open(database).await;
    for name in ["tick", "tock"] {
        let id = desk.schedule(name, "@hourly").await;
        let run = desk.trigger(&id).await;
        let cancel = "mutation($id: UUID!) { cancelRun(id: $id) { run { id } } }";
        desk.ask(cancel, json!({ "id": run })).await;
    }
    desk.clock.advance(std::time::Duration::from_secs(10 * 24 * 3600));
    let query = "query($if: RetentionChangeInput) { retentionPreview(if: $if) {
        longestDays shortestDays tables { table namespace rows oldest newest } } }";
    let look = async |change: serde_json::Value| {
        desk.ask(query, json!({ "if": change })).await["retentionPreview"].clone()
    };
    assert_eq!(look(json!(null)).await["tables"], json!([]));
    let week = look(json!({ "days": 7 })).await;
    assert_eq!((&week["longestDays"], &week["shortestDays"]), (&json!(7), &json!(7)));
    let table = &week["tables"][0];
    assert_eq!((&table["table"], &table["rows"]), (&json!("run"), &json!(2)));
    for end in ["oldest", "newest"] {
        assert!(table[end].as_str().unwrap().starts_with("2026-03-01T12:00:00"), "{table}");
    }
    let of_one = look(json!({ "schedule": "tock", "days": 7 })).await;
    assert_eq!((&of_one["longestDays"], &of_one["shortestDays"]), (&json!(45), &json!(7)));
    assert_eq!(of_one["tables"][0]["rows"], 1);
    // The preview replaces the schedule's own retention; a retention of the namespace has no effect
    // on this schedule.
    desk.ask(SET, json!({ "days": 7 })).await;
    assert_eq!(look(json!(null)).await["tables"][0]["rows"], 2);
    assert_eq!(look(json!({ "days": null })).await["tables"], json!([]));
    assert_eq!(look(json!({ "schedule": "tock", "days": 90 })).await["tables"][0]["rows"], 1);

    for (change, code) in [
        (json!({ "days": 0 }), "BAD_USER_INPUT"),
        (json!({ "schedule": "missing", "days": 7 }), "NOT_FOUND"),
        (json!({ "namespace": "missing", "days": 7 }), "NOT_FOUND"),
    ] {
        let error = desk.refused(query, json!({ "if": change })).await;
        assert_eq!(error["extensions"]["code"], code, "{error}");
    }
    let kept = "{ retention { namespace days effectiveDays schedules { name days } } }";
    assert_eq!(
        desk.ask(kept, json!({})).await["retention"],
        json!({ "namespace": "default", "days": 7, "effectiveDays": 7, "schedules": [] })
    );
}

async fn an_administrator_of_a_namespace_previews_only_its_retention(database: TestDatabase) {
    let desk = Desk::open(database).await;
    desk.ask("mutation { createNamespace(name: \"other\") { namespace { id } } }", json!({})).await;
    for (namespace, times) in [("default", 2), ("other", 1)] {
        let schedule = json!({
            "namespace": namespace,
            "name": "tick",
            "timing": { "expressions": ["@hourly"] },
            "task": { "target": { "noop": {} } },
        });
        let made = desk.ask(CREATE, json!({ "input": schedule })).await;
        let id = made["createSchedule"]["schedule"]["id"].as_str().unwrap();
        for _ in 0..times {
            let run = desk.trigger(id).await;
            let cancel = "mutation($id: UUID!) { cancelRun(id: $id) { run { id } } }";
            desk.ask(cancel, json!({ "id": run })).await;
        }
    }
    desk.clock.advance(std::time::Duration::from_secs(10 * 24 * 3600));
    let eve = member_of(namespace_id(&desk, "other").await, Role::Admin);
    let query = "query($of: String, $if: RetentionChangeInput) {
        retentionPreview(namespace: $of, if: $if) {
            longestDays shortestDays partitions tables { namespace table rows } oldestKept { table }
        } }";
    let week = |namespace: &str| json!({ "namespace": namespace, "days": 7 });
    let own = json!([{ "namespace": "other", "table": "run", "rows": 1 }]);
    for variables in [json!({ "if": week("other") }), json!({ "of": "other", "if": week("other") })]
    {
        let told = desk.send_as(&eve, query, variables).await;
        assert!(told.errors.is_empty(), "{:?}", told.errors);
        let told = told.data.into_json().unwrap()["retentionPreview"].clone();
        assert_eq!(told["tables"], own);
        // Other namespaces' retention is not shown.
        assert_eq!((&told["longestDays"], &told["shortestDays"]), (&json!(7), &json!(7)));
        assert_eq!((&told["partitions"], &told["oldestKept"]), (&json!(0), &json!([])));
    }
    for (variables, code) in [
        (json!({}), "FORBIDDEN"),
        (json!({ "of": "default" }), "NOT_FOUND"),
        (json!({ "if": week("default") }), "NOT_FOUND"),
        (json!({ "of": "other", "if": week("default") }), "NOT_FOUND"),
    ] {
        assert_eq!(desk.code_for(&eve, query, variables.clone()).await, code, "{variables}");
    }
    let operator = member_of(namespace_id(&desk, "other").await, Role::Operator);
    let code = desk.code_for(&operator, query, json!({ "if": week("other") })).await;
    assert_eq!(code, "FORBIDDEN");
    // An administrator of all namespaces sees all of them, or one.
    let all = desk.ask(query, json!({ "if": { "namespace": "other", "days": 7 } })).await;
    assert_eq!(all["retentionPreview"]["longestDays"], 45);
    let one = desk.ask(query, json!({ "of": "default", "if": week("default") })).await;
    let rows = &one["retentionPreview"]["tables"];
    assert_eq!(*rows, json!([{ "namespace": "default", "table": "run", "rows": 2 }]));
}
