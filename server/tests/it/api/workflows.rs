use std::sync::Arc;

use carillon::{
    engine::{Engine, EngineSettings, Signals},
    target::{Executor, Policy},
    telemetry::Instruments,
};
use entity::{audit_event, run, task_run, user::Role, workflow_version};
use sea_orm::{EntityTrait, PaginatorTrait};
use serde_json::{Value, json};

use super::{desk::Desk, walk_keys::administrator_of, walking::namespace};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_workflow_of_several_tasks_is_made_read_and_changed,
    a_workflow_that_is_used_or_declared_is_not_deleted,
    a_module_declares_how_tasks_hang_together,
    a_run_is_done_again_from_where_it_failed,
    what_a_caller_may_not_create_is_not_judged,
    workflows_are_found_by_a_part_of_their_names,
);

const CREATE: &str = "mutation($input: CreateWorkflowInput!, $key: String) {
    createWorkflow(input: $input, idempotencyKey: $key) { workflow { id version } } }";

const UPDATE: &str = "mutation($input: UpdateWorkflowInput!) {
    updateWorkflow(input: $input) { workflow { id version } } }";

fn noop(name: &str, needs: &[&str]) -> Value {
    json!({ "name": name, "needs": needs, "target": { "noop": {} } })
}

fn input(tasks: Value) -> Value {
    json!({ "input": { "name": "etl", "tasks": tasks } })
}

async fn make(desk: &Desk, tasks: Value) -> String {
    let made = desk.ask(CREATE, input(tasks)).await;
    made["createWorkflow"]["workflow"]["id"].as_str().unwrap().to_owned()
}

async fn a_workflow_of_several_tasks_is_made_read_and_changed(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let load = json!({
        "name": "load", "needs": ["extract"], "when": "ALWAYS", "allowFailure": true,
        "retry": { "maxAttempts": 3 }, "retryOn": ["timeout", "status 500-599"],
        "target": { "http": {
            "url": "https://example.org/{{ context.region }}", "output": "MERGE",
            "headers": [{ "name": "X-Account", "value": "hush" }] } },
    });
    let input = json!({ "input": {
        "name": "etl", "timeoutSeconds": 600, "maxParallel": 2,
        "tasks": [noop("extract", &[]), load] }, "key": "k1" });
    let made = desk.ask(CREATE, input.clone()).await;
    assert_eq!(desk.ask(CREATE, input).await, made, "a repeated call is answered");
    let id = made["createWorkflow"]["workflow"]["id"].clone();
    let query = "query($id: UUID) { workflow(id: $id) { name version timeoutSeconds maxParallel
        tasks { name needs when allowFailure retryOn
            target { ... on NoopTarget { note } ... on HttpTarget { output headers { value } } } }
        versions { nodes { version by tasks { name } } } } }";
    let found = desk.ask(query, json!({ "id": id })).await;
    assert_eq!(
        found["workflow"],
        json!({
            "name": "etl", "version": 1, "timeoutSeconds": 600.0, "maxParallel": 2,
            "tasks": [
                { "name": "extract", "needs": [], "when": "SUCCESS", "allowFailure": false,
                  "retryOn": [], "target": { "note": "" } },
                { "name": "load", "needs": ["extract"], "when": "ALWAYS", "allowFailure": true,
                  "retryOn": ["timeout", "status 500-599"],
                  "target": { "output": "MERGE", "headers": [{ "value": "***" }] } },
            ],
            "versions": { "nodes": [
                { "version": 1, "by": "ada", "tasks": [{ "name": "extract" }, { "name": "load" }] } ] },
        })
    );

    // The mask that a form was shown keeps the secret of the task with the same name.
    let masked = json!({
        "name": "load", "needs": ["extract"],
        "target": { "http": { "url": "https://example.org/",
            "headers": [{ "name": "X-Account", "value": "***" }] } },
    });
    let change = json!({ "input": { "id": id, "expectedVersion": 1, "timeoutSeconds": null,
        "tasks": [noop("extract", &[]), masked] } });
    let changed = desk.ask(UPDATE, change.clone()).await;
    assert_eq!(changed["updateWorkflow"]["workflow"]["version"], 2);
    let read = desk.database.store.read();
    let versions = workflow_version::Entity::find().all(read).await.unwrap();
    let kept = versions.iter().find(|row| row.version == 2).unwrap();
    let headers = &kept.definition["tasks"][1]["target"]["http"]["headers"];
    assert_eq!(headers["X-Account"], "hush");
    let found = desk.ask(query, json!({ "id": id })).await;
    assert_eq!(found["workflow"]["timeoutSeconds"], Value::Null);
    assert_eq!(found["workflow"]["maxParallel"], 2);

    let stale = desk.refused(UPDATE, change).await;
    assert_eq!(stale["extensions"]["code"], "CONFLICT");
    assert_eq!(stale["extensions"]["currentVersion"], 2);
    let events = audit_event::Entity::find().all(read).await.unwrap();
    let actions: Vec<_> = events.iter().map(|event| &*event.action).collect();
    assert_eq!(actions, ["workflow.create", "workflow.update"]);
    assert!(events.iter().all(|event| !event.after.clone().unwrap().to_string().contains("hush")));
    let refused = desk
        .refused_as(
            Some(Role::Operator),
            CREATE,
            json!({ "input": { "name": "x",
        "tasks": [noop("a", &[])] } }),
        )
        .await;
    assert_eq!(refused["extensions"]["code"], "FORBIDDEN");
}

#[tokio::test]
async fn each_bad_workflow_is_refused_with_its_field() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    let http = |url: &str, headers: Value| json!([{ "name": "a", "target": { "http": { "url": url, "headers": headers } } }]);
    let many: Vec<_> = (0..10_000).map(|index| noop(&format!("t{index}"), &[])).collect();
    let secret = json!([{ "name": "X-Account", "value": "hush" }]);
    let cases = [
        (json!([]), "tasks", "1 to 100"),
        (json!(many), "tasks", "1 to 100"),
        (
            json!([noop("a", &["b"]), noop("b", &["c"]), noop("c", &["a"])]),
            "tasks[0].needs",
            "a -> b -> c -> a",
        ),
        (json!([noop("a", &["a"])]), "tasks[0].needs[0]", "itself"),
        (json!([noop("a", &[]), noop("b", &["x"])]), "tasks[1].needs[0]", "not a task"),
        (json!([noop("a", &[]), noop("a", &[])]), "tasks[1].name", "name of tasks[0]"),
        (
            json!([{ "name": "a", "when": "FAILURE", "target": { "noop": {} } }]),
            "tasks[0].when",
            "needs no other task",
        ),
        (
            json!([{ "name": "a", "retryOn": ["sometimes"], "target": { "noop": {} } }]),
            "tasks[0].retryOn[0]",
            "not accepted",
        ),
        (
            json!([{ "name": "a", "retryOn": ["timeout"], "target": { "noop": {} } }]),
            "tasks[0].retryOn",
            "one attempt",
        ),
        (
            json!([noop("a", &[]), { "name": "b", "timeoutSeconds": -1, "target": { "noop": {} } }]),
            "tasks[1].timeoutSeconds",
            "duration",
        ),
        (
            http("https://example.org/\n{{ context.x", json!([])),
            "tasks[0].target.http.url",
            "line 2",
        ),
        (http("https://example.org/{% set a = 1 %}", json!([])), "tasks[0].target.http.url", "set"),
        (http("http://10.0.0.1/{{ context.x }}", json!([])), "tasks[0].target.http.url", "private"),
        (http("ftp://{{ context.x }}/", json!([])), "tasks[0].target.http.url", "scheme"),
        (http("https://{{ context.host }}/", secret), "tasks[0].target.http.url", "secrets"),
    ];
    for (tasks, field, said) in cases {
        let error = desk.refused(CREATE, input(tasks)).await;
        let extensions = &error["extensions"];
        assert_eq!(extensions["code"], "BAD_USER_INPUT", "{error}");
        assert_eq!(extensions["field"], field, "{error}");
        assert!(error["message"].as_str().unwrap().contains(said), "{said}: {error}");
        assert!(!error.to_string().contains("hush"), "{error}");
    }
    let limits = json!({ "input": { "name": "etl", "maxParallel": 0, "tasks": [noop("a", &[])] } });
    assert_eq!(desk.refused(CREATE, limits).await["extensions"]["field"], "maxParallel");
    let read = desk.database.store.read();
    assert_eq!(workflow_version::Entity::find().count(read).await.unwrap(), 0);
}

/// All mutations that save a workflow perform this check.
#[tokio::test]
async fn a_template_of_what_can_never_be_is_refused_where_it_stands() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    let load = |text: &str, needs: Value| {
        let http = json!({ "url": "https://example.org/", "body": text });
        json!({ "name": "load", "needs": needs, "target": { "http": http } })
    };
    let rows = "{{ tasks.extract.output.rows }}";
    make(&desk, json!([noop("extract", &[]), load(rows, json!(["extract"]))])).await;
    let through =
        json!([noop("extract", &[]), noop("check", &["extract"]), load(rows, json!(["check"])),]);
    let fine = json!({ "input": { "name": "through", "tasks": through } });
    desk.ask(CREATE, fine).await;

    let cases = [
        (rows, json!([]), "no task `extract` comes before it; none does"),
        (
            "{{ tasks.extrct }}",
            json!(["extract"]),
            "no task `extrct` comes before it; there are extract",
        ),
        ("{{ contxt.a }}", json!([]), "there is nothing named `contxt`; there are attempt, "),
        ("{{ context.a | upcase }}", json!([]), "there is no filter `upcase`; there are default, "),
    ];
    let said = |error: &Value, field: &str, said: &str| {
        assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{error}");
        assert_eq!(error["extensions"]["field"], field, "{error}");
        assert!(error["message"].as_str().unwrap().contains(said), "{said}: {error}");
    };
    for (text, needs, problem) in cases {
        let tasks = json!([noop("extract", &[]), load(text, needs)]);
        let create = json!({ "input": { "name": "other", "tasks": tasks } });
        said(&desk.refused(CREATE, create).await, "tasks[1].target.http.body", problem);
    }
    let schedule = json!({ "input": {
        "name": "alone", "timing": { "expressions": ["@daily"] },
        "task": { "target": { "http": { "url": "https://example.org/{{ tasks.a.output.b }}" } } },
    } });
    let error = desk.refused(super::desk::CREATE, schedule).await;
    said(&error, "task.target.http.url", "no task `a` comes before it; none does");
    let module = "module: m\nworkflows:\n  w:\n    tasks:\n      - name: a\n        \
                  target: { http: { url: 'https://example.org/{{ nothing }}' } }\n";
    let deploy = "mutation($source: String!) { deployModule(source: $source) { module } }";
    let error = desk.refused(deploy, json!({ "source": module })).await;
    said(&error, "workflows.w.tasks[0].target.http.url", "nothing named `nothing`");
}

async fn a_workflow_that_is_used_or_declared_is_not_deleted(database: TestDatabase) {
    const DELETE: &str = "mutation($id: UUID!) { deleteWorkflow(id: $id, reason: \"old\") { id } }";
    let desk = Desk::open(database).await;
    let id = make(&desk, json!([noop("a", &[]), noop("b", &["a"])])).await;
    let schedule = json!({ "input": { "name": "nightly", "workflow": "etl",
        "timing": { "expressions": ["@daily"] } } });
    let made = desk.ask(super::desk::CREATE, schedule).await;
    let refused = desk.refused(DELETE, json!({ "id": id })).await;
    assert_eq!(refused["extensions"]["code"], "CONFLICT", "{refused}");
    assert!(refused["message"].as_str().unwrap().contains("1 schedule runs workflow \"etl\""));
    let remove = "mutation($id: UUID!) { deleteSchedule(id: $id) { id } }";
    desk.ask(remove, json!({ "id": made["createSchedule"]["schedule"]["id"] })).await;
    assert_eq!(desk.ask(DELETE, json!({ "id": id })).await["deleteWorkflow"]["id"], id);
    let gone = "query($id: UUID) { workflow(id: $id) { id } }";
    assert_eq!(desk.ask(gone, json!({ "id": id })).await["workflow"], Value::Null);
    assert_eq!(desk.refused(DELETE, json!({ "id": id })).await["extensions"]["code"], "NOT_FOUND");

    let source = "module: demo\nworkflows:\n  ping: { tasks: [{ target: { noop: {} } }] }\n";
    let deploy = "mutation($source: String!) { deployModule(source: $source) { module } }";
    desk.ask(deploy, json!({ "source": source })).await;
    let found = desk.ask("{ workflow(name: \"ping\") { id } }", json!({})).await;
    let id = &found["workflow"]["id"];
    let refused = desk.refused(DELETE, json!({ "id": id })).await;
    assert!(refused["message"].as_str().unwrap().contains("module \"demo\""), "{refused}");
    let change = json!({ "input": { "id": id, "expectedVersion": 1, "maxParallel": 1 } });
    assert_eq!(desk.refused(UPDATE, change).await["extensions"]["code"], "CONFLICT");
}

async fn a_module_declares_how_tasks_hang_together(database: TestDatabase) {
    const DEPLOY: &str = "mutation($source: String!) { deployModule(source: $source) {
        changes { action name detail } } }";
    const SOURCE: &str = "
module: etl
workflows:
  nightly:
    timeout: 1h
    max_parallel: 2
    tasks:
      - name: extract
        target: { http: { url: 'https://example.org/{{ scheduled_at[:10] }}', output: merge } }
        retry: { max_attempts: 3 }
        retry_on: [timeout, status 500-599]
      - { name: load, needs: [extract], target: { noop: {} }, allow_failure: true }
      - { name: alarm, needs: [load], when: failure, target: { noop: {} } }
";
    let desk = Desk::open(database).await;
    desk.ask(DEPLOY, json!({ "source": SOURCE })).await;
    let query = "{ workflow(name: \"nightly\") { timeoutSeconds maxParallel
        tasks { name needs when retryOn allowFailure } } }";
    let found = desk.ask(query, json!({})).await;
    assert_eq!(
        found["workflow"],
        json!({ "timeoutSeconds": 3600.0, "maxParallel": 2, "tasks": [
            { "name": "extract", "needs": [], "when": "SUCCESS", "allowFailure": false,
              "retryOn": ["timeout", "status 500-599"] },
            { "name": "load", "needs": ["extract"], "when": "SUCCESS", "allowFailure": true,
              "retryOn": [] },
            { "name": "alarm", "needs": ["load"], "when": "FAILURE", "allowFailure": false,
              "retryOn": [] },
        ] })
    );
    let again = desk.ask(DEPLOY, json!({ "source": SOURCE })).await;
    assert_eq!(again["deployModule"]["changes"][0]["action"], "UNCHANGED");
    let other = SOURCE.replace("max_parallel: 2", "max_parallel: 3");
    let changed = desk.ask(DEPLOY, json!({ "source": other })).await;
    let told = &changed["deployModule"]["changes"][0];
    assert_eq!(told["detail"], "limits of workflow nightly changed (version 2)");

    for (from, to, field, said) in [
        ("needs: [extract]", "needs: [alarm]", "workflows.nightly.tasks[1].needs", "load -> alarm"),
        ("needs: [extract]", "needs: [nobody]", "workflows.nightly.tasks[1].needs[0]", "nobody"),
        (
            "scheduled_at[:10] }}",
            "scheduled_at[:10]",
            "workflows.nightly.tasks[0].target",
            "line 1",
        ),
        ("when: failure", "when: sometimes", "source", "expected one of success, failure, always"),
        ("status 500-599", "status 5xx", "source", "this is not a condition"),
    ] {
        let error = desk.refused(DEPLOY, json!({ "source": SOURCE.replace(from, to) })).await;
        assert!(error["extensions"]["field"].as_str().unwrap().starts_with(field), "{error}");
        assert!(error["message"].as_str().unwrap().contains(said), "{error}");
    }
}

async fn a_run_is_done_again_from_where_it_failed(database: TestDatabase) {
    const RERUN: &str = "mutation($id: UUID!) { rerunFromFailed(runId: $id) {
        run { id state trigger retryOf workflowVersion
            tasks { name state kept output attempts { attempt state } } } } }";
    const LOOK: &str = "query($id: UUID!) { run(id: $id) { id state error output context
        workflowVersion tasks { name needs when state kept output attempts { attempt state } } } }";
    let desk = Desk::open(database).await;
    let folder = tempfile::tempdir().unwrap();
    let flag = folder.path().join("flag");
    let script = |script: String| json!({ "command": { "script": script } });
    let count = folder.path().join("count");
    let first = script(format!(
        "echo x >> {}; echo '{{\"rows\": 7, \"api_token\": \"hush\"}}' > $CARILLON_OUTPUT",
        count.display()
    ));
    let id = make(
        &desk,
        json!([
            { "name": "extract", "target": first },
            { "name": "load", "needs": ["extract"], "target": script(format!("test -e {}", flag.display())) },
            { "name": "report", "needs": ["load"], "target": script("cat | grep -q '\"rows\": *7'".to_owned()) },
            { "name": "tidy", "needs": ["load"], "when": "ALWAYS", "target": { "noop": {} } },
        ]),
    )
    .await;
    let schedule = json!({ "input": { "name": "nightly", "workflow": "etl", "paused": true,
        "timing": { "expressions": ["@daily"] } } });
    let made = desk.ask(super::desk::CREATE, schedule).await;
    let old = desk.trigger(made["createSchedule"]["schedule"]["id"].as_str().unwrap()).await;
    let refused = desk.refused(RERUN, json!({ "id": old })).await;
    assert_eq!(refused["extensions"]["code"], "CONFLICT", "{refused}");

    let engine = start(&desk).await;
    let failed = settled(&desk, LOOK, &old).await;
    assert_eq!(failed["state"], "FAILED", "{failed}");
    let states = |run: &Value| -> Vec<String> {
        let tasks = run["tasks"].as_array().unwrap();
        tasks.iter().map(|task| task["state"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(states(&failed), ["SUCCEEDED", "FAILED", "SKIPPED", "SUCCEEDED"]);
    assert_eq!(failed["output"], json!({ "rows": 7, "api_token": "***" }));
    assert_eq!(failed["tasks"][0]["output"], json!({ "rows": 7, "api_token": "***" }));
    assert_eq!(failed["tasks"][3]["when"], "ALWAYS");
    engine.shutdown(std::time::Duration::from_secs(5)).await.unwrap();

    // The workflow has changed since; the repeated run uses the definition of the original run.
    let change =
        json!({ "input": { "id": id, "expectedVersion": 1, "tasks": [noop("other", &[])] } });
    desk.ask(UPDATE, change).await;
    tokio::fs::write(&flag, "").await.unwrap();
    desk.clock.advance(std::time::Duration::from_secs(1));
    let again = desk.ask(RERUN, json!({ "id": old })).await;
    let run = &again["rerunFromFailed"]["run"];
    assert_eq!((&run["retryOf"], &run["workflowVersion"]), (&json!(old), &json!(1)));
    assert_eq!((&run["trigger"], &run["state"]), (&json!("RETRY"), &json!("QUEUED")));
    assert_eq!(states(run), ["SUCCEEDED", "WAITING", "WAITING", "WAITING"]);
    assert_eq!((&run["tasks"][0]["kept"], &run["tasks"][1]["kept"]), (&json!(true), &json!(false)));
    let new = run["id"].as_str().unwrap().to_owned();

    let engine = start(&desk).await;
    let done = settled(&desk, LOOK, &new).await;
    assert_eq!(done["state"], "SUCCEEDED", "{done}");
    assert_eq!(states(&done), ["SUCCEEDED"; 4]);
    let attempts = &done["tasks"][1]["attempts"];
    assert_eq!(*attempts, json!([{ "attempt": 1, "state": "SUCCEEDED" }]));
    let written = tokio::fs::read_to_string(&count).await.unwrap();
    assert_eq!(written.lines().count(), 1, "what succeeded is not done again");
    let refused = desk.refused(RERUN, json!({ "id": new })).await;
    assert!(refused["extensions"]["help"].as_str().unwrap().contains("retryRun"), "{refused}");
    engine.shutdown(std::time::Duration::from_secs(5)).await.unwrap();
    let read = desk.database.store.read();
    assert_eq!(run::Entity::find().count(read).await.unwrap(), 2);
    assert_eq!(task_run::Entity::find().count(read).await.unwrap(), 8);
}

/// An engine on the desk's database and clock.
async fn start(desk: &Desk) -> Engine {
    let policy = Policy { commands: true, ..Policy::default() };
    let clock = desk.clock.clock();
    let settings = EngineSettings { node_name: "desk".to_owned(), ..EngineSettings::default() };
    Engine::start(
        settings,
        desk.database.store.clone().with_lease_clock(clock.clone()),
        clock.clone(),
        Arc::new(Executor::new(policy, clock.clone()).unwrap()),
        Arc::new(timetable::Cache::new(100)),
        Signals::default(),
        Instruments::unread(clock),
    )
    .await
    .unwrap()
}

/// The run, once it has settled.
async fn settled(desk: &Desk, look: &str, id: &str) -> Value {
    let mut changes = desk.database.store.changes().follow();
    let search = async {
        loop {
            let found = desk.ask(look, json!({ "id": id })).await;
            if !["QUEUED", "RUNNING", "RETRYING"].contains(&found["run"]["state"].as_str().unwrap())
            {
                return found["run"].clone();
            }
            changes.changed().await.unwrap();
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(60), search).await.expect("it settles")
}

async fn what_a_caller_may_not_create_is_not_judged(database: TestDatabase) {
    let desk = Desk::open(database).await;
    desk.ask("mutation { createNamespace(name: \"other\") { namespace { id } } }", json!({})).await;
    let eve = administrator_of(namespace(&desk, "other").await);
    let broken = json!({ "http": { "url": "https://example.org/{{ context." } });
    for (home, code) in [("other", "BAD_USER_INPUT"), ("default", "NOT_FOUND")] {
        let workflow = json!({ "input": {
            "namespace": home, "name": "etl", "tasks": [{ "name": "a", "target": broken }] } });
        assert_eq!(desk.code_for(&eve, CREATE, workflow).await, code, "{home}");
        let schedule = "mutation($input: CreateScheduleInput!) {
            createSchedule(input: $input) { schedule { id } } }";
        let input = json!({ "input": {
            "namespace": home, "name": "etl", "timing": { "expressions": ["@daily"] },
            "task": { "target": broken } } });
        assert_eq!(desk.code_for(&eve, schedule, input).await, code, "{home}");
    }
}

async fn workflows_are_found_by_a_part_of_their_names(database: TestDatabase) {
    let desk = Desk::open(database).await;
    for name in ["ETL-hourly", "etl_daily", "etlxdaily", "report"] {
        let input = json!({ "input": { "name": name, "tasks": [noop("only", &[])] } });
        desk.ask(CREATE, input).await;
    }
    let query = "query($text: String, $first: Int, $after: String) {
        workflows(text: $text, first: $first, after: $after) {
            totalCount nodes { name } pageInfo { endCursor hasNextPage } } }";
    let found = async |variables: Value| {
        let page = desk.ask(query, variables).await["workflows"].clone();
        let nodes = page["nodes"].as_array().unwrap().iter();
        let names = nodes.map(|node| node["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
        (names, page)
    };
    let (names, all) = found(json!({ "text": "etl" })).await;
    // Sorted by the lower-case name: a hyphen comes before an underscore, and that before a letter.
    assert_eq!(names, ["ETL-hourly", "etl_daily", "etlxdaily"]);
    assert_eq!(all["totalCount"], 3);
    // An underscore is no wildcard.
    assert_eq!(found(json!({ "text": "L_D" })).await.0, ["etl_daily"]);
    assert_eq!(found(json!({ "text": "" })).await.0.len(), 4);
    assert!(found(json!({ "text": "%" })).await.0.is_empty());
    let (first, page) = found(json!({ "text": "daily", "first": 1 })).await;
    let after = &page["pageInfo"]["endCursor"];
    let (second, last) = found(json!({ "text": "daily", "first": 1, "after": after })).await;
    assert_eq!([first, second].concat(), ["etl_daily", "etlxdaily"]);
    assert_eq!(last["pageInfo"]["hasNextPage"], false);
    let error = desk.refused(query, json!({ "text": "x".repeat(201) })).await;
    assert_eq!(error["extensions"]["field"], "text");
}
