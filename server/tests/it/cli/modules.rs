use std::fs;

use serde_json::{Value, json};

use super::desk::Desk;
use crate::support::{Command, Server, TestDatabase};

const MODULE: &str = "module: shop\nschedules:\n  report:\n    when: \"0 6 * * *\"\n    \
                      task: { target: { noop: {} } }\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_module_is_planned_applied_compared_and_exported_from_the_command_line() {
    let database = TestDatabase::sqlite().await;
    let create = ["token", "create", "shell", "--role", "editor"];
    let token = Command::new(&create).on(&database).run().done().trim().to_owned();
    let server = Server::start(&database);
    let ask = |args: &[&str]| {
        Command::new(args).env("CARILLON_SERVER", &server.url).env("CARILLON_TOKEN", &token)
    };
    let plan = ["apply", "shop.yaml", "--dry-run", "--exit-code"];
    let planned = ask(&plan).file("shop.yaml", MODULE).run();
    assert_eq!(planned.code, 3, "{planned:?}");
    assert_eq!(planned.err, "");
    let lines: Vec<_> = planned.out.lines().collect();
    assert_eq!(
        lines[..4],
        [
            "module shop (nothing was changed)",
            "  create schedule report: made",
            "  1 to create",
            "  fires in the next 30 days: 30 added, 0 removed",
        ]
    );
    assert!(lines[4].starts_with("    report: 0 -> 30; 30 added ("), "{lines:?}");

    let applied = ask(&["apply", "-", "--json"]).input(MODULE).run().done();
    let applied: Value = serde_json::from_str(&applied).unwrap();
    assert_eq!(applied["changes"][0]["action"], "CREATE");
    let same = ask(&plan).file("shop.yaml", MODULE).run().done();
    assert!(same.contains("  1 unchanged\n  fires in the next 30 days: 0 added"), "{same}");
    let toml = "module = 'shop'\n[schedules.report]\nwhen = '0 7 * * *'\ntask.target.noop = {}\n";
    let changed = ask(&["apply", "shop.toml", "--dry-run"]).file("shop.toml", toml).run().done();
    assert!(
        changed.contains("  change schedule report\n    when: 0 6 * * * -> 0 7 * * *\n"),
        "{changed}"
    );
    assert!(changed.contains("30 -> 30; 30 added ("), "{changed}");

    let query =
        "mutation($id: UUID!) { pauseSchedule(id: $id, reason: \"x\") { schedule { id } } }";
    let found = ask(&["schedules", "--json"]).run().done();
    let found: Value = serde_json::from_str(&found).unwrap();
    let body = json!({ "query": query, "variables": { "id": found[0]["id"] } });
    let paused = server.post("/graphql").bearer_auth(&token).json(&body).send().await.unwrap();
    assert!(paused.text().await.unwrap().contains("\"schedule\""));
    let drift = ask(&["apply", "shop.yaml", "--drift", "--exit-code"]);
    let drift = drift.file("shop.yaml", MODULE).run();
    assert_eq!(drift.code, 3, "{drift:?}");
    assert!(drift.out.contains("  schedule report by token/shell at "), "{drift:?}");
    assert!(drift.out.contains("    paused: (none) -> true\n    reason: x\n"), "{drift:?}");

    let exported = ask(&["export"]).run().done();
    let again = ask(&["apply", "-", "--dry-run", "--exit-code"]).input(exported.clone()).run();
    assert_eq!(again.code, 0, "{exported}\n{again:?}");
    let none = ask(&["export", "--module", "none"]).run().refused(2);
    assert_eq!(none, "there is nothing to export");

    let drift = ask(&["drift", "shop", "--exit-code"]).run();
    assert_eq!(drift.code, 3, "{drift:?}");
    assert!(drift.out.contains("    paused: (none) -> true\n"), "{drift:?}");
    let unexplained = ask(&["drift", "shop", "--adopt"]).run();
    assert_eq!(unexplained.code, 2, "{unexplained:?}");
    let adopted = ask(&["drift", "shop", "--adopt", "--reason", "it stays"]).run().done();
    assert!(adopted.contains("adopted 1 difference; now export"), "{adopted}");
    let clean = ask(&["drift", "shop", "--exit-code"]).run().done();
    assert!(clean.contains("everything is as it was declared"), "{clean}");
    ask(&["resume", "report"]).run().done();
    let revert = ["drift", "shop", "--revert", "--reason", "as declared", "--json"];
    let reverted: Value = serde_json::from_str(&ask(&revert).run().done()).unwrap();
    assert_eq!(reverted, json!({ "module": "shop", "settled": 1, "drift": { "drifted": [] } }));
    let absent = ask(&["drift", "none"]).run().refused(1);
    assert!(absent.contains("the module \"none\" is not deployed"), "{absent}");
}

#[tokio::test(flavor = "multi_thread")]
async fn definitions_move_from_sqlite_to_postgresql() {
    let (sqlite, postgres) = (TestDatabase::sqlite().await, TestDatabase::postgres().await);
    let old = Desk::open(&sqlite, MODULE);
    let by_hand = json!({
        "name": "by-hand",
        "timing": { "expressions": ["@daily"] },
        "task": { "target": { "noop": {} } },
    });
    old.said(&["create", &by_hand.to_string()]);
    let folder = tempfile::tempdir().unwrap();
    old.said(&["export", "--output", folder.path().to_str().unwrap()]);
    let files = fs::read_dir(folder.path()).unwrap();
    let files: Vec<String> =
        files.map(|file| file.unwrap().path().to_str().unwrap().to_owned()).collect();
    assert_eq!(files.len(), 2, "{files:?}");

    let new = Desk::open(&postgres, "module: nothing\n");
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    new.said(&[&["apply"], &files[..]].concat());
    let exported = |desk: &Desk, module: &str| desk.said(&["export", "--module", module]);
    assert_eq!(exported(&new, "shop"), exported(&old, "shop"));
    let by_hand = exported(&new, "exported");
    assert!(by_hand.contains("by-hand:"), "{by_hand}");
}

#[tokio::test(flavor = "multi_thread")]
async fn why_something_was_changed_is_in_the_audit_log() {
    const WHY: &str = "ticket 42: größer";
    let database = TestDatabase::sqlite().await;
    let because = |args: &[&str]| Command::new(&[args, &["--reason", WHY]].concat());
    let here = |args: &[&str]| because(args).on(&database).run().done();
    let token = here(&["token", "create", "shell", "--role", "editor"]).trim().to_owned();
    here(&["token", "create", "old", "--role", "viewer"]);
    here(&["token", "revoke", "old"]);
    here(&["user", "add", "ada", "--role", "viewer", "--random"]);
    here(&["user", "passwd", "ada", "--random"]);
    here(&["user", "disable", "ada"]);
    here(&["user", "enable", "ada"]);
    here(&["member", "add", "ada", "--role", "operator"]);
    here(&["member", "remove", "ada"]);
    let server = Server::start(&database);
    let apply = because(&["apply", "-"]).env("CARILLON_SERVER", &server.url);
    apply.env("CARILLON_TOKEN", &token).input(MODULE).run().done();

    let log = Command::new(&["audit", "--format", "jsonl"]).on(&database).run().done();
    let log: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut actions: Vec<&str> = log.iter().filter_map(|entry| entry["action"].as_str()).collect();
    actions.sort_unstable();
    let expected = "membership.remove membership.set module.deploy schedule.create token.create \
                    token.create token.revoke user.add user.disable user.enable user.passwd \
                    workflow.create";
    assert_eq!(actions, expected.split(' ').collect::<Vec<_>>());
    for entry in &log {
        assert_eq!(entry["reason"], WHY, "{entry}");
    }

    let long = "x".repeat(501);
    for (why, problem) in [(" ", "say why"), ("a\nb", "line end"), (&long, "the limit is 500")] {
        let refused = Command::new(&["member", "remove", "ada", "--reason", why]).run();
        assert!(refused.code == 2 && refused.err.contains(problem), "{refused:?}");
    }
}

#[test]
fn a_file_that_cannot_be_a_module_is_refused_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let apply = |path: &str, args: &[&str]| Command::new(&[&["apply", path], args].concat()).run();
    let latin = write("latin.yaml", b"module: m\n# caf\xe9\n");
    assert!(apply(&latin, &[]).refused(2).contains("is not UTF-8: line 2, column 6"));
    let huge = write("huge.yaml", &vec![b'#'; 1024 * 1024 + 1]);
    assert!(apply(&huge, &[]).refused(2).contains("larger than 1048576 bytes"));
    assert!(apply("/nowhere.yaml", &[]).refused(2).contains("cannot be read"));
    assert!(apply(folder.path().to_str().unwrap(), &[]).refused(2).contains("directory"));
    // The command itself reads the file, without a server.
    let tabs = write("tabs.yaml", b"module: m\nschedules:\n\ta: {}\n");
    let refused = apply(&tabs, &["--drift"]).refused(1);
    assert!(refused.contains("tabs.yaml: ") && refused.contains("line 3, column "), "{refused}");
}

#[test]
fn the_schema_of_modules_is_printed() {
    let printed = Command::new(&["schema", "--module"]).run().done();
    let schema: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(schema["required"], json!(["module"]));
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/module.schema.json");
    assert_eq!(printed.trim(), fs::read_to_string(path).unwrap().trim());
}
