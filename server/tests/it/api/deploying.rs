use entity::schedule;
use sea_orm::{EntityTrait, PaginatorTrait};
use serde_json::{Value, json};

use super::desk::Desk;
use crate::support::{TestDatabase, on_both};

on_both!(
    a_module_deployed_twice_changes_nothing_the_second_time,
    a_module_that_declares_less_deletes_the_rest,
    a_module_with_a_mistake_changes_nothing,
    code_owns_the_definition_and_operators_the_pause,
);

const DEPLOY: &str =
    "mutation($source: String!, $dryRun: Boolean! = false, $prune: Boolean! = true) {
    deployModule(source: $source, dryRun: $dryRun, prune: $prune) {
        module dryRun changes { action kind name detail warnings { code } } } }";

const SOURCE: &str = r#"
module: demo
workflows:
  ping:
    tasks:
      - target: { noop: { note: ping } }
schedules:
  hourly-ping:
    when: "@hourly"
    workflow: ping
  nightly:
    when: ["0 2 * * *", "30 14 * * SAT"]
    zone: Europe/Berlin
    jitter: 30s
    misfire: { catch_up: all, max: 3, grace: 1m }
    task:
      target: { noop: {} }
      timeout: 1h30m
      retry: { max_attempts: 3, initial: 5s }
"#;

async fn deploy(desk: &Desk, source: &str) -> Vec<(String, String)> {
    let answer = desk.ask(DEPLOY, json!({ "source": source })).await;
    changes(&answer)
}

fn changes(answer: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let changes = answer["deployModule"]["changes"].as_array().unwrap();
    changes.iter().map(|change| (text(&change["action"]), text(&change["name"]))).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(action, name)| ((*action).to_owned(), (*name).to_owned())).collect()
}

async fn schedules(desk: &Desk) -> u64 {
    let answer = desk.ask("{ schedules { totalCount } }", json!({})).await;
    answer["schedules"]["totalCount"].as_u64().unwrap()
}

async fn a_module_deployed_twice_changes_nothing_the_second_time(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let dry = desk.ask(DEPLOY, json!({ "source": SOURCE, "dryRun": true })).await;
    let made = [("CREATE", "ping"), ("CREATE", "hourly-ping"), ("CREATE", "nightly")];
    assert_eq!(changes(&dry), pairs(&made));
    assert_eq!(schedules(&desk).await, 0, "a dry run writes nothing");

    assert_eq!(deploy(&desk, SOURCE).await, pairs(&made));
    let same = [("UNCHANGED", "ping"), ("UNCHANGED", "hourly-ping"), ("UNCHANGED", "nightly")];
    assert_eq!(deploy(&desk, SOURCE).await, pairs(&same));
    let read = desk.database.store.read();
    assert_eq!(schedule::Entity::find().count(read).await.unwrap(), 2);

    let query = "{ schedule(name: \"nightly\") { module version
        timing { expressions zone jitterSeconds } misfire { catchUp max graceSeconds windowSeconds }
        workflow { module tasks { timeoutSeconds retry { maxAttempts initialSeconds } } } } }";
    let answer = desk.ask(query, json!({})).await;
    assert_eq!(
        answer["schedule"],
        json!({
            "module": "demo", "version": 1,
            "timing": { "expressions": ["0 2 * * *", "30 14 * * SAT"], "zone": "Europe/Berlin", "jitterSeconds": 30 },
            "misfire": { "catchUp": "ALL", "max": 3, "graceSeconds": 60, "windowSeconds": 86400 },
            "workflow": { "module": "demo", "tasks": [
                { "timeoutSeconds": 5400.0, "retry": { "maxAttempts": 3, "initialSeconds": 5.0 } } ] },
        })
    );
}

async fn a_module_that_declares_less_deletes_the_rest(database: TestDatabase) {
    let desk = Desk::open(database).await;
    deploy(&desk, SOURCE).await;
    let less = "module: demo\nschedules:\n  nightly:\n    when: \"0 3 * * *\"\n    task: { target: { noop: {} } }\n";
    let kept = desk.ask(DEPLOY, json!({ "source": less, "prune": false, "dryRun": true })).await;
    assert_eq!(changes(&kept), pairs(&[("UPDATE", "nightly")]));
    assert_eq!(
        deploy(&desk, less).await,
        pairs(&[("DELETE", "hourly-ping"), ("UPDATE", "nightly"), ("DELETE", "ping")])
    );
    assert_eq!(schedules(&desk).await, 1);
    assert_eq!(desk.audited("workflow.delete").await, 1);
    assert_eq!(
        deploy(&desk, "module: demo").await,
        pairs(&[("DELETE", "nightly"), ("DELETE", "nightly")])
    );
    assert_eq!(schedules(&desk).await, 0);
    assert_eq!(desk.audited("workflow.delete").await, 2);
}

async fn a_module_with_a_mistake_changes_nothing(database: TestDatabase) {
    let desk = Desk::open(database).await;
    desk.schedule("by-hand", "@daily").await;
    let with = |line: &str| SOURCE.replace("    zone: Europe/Berlin\n", line);
    for (source, field, said) in [
        (with("    zoen: Europe/Berlin\n"), "source", "line 13"),
        (with("    zone: Europe/Berlim\n"), "schedules.nightly.zone", "Berlim"),
        (
            SOURCE.replace("workflow: ping", "workflow: pong"),
            "schedules.hourly-ping.workflow",
            "pong",
        ),
        (SOURCE.replace("nightly:", "by-hand:"), "schedules.by-hand", "by hand"),
        (SOURCE.replace("0 2 * * *", "0 2 * *"), "schedules.nightly.when[0]", "0 2 * *"),
        (SOURCE.replace("1h30m", "8d"), "schedules.nightly.task.timeout", "604800 seconds"),
        (
            SOURCE.replace("initial: 5s", "initial: 2d"),
            "schedules.nightly.task.retry.initial",
            "172800",
        ),
        (format!("{SOURCE}groups: {{ heavy: 0 }}\n"), "groups.heavy", "1 to 10000"),
        (with("    retention: 4000d\n"), "schedules.nightly.retention", "3650"),
        (SOURCE.replace("grace: 1m", "grace: 8d"), "schedules.nightly.misfire.grace", "691200"),
        (SOURCE.replace("    workflow: ping\n", ""), "schedules.hourly-ping", "what to run"),
        ("module: [".to_owned(), "source", "line"),
    ] {
        let error = desk.refused(DEPLOY, json!({ "source": source })).await;
        assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{error}");
        assert!(error["extensions"]["field"].as_str().unwrap().starts_with(field), "{error}");
        assert!(error["message"].as_str().unwrap().contains(said), "{error}");
        assert_eq!(schedules(&desk).await, 1);
    }
}

async fn code_owns_the_definition_and_operators_the_pause(database: TestDatabase) {
    let desk = Desk::open(database).await;
    deploy(&desk, SOURCE).await;
    let found = desk.ask("{ schedule(name: \"nightly\") { id } }", json!({})).await;
    let id = found["schedule"]["id"].clone();
    let edit = "mutation($id: UUID!) { updateSchedule(input: { id: $id, expectedVersion: 1, note: \"x\" }) { schedule { id } } }";
    let delete = "mutation($id: UUID!) { deleteSchedule(id: $id) { id } }";
    for query in [edit, delete] {
        let error = desk.refused(query, json!({ "id": id })).await;
        assert_eq!(error["extensions"]["code"], "CONFLICT", "{error}");
        assert!(error["message"].as_str().unwrap().contains("demo"), "{error}");
    }
    let pause =
        "mutation($id: UUID!) { pauseSchedule(id: $id, reason: \"x\") { schedule { state } } }";
    desk.ask(pause, json!({ "id": id })).await;
    deploy(&desk, &SOURCE.replace("30s", "45s")).await;
    let query = "{ schedule(name: \"nightly\") { state version timing { jitterSeconds } } }";
    let answer = desk.ask(query, json!({})).await;
    assert_eq!(
        answer["schedule"],
        json!({ "state": "PAUSED", "version": 2, "timing": { "jitterSeconds": 45 } })
    );
}

#[tokio::test]
async fn the_example_is_a_module_that_can_be_deployed() {
    let desk = Desk::with(
        TestDatabase::sqlite().await,
        carillon::target::Policy {
            commands: true,
            private_addresses: true,
            ..carillon::target::Policy::default()
        },
        |store| store,
    )
    .await;
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/demo.yaml");
    let source = std::fs::read_to_string(path).unwrap();
    let first = deploy(&desk, &source).await;
    assert!(first.len() >= 8 && first.iter().all(|(action, _)| action == "CREATE"), "{first:?}");
    let second = deploy(&desk, &source).await;
    assert!(second.iter().all(|(action, _)| action == "UNCHANGED"), "{second:?}");
}
