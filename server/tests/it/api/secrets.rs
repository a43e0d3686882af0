use entity::{alert_channel, audit_event, schedule, schedule_version, workflow, workflow_version};
use sea_orm::{ColumnTrait, EntityTrait, IntoActiveModel, QueryFilter, QueryOrder};
use serde_json::json;
use uuid::Uuid;

use super::desk::{CREATE, Desk};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_credential_in_clear_is_refused_however_it_comes,
    a_secret_is_stored_and_never_shown,
    the_expected_answer_of_a_request_is_set_shown_and_kept,
    texts_of_a_context_are_masked_where_it_is_shown_and_kept_where_the_mask_comes_back,
    saving_a_task_warns_of_its_unset_secrets,
    a_secret_lists_the_objects_that_use_it,
    a_secret_is_found_in_any_number_of_workflows,
    a_secret_says_when_not_all_was_examined,
);

async fn a_credential_in_clear_is_refused_however_it_comes(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let headers = json!([{ "name": "Authorization", "value": "Bearer hunter2" }]);
    let target = json!({ "http": { "url": "https://example.org/hook", "headers": headers } });
    let task = json!({ "name": "call", "target": target });
    let schedule = json!({ "name": "a", "timing": { "expressions": ["@daily"] }, "task": task });
    let workflow = "mutation($input: CreateWorkflowInput!) { createWorkflow(input: $input) {
        workflow { id } } }";
    let deploy = "mutation($source: String!) { deployModule(source: $source, format: YAML) {
        changes { action } } }";
    let module = "module: m\nworkflows: { w: { tasks: [{ name: call, target: { http: {\
        url: \"https://example.org/\", headers: { Authorization: Bearer hunter2 } } } }] } }\n";
    for (call, variables, field) in [
        (CREATE, json!({ "input": schedule }), "task.target.http.headers.Authorization"),
        (
            workflow,
            json!({ "input": { "name": "w", "tasks": [task] } }),
            "tasks[0].target.http.headers.Authorization",
        ),
        (
            deploy,
            json!({ "source": module }),
            "workflows.w.tasks[0].target.http.headers.Authorization",
        ),
    ] {
        let refused = desk.refused(call, variables).await;
        assert_eq!(refused["extensions"]["field"], field, "{refused}");
        assert!(refused["message"].as_str().unwrap().contains("{{ secrets.NAME }}"), "{refused}");
        assert!(!refused.to_string().contains("hunter2"), "{refused}");
    }
    let versions = workflow_version::Entity::find().all(desk.database.store.read()).await.unwrap();
    assert!(versions.is_empty(), "{versions:?}");
}

async fn a_secret_is_stored_and_never_shown(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let headers =
        json!([{ "name": "X-Account", "value": "hunter2" }, { "name": "Accept", "value": "*/*" }]);
    let http = json!({
        "url": "https://example.org/hook", "headers": headers,
        "signingSecret": "{{ secrets.hook_key }}",
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
        json!([{ "name": "Accept", "value": "*/*" }, { "name": "X-Account", "value": "***" }])
    );
    assert_eq!(target["signed"], true);

    // A form sends back the masks that it was shown, and the stored secrets remain.
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
    assert!(stored.contains("v=2") && stored.contains("hunter2"), "{stored}");
    assert!(stored.contains("secrets.hook_key"), "{stored}");
    let audited = audit_event::Entity::find().all(read).await.unwrap();
    let history = schedule_version::Entity::find().all(read).await.unwrap();
    for text in [format!("{audited:?}"), format!("{history:?}"), answer.to_string()] {
        assert!(!text.contains("hunter2") && !text.contains("hook_key"), "{text}");
    }
}

async fn the_expected_answer_of_a_request_is_set_shown_and_kept(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let http = json!({
        "url": "https://example.org/hook", "json": { "rows": [1] }, "expectedBody": "done",
        "maxRedirects": 0,
    });
    let input = |http| {
        json!({
            "name": "hook", "timing": { "expressions": ["@daily"] }, "task": { "target": { "http": http } },
        })
    };
    let mut both = http.clone();
    both["body"] = "text".into();
    let refused = desk.refused(CREATE, json!({ "input": input(both) })).await;
    assert!(refused.to_string().contains("task.target.http.body"), "{refused}");
    let mut many = http.clone();
    many["maxRedirects"] = 6.into();
    let refused = desk.refused(CREATE, json!({ "input": input(many) })).await;
    assert!(refused.to_string().contains("at most 5 redirects"), "{refused}");

    let made = desk.ask(CREATE, json!({ "input": input(http) })).await;
    let id = &made["createSchedule"]["schedule"]["id"];
    let shown = async || {
        let query = "query($id: UUID!) { schedule(id: $id) { workflow { tasks { target {
            ... on HttpTarget { body json expectedBody maxRedirects } } } } } }";
        let answer = desk.ask(query, json!({ "id": id })).await;
        answer["schedule"]["workflow"]["tasks"][0]["target"].clone()
    };
    let said = json!({
        "body": "{\"rows\":[1]}", "json": { "rows": [1] }, "expectedBody": "done", "maxRedirects": 0,
    });
    assert_eq!(shown().await, said);

    let update = "mutation($input: UpdateScheduleInput!) { updateSchedule(input: $input) {
        schedule { version } } }";
    let edit = async |version, more: serde_json::Value| {
        let mut http = json!({ "url": "https://example.org/hook", "body": "x" });
        http.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let task = json!({ "target": { "http": http } });
        let edit = json!({ "id": id, "expectedVersion": version, "task": task });
        desk.ask(update, json!({ "input": edit })).await["updateSchedule"]["schedule"]["version"]
            .clone()
    };
    let version = edit(json!(1), json!({})).await;
    let mut kept = json!({ "body": "x", "json": null, "expectedBody": "done", "maxRedirects": 0 });
    assert_eq!(shown().await, kept);
    edit(version, json!({ "expectedBody": "", "maxRedirects": 2 })).await;
    kept["expectedBody"] = json!(null);
    kept["maxRedirects"] = json!(2);
    assert_eq!(shown().await, kept);
}

async fn texts_of_a_context_are_masked_where_it_is_shown_and_kept_where_the_mask_comes_back(
    database: TestDatabase,
) {
    let desk = Desk::open(database).await;
    let context = json!({ "api_token": "hunter2", "rows": [{ "password": "hunter3", "n": 1 }] });
    let masked = json!({ "api_token": "***", "rows": [{ "password": "***", "n": 1 }] });
    let input = json!({
        "name": "hook", "timing": { "expressions": ["@daily"] }, "context": context,
        "task": { "target": { "noop": { "note": "" } } },
    });
    let made = desk.ask(CREATE, json!({ "input": input })).await;
    let id = &made["createSchedule"]["schedule"]["id"];
    let query = "query($id: UUID!) { schedule(id: $id) { context } }";
    let shown = desk.ask(query, json!({ "id": id })).await["schedule"]["context"].take();
    assert_eq!(shown, masked);
    let export = "query { exportModules(format: YAML) { source } }";
    let exported = desk.ask(export, json!({})).await["exportModules"][0]["source"].take();
    let exported = exported.as_str().unwrap();
    assert!(exported.contains("***") && !exported.contains("hunter"), "{exported}");

    // An edit and a module file may contain the masks: the stored secrets remain.
    let stored = async || {
        let rows = schedule::Entity::find().all(desk.database.store.read()).await.unwrap();
        rows[0].context.clone()
    };
    let mut edited = shown;
    edited["rows"][0]["n"] = 2.into();
    let update = "mutation($input: UpdateScheduleInput!) { updateSchedule(input: $input) {
        schedule { version } } }";
    let edit = json!({ "id": id, "expectedVersion": 1, "context": edited });
    desk.ask(update, json!({ "input": edit })).await;
    let mut kept = context.clone();
    kept["rows"][0]["n"] = 2.into();
    assert_eq!(stored().await, kept);
    let deploy = "mutation($source: String!) {
        deployModule(source: $source, format: YAML, adopt: true) { changes { action } } }";
    desk.ask(deploy, json!({ "source": exported })).await;
    assert_eq!(stored().await, context);
}

async fn saving_a_task_warns_of_its_unset_secrets(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let set =
        "mutation($name: String!) { setSecret(input: { name: $name, value: \"open-sesame\" }) {
        secret { name } } }";
    desk.ask(set, json!({ "name": "there" })).await;
    let target = |url: &str, token: &str| {
        let headers = json!([{ "name": "X-Token", "value": token }]);
        json!({ "http": { "url": url, "headers": headers } })
    };
    let hook = target("https://example.org/{{ secrets.away }}", "{{ secrets.there }}");
    let input = json!({
        "name": "hook", "timing": { "expressions": ["@daily"] }, "task": { "target": hook },
    });
    let create = "mutation($input: CreateScheduleInput!) { createSchedule(input: $input) {
        schedule { id } warnings { code message field } } }";
    let made = desk.ask(create, json!({ "input": input })).await;
    let warnings = made["createSchedule"]["warnings"].as_array().unwrap();
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert_eq!(warning["code"], "secret_not_set");
    assert_eq!(warning["field"], "task.target.http.url");
    let told = warning["message"].as_str().unwrap();
    assert!(told.starts_with("the secret `away` that the task `main` uses is not set"), "{told}");

    // An edit that keeps the task has no warning about the secret; an edit that changes the task
    // has one.
    let id = &made["createSchedule"]["schedule"]["id"];
    let update = "mutation($input: UpdateScheduleInput!) { updateSchedule(input: $input) {
        warnings { code field } } }";
    let note = json!({ "id": id, "expectedVersion": 1, "note": "x" });
    let answer = desk.ask(update, json!({ "input": note })).await;
    assert_eq!(answer["updateSchedule"]["warnings"], json!([]));
    let hook = target("https://example.org/", "{{ secrets.gone }}{{ secrets.away }}");
    let task = json!({ "id": id, "expectedVersion": 2, "task": { "target": hook } });
    let answer = desk.ask(update, json!({ "input": &task })).await;
    let field = "task.target.http.headers.X-Token";
    let warning = json!({ "code": "secret_not_set", "field": field });
    assert_eq!(answer["updateSchedule"]["warnings"], json!([warning, warning]));
    // The warning is repeated as long as the secret is unset, even for a task that is saved
    // unchanged.
    let same = json!({ "id": id, "expectedVersion": 3, "task": task["task"] });
    let answer = desk.ask(update, json!({ "input": same })).await;
    assert_eq!(answer["updateSchedule"]["warnings"], json!([warning, warning]));

    let tasks = json!([
        { "name": "first", "target": { "noop": {} } },
        { "name": "second", "needs": ["first"], "target": target("https://example.org/{{ secrets.gone }}", "{{ secrets.there }}") },
    ]);
    let create = "mutation($input: CreateWorkflowInput!) { createWorkflow(input: $input) {
        workflow { id } warnings { message field } } }";
    let made = desk.ask(create, json!({ "input": { "name": "flow", "tasks": tasks } })).await;
    let warnings = &made["createWorkflow"]["warnings"];
    assert_eq!(warnings[0]["field"], "tasks[1].target.http.url", "{warnings}");
    assert!(warnings[0]["message"].as_str().unwrap().contains("`second`"), "{warnings}");

    // The warning also comes with a dry run of a module.
    let source = "module: m\nschedules:\n  tick:\n    when: '@daily'\n    task:\n      target:\n        \
                  http: { url: 'https://example.org/{{ secrets.gone }}' }\n";
    let deploy = "mutation($source: String!, $dryRun: Boolean!) {
        deployModule(source: $source, dryRun: $dryRun) { changes { name warnings { code field } } } }";
    let warnings = json!([{ "code": "secret_not_set", "field": "task.target.http.url" }]);
    let expected = json!([{ "name": "tick", "warnings": warnings }]);
    for is_dry in [true, false, false] {
        let told = desk.ask(deploy, json!({ "source": source, "dryRun": is_dry })).await;
        assert_eq!(told["deployModule"]["changes"], expected);
    }
    // Once the secret is set, there is no warning.
    desk.ask(set, json!({ "name": "gone" })).await;
    let other = source.replace("example.org", "example.com");
    let told = desk.ask(deploy, json!({ "source": other, "dryRun": false })).await;
    assert_eq!(told["deployModule"]["changes"][0]["warnings"], json!([]));
}

async fn a_secret_lists_the_objects_that_use_it(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let set =
        "mutation($name: String!) { setSecret(input: { name: $name, value: \"open-sesame\" }) {
        secret { id } } }";
    for name in ["key", "watchdog", "hook", "token", "unused"] {
        desk.ask(set, json!({ "name": name })).await;
    }
    let url = "https://example.org/?key={{ secrets.key }}";
    let task = json!({ "name": "main", "target": { "http": { "url": url } } });
    let own = json!({ "target": { "http": { "url": url } } });
    let workflow = "mutation($input: CreateWorkflowInput!) { createWorkflow(input: $input) {
        workflow { id } } }";
    desk.ask(workflow, json!({ "input": { "name": "shared", "tasks": [task] } })).await;
    let timing = json!({ "expressions": ["@daily"] });
    let ping = json!({ "success": "https://watchdog.example/{{ secrets.watchdog }}" });
    for input in [
        json!({ "name": "own", "timing": timing, "task": own }),
        json!({ "name": "runs", "timing": timing, "workflow": "shared" }),
        json!({ "name": "pings", "timing": timing, "task": { "target": { "noop": {} } }, "ping": ping }),
        // A text that contains `secrets.` outside of braces is no template.
        json!({ "name": "none", "timing": timing, "context": { "about": "secrets.key" },
            "task": { "target": { "noop": {} } } }),
    ] {
        desk.ask(CREATE, json!({ "input": input })).await;
    }
    let channel = "mutation($name: String!, $url: String!) { createAlertChannel(input: {
        name: $name, kind: SLACK, url: $url }) { channel { id } } }";
    let url = "https://hooks.example/{{ secrets.hook }}";
    desk.ask(channel, json!({ "name": "ops", "url": url })).await;
    // The masked address does not show the names of its secrets, but their use is known.
    let url = "https://hooks.example/{{ secrets.hook }}?t=x-{{ secrets.token }}";
    desk.ask(channel, json!({ "name": "masked", "url": url })).await;
    let query = "{ secrets { nodes { name usedBy { count isCut users { kind name } } } } }";
    let answer = desk.ask(query, json!({})).await;
    let user = |kind: &str, name: &str| json!({ "kind": kind, "name": name });
    for (name, users) in [
        ("hook", vec![user("CHANNEL", "masked"), user("CHANNEL", "ops")]),
        ("token", vec![user("CHANNEL", "masked")]),
        (
            "key",
            vec![user("SCHEDULE", "own"), user("SCHEDULE", "runs"), user("WORKFLOW", "shared")],
        ),
        ("unused", vec![]),
        ("watchdog", vec![user("SCHEDULE", "pings")]),
    ] {
        let all = answer["secrets"]["nodes"].as_array().unwrap();
        let found = all.iter().find(|one| one["name"] == name).unwrap();
        let used = json!({ "count": users.len(), "isCut": false, "users": users });
        assert_eq!(found["usedBy"], used, "{name}");
    }
    let audit = "{ auditEvents { nodes { action after } } }";
    let audit = desk.ask(audit, json!({})).await["auditEvents"]["nodes"].clone();
    let made = audit.as_array().unwrap().iter();
    let made: Vec<_> = made.filter(|one| one["action"] == "alert_channel.create").collect();
    assert_eq!(made.len(), 2);
    assert!(!made.iter().any(|one| one.to_string().contains("token")), "{audit}");
}

async fn a_secret_is_found_in_any_number_of_workflows(database: TestDatabase) {
    const MANY: usize = 450;
    let desk = Desk::open(database).await;
    let set = "mutation { setSecret(input: { name: \"key\", value: \"open-sesame\" }) {
        secret { id } } }";
    desk.ask(set, json!({})).await;
    let url = "https://example.org/?key={{ secrets.key }}";
    let task = json!({ "name": "main", "target": { "http": { "url": url } } });
    let create = "mutation($input: CreateWorkflowInput!) { createWorkflow(input: $input) {
        workflow { id } } }";
    desk.ask(create, json!({ "input": { "name": "first", "tasks": [task] } })).await;
    let store = &desk.database.store;
    let row = workflow::Entity::find().one(store.read()).await.unwrap().unwrap();
    let version = workflow_version::Entity::find().one(store.read()).await.unwrap().unwrap();
    let ids: Vec<Uuid> = (1..MANY).map(|_| Uuid::now_v7()).collect();
    let rows = ids.iter().map(|id| {
        let name = format!("copy-{id}");
        workflow::Model { id: *id, name, ..row.clone() }.into_active_model()
    });
    let versions = ids.iter().map(|id| {
        workflow_version::Model { workflow_id: *id, ..version.clone() }.into_active_model()
    });
    let tx = store.begin().await.unwrap();
    workflow::Entity::insert_many(rows).exec_without_returning(&tx).await.unwrap();
    workflow_version::Entity::insert_many(versions).exec_without_returning(&tx).await.unwrap();
    store.commit(tx).await.unwrap();
    let query = "{ secrets { nodes { usedBy { count isCut users { kind } } } } }";
    let used = desk.ask(query, json!({})).await["secrets"]["nodes"][0]["usedBy"].clone();
    assert_eq!((&used["count"], &used["isCut"]), (&json!(MANY), &json!(false)));
    assert_eq!(used["users"].as_array().unwrap().len(), 20);
}

async fn a_secret_says_when_not_all_was_examined(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let set = "mutation { setSecret(input: { name: \"key\", value: \"open-sesame\" }) {
        secret { id } } }";
    desk.ask(set, json!({})).await;
    let input = json!({
        "name": "pings",
        "timing": { "expressions": ["@daily"] },
        "task": { "target": { "noop": {} } },
        "ping": { "success": "https://watchdog.example/" },
    });
    desk.ask(CREATE, json!({ "input": input })).await;
    let channel = "mutation { createAlertChannel(input: { name: \"ops\", kind: SLACK,
        url: \"https://hooks.example/x\" }) { channel { id } } }";
    desk.ask(channel, json!({})).await;
    let query = "{ secrets { nodes { usedBy { isCut } } } }";
    let is_cut =
        async || desk.ask(query, json!({})).await["secrets"]["nodes"][0]["usedBy"]["isCut"].clone();
    assert_eq!(is_cut().await, false);

    let store = &desk.database.store;
    let row = alert_channel::Entity::find().one(store.read()).await.unwrap().unwrap();
    let copies = (0..500).map(|number| {
        let name = format!("copy-{number}");
        alert_channel::Model { id: Uuid::now_v7(), name, ..row.clone() }.into_active_model()
    });
    let tx = store.begin().await.unwrap();
    alert_channel::Entity::insert_many(copies).exec_without_returning(&tx).await.unwrap();
    store.commit(tx).await.unwrap();
    assert_eq!(is_cut().await, true);
    let tx = store.begin().await.unwrap();
    let copies = alert_channel::Column::Name.starts_with("copy-");
    alert_channel::Entity::delete_many().filter(copies).exec(&tx).await.unwrap();
    store.commit(tx).await.unwrap();
    assert_eq!(is_cut().await, false);

    let row = schedule::Entity::find().one(store.read()).await.unwrap().unwrap();
    let copies = (0..5_000).map(|number| {
        let name = format!("copy-{number}");
        schedule::Model { id: Uuid::now_v7(), name, ..row.clone() }.into_active_model()
    });
    let tx = store.begin().await.unwrap();
    for some in copies.collect::<Vec<_>>().chunks(100) {
        schedule::Entity::insert_many(some.to_vec()).exec_without_returning(&tx).await.unwrap();
    }
    store.commit(tx).await.unwrap();
    assert_eq!(is_cut().await, true);
}
