use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::{Command, Server, TestDatabase};

/// The number of tasks in a workflow: with their templates, they nearly fill the largest request.
const TASKS: usize = 60;
/// The number of workflows in a module: with their templates, they nearly fill the largest file.
const WORKFLOWS: usize = 15;
/// How often each attacker saves.
const ROUNDS: usize = 3;

/// A template that takes long to check, of nearly the largest size.
fn template(round: usize) -> String {
    format!("{round} {{{{ secrets.key }}}}{}", "{{1}}".repeat(13_000))
}

fn task(name: &str, round: usize) -> Value {
    let target = json!({ "http": { "url": "https://example.org/", "body": template(round) } });
    json!({ "name": name, "target": target })
}

async fn ask(server: &Server, token: &str, query: &str, variables: Value) -> Value {
    let body = json!({ "query": query, "variables": variables });
    let answer = server.post("/graphql").bearer_auth(token).json(&body).send().await.unwrap();
    let answer: Value = answer.json().await.unwrap();
    assert!(answer["errors"].is_null(), "{query}: {}", answer["errors"]);
    answer["data"].clone()
}

/// Creates a workflow, and changes all of its templates again and again.
async fn save(server: &Server, token: &str) {
    let tasks = |round: usize| -> Vec<Value> {
        (0..TASKS).map(|number| task(&format!("task-{number}"), round)).collect()
    };
    let create = "mutation($tasks: [TaskInput!]!) { createWorkflow(input: {
        namespace: \"attackers\", name: \"large\", tasks: $tasks }) { workflow { id } } }";
    let made = ask(server, token, create, json!({ "tasks": tasks(0) })).await;
    let id = &made["createWorkflow"]["workflow"]["id"];
    let update = "mutation($id: UUID!, $version: Int!, $tasks: [TaskInput!]!) {
        updateWorkflow(input: { id: $id, expectedVersion: $version, tasks: $tasks }) {
            workflow { version } } }";
    for round in 1..=ROUNDS {
        let change = json!({ "id": id, "version": round, "tasks": tasks(round) });
        let saved = ask(server, token, update, change).await;
        assert_eq!(saved["updateWorkflow"]["workflow"]["version"], round + 1);
    }
}

/// Deploys a module, each time with other templates, and each time after a dry run.
async fn deploy(server: &Server, token: &str) {
    let deploy = "mutation($source: String!, $dry: Boolean!) {
        deployModule(source: $source, dryRun: $dry) { changes { action } } }";
    for round in 0..ROUNDS {
        let workflows: serde_json::Map<String, Value> = (0..WORKFLOWS)
            .map(|number| (format!("w{number}"), json!({ "tasks": [task("only", round)] })))
            .collect();
        // JSON is YAML, too.
        let source = json!({ "module": "large", "namespace": "attackers", "workflows": workflows });
        for dry in [true, false] {
            let variables = json!({ "source": source.to_string(), "dry": dry });
            let done = ask(server, token, deploy, variables).await;
            assert_eq!(done["deployModule"]["changes"].as_array().unwrap().len(), WORKFLOWS);
        }
    }
}

/// On SQLite the API and the engine share one writer. No transaction holds it while definitions are
/// checked.
#[tokio::test]
async fn large_definitions_delay_no_fire_of_another_namespace() {
    let database = TestDatabase::sqlite().await;
    let create = ["token", "create", "ci", "--role", "admin"];
    let token = Command::new(&create).on(&database).run().done().trim().to_owned();
    let server = Server::start(&database);
    let prepare = "mutation {
        createNamespace(name: \"attackers\") { __typename }
        createSchedule(input: { name: \"tick\", overlap: ALLOW,
            timing: { expressions: [\"* * * * * *\"], zone: \"UTC\" },
            task: { target: { noop: {} } } }) { schedule { id } } }";
    let made = ask(&server, &token, prepare, json!({})).await;
    let tick = &made["createSchedule"]["schedule"]["id"];
    tokio::join!(save(&server, &token), deploy(&server, &token));
    let query = "query($id: UUID!) { fires(scheduleId: $id, first: 200) {
        nodes { verdict count dueAt claimedAt } } }";
    let found = ask(&server, &token, query, json!({ "id": tick })).await;
    let fires = found["fires"]["nodes"].as_array().unwrap();
    assert!(!fires.is_empty());
    let instant = |text: &Value| text.as_str().unwrap().parse::<DateTime<Utc>>().unwrap();
    for fire in fires {
        let late = instant(&fire["claimedAt"]) - instant(&fire["dueAt"]);
        assert!(fire["count"] == 1 && late <= timetable::misfire::ON_TIME, "{fire}");
    }
}

/// Another timing of the same schedules, under a calendar that changes along with it.
fn module_with_calendars(hour: usize) -> String {
    let schedules: serde_json::Map<String, Value> = (0..120)
        .map(|number| {
            let name = format!("s{number}");
            let when = format!("{} {hour} * * *", number % 60);
            let calendars = json!(["closed", "weekends"]);
            let task = json!({ "target": { "noop": {} } });
            (name, json!({ "when": when, "calendars": calendars, "task": task }))
        })
        .collect();
    let closed = json!({ "mode": "exclude", "dates": [format!("2027-01-{hour:02}")] });
    // JSON is YAML, too.
    json!({ "module": "dated", "calendars": { "closed": closed }, "schedules": schedules })
        .to_string()
}

/// The log up to now.
async fn log_until_now(server: &Server) -> String {
    // The requests before this one have written their lines. Each name has its own few guesses.
    server.sign_in(&Uuid::now_v7().to_string(), "wrong horse battery").await;
    server.logged("a sign-in was refused").await
}

/// The line that a request logs after it has worked out timings with calendars.
const BEFORE: &str = "has worked out timings before a transaction";
/// The line that it logs when a timing is worked out while it has the writer.
const WITHIN: &str = "works out a timing in a transaction";

/// The line that it logs when it has locked the calendars that its timings were worked out from.
const LOCKED: &str = "has locked the calendars of its timings";

/// The line that it logs when it has compiled calendars to count the fires that a deployment adds
/// and removes.
const AFTER: &str = "has compiled calendars after a deployment's transaction";

/// The line that it logs when it builds the timing that a change ends while it has the writer.
const ENDS_WITHIN: &str = "builds the timing that a transaction ends";

/// Whether what a request logged says that all of its timings were worked out before.
fn is_before(log: &str) -> bool {
    log.contains(BEFORE) && !log.contains(WITHIN) && !log.contains(ENDS_WITHIN)
}

/// A server that logs these lines, the token of an administrator, and a calendar.
async fn server_with_a_calendar(database: &TestDatabase) -> (Server, String) {
    let create = ["token", "create", "ci", "--role", "admin"];
    let token = Command::new(&create).on(database).run().done().trim().to_owned();
    let server = Server::start_with(database, &["--log-filter", "warn,carillon=debug"]);
    let prepare = "mutation {
        createCalendar(input: { name: \"weekends\", mode: EXCLUDE, weekdays: [SAT, SUN] }) {
            calendar { id } } }";
    ask(&server, &token, prepare, json!({})).await;
    (server, token)
}

#[tokio::test]
async fn each_change_of_a_schedule_works_out_its_timing_before_it_has_the_writer() {
    let database = TestDatabase::sqlite().await;
    let (server, token) = server_with_a_calendar(&database).await;
    let create = "mutation { createSchedule(input: { name: \"alone\", calendars: [\"weekends\"],
        timing: { expressions: [\"@hourly\"] },
        task: { target: { noop: {} } } }) { schedule { id } } }";
    let made = ask(&server, &token, create, json!({})).await;
    let log = log_until_now(&server).await;
    assert!(is_before(&log), "{create}: {log}");
    let id = json!({ "id": made["createSchedule"]["schedule"]["id"] });
    for change in [
        "updateSchedule(input: { id: $id, expectedVersion: 1,
            timing: { expressions: [\"7 4 * * *\"] } }) { schedule { version } }",
        "annotateSchedule(id: $id, note: \"for the night\") { schedule { version } }",
        "rollbackSchedule(id: $id, toVersion: 1, expectedVersion: 3) { schedule { version } }",
    ] {
        let change = format!("mutation($id: UUID!) {{ {change} }}");
        ask(&server, &token, &change, id.clone()).await;
        let log = log_until_now(&server).await;
        assert!(is_before(&log), "{change}: {log}");
    }
    let pause = "mutation($id: UUID!) { pauseSchedule(id: $id, reason: \"x\") { __typename } }";
    ask(&server, &token, pause, id.clone()).await;
    let resume = "mutation($id: UUID!) { resumeSchedule(id: $id) { schedule { state } } }";
    let resumed = ask(&server, &token, resume, id.clone()).await;
    assert_eq!(resumed["resumeSchedule"]["schedule"]["state"], "ACTIVE");
    let log = log_until_now(&server).await;
    assert!(is_before(&log), "{resume}: {log}");
    ask(&server, &token, pause, id.clone()).await;
    let resume = "mutation { resumeSchedules(which: { search: \"state:paused\" }) { done } }";
    let resumed = ask(&server, &token, resume, json!({})).await;
    assert_eq!(resumed["resumeSchedules"]["done"], 1, "{resumed}");
    let log = log_until_now(&server).await;
    assert!(is_before(&log), "{resume}: {log}");
    let skip = "mutation($id: UUID!) { skipNext(id: $id, reason: \"x\") { __typename } }";
    ask(&server, &token, skip, id.clone()).await;
    let log = log_until_now(&server).await;
    assert!(is_before(&log), "{skip}: {log}");
    let delete = "mutation($id: UUID!) { deleteSchedule(id: $id) { __typename } }";
    ask(&server, &token, delete, id.clone()).await;
    let undelete = "mutation($id: UUID!) { undeleteSchedule(id: $id) {
        schedule { version calendars { name } timing { expressions } } } }";
    let restored = ask(&server, &token, undelete, id).await;
    let log = log_until_now(&server).await;
    assert!(is_before(&log), "{undelete}: {log}");
    let restored = &restored["undeleteSchedule"]["schedule"];
    assert_eq!(restored["timing"]["expressions"], json!(["@hourly"]), "{restored}");
    assert_eq!(restored["calendars"], json!([{ "name": "weekends" }]), "{restored}");
}

#[tokio::test]
async fn a_deployment_works_out_its_timings_before_it_has_the_writer() {
    let database = TestDatabase::sqlite().await;
    let (server, token) = server_with_a_calendar(&database).await;
    log_until_now(&server).await;
    let deploy = "mutation($source: String!) { deployModule(source: $source) {
        changes { action kind fields { path } } effect { isComplete } } }";
    for (hour, action) in [(3, "CREATE"), (4, "UPDATE")] {
        let source = module_with_calendars(hour);
        let done = ask(&server, &token, deploy, json!({ "source": source })).await;
        let changes = done["deployModule"]["changes"].as_array().unwrap();
        let is_it = |change: &&Value| change["kind"] == "schedule" && change["action"] == action;
        assert_eq!(changes.iter().filter(is_it).count(), 120, "{done}");
        let fields = changes.iter().flat_map(|change| change["fields"].as_array().unwrap());
        let path = |field: &Value| field["path"].as_str().unwrap().to_owned();
        assert!(!fields.map(path).any(|path| path.starts_with("calendars")), "{done}");
        assert!(done["deployModule"]["effect"].is_object(), "{done}");
        let log = log_until_now(&server).await;
        assert!(is_before(&log), "{action}: {log}");
        assert_eq!(log.matches(LOCKED).count(), 1, "{action}: {log}");
        assert!(log.contains(AFTER), "{action}: {log}");
    }
    let query = "{ schedule(name: \"s7\") { nextFireAt timing { expressions } } }";
    let found = ask(&server, &token, query, json!({})).await;
    assert_eq!(found["schedule"]["timing"]["expressions"], json!(["7 4 * * *"]));
    let next = found["schedule"]["nextFireAt"].as_str().unwrap();
    assert!(next.contains("T04:07:00"), "{next}");
    // The schedules that are no longer declared end, too.
    let mut few: Value = serde_json::from_str(&module_with_calendars(4)).unwrap();
    few["schedules"].as_object_mut().unwrap().retain(|name, _| name == "s7");
    let done = ask(&server, &token, deploy, json!({ "source": few.to_string() })).await;
    let changes = done["deployModule"]["changes"].as_array().unwrap();
    let is_it = |change: &&Value| change["kind"] == "schedule" && change["action"] == "DELETE";
    assert_eq!(changes.iter().filter(is_it).count(), 119, "{done}");
    let log = log_until_now(&server).await;
    assert!(is_before(&log), "{log}");
}
