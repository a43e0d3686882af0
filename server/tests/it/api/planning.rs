//! The preview of a deployment: each field that changes, and each fire.

use serde_json::{Value, json};

use super::desk::Desk;
use crate::support::{TestDatabase, on_both};

on_both!(
    a_plan_lists_each_key_and_each_fire_and_matches_the_deployment,
    a_schedule_of_every_second_is_compared_within_bounds,
    objects_created_by_hand_are_taken_over_only_on_request,
    operators_own_pauses_and_notes_and_the_drift_report_says_so,
    an_export_applied_again_changes_nothing,
);

const DEPLOY: &str = "mutation($source: String!, $dryRun: Boolean! = false,
    $adopt: Boolean! = false, $format: ModuleFormat! = YAML) {
    deployModule(source: $source, dryRun: $dryRun, adopt: $adopt, format: $format) {
        changes { action kind name detail fields { path before after } }
        effect { from until added removed isComplete schedules {
            name before after added removed addedSample removedSample comparedUntil isComplete } } } }";

const SOURCE: &str = r#"
module: shop
calendars:
  holidays: { mode: exclude, dates: [2026-03-10] }
groups: { reports: 2 }
workflows:
  send:
    tasks:
      - target: { http: { url: "https://shop.example.org/send?code=hush", headers: { X-Account: hush } } }
schedules:
  nightly: { when: "0 2 * * *", calendars: [holidays], workflow: send }
  own: { when: "0 5 * * 1", group: reports, task: { target: { noop: {} }, timeout: 1h } }
  old: { when: "@hourly", workflow: send }
"#;

async fn deploy(desk: &Desk, source: &str) -> Value {
    desk.ask(DEPLOY, json!({ "source": source })).await["deployModule"].take()
}

async fn plan(desk: &Desk, source: &str) -> Value {
    desk.ask(DEPLOY, json!({ "source": source, "dryRun": true })).await["deployModule"].take()
}

/// One line per change, with the changed fields; unchanged objects are omitted.
pub(super) fn told(plan: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let mut lines = Vec::new();
    for change in plan["changes"].as_array().unwrap() {
        if change["action"] == "UNCHANGED" {
            continue;
        }
        let [action, kind, name] = ["action", "kind", "name"].map(|key| text(&change[key]));
        lines.push(format!("{action} {kind} {name}"));
        for field in change["fields"].as_array().unwrap() {
            let [path, before, after] = ["path", "before", "after"].map(|key| text(&field[key]));
            lines.push(format!("  {path}: {before} -> {after}"));
        }
    }
    lines
}

/// The fires of a schedule in the 30 days from noon on, according to the API.
async fn fires(desk: &Desk, name: &str) -> Vec<String> {
    let query = "query($name: String!) { schedule(name: $name) { nextFires(count: 100) { at suppressedBy } } }";
    let answer = desk.ask(query, json!({ "name": name })).await;
    let fires = answer["schedule"]["nextFires"].as_array().unwrap().iter();
    let all = fires
        .filter(|fire| fire["suppressedBy"].is_null())
        .map(|fire| fire["at"].as_str().unwrap().to_owned());
    all.filter(|at| at.as_str() <= "2026-03-31T12:00:00").collect()
}

async fn a_plan_lists_each_key_and_each_fire_and_matches_the_deployment(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let first = plan(&desk, SOURCE).await;
    assert_eq!(told(&first).len(), 6, "{first:#}");
    let effect = &first["effect"];
    assert_eq!(effect["from"], "2026-03-01T12:00:00Z");
    assert_eq!(effect["until"], "2026-03-31T12:00:00Z");
    // 30 nights minus a holiday, 5 Mondays, and 30 days of hours.
    assert_eq!((&effect["added"], &effect["removed"]), (&json!(29 + 5 + 720), &json!(0)));
    assert_eq!(effect["isComplete"], true);
    assert_eq!(deploy(&desk, SOURCE).await["effect"]["added"], effect["added"]);
    assert_eq!(told(&plan(&desk, SOURCE).await), [""; 0]);
    assert_eq!(plan(&desk, SOURCE).await["effect"]["schedules"], json!([]));

    let before = fires(&desk, "nightly").await;
    let changed = SOURCE
        .replace("0 2 * * *", "0 2,14 * * *")
        .replace("2026-03-10", "2026-03-11")
        .replace("reports: 2", "reports: 3")
        .replace("timeout: 1h", "timeout: 2h")
        .replace("X-Account: hush", "X-Account: other")
        .replace("code=hush", "code=hush&n=1")
        .replace("  old: { when: \"@hourly\", workflow: send }\n", "");
    let wanted = plan(&desk, &changed).await;
    assert_eq!(
        told(&wanted),
        [
            "DELETE schedule old",
            "UPDATE calendar holidays",
            "  dates: [\"2026-03-10\"] -> [\"2026-03-11\"]",
            "UPDATE group reports",
            "  limit: 2 -> 3",
            "UPDATE workflow send",
            "  tasks[main].target.http.headers.X-Account: *** -> ***",
            "  tasks[main].target.http.url: https://shop.example.org/send?code=*** -> \
             https://shop.example.org/send?code=***&n=***",
            "UPDATE schedule nightly",
            "  when: 0 2 * * * -> 0 2,14 * * *",
            "UPDATE schedule own",
            "  task.timeout: 1h -> 2h",
        ]
    );
    assert!(!wanted.to_string().contains("hush"), "{wanted}");
    let nightly = &wanted["effect"]["schedules"][0];
    // 30 afternoons minus one, and the night of the 10th instead of the 11th.
    assert_eq!(nightly["name"], "nightly");
    assert_eq!(wanted["effect"]["schedules"][1]["name"], "old");
    assert_eq!(wanted["effect"]["schedules"][1]["removed"], 720);
    assert_eq!(nightly["removedSample"], json!(["2026-03-11T02:00:00Z"]));
    assert_eq!(nightly["addedSample"][0], "2026-03-01T14:00:00Z");

    // The real deployment has the reported effect.
    deploy(&desk, &changed).await;
    let after = fires(&desk, "nightly").await;
    let added = after.iter().filter(|at| !before.contains(at)).count();
    let removed = before.iter().filter(|at| !after.contains(at)).count();
    assert_eq!(
        (nightly["added"].as_u64(), nightly["removed"].as_u64()),
        (Some(added as u64), Some(removed as u64))
    );
    assert_eq!(
        (nightly["before"].as_u64(), nightly["after"].as_u64()),
        (Some(before.len() as u64), Some(after.len() as u64))
    );
}

async fn a_schedule_of_every_second_is_compared_within_bounds(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let of = |when: &str| {
        format!(
            "module: m\nschedules: {{ a: {{ when: '{when}', task: {{ target: {{ noop: {{}} }} }} }} }}"
        )
    };
    let made = deploy(&desk, &of("* * * * * *")).await;
    assert_eq!(made["effect"]["added"], 2_592_000, "{made}");
    assert_eq!(made["effect"]["isComplete"], true);
    let halved = plan(&desk, &of("*/2 * * * * *")).await;
    let one = &halved["effect"]["schedules"][0];
    assert_eq!((&one["before"], &one["after"]), (&json!(2_592_000), &json!(1_296_000)));
    assert_eq!((&one["isComplete"], &one["added"]), (&json!(false), &json!(0)));
    assert_eq!(one["removed"], 10_000);
    assert_eq!(one["comparedUntil"], "2026-03-01T17:33:20.999Z");
    assert_eq!(halved["effect"]["isComplete"], false);
}

async fn objects_created_by_hand_are_taken_over_only_on_request(database: TestDatabase) {
    let desk = Desk::open(database).await;
    desk.schedule("by-hand", "@daily").await;
    let source = "module: m\nschedules: { by-hand: { when: '@daily', tags: [a], task: { target: { noop: {} } } } }";
    let error = desk.refused(DEPLOY, json!({ "source": source })).await;
    assert!(error["message"].as_str().unwrap().contains("adopt it"), "{error}");
    let adopt = json!({ "source": source, "adopt": true });
    let taken = desk.ask(DEPLOY, adopt.clone()).await;
    let taken = &taken["deployModule"];
    assert_eq!(told(taken), ["ADOPT schedule by-hand", "  tags: - -> [\"a\"]"]);
    let query = "{ schedule(name: \"by-hand\") { module tags version workflow { module } } }";
    assert_eq!(
        desk.ask(query, json!({})).await["schedule"],
        json!({ "module": "m", "tags": ["a"], "version": 2, "workflow": { "module": "m" } })
    );
    let again = desk.ask(DEPLOY, adopt).await;
    assert_eq!(told(&again["deployModule"]), [""; 0]);
    // The option to adopt objects does not apply to those of another module.
    let other = source.replace("module: m", "module: n");
    let error = desk.refused(DEPLOY, json!({ "source": other, "adopt": true })).await;
    assert!(
        error["message"].as_str().unwrap().contains("module \\\"m\\\"")
            || error["message"].as_str().unwrap().contains("module \"m\""),
        "{error}"
    );
}

async fn operators_own_pauses_and_notes_and_the_drift_report_says_so(database: TestDatabase) {
    const DRIFT: &str = "{ moduleDrift(name: \"shop\") { module deployedBy deployedAt
        drifted { kind name side by at reason fields { path before after } } } }";
    let desk = Desk::open(database).await;
    assert_eq!(desk.ask(DRIFT, json!({})).await["moduleDrift"], Value::Null);
    let source =
        SOURCE.replace("workflow: send }\n  own", "note: as coded, workflow: send }\n  own");
    deploy(&desk, &source).await;
    let clean = desk.ask(DRIFT, json!({})).await;
    assert_eq!(
        clean["moduleDrift"],
        json!({ "module": "shop", "deployedBy": "ada", "deployedAt": "2026-03-01T12:00:00Z", "drifted": [] })
    );

    let id = desk.ask("{ schedule(name: \"nightly\") { id } }", json!({})).await;
    let id = id["schedule"]["id"].clone();
    let pause = "mutation($id: UUID!) { pauseSchedule(id: $id, reason: \"stock-taking\") { schedule { id } } }";
    desk.ask(pause, json!({ "id": id })).await;
    let annotate = "mutation($id: UUID!) { annotateSchedule(id: $id, note: \"ask Bo\") { schedule { note version } } }";
    let noted = desk.ask(annotate, json!({ "id": id })).await;
    assert_eq!(noted["annotateSchedule"]["schedule"], json!({ "note": "ask Bo", "version": 2 }));

    let drift = desk.ask(DRIFT, json!({})).await;
    let drifted = drift["moduleDrift"]["drifted"].as_array().unwrap();
    let side = |one: &Value| one["side"].clone();
    assert!(drifted.iter().all(|one| side(one) == "OPERATORS"), "{drift}");
    let fields: Vec<&Value> = drifted.iter().map(|one| &one["fields"][0]).collect();
    assert_eq!(fields[0], &json!({ "path": "note", "before": "as coded", "after": "ask Bo" }));
    assert_eq!(fields[1], &json!({ "path": "paused", "before": null, "after": "true" }));
    assert_eq!((&drifted[1]["by"], &drifted[1]["reason"]), (&json!("ada"), &json!("stock-taking")));

    // Deployments keep both notes until the file's own note changes.
    deploy(&desk, &source.replace("@hourly", "@daily")).await;
    let query = "{ schedule(name: \"nightly\") { note state } }";
    let kept = desk.ask(query, json!({})).await;
    assert_eq!(kept["schedule"], json!({ "note": "ask Bo", "state": "PAUSED" }));
    // A change of a paused schedule misses no fires.
    let moved = plan(&desk, &source.replace("0 2 * * *", "0 3 * * *")).await;
    let names: Vec<_> =
        moved["effect"]["schedules"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["old"], "{moved}");
    deploy(&desk, &source.replace("as coded", "coded anew")).await;
    let kept = desk.ask(query, json!({})).await;
    assert_eq!(kept["schedule"], json!({ "note": "coded anew", "state": "PAUSED" }));
}

async fn an_export_applied_again_changes_nothing(database: TestDatabase) {
    const EXPORT: &str = "query($module: String, $search: String, $format: ModuleFormat!) {
        exportModules(module: $module, search: $search, format: $format) {
            module isByHand isPart schedules source } }";
    let desk = Desk::open(database).await;
    deploy(&desk, SOURCE).await;
    desk.schedule("by-hand", "@daily").await;
    for format in ["YAML", "TOML"] {
        let answer = desk.ask(EXPORT, json!({ "format": format })).await;
        let files = answer["exportModules"].as_array().unwrap();
        assert_eq!(files.len(), 2, "{answer}");
        for (file, adopt) in files.iter().zip([true, false]) {
            assert_eq!(file["isByHand"], adopt);
            assert!(!file["source"].as_str().unwrap().contains("hush"), "{file}");
            let again = json!({
                "source": file["source"], "format": format, "adopt": adopt, "dryRun": true });
            let done = desk.ask(DEPLOY, again).await;
            let done = &done["deployModule"];
            let expected: &[&str] = if adopt { &["ADOPT schedule by-hand"] } else { &[] };
            assert_eq!(told(done), expected, "{file}");
            assert_eq!(done["effect"]["schedules"], json!([]));
        }
    }
    let answer = desk.ask(EXPORT, json!({ "search": "own", "format": "YAML" })).await;
    let file = &answer["exportModules"][0];
    assert_eq!(
        (&file["module"], &file["schedules"], &file["isPart"]),
        (&json!("shop"), &json!(1), &json!(true))
    );
    let source = file["source"].as_str().unwrap();
    assert!(source.contains("--no-prune") && source.contains("reports: 2"), "{source}");
    assert!(!source.contains("nightly"), "{source}");
    let answer = desk.ask(EXPORT, json!({ "module": "shop", "format": "YAML" })).await;
    assert_eq!(answer["exportModules"].as_array().unwrap().len(), 1);
    assert_eq!(answer["exportModules"][0]["schedules"], 3);
    let error = desk.refused(EXPORT, json!({ "search": "stat:x", "format": "YAML" })).await;
    assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{error}");
}
