use entity::{audit_event, schedule_version, workflow_version};
use sea_orm::{EntityTrait, QueryOrder};
use serde_json::json;

use super::desk::{CREATE, Desk};
use crate::support::{TestDatabase, on_both};

on_both!(a_secret_is_stored_and_never_shown);

async fn a_secret_is_stored_and_never_shown(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let headers = json!([{ "name": "Authorization", "value": "Bearer hunter2" }, { "name": "Accept", "value": "*/*" }]);
    let http = json!({
        "url": "https://example.org/hook", "headers": headers,
        "signingSecret": "whsec_aHVudGVyMmh1bnRlcjJodW50ZXIyaHVudGVyMg==",
    });
    let input = json!({
        "name": "hook", "timing": { "expressions": ["@daily"] }, "task": { "target": { "http": http } },
    });
    let made = desk.ask(CREATE, json!({ "input": input })).await;
    let id = &made["createSchedule"]["schedule"]["id"];
    let query = "query($id: UUID!) { schedule(id: $id) { versions { nodes { snapshot } }
        workflow { tasks { target { ... on HttpTarget { signed headers { name value } } } } } } }";
    let answer = desk.ask(query, json!({ "id": id })).await;
    let target = &answer["schedule"]["workflow"]["tasks"][0]["target"];
    assert_eq!(
        target["headers"],
        json!([{ "name": "Accept", "value": "*/*" }, { "name": "Authorization", "value": "***" }])
    );
    assert_eq!(target["signed"], true);

    // A form gives back what it saw: the secrets stay.
    let http = json!({ "url": "https://example.org/hook?v=2", "headers": target["headers"] });
    let edit = json!({ "id": id, "expectedVersion": 1, "task": { "target": { "http": http } } });
    let update = "mutation($input: UpdateScheduleInput!) { updateSchedule(input: $input) { schedule { version } } }";
    desk.ask(update, json!({ "input": edit })).await;

    let read = desk.database.store.read();
    let versions = workflow_version::Entity::find()
        .order_by_desc(workflow_version::Column::Version)
        .all(read)
        .await
        .unwrap();
    let stored = versions[0].definition.to_string();
    assert!(stored.contains("v=2") && stored.contains("Bearer hunter2"), "{stored}");
    assert!(stored.contains("whsec_"), "{stored}");
    let audited = audit_event::Entity::find().all(read).await.unwrap();
    let history = schedule_version::Entity::find().all(read).await.unwrap();
    for text in [format!("{audited:?}"), format!("{history:?}"), answer.to_string()] {
        assert!(!text.contains("hunter2") && !text.contains("whsec_"), "{text}");
    }
}
