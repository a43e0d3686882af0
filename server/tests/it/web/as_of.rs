//! A run that a user starts for another instant: the target receives that instant.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    engine::gate::Gate,
    support::{Command, Server, TestDatabase, on_both},
};

on_both!(
    a_request_and_its_retry_receive_the_requested_instant,
    a_program_and_its_retry_receive_the_requested_instant,
);

/// An instant at which the schedule does not fire, and which is not the present.
const AS_OF: &str = "2026-02-03T04:05:06Z";

struct Desk {
    server: Server,
    token: String,
}

impl Desk {
    fn open(database: &TestDatabase) -> Self {
        let create = ["token", "create", "ci", "--role", "admin"];
        let token = Command::new(&create).on(database).run().done().trim().to_owned();
        let config = "allow_commands = true\negress.private_addresses = true";
        Self { server: Server::start_configured(database, config), token }
    }

    async fn ask(&self, query: &str, variables: Value) -> Value {
        let body = json!({ "query": query, "variables": variables });
        let request = self.server.post("/graphql").bearer_auth(&self.token).json(&body);
        let answer: Value = request.send().await.unwrap().json().await.unwrap();
        assert!(answer["errors"].is_null(), "{query}: {answer}");
        answer["data"].clone()
    }

    /// Runs a schedule with this target for that instant; returns the run's key.
    async fn trigger(&self, target: Value) -> Value {
        let input = json!({
            "name": "nightly", "timing": { "expressions": ["0 0 1 1 *"] },
            "task": { "target": target },
        });
        let create = "mutation($input: CreateScheduleInput!) {
            createSchedule(input: $input) { schedule { id } } }";
        let made = self.ask(create, json!({ "input": input })).await;
        let trigger = "mutation($id: UUID!, $asOf: DateTime) {
            triggerSchedule(id: $id, asOf: $asOf) { run { id } } }";
        let id = &made["createSchedule"]["schedule"]["id"];
        let started = self.ask(trigger, json!({ "id": id, "asOf": AS_OF })).await;
        started["triggerSchedule"]["run"]["id"].clone()
    }

    /// Waits until the run has failed, and repeats it; returns the new run's key.
    async fn again(&self, run: &Value) -> Value {
        self.failed(run).await;
        let retry = "mutation($id: UUID!) { retryRun(id: $id) { run { id } } }";
        self.ask(retry, json!({ "id": run })).await["retryRun"]["run"]["id"].clone()
    }

    async fn failed(&self, run: &Value) {
        let wait = "query($id: UUID!) { run(id: $id) { state error } }";
        let look = async {
            loop {
                let run = self.ask(wait, json!({ "id": run })).await;
                if run["run"]["state"] == "FAILED" {
                    return;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(60), look).await.unwrap();
    }

    async fn log(&self, run: &Value) -> Value {
        let query = "query($id: UUID!) { taskLog(runId: $id) { nodes { text } } }";
        self.ask(query, json!({ "id": run })).await["taskLog"]["nodes"].clone()
    }
}

async fn a_request_and_its_retry_receive_the_requested_instant(database: TestDatabase) {
    let desk = Desk::open(&database);
    let mut gate = Gate::open().await;
    let body = json!({ "at": "{{ scheduled_at }}", "day": "{{ scheduled_at[:10] }}" });
    let target = json!({ "http": { "url": gate.url(), "json": body } });
    let run = desk.trigger(target).await;
    let expected = json!({ "at": AS_OF, "day": "2026-02-03" });
    let first = gate.arrival().await;
    let key = first.key.clone();
    assert_eq!(first.body, expected);
    first.answer(500);
    let again = desk.again(&run).await;
    let second = gate.arrival().await;
    assert_eq!((&second.body, &second.key), (&expected, &key));
    second.answer(500);
    desk.failed(&again).await;
}

async fn a_program_and_its_retry_receive_the_requested_instant(database: TestDatabase) {
    let desk = Desk::open(&database);
    let script = "echo \"$CARILLON_SCHEDULED_AT $CARILLON_IDEMPOTENCY_KEY\"; exit 1";
    let run = desk.trigger(json!({ "command": { "script": script } })).await;
    let again = desk.again(&run).await;
    desk.failed(&again).await;
    let expected = json!([{ "text": format!("{AS_OF} {}", run.as_str().unwrap()) }]);
    assert_eq!(desk.log(&run).await, expected);
    assert_eq!(desk.log(&again).await, expected);
}
