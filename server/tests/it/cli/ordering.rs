//! Commands for objects that were created by hand, for bulk operations, and for alerts.

use carillon::store::namespaces;
use entity::{alert, alert_rule};
use sea_orm::{ActiveModelTrait, EntityTrait, IntoActiveModel};
use serde_json::{Value, json};
use uuid::Uuid;

use super::desk::Desk;
use crate::support::{Command, Server, TestDatabase, on_both};

on_both!(
    a_schedule_is_made_changed_noted_and_deleted,
    one_order_reaches_all_that_a_search_finds,
    a_run_is_shown_with_its_attempts_and_its_log,
    an_alert_is_seen_to_and_a_rule_muted,
);

const MODULE: &str = "module: test
schedules:
  tick: { when: '@yearly', tags: [a], task: { target: { noop: {} } } }
  tock: { when: '@yearly', tags: [a], task: { target: { noop: {} } } }
  bad:
    when: '@yearly'
    task: { target: { http: { url: 'http://127.0.0.1:9/' } } }
";

const ALERTS: &str = "module: alerts
alert_channels:
  hook: { kind: webhook, url: 'https://hooks.example.org/carillon' }
alert_rules:
  failures: { on: [failed], channels: [hook] }
";

const HAND_MADE: &str = r#"{ "name": "nightly", "timing": { "expressions": ["0 2 * * *"] },
    "task": { "target": { "noop": {} } } }"#;

async fn a_schedule_is_made_changed_noted_and_deleted(database: TestDatabase) {
    let desk = Desk::open(&database, MODULE);
    let said = desk.command(&["create", "-"]).input(HAND_MADE).run().done();
    assert!(said.starts_with("nightly version 1: made\nnext "), "{said}");
    let taken = desk.command(&["create", HAND_MADE]).run().refused(1);
    assert!(taken.contains("is the name of another schedule"), "{taken}");
    for (given, problem) in [("{", "is not JSON"), ("[]", "is not a JSON object")] {
        let refused = desk.command(&["create", given]).run().refused(2);
        assert!(refused.starts_with("the definition ") && refused.contains(problem), "{refused}");
    }

    let elsewhere = HAND_MADE.replacen('{', r#"{ "namespace": "ops","#, 1);
    let both = desk.command(&["create", &elsewhere, "--namespace", "default"]).run().refused(2);
    assert!(both.starts_with(r#"the definition is for the namespace "ops", "#), "{both}");

    // The policies, as the API writes them.
    let change = r#"{ "overlap": "BUFFER_ALL", "bufferLimit": 7, "misfire": { "catchUp": "ALL" },
        "priority": 3, "retentionDays": 9 }"#;
    let said = desk.said(&["change", "nightly", change, "--reason", "slow days"]);
    assert!(said.starts_with("nightly version 2: "), "{said}");
    assert!(said.contains("overlap: `skip` -> `buffer_all`"), "{said}");
    assert!(said.contains("priority: `0` -> `3`"), "{said}");
    let again = desk.said(&["change", "nightly", change]);
    assert_eq!(again, "nightly already has these values\n");
    let stale = ["change", "nightly", r#"{ "priority": 1 }"#, "--expected", "1"];
    assert!(desk.command(&stale).run().refused(1).contains("the current version is 2"));
    let unknown = desk.command(&["change", "nightly", r#"{ "prio": 1 }"#]).run().refused(1);
    assert!(unknown.contains("prio"), "{unknown}");
    let named = desk.command(&["change", "nightly", r#"{ "expectedVersion": 1 }"#]).run();
    assert!(named.refused(2).contains("give --expected instead"));
    let declared = desk.command(&["change", "tick", r#"{ "priority": 1 }"#]).run().refused(1);
    assert!(declared.contains("declared by the module"), "{declared}");
    let audit = desk.command(&["audit"]).on(&database).run().done();
    assert!(audit.contains("slow days"), "{audit}");

    // The objects that schedules share are listed.
    let listed = desk.json(&["list", "workflows"]);
    let names: Vec<&Value> = listed.as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["bad", "nightly", "tick", "tock"]);
    assert!(desk.said(&["list", "workflows"]).starts_with("WORKFLOW  TASKS  VERSION  CHANGED"));
    let modules = desk.said(&["list", "modules"]);
    assert!(modules.lines().nth(1).unwrap().starts_with("test    3          3"), "{modules}");
    for kind in ["calendars", "groups"] {
        assert_eq!(desk.json(&["list", kind]), json!([]));
    }

    // Only operators write notes, even if a module declares the schedule.
    assert_eq!(desk.said(&["note", "tick", "ask Ada first"]), "changed the note of tick\n");
    assert_eq!(desk.json(&["note", "tick", ""])["note"], "");

    assert!(
        desk.command(&["delete", "workflow", "nightly"])
            .run()
            .refused(1)
            .contains("1 schedule runs")
    );
    let said = desk.said(&["delete", "schedule", "nightly", "--reason", "not needed"]);
    assert_eq!(said, "deleted the schedule nightly\n");
    let missing = desk.command(&["delete", "schedule", "nightly"]).run().refused(1);
    assert!(missing.contains("there is no schedule 'nightly' in the namespace 'default'"));
    // The schedule's own workflow was deleted and restored together with the schedule.
    let missing = desk.command(&["delete", "workflow", "nightly"]).run().refused(1);
    assert!(missing.contains("there is no workflow 'nightly'"), "{missing}");
    assert_eq!(desk.json(&["deleted"])[0]["name"], "nightly");
    assert!(desk.said(&["undelete", "nightly"]).starts_with("restored nightly: "));
    assert_eq!(desk.json(&["deleted"]), json!([]));
    let missing = desk.command(&["undelete", "nightly"]).run().refused(1);
    assert!(missing.contains("no deleted schedule was named 'nightly'"), "{missing}");
    let id = desk.json(&["show", "nightly"])["id"].as_str().unwrap().to_owned();
    assert_eq!(desk.said(&["delete", "schedule", &id]), "deleted the schedule nightly\n");
    let nobody = Uuid::nil().to_string();
    let missing = desk.command(&["delete", "schedule", &nobody]).run().refused(1);
    assert!(missing.contains(&format!("there is no schedule with the id {nobody}")), "{missing}");
    let declared = desk.command(&["delete", "schedule", "tick"]).run().refused(1);
    assert!(declared.contains("declared by the module"), "{declared}");
    for kind in ["calendar", "group"] {
        let missing = desk.command(&["delete", kind, "nightly"]).run().refused(1);
        assert!(missing.contains(&format!("there is no {kind} 'nightly'")), "{missing}");
    }
}

async fn one_order_reaches_all_that_a_search_finds(database: TestDatabase) {
    let desk = Desk::open(&database, MODULE);
    let would = desk.said(&["bulk", "pause", "tag:a", "--reason", "x", "--dry-run"]);
    assert!(would.starts_with("2 schedules would be paused\n  "), "{would}");
    assert!(would.contains("  tick\n") && would.contains("  tock\n"), "{would}");
    let other = ["bulk", "pause", "tag:a", "--reason", "x", "--expect", "3"];
    let refused = desk.command(&other).run().refused(1);
    assert!(refused.starts_with("failed to pause the schedules: the search finds 2"), "{refused}");
    let dry = desk.command(&[&other[..], &["--dry-run"]].concat()).run();
    assert_eq!(dry.refused(1), refused);
    let pause = ["bulk", "pause", "tag:a", "--reason", "x", "--expect", "2"];
    assert_eq!(desk.said(&pause), "paused 2 schedules\n");
    let done = desk.json(&["bulk", "resume", "tag:a", "--catch-up", "latest"]);
    assert_eq!((&done["done"], &done["refused"]), (&json!(2), &json!(0)));
    let said = desk.said(&["bulk", "skip-next", "tag:a", "--count", "2", "--reason", "x"]);
    assert_eq!(said, "left out fires of 2 schedules\n");
    let trigger = ["bulk", "trigger", "tag:a", "--key", "once"];
    let nowhere = desk.command(&trigger).env("CARILLON_SERVER", "http://127.0.0.1:9").run();
    assert!(nowhere.refused(1).ends_with("; to continue, repeat with --key once"));
    for _ in 0..2 {
        assert_eq!(desk.said(&trigger), "triggered 2 schedules\n");
    }
    let runs = desk.until(&["runs"], |runs| {
        let all = runs.as_array().unwrap();
        all.len() == 2 && all.iter().all(|run| run["state"] == "SUCCEEDED")
    });
    assert_eq!(desk.said(&["bulk", "retry-runs", "state:succeeded"]), "retried 2 runs\n");

    // If one of the items is refused, the command reports that, and exits with another code.
    let run = runs[0]["id"].as_str().unwrap();
    let cancel = desk.command(&["bulk", "cancel-runs", "schedule:tick", "--reason", "x"]).run();
    assert_eq!(cancel.code, 1, "{cancel:?}");
    assert!(
        cancel.out.contains("  not ") && cancel.err.contains("it was refused for "),
        "{cancel:?}"
    );
    assert!(!run.is_empty());
    let would = desk.said(&["bulk", "delete", "tag:a", "--dry-run"]);
    assert!(would.contains("\n2 of them would be refused\n  not "), "{would}");
    assert!(would.contains("declared by the module"), "{would}");
    let declared = desk.command(&["bulk", "delete", "tag:a"]).run();
    assert!(declared.err.contains("it was refused for 2 of 2"), "{declared:?}");
    let change = ["bulk", "change", "name:nightly", r#"{ "addTags": ["b"] }"#];
    desk.command(&["create", HAND_MADE]).run().done();
    assert_eq!(desk.said(&change), "changed 1 schedule\n");
    assert_eq!(desk.json(&["schedules", "--search", "tag:b"])[0]["name"], "nightly");
    assert_eq!(desk.said(&["bulk", "delete", "tag:b"]), "deleted 1 schedule\n");
    let wrong = desk.command(&["bulk", "pause", "colour:red", "--reason", "x"]).run();
    assert!(wrong.refused(2).starts_with("SEARCH: "));
    let mistyped = desk.command(&["bulk", "delete", "--all"]).run();
    assert!(mistyped.refused(2).contains("there is no such flag"));
}

async fn a_run_is_shown_with_its_attempts_and_its_log(database: TestDatabase) {
    let desk = Desk::open(&database, MODULE);
    let run = desk.said(&["trigger", "bad"]).trim().strip_prefix("run ").unwrap().to_owned();
    desk.until(&["runs", "--state", "failed"], |runs| runs[0]["id"] == *run);
    let shown = desk.json(&["run", "show", &run]);
    assert_eq!((&shown["state"], &shown["tasks"][0]["name"]), (&json!("FAILED"), &json!("main")));
    let said = desk.said(&["run", "show", &run]);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[0], format!("run {run} of bad, by manual: failed"));
    assert!(said.contains("\n  error: ") && said.contains("\nTASK"), "{said}");
    assert!(lines.last().unwrap().starts_with("main  1        failed"), "{said}");
    // The target's own message is in the log.
    let log = desk.said(&["run", "logs", &run]);
    for line in desk.said(&["run", "logs", &run, "--json"]).lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert!(log.contains(line["text"].as_str().unwrap()), "{log}");
    }
    assert_eq!(desk.said(&["run", "logs", &run, "--task", "other"]), "");
    let nobody = Uuid::nil().to_string();
    for verb in ["show", "logs"] {
        let missing = desk.command(&["run", verb, &nobody]).run().refused(1);
        assert!(missing.contains("there is no run with the id"), "{missing}");
    }
}

async fn an_alert_is_seen_to_and_a_rule_muted(database: TestDatabase) {
    let key = Command::new(&["secret", "new-key"]).run().done();
    let config = format!("[secrets]\nkey = {:?}\n", key.trim());
    let create = ["token", "create", "ci", "--role", "editor"];
    let token = Command::new(&create).on(&database).run().done().trim().to_owned();
    let desk = Desk { server: Server::start_configured(&database, &config), token };
    desk.command(&["apply", "alerts.yaml"]).file("alerts.yaml", ALERTS).run().done();
    let rules = desk.said(&["alerts", "rules"]);
    assert!(rules.lines().nth(1).unwrap().starts_with("failures  enabled  failed"), "{rules}");
    let mute = ["alerts", "mute", "failures", "--reason", "known"];
    assert_eq!(desk.command(&mute).run().code, 2, "until when is to be said");
    let late = [&mute[..], &["--until", "2099-01-01T00:00:00Z"]].concat();
    assert!(desk.command(&late).run().refused(1).contains("until"));
    let soon = carillon::clock::Clock::system().now() + chrono::TimeDelta::days(1);
    let soon = soon.format("%FT%TZ").to_string();
    let muted = desk.json(&[&mute[..], &["--until", &soon]].concat());
    assert_eq!((&muted["mutedUntil"], &muted["mutedReason"]), (&json!(soon), &json!("known")));
    assert!(desk.said(&["alerts", "rules"]).contains(&format!("muted until {soon}")));
    let unmute = ["alerts", "unmute", "failures", "--reason", "mended"];
    assert_eq!(desk.said(&unmute), "failures is no longer muted\n");
    let missing = ["alerts", "unmute", "failure", "--reason", "x"];
    let missing = desk.command(&missing).run().refused(1);
    assert!(missing.contains("no rule 'failure' in the namespace 'default'; there are: failures"));

    // Makes the backfill look as if it were still running.
    let store = &database.store;
    let home = namespaces::by_name(store.read(), "default").await.unwrap().unwrap().id;
    let rule = alert_rule::Entity::find().one(store.read()).await.unwrap().unwrap();
    let at = carillon::clock::Clock::system().now().into();
    let row = alert::Model {
        id: Uuid::now_v7(),
        namespace_id: home,
        rule_id: rule.id,
        kind: alert::Kind::Failed,
        occurrence: "failed:by-hand".to_owned(),
        schedule_id: None,
        subject: "bad".to_owned(),
        run_id: None,
        fire_id: None,
        detail: None,
        count: 1,
        began_at: at,
        last_at: at,
        ended_at: None,
        tell_at: None,
        told_at: None,
        acknowledged_at: None,
        acknowledged_by: None,
        acknowledged_note: None,
        acknowledged_until: None,
        withdrawn_at: None,
        changed: 0,
    };
    let earlier =
        alert::Model { id: Uuid::now_v7(), occurrence: "failed:earlier".to_owned(), ..row.clone() };
    let row = alert::Model { id: Uuid::now_v7(), ..row };
    let tx = store.begin().await.unwrap();
    earlier.into_active_model().insert(&tx).await.unwrap();
    let row = row.into_active_model().insert(&tx).await.unwrap();
    store.commit(tx).await.unwrap();
    let alert = row.id.to_string();
    assert_eq!(desk.json(&["alerts", "list"])[0]["id"], alert);
    let cut = desk.command(&["alerts", "list", "--limit", "1"]).run();
    assert!(cut.err.starts_with("1 shown, 1 is left"), "{cut:?}");
    let said = desk.said(&["alerts", "ack", &alert]);
    assert!(
        said.starts_with("failed about bad: ") && said.contains(": acknowledged by "),
        "{said}"
    );
    assert!(desk.json(&["alerts", "list"])[0]["acknowledgedBy"].is_string());
    let again = ["alerts", "ack", &alert, "--note", "the disk", "--until", &soon];
    let again = desk.json(&again);
    assert_eq!(again["acknowledgedNote"], "the disk");
    assert_eq!(again["acknowledgedUntil"], soon);
    let nobody = Uuid::nil().to_string();
    assert!(desk.command(&["alerts", "ack", &nobody]).run().refused(1).contains("alert"));
    assert!(desk.said(&["alerts", "messages", "--dead"]).starts_with("MESSAGE"));
    assert!(desk.command(&["alerts", "retry", &nobody]).run().refused(1).contains("notification"));
}
