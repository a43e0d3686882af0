//! Whether this version can take over a database; checked before anything is changed in it.

use std::fs;

use entity::{run, workflow, workflow_version};
use sea_orm::{ActiveModelTrait, ConnectionTrait, EntityTrait, IntoActiveModel, Set};
use serde_json::{Value, json};

use super::desk::Desk;
use crate::support::{Command, Finished, TestDatabase, on_both};

on_both!(
    a_database_that_can_be_upgraded_is_read_and_one_that_cannot_is_told,
    whatever_is_parsed_is_read_and_what_cannot_be_is_named_with_its_place,
    workflows_that_deleted_schedules_have_left_go_with_a_migration,
    origins_of_live_runs_name_their_namespace_after_a_migration,
    credentials_that_were_stored_in_clear_are_named,
);

const MODULE: &str = "module: reports
schedules:
  nightly: { when: '0 3 * * *', task: { target: { noop: {} } } }
  hourly: { when: '@hourly', task: { target: { noop: {} } } }
";

fn check(database: &TestDatabase) -> Finished {
    Command::new(&["upgrade", "--check", "--json"]).on(database).run()
}

fn report(finished: &Finished) -> Value {
    serde_json::from_str(&finished.out).unwrap_or_else(|_| panic!("{finished:?}"))
}

async fn write(database: &TestDatabase, sql: &str) {
    let tx = database.store.begin().await.unwrap();
    tx.execute_unprepared(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    database.store.commit(tx).await.unwrap();
}

async fn a_database_that_can_be_upgraded_is_read_and_one_that_cannot_is_told(
    database: TestDatabase,
) {
    let run = async |sql: &str| write(&database, sql).await;
    let desk = Desk::open(&database, MODULE);
    assert_eq!(desk.server.stop(), 0);
    let well = check(&database);
    let found = report(&well);
    assert_eq!((well.code, &found["problems"]), (0, &json!(0)), "{found:#}");
    assert_eq!((&found["schedules"], &found["workflows"]), (&json!(2), &json!(2)), "{found:#}");
    assert_eq!((&found["pending"], &found["nodes"]), (&json!([]), &json!([])));

    // Makes some rows look as if another version had left them.
    run("UPDATE node SET state = 'alive', version = '0.0.9'").await;
    run("UPDATE schedule SET zone = 'Mars/Base' WHERE name = 'nightly'").await;
    let told = check(&database);
    let found = report(&told);
    assert_eq!((told.code, &found["problems"]), (1, &json!(1)), "{found:#}");
    let named = found["named"][0].as_str().unwrap();
    assert!(named.starts_with("schedule default/nightly: ") && named.contains("Mars/Base"));
    assert_eq!(found["nodes"][0]["version"], "0.0.9");
    // Without --json, the output is for people.
    let said = Command::new(&["upgrade", "--check"]).on(&database).run();
    assert_eq!(said.code, 1);
    assert!(said.out.contains("cannot be read: schedule default/nightly"), "{said:?}");
    assert!(said.out.contains("runs 0.0.9: replace it as well"), "{said:?}");

    // The command reads nothing from a database of a later version.
    run("INSERT INTO seaql_migrations (version, applied_at) VALUES ('m9999_later', 0)").await;
    let later = Command::new(&["upgrade", "--check"]).on(&database).run().refused(1);
    assert!(later.contains("m9999_later"), "{later}");
}

async fn workflows_that_deleted_schedules_have_left_go_with_a_migration(database: TestDatabase) {
    let desk = Desk::open(&database, MODULE);
    let create = |name: &str, rest: &str| {
        let timing = json!({ "expressions": ["@daily"] });
        let mut input = json!({ "name": name, "timing": timing });
        input
            .as_object_mut()
            .unwrap()
            .extend(serde_json::from_str::<serde_json::Map<String, Value>>(rest).unwrap());
        desk.said(&["create", &input.to_string()]);
    };
    let task = r#"{ "task": { "target": { "noop": {} } } }"#;
    for name in ["left", "shared", "kept", "edited", "outlived"] {
        create(name, task);
    }
    create("other", r#"{ "workflow": "shared" }"#);
    create("beside", r#"{ "workflow": "outlived" }"#);
    // `outlived` is deleted while `beside` still runs its workflow, so the workflow stays for good.
    for name in ["left", "shared", "edited", "outlived", "beside"] {
        desk.said(&["delete", "schedule", name]);
    }
    assert_eq!(desk.server.stop(), 0);
    // Makes the workflows look as an earlier version left them.
    write(&database, "UPDATE workflow SET deleted_at = NULL").await;
    let edit = "UPDATE workflow SET updated_at = updated_at + 86400000 WHERE name = 'edited'";
    write(&database, edit).await;
    write(&database, "DELETE FROM seaql_migrations WHERE version = 'm0042_left_workflows'").await;
    let migrated = Command::new(&["migrate"]).on(&database).run().done();
    assert!(migrated.contains("applied m0042"), "{migrated}");
    let all = workflow::Entity::find().all(database.store.read()).await.unwrap();
    let mut left: Vec<&str> =
        all.iter().filter(|one| one.deleted_at.is_none()).map(|one| &*one.name).collect();
    left.sort_unstable();
    assert_eq!(left, ["edited", "hourly", "kept", "nightly", "outlived", "shared"]);
}

async fn origins_of_live_runs_name_their_namespace_after_a_migration(database: TestDatabase) {
    let desk = Desk::open(&database, MODULE);
    for name in ["nightly", "hourly", "nightly"] {
        desk.said(&["trigger", name, "--wait"]);
    }
    assert_eq!(desk.server.stop(), 0);
    // Writes the origins as an earlier version did.
    let runs = run::Entity::find().all(database.store.read()).await.unwrap();
    let [queued, retrying, settled] = &runs[..] else { panic!("{runs:?}") };
    let tx = database.store.begin().await.unwrap();
    for (row, state, origin) in [
        (queued, run::State::Queued, "worker:emails"),
        (retrying, run::State::Retrying, "command:/bin/sh"),
        (settled, run::State::Succeeded, "worker:emails"),
    ] {
        let mut row = row.clone().into_active_model();
        (row.state, row.origin) = (Set(state), Set(Some(origin.to_owned())));
        row.update(&tx).await.unwrap();
    }
    database.store.commit(tx).await.unwrap();
    // The second migration finds origins of the new version, and changes nothing.
    for _ in 0..2 {
        let forget = "DELETE FROM seaql_migrations WHERE version = 'm0043_origins_of_namespaces'";
        write(&database, forget).await;
        let migrated = Command::new(&["migrate"]).on(&database).run().done();
        assert!(migrated.contains("applied m0043"), "{migrated}");
        let of = async |row: &run::Model| {
            let found = run::Entity::find_by_id(row.id).one(database.store.read()).await.unwrap();
            found.unwrap().origin.unwrap()
        };
        let namespace = queued.namespace_id;
        assert_eq!(of(queued).await, format!("worker:{namespace}:emails"));
        assert_eq!(of(retrying).await, format!("command:{namespace}:/bin/sh"));
        assert_eq!(of(settled).await, "worker:emails");
    }
}

async fn credentials_that_were_stored_in_clear_are_named(database: TestDatabase) {
    let desk = Desk::open(&database, MODULE);
    assert_eq!(desk.server.stop(), 0);
    let found = report(&check(&database));
    assert_eq!((&found["credentials"], &found["held_in"]), (&json!(0), &json!([])), "{found:#}");

    // Writes credentials that a version without this check accepted.
    let rows = workflow_version::Entity::find().all(database.store.read()).await.unwrap();
    let tx = database.store.begin().await.unwrap();
    for row in rows {
        let mut definition = row.definition.clone();
        definition["tasks"][0]["target"] =
            json!({ "command": { "program": "backup", "env": { "PGPASSWORD": "hush" } } });
        let mut row = row.into_active_model();
        row.definition = Set(definition);
        row.update(&tx).await.unwrap();
    }
    database.store.commit(tx).await.unwrap();
    let told = check(&database);
    let found = report(&told);
    assert_eq!((told.code, &found["credentials"]), (0, &json!(2)), "{found:#}");
    let named = "workflow default/hourly: tasks[main].command.env.PGPASSWORD";
    assert!(found["held_in"].as_array().unwrap().contains(&json!(named)), "{found:#}");
    assert!(!told.out.contains("hush"));
    let said = Command::new(&["upgrade", "--check"]).on(&database).run().done();
    assert!(said.contains(&format!("contains a credential in plain text: {named}")), "{said}");
    assert!(said.contains("carillon secret set NAME"), "{said}");
}

const WHOLE: &str = "module: reports
calendars:
  holidays: { mode: exclude, dates: ['2026-12-24'] }
schedules:
  nightly:
    when: '0 3 * * *'
    tags: [billing]
    calendars: [holidays]
    ping: { success: 'http://127.0.0.1:9/alive' }
    task: { target: { noop: {} } }
  hourly: { when: '@hourly', task: { target: { noop: {} } } }
";

/// An alert rule as a version stored it that did not know `SLOW` and `CLOCK_CHANGE`.
const RULE: &str = r#"{"on":["failed"],"search":"tag:billing","channels":[],"grace_seconds":0,
    "losing_after":3,"late_after_seconds":300,"stalled_after_seconds":300,"digest_seconds":30,
    "quiet":null,"include_errors":false}"#;

/// Adds one of each remaining kind of object, in the form in which the server stores it.
async fn add_the_rest(database: &TestDatabase) {
    let rules = [("broken", "schedule", "nightly"), ("quiet", "schedule", "hourly")];
    for (name, table, from) in rules.into_iter().chain([("searching", "workflow", "nightly")]) {
        let sql = format!(
            "INSERT INTO alert_rule (id, namespace_id, name, definition, enabled, since, version, \
               created_at, updated_at) \
             SELECT id, namespace_id, '{name}', '{RULE}', true, 0, 1, 0, 0 FROM {table} \
             WHERE name = '{from}'"
        );
        write(database, &sql).await;
    }
    for (name, kind, shown, from) in [
        ("mail", "email", r#"{"to":["ada@example.com"]}"#, "nightly"),
        ("hook", "webhook", r#"{"origin":"https://h","signed":false}"#, "hourly"),
    ] {
        let sql = format!(
            "INSERT INTO alert_channel (id, namespace_id, name, kind, shown, sealed, version, \
               created_at, updated_at) \
             SELECT id, namespace_id, '{name}', '{kind}', '{shown}', '', 1, 0, 0 FROM schedule \
             WHERE name = '{from}'"
        );
        write(database, &sql).await;
    }
    for sql in [
        "INSERT INTO workflow_version (workflow_id, version, definition, created_by, created_at) \
           SELECT w.id, 9, v.definition, 'ci', 0 FROM workflow w \
           JOIN workflow_version v ON v.workflow_id = w.id WHERE w.name = 'hourly'",
        "INSERT INTO calendar_version (calendar_id, version, mode, definition, ended_at) \
           SELECT id, 1, mode, definition, 0 FROM calendar",
        "INSERT INTO \"user\" (id, name, name_key, password_hash, role, sees_payloads, is_service, \
           created_at, given_elsewhere) \
           SELECT id, 'ada', 'ada', '', 'viewer', false, false, 0, '[]' FROM namespace \
           WHERE name = 'default'",
        r#"INSERT INTO user_setting (user_id, settings, updated_at)
           SELECT id, '{"theme":"dark"}', 0 FROM "user" WHERE name = 'ada'"#,
        r#"UPDATE namespace SET quotas = '{"schedules":5}' WHERE name = 'default'"#,
        r#"UPDATE api_token SET queues = '["mail"]' WHERE name = 'ci'"#,
    ] {
        write(database, sql).await;
    }
}

/// Changes that make a row unreadable, each with the place that the command reports and the
/// parser's reason.
const UNREADABLE: [(&str, &str, &str); 17] = [
    (
        "UPDATE schedule SET tags = '[1]' WHERE name = 'hourly'",
        "tags of the schedule default/hourly: ",
        "expected a string",
    ),
    (
        r#"UPDATE schedule SET calendars = '["holidays"]' WHERE name = 'nightly'"#,
        "calendars of the schedule default/nightly: ",
        "UUID",
    ),
    (
        r#"UPDATE schedule SET ping = '{"succeeded":"http://h"}' WHERE name = 'nightly'"#,
        "ping of the schedule default/nightly: ",
        "succeeded",
    ),
    (
        "UPDATE schedule_version SET snapshot = '{}' WHERE schedule_id IN \
           (SELECT id FROM schedule WHERE name = 'hourly')",
        "schedule default/hourly version 1: ",
        "missing field",
    ),
    (
        "UPDATE workflow_version SET definition = '{}' WHERE version = 9",
        "workflow default/hourly version 9: ",
        "missing field",
    ),
    (
        r#"UPDATE workflow_version SET definition = '{"tasks":[]}' WHERE workflow_id IN
           (SELECT id FROM workflow WHERE name = 'nightly')"#,
        "workflow default/nightly: ",
        "tasks",
    ),
    (
        r#"UPDATE calendar SET definition = '{"dates":["2026-13-01"]}'"#,
        "calendar default/holidays: ",
        "2026-13-01",
    ),
    (
        r#"UPDATE calendar_version SET definition = '{"moons":[]}'"#,
        "calendar default/holidays version 1: ",
        "moons",
    ),
    ("UPDATE module SET declared = '\"all\"'", "module default/reports: ", "invalid type"),
    (
        r#"UPDATE alert_rule SET definition = '{"on":["explodes"]}' WHERE name = 'broken'"#,
        "alert rule default/broken: ",
        "explodes",
    ),
    (
        "UPDATE alert_rule SET definition = replace(CAST(definition AS text), 'tag:', 'colour:') \
           WHERE name = 'searching'",
        "alert rule default/searching: search: ",
        "colour",
    ),
    (
        "UPDATE alert_rule SET definition = replace(CAST(definition AS text), 'null', \
           '{\"zone\":\"Mars/Base\",\"windows\":[]}') WHERE name = 'quiet'",
        "alert rule default/quiet: quiet hours: ",
        "Mars/Base",
    ),
    (
        "UPDATE alert_channel SET shown = '{}' WHERE name = 'mail'",
        "alert channel default/mail: ",
        "null",
    ),
    (
        "UPDATE alert_channel SET kind = 'pigeon' WHERE name = 'hook'",
        "alert channel default/hook: ",
        "pigeon",
    ),
    (
        r#"UPDATE namespace SET quotas = '{"moons":5}' WHERE name = 'default'"#,
        "quotas of the namespace default: ",
        "moons",
    ),
    (
        r#"UPDATE user_setting SET settings = '{"theme":"plaid"}'"#,
        "settings of the user ada: ",
        "plaid",
    ),
    (
        r#"UPDATE "user" SET given_elsewhere = '[{"role":"king"}]'"#,
        "groups of the user ada: ",
        "king",
    ),
];

async fn whatever_is_parsed_is_read_and_what_cannot_be_is_named_with_its_place(
    database: TestDatabase,
) {
    let desk = Desk::open(&database, WHOLE);
    assert_eq!(desk.server.stop(), 0);
    add_the_rest(&database).await;
    let well = check(&database);
    let found = report(&well);
    assert_eq!((well.code, &found["problems"]), (0, &json!(0)), "{found:#}");
    assert_eq!((&found["schedules"], &found["workflows"]), (&json!(2), &json!(2)), "{found:#}");
    let others = json!({
        "alert_channels": 2, "alert_rules": 3, "calendars": 1, "modules": 1, "quotas": 1,
        "token_queues": 1, "user_groups": 1, "user_settings": 1,
    });
    assert_eq!(found["others"], others);

    for (sql, ..) in UNREADABLE {
        // PostgreSQL does not accept a text as a value of type JSON.
        let sql = if database.store.dialect().is_postgres() && sql.contains("= replace(") {
            sql.replace("= replace(", "= CAST(replace(").replace(" WHERE", " AS jsonb) WHERE")
        } else {
            sql.to_owned()
        };
        write(&database, &sql).await;
    }
    write(&database, "UPDATE api_token SET queues = '7' WHERE name = 'ci'").await;
    let told = check(&database);
    let found = report(&told);
    let named: Vec<&str> =
        found["named"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    for (_, subject, reason) in UNREADABLE {
        let is_it = |text: &&&str| text.starts_with(subject) && text.contains(reason);
        assert_eq!(named.iter().filter(is_it).count(), 1, "{subject} {reason}: {named:#?}");
    }
    assert!(named.iter().any(|text| text.starts_with("queues of the token ci (")), "{named:#?}");
    assert_eq!((told.code, found["problems"].as_u64()), (1, Some(18)), "{found:#}");
    let said = Command::new(&["upgrade", "--check"]).on(&database).run();
    assert!(said.out.contains("also read: alert channels 2, alert rules 3"), "{said:?}");
    assert!(said.err.contains("cannot read 18 of the stored definitions"), "{said:?}");
}

#[test]
fn a_missing_database_is_not_created() {
    let (mut command, folder) = Command::new(&["upgrade", "--check"]).into_inner();
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("nothing to upgrade"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was created");
}

#[test]
fn it_only_checks() {
    assert_eq!(Command::new(&["upgrade"]).run().code, 2);
}
