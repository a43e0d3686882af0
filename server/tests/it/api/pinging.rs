//! The URLs that a schedule calls: set by hand, by a module file, and refused.

use serde_json::{Value, json};

use super::desk::{CREATE, Desk};
use crate::support::{TestDatabase, on_both};

on_both!(the_watchdog_of_a_schedule_is_set_shown_and_removed);

const PING: &str = "query($id: UUID!) { schedule(id: $id) { version
    ping { success start failure last { event } } } }";
const CHANGE: &str = "mutation($input: UpdateScheduleInput!) {
    updateSchedule(input: $input) { schedule { version } } }";

fn schedule(ping: &Value) -> Value {
    json!({ "input": {
        "name": "nightly", "timing": { "expressions": ["@daily"] }, "ping": ping,
        "task": { "target": { "noop": {} } },
    } })
}

async fn the_watchdog_of_a_schedule_is_set_shown_and_removed(database: TestDatabase) {
    let desk = Desk::open(database).await;
    for (address, said) in [
        ("https://{{ secrets.host }}/", "template choose the server"),
        ("http://169.254.169.254/", "never reached"),
        ("ftp://watchdog.example/", "scheme is `ftp`"),
        ("https://watchdog.example/?key=***", "mask"),
        ("https://watchdog.example/{{ secrets }}", "without their names"),
        ("https://watchdog.example/{{ context.key }}", "there is no context here"),
    ] {
        let ping = json!({ "success": "https://watchdog.example/", "failure": address });
        let refused = desk.refused(CREATE, schedule(&ping)).await;
        assert_eq!(refused["extensions"]["field"], "ping.failure", "{address}: {refused}");
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains(said) && !message.contains("watchdog"), "{message}");
    }
    let ping = json!({
        "success": "https://watchdog.example/{{ secrets.nightly }}",
        "start": "https://watchdog.example/hush/start?key=hush",
    });
    let made = desk.ask(CREATE, schedule(&ping)).await;
    let id = made["createSchedule"]["schedule"]["id"].clone();
    let shown = desk.ask(PING, json!({ "id": id })).await;
    assert_eq!(
        shown["schedule"]["ping"],
        json!({ "success": "https://watchdog.example/{{ secrets.nightly }}", "failure": null,
            "start": "https://watchdog.example/***/***", "last": null })
    );
    // Absent fields keep their values; null removes them.
    let edit = |version: i32, ping: Option<Value>| {
        let mut input = json!({ "id": id, "expectedVersion": version,
            "note": format!("edited {version}") });
        if let Some(ping) = ping {
            input["ping"] = ping;
        }
        json!({ "input": input })
    };
    desk.ask(CHANGE, edit(1, None)).await;
    assert!(desk.ask(PING, json!({ "id": id })).await["schedule"]["ping"]["start"].is_string());
    // A form may send back the masks that it was shown; a mask in another place is invalid.
    let mut back = shown["schedule"]["ping"].clone();
    back.as_object_mut().unwrap().remove("last");
    desk.ask(CHANGE, edit(2, Some(back.clone()))).await;
    let dump = desk.database.dump().await;
    assert!(dump.contains("https://watchdog.example/hush/start?key=hush"));
    back["start"] = json!("https://elsewhere.example/***");
    let refused = desk.refused(CHANGE, edit(3, Some(back))).await;
    assert_eq!(refused["extensions"]["field"], "ping.start", "{refused}");
    desk.ask(CHANGE, edit(3, Some(Value::Null))).await;
    let gone = desk.ask(PING, json!({ "id": id })).await;
    assert_eq!(gone["schedule"], json!({ "version": 4, "ping": null }));
    let told = desk.ask("{ auditEvents { nodes { before after } } }", json!({})).await.to_string();
    assert!(told.contains("watchdog.example/***") && !told.contains("hush"), "{told}");

    let module = |ping: &str| {
        let source = format!(
            "module: shop\nschedules:\n  hourly:\n    when: \"@hourly\"\n    ping:\n      \
             {ping}\n    task: {{ target: {{ noop: {{}} }} }}\n"
        );
        json!({ "source": source })
    };
    let deploy = "mutation($source: String!) { deployModule(source: $source) {
        changes { action kind name detail } } }";
    let wrong = desk.refused(deploy, module("success: nowhere")).await;
    let field = wrong["extensions"]["field"].as_str().unwrap();
    assert!(field.ends_with("ping.success"), "{wrong}");
    desk.ask(deploy, module("success: https://watchdog.example/1")).await;
    let again = desk.ask(deploy, module("success: https://watchdog.example/2")).await;
    let changes = again["deployModule"]["changes"].to_string();
    assert!(changes.contains("UPDATE") && changes.contains("ping changed"), "{changes}");
    // The export contains the URL as the module gave it.
    let shown = desk.ask(deploy, module("success: https://watchdog.example/***")).await;
    let changes = shown["deployModule"]["changes"].to_string();
    assert!(!changes.contains("UPDATE") && !changes.contains("ping"), "{changes}");
}
