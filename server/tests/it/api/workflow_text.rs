//! Workflows as text, as an editor sends them while they are typed.

use entity::{user::Role, workflow, workflow_version};
use sea_orm::EntityTrait;
use serde_json::{Value, json};

use super::{
    desk::{Desk, viewer},
    walk_keys::administrator_of,
    walking::namespace,
};
use crate::support::{TestDatabase, on_both};

on_both!(
    what_is_shown_reads_back_and_changes_nothing,
    the_consoles_text_says_what_the_console_sends,
    a_text_says_the_same_as_the_module_that_it_is_pasted_into,
    a_mask_keeps_what_the_edited_workflow_has,
    only_who_edits_a_namespace_reads_texts_for_it,
);

const READ: &str = "query($in: String! = \"default\", $text: String!, $id: UUID) {
    readWorkflow(namespace: $in, text: $text, workflowId: $id) {
        definition problems { line column field value problem help } } }";
const CREATE: &str = "mutation($input: CreateWorkflowInput!) {
    createWorkflow(input: $input) { workflow { id } } }";
const SHOWN: &str = "query($name: String!) { workflow(name: $name) {
    id version yaml versions { nodes { version yaml } } } }";

/// A definition as the console sends it, and the text that the console writes for it. The console's
/// own tests use the same two files.
const SENT: &str = include_str!("texts/every_target.json");
const WRITTEN: &str = include_str!("texts/every_target.yaml");

async fn read(desk: &Desk, text: &str) -> Value {
    read_for(desk, text, None).await
}

/// Reads a text for the workflow with that key.
async fn read_for(desk: &Desk, text: &str, id: Option<&str>) -> Value {
    desk.ask(READ, json!({ "text": text, "id": id })).await["readWorkflow"].clone()
}

async fn create(desk: &Desk, name: &str, definition: &Value) -> String {
    let mut input = definition.clone();
    input["name"] = name.into();
    let made = desk.ask(CREATE, json!({ "input": input })).await;
    made["createWorkflow"]["workflow"]["id"].as_str().unwrap().to_owned()
}

/// The current definition of a workflow as it is stored, with its secrets.
async fn stored(desk: &Desk, name: &str) -> Value {
    let read = desk.database.store.read();
    let rows = workflow::Entity::find().all(read).await.unwrap();
    let row = rows.into_iter().find(|row| row.name == name).unwrap();
    let found = workflow_version::Entity::find_by_id((row.id, row.version)).one(read).await;
    found.unwrap().unwrap().definition
}

async fn what_is_shown_reads_back_and_changes_nothing(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = create(&desk, "every", &serde_json::from_str(SENT).unwrap()).await;
    let before = stored(&desk, "every").await;
    let shown = desk.ask(SHOWN, json!({ "name": "every" })).await["workflow"].clone();
    let text = shown["yaml"].as_str().unwrap();
    assert!(text.contains("X-Account: '***'") || text.contains("X-Account: \"***\""), "{text}");
    assert!(!text.contains("hush"), "{text}");
    assert_eq!(shown["versions"]["nodes"], json!([{ "version": 1, "yaml": text }]));

    let read = read_for(&desk, text, Some(&id)).await;
    assert_eq!(read["problems"], json!([]), "{text}");
    let definition = &read["definition"];
    let update = "mutation($input: UpdateWorkflowInput!) { updateWorkflow(input: $input) {
        workflow { version } } }";
    let input = json!({
        "id": id, "expectedVersion": 1, "tasks": definition["tasks"],
        "timeoutSeconds": definition["timeoutSeconds"], "maxParallel": definition["maxParallel"],
        "runsOn": definition["runsOn"],
    });
    let updated = desk.ask(update, json!({ "input": input })).await;
    assert_eq!(updated["updateWorkflow"]["workflow"]["version"], 1, "{text}");
    assert_eq!(stored(&desk, "every").await, before);
}

async fn the_consoles_text_says_what_the_console_sends(database: TestDatabase) {
    let desk = Desk::open(database).await;
    create(&desk, "sent", &serde_json::from_str(SENT).unwrap()).await;
    let read = read(&desk, WRITTEN).await;
    assert_eq!(read["problems"], json!([]));
    assert_eq!(read["definition"]["name"], "every-target");
    assert_eq!(read["definition"].get("namespace"), None);
    create(&desk, "read", &read["definition"]).await;
    assert_eq!(stored(&desk, "read").await, stored(&desk, "sent").await);
}

async fn a_text_says_the_same_as_the_module_that_it_is_pasted_into(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let read_text = read(&desk, WRITTEN).await;
    create(&desk, "read", &read_text["definition"]).await;
    let indented = WRITTEN.lines().map(|line| format!("  {line}\n")).collect::<String>();
    let module = format!("module: pasted\nworkflows:\n{indented}");
    let deploy = "mutation($source: String!) { deployModule(source: $source) { module } }";
    desk.ask(deploy, json!({ "source": module })).await;
    assert_eq!(stored(&desk, "every-target").await, stored(&desk, "read").await);
    // Users may paste a part of a module file together with the lines above it.
    assert_eq!(read(&desk, &module).await, read_text);
    let json = serde_json::to_string(&json!({ "a": { "tasks": [{ "target": { "noop": {} } }] } }));
    let read = read(&desk, &json.unwrap()).await;
    assert_eq!(read["definition"]["tasks"][0]["name"], "main");
}

async fn a_mask_keeps_what_the_edited_workflow_has(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let text = |host: &str, value: &str| {
        format!(
            "hook:\n  tasks:\n  - target:\n      http:\n        url: https://{host}/\n        \
             headers:\n          X-Account: '{value}'\n"
        )
    };
    let made = read(&desk, &text("a.example", "hush")).await;
    let id = create(&desk, "hook", &made["definition"]).await;
    let kept = read_for(&desk, &text("a.example", "***"), Some(&id)).await;
    assert_eq!(kept["problems"], json!([]));
    // The answer keeps the mask and does not reveal the secret.
    assert_eq!(kept["definition"]["tasks"][0]["target"]["http"]["headers"][0]["value"], "***");
    for (text, id) in [(text("a.example", "***"), None), (text("b.example", "***"), Some(&*id))] {
        let read = read_for(&desk, &text, id).await;
        assert!(!read.to_string().contains("hush"), "{read}");
        let problem = &read["problems"][0];
        assert_eq!(problem["field"], "tasks[0].target.http.headers.X-Account", "{read}");
        assert_eq!(problem["line"], 7, "{read}");
    }
    let other = text("a.example", "***").replace("hook", "other");
    let renamed = read_for(&desk, &other, Some(&id)).await;
    assert_eq!(renamed["definition"], Value::Null);
    let problem = &renamed["problems"][0];
    assert_eq!((&problem["line"], &problem["value"]), (&json!(1), &json!("other")), "{renamed}");
}

async fn only_who_edits_a_namespace_reads_texts_for_it(database: TestDatabase) {
    let desk = Desk::open(database).await;
    desk.ask("mutation { createNamespace(name: \"other\") { namespace { id } } }", json!({})).await;
    let text = "a: {tasks: [{target: {noop: {}}}]}";
    let made = read(&desk, text).await;
    let theirs = create(&desk, "a", &made["definition"]).await;
    for role in [Role::Viewer, Role::Operator] {
        let refused = desk.code_for(&viewer(role), READ, json!({ "text": text })).await;
        assert_eq!(refused, "FORBIDDEN");
    }
    assert_eq!(desk.code_for(&viewer(Role::Editor), READ, json!({ "text": text })).await, "");
    let eve = administrator_of(namespace(&desk, "other").await);
    for (variables, code) in [
        (json!({ "text": text, "in": "other" }), ""),
        (json!({ "text": text, "in": "default" }), "NOT_FOUND"),
        (json!({ "text": text, "in": "other", "id": theirs }), "NOT_FOUND"),
    ] {
        assert_eq!(desk.code_for(&eve, READ, variables.clone()).await, code, "{variables}");
    }
    let gone = "00000000-0000-7000-8000-000000000001";
    let refused = desk.refused(READ, json!({ "text": text, "id": gone })).await;
    assert_eq!(refused["extensions"]["code"], "NOT_FOUND");
}

/// A text of two tasks; `lines` are a part of the second task, and begin at line 6.
fn with(lines: &str) -> String {
    let lines: String = lines.lines().map(|line| format!("    {line}\n")).collect();
    format!("etl:\n  tasks:\n  - name: a\n    target: {{noop: {{}}}}\n  - name: b\n{lines}")
}

#[tokio::test]
async fn what_saving_would_refuse_is_told_with_its_line() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    let http = |line: &str| with(&format!("target:\n  http:\n    url: https://a.example\n{line}"));
    let noop = |line: &str| with(&format!("target: {{noop: {{}}}}\n{line}"));
    for (text, line, field, said) in [
        (noop("needs: [a, x]"), 7, "tasks[1].needs[1]", "not a task"),
        (noop("needs: [b]"), 7, "tasks[1].needs[0]", "itself"),
        (noop("timeout: 30d"), 7, "tasks[1].timeout", "604800 seconds"),
        (noop("retry: {max_attempts: 0}"), 7, "tasks[1].retry.max_attempts", "give 1 to 100"),
        (noop("max_parallel: 0").replace("    max", "  max"), 7, "max_parallel", "give 1 to 100"),
        (noop("when: failure"), 7, "tasks[1].when", "needs no other task"),
        (noop("").replace("name: b", "name: a"), 5, "tasks[1].name", "name of tasks[0]"),
        (
            with("target: {http: {url: 'ftp://{{ context.x }}/'}}"),
            6,
            "tasks[1].target.http.url",
            "scheme",
        ),
        (
            with("target: {http: {url: 'http://10.0.0.1/'}}"),
            6,
            "tasks[1].target.http.url",
            "private",
        ),
        (http("    body: '{{ contxt.a }}'"), 9, "tasks[1].target.http.body", "`contxt`"),
        (http("    max_redirects: 9"), 9, "tasks[1].target.http.max_redirects", "at most 5"),
        (
            http("    headers:\n      Authorization: Bearer 4711"),
            10,
            "tasks[1].target.http.headers.Authorization",
            "credential in plain text",
        ),
        (with("target: {worker: {queue: Q, task: t}}"), 6, "tasks[1].target.worker.queue", "a-z"),
        (noop("").replace("etl", "-etl"), 1, "name", "letter or digit"),
        (with("target: {noop: {note: \"\\0\"}}"), 1, "tasks", "NUL"),
    ] {
        let read = read(&desk, &text).await;
        assert_eq!(read["definition"]["tasks"].as_array().unwrap().len(), 2, "{text}: {read}");
        let problems = read["problems"].as_array().unwrap();
        let [problem] = problems.as_slice() else { panic!("{text}: {read}") };
        let line = if field == "tasks" { 2 } else { line };
        assert_eq!((&problem["field"], &problem["line"]), (&json!(field), &json!(line)), "{text}");
        let words = format!("{} {}", problem["problem"], problem["help"]);
        assert!(words.contains(said), "{text}: {read}");
        assert!(!words.contains("4711"), "{read}");
    }
    // If several tasks are invalid, each is reported.
    let both = with("target: {http: {url: 'ftp://b.example/'}}")
        .replace("{noop: {}}", "{http: {url: 'ftp://a.example/'}}");
    let read = read(&desk, &both).await;
    let lines: Vec<_> =
        read["problems"].as_array().unwrap().iter().map(|one| &one["line"]).collect();
    assert_eq!(lines, [&json!(4), &json!(6)], "{read}");
}

#[tokio::test]
async fn hostile_texts_are_answered() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    let input = |input: &str| {
        format!("a: {{tasks: [{{target: {{worker: {{queue: q, task: t, input: {input}}}}}}}]}}")
    };
    let mut bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for (new, old) in ('b'..='k').zip('a'..) {
        bomb += &format!("{new}: &{new} [*{old},*{old},*{old},*{old},*{old},*{old},*{old}]\n");
    }
    let many = (0..50_000).map(|index| format!("w{index}: {{tasks: []}}\n")).collect::<String>();
    for (what, text) in [
        ("nothing", String::new()),
        ("a text", "hush-4711".to_owned()),
        ("a list", "[hush-4711]".to_owned()),
        ("a number for a text", "a: {tasks: [{name: [4711], target: {noop: {}}}]}".to_owned()),
        ("a text for a list", "a: {tasks: hush-4711}".to_owned()),
        ("a key that is none", "a: {tasks: [], 'x=4711': 1}".to_owned()),
        ("deep lists", input(&"[".repeat(100_000))),
        ("deep objects", input(&format!("{}1{}", "{a: ".repeat(200), "}".repeat(200)))),
        ("deep blocks", "a:\n ".repeat(100_000)),
        ("a bomb of aliases", bomb),
        ("an alias of itself", "a: &a\n  tasks: [*a]\n".to_owned()),
        ("many documents", "---\na: {}\n".repeat(50_000)),
        ("many workflows", many),
        ("a control character", "a: {tasks: \u{1}}".to_owned()),
        ("too much", format!("a: {}", "x".repeat(1024 * 1024))),
        ("far too much", "x".repeat(5 * 1024 * 1024)),
    ] {
        let read = read(&desk, &text).await;
        assert_eq!(read["definition"], Value::Null, "{what}");
        assert!(!read["problems"].as_array().unwrap().is_empty(), "{what}");
        let told = read.to_string();
        assert!(told.len() < 4_096 && !told.contains("4711"), "{what}: {told}");
    }
    // The cost of a text in a query depends on its length.
    let text = "#".repeat(1024 * 1024);
    let twice = "query($text: String!) { a: readWorkflow(text: $text) { definition }
        b: readWorkflow(text: $text) { definition } }";
    let refused = desk.refused(twice, json!({ "text": text })).await;
    assert!(refused["message"].as_str().unwrap().contains("too complex"), "{refused}");
}
