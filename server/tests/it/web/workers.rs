//! Programs that pull tasks from the built server, over the real protocol.

use std::{collections::BTreeSet, time::Duration};

use entity::{Timestamp, job, job_line};
use reqwest::StatusCode;
use sea_orm::{EntityTrait, QueryOrder, Set};
use serde_json::{Value, json};

use crate::support::{Command, Server, TestDatabase, on_both};

on_both!(
    a_worker_pulls_a_task_logs_and_completes_it,
    of_a_long_output_the_beginning_and_the_end_are_kept,
    the_end_of_a_long_output_is_kept_although_the_worker_does_not_stop,
    of_an_endless_output_no_more_is_stored,
    a_failure_is_tried_again_unless_the_worker_knows_better,
    a_job_is_one_workers_however_many_pull,
    reports_at_once_count_each_for_itself,
    reports_in_one_request_are_answered_each_for_itself,
    a_cancelled_run_is_stopped_and_late_words_change_nothing,
    jobs_that_a_worker_leaves_behind_are_lost_and_tried_again,
    the_highest_priority_goes_first_and_no_more_than_the_queue_allows,
);

/// A running server, and the token of an administrator.
pub(super) struct Desk {
    pub(super) server: Server,
    pub(super) token: String,
}

impl Desk {
    pub(super) fn open(database: &TestDatabase) -> Self {
        let create = ["token", "create", "desk", "--role", "admin"];
        let token = Command::new(&create).on(database).run().done().trim().to_owned();
        Self { server: Server::start(database), token }
    }

    fn command(&self, args: &[&str]) -> Command {
        let server = Command::new(args).env("CARILLON_SERVER", &self.server.url);
        server.env("CARILLON_TOKEN", &self.token)
    }

    pub(super) async fn graphql(&self, query: &str, variables: Value) -> Value {
        let body = json!({ "query": query, "variables": variables });
        let request = self.server.post("/graphql").bearer_auth(&self.token).json(&body);
        let answer: Value = request.send().await.unwrap().json().await.unwrap();
        assert!(answer["errors"].is_null(), "{query}: {answer}");
        answer["data"].clone()
    }

    /// Sends one request of the protocol; returns the status and the answer.
    pub(super) async fn word(&self, word: &str, said: Value) -> (StatusCode, Value) {
        self.word_by(&self.token, word, said).await
    }

    pub(super) async fn word_by(
        &self,
        token: &str,
        word: &str,
        said: Value,
    ) -> (StatusCode, Value) {
        let request = self.server.post(&format!("/worker/v1/{word}")).bearer_auth(token);
        let answer = request.json(&said).send().await.unwrap();
        (answer.status(), answer.json().await.unwrap())
    }

    pub(super) async fn ok(&self, word: &str, said: Value) -> Value {
        let (status, answer) = self.word(word, said).await;
        assert_eq!(status, StatusCode::OK, "{word}: {answer}");
        answer
    }

    pub(super) async fn worker(&self, name: &str, capacity: i32) -> Value {
        let registered = self.ok("register", program(name, capacity)).await;
        assert_eq!(registered["maxWaitSeconds"], 20, "{registered}");
        registered["workerId"].clone()
    }

    /// Creates a schedule whose task goes to the queue `emails`, and triggers it; returns the run's
    /// key.
    pub(super) async fn run(&self, name: &str, task: Value) -> Value {
        let made = self
            .graphql(
                "mutation ($input: CreateScheduleInput!) {
                    createSchedule(input: $input) { schedule { id } } }",
                json!({ "input": {
                    "name": name, "timing": { "expressions": ["0 0 1 1 *"] },
                    "context": { "customer": 42 }, "task": task,
                } }),
            )
            .await;
        self.trigger(&made["createSchedule"]["schedule"]["id"]).await
    }

    async fn trigger(&self, schedule: &Value) -> Value {
        let trigger = "mutation ($id: UUID!) { triggerSchedule(id: $id) { run { id } } }";
        let made = self.graphql(trigger, json!({ "id": schedule })).await;
        made["triggerSchedule"]["run"]["id"].clone()
    }

    /// The next job of the worker.
    pub(super) async fn job(&self, worker: &Value) -> Value {
        for _ in 0..3 {
            let polled =
                self.ok("poll", json!({ "workerId": worker, "free": 1, "waitSeconds": 20 })).await;
            if let Some(job) = polled["jobs"].get(0) {
                return job.clone();
            }
        }
        panic!("there was no job within a minute");
    }

    /// The run, once it has ended.
    pub(super) async fn ended(&self, run: &Value) -> Value {
        let look = async {
            loop {
                let query =
                    "query ($id: UUID!) { run(id: $id) { state error output attempt finishedAt
                    tasks { attempts { attempt state error output } } } }";
                let answer = self.graphql(query, json!({ "id": run })).await;
                if !answer["run"]["finishedAt"].is_null() {
                    return answer["run"].clone();
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(60), look).await.unwrap()
    }
}

pub(super) fn program(name: &str, capacity: i32) -> Value {
    json!({
        "protocol": 1, "name": name, "queues": ["emails"], "tags": ["eu"], "capacity": capacity,
        "version": "7", "client": "test/1",
    })
}

pub(super) fn task(input: Value) -> Value {
    json!({ "target": { "worker": { "queue": "emails", "task": "send", "input": input } } })
}

pub(super) fn of(worker: &Value, job: &Value, more: Value) -> Value {
    let mut said = json!({ "workerId": worker, "id": job["id"], "token": job["token"] });
    said.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    said
}

async fn a_worker_pulls_a_task_logs_and_completes_it(database: TestDatabase) {
    let desk = Desk::open(&database);
    let worker = desk.worker("mailer", 2).await;
    let run = desk.run("nightly", task(json!({ "to": "customer {{ context.customer }}" }))).await;
    let job = desk.job(&worker).await;
    assert_eq!((&job["queue"], &job["task"]), (&json!("emails"), &json!("send")));
    assert_eq!(job["input"], json!({ "to": "customer 42" }));
    assert_eq!((&job["run"]["id"], &job["run"]["attempt"]), (&run, &json!(1)));
    assert_eq!(job["run"]["schedule"], "nightly");

    let named = json!([{ "id": job["id"], "token": job["token"] }]);
    let kept = desk.ok("heartbeat", json!({ "workerId": worker, "jobs": named })).await;
    assert_eq!(kept, json!({ "lost": [], "stop": [], "drain": false }));
    desk.ok("extend", of(&worker, &job, json!({ "seconds": 60 }))).await;
    let lines = json!([{ "text": "one" }, { "stream": "stderr", "text": "two" }]);
    desk.ok("log", of(&worker, &job, json!({ "lines": lines }))).await;
    let done = of(&worker, &job, json!({ "output": { "sent": 3 } }));
    desk.ok("complete", done.clone()).await;
    // A worker that got no answer repeats its report.
    desk.ok("complete", done).await;
    let (status, answer) =
        desk.word("complete", of(&worker, &job, json!({ "output": { "sent": 4 } }))).await;
    assert_eq!((status, &answer["error"]["code"]), (StatusCode::CONFLICT, &json!("STALE")));

    let ended = desk.ended(&run).await;
    assert_eq!(ended["state"], "SUCCEEDED", "{ended}");
    let output = &ended["tasks"][0]["attempts"][0]["output"];
    assert_eq!((&output["result"]["sent"], &output["worker"]), (&json!(3), &json!("mailer")));
    let log = "query ($id: UUID!) { taskLog(runId: $id, first: 50) { nodes { stream text } } }";
    let log = desk.graphql(log, json!({ "id": run })).await;
    let log = log["taskLog"]["nodes"].clone();
    let texts: Vec<&str> =
        log.as_array().unwrap().iter().map(|line| line["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["the worker mailer took it", "one", "two"], "{log}");
    assert_eq!(log[2]["stream"], "STDERR");
}

async fn of_a_long_output_the_beginning_and_the_end_are_kept(database: TestDatabase) {
    let desk = Desk::open(&database);
    let worker = desk.worker("mailer", 1).await;
    let run = desk.run("chatty", task(json!({}))).await;
    let job = desk.job(&worker).await;
    for request in 0..60 {
        let lines: Vec<Value> = (0..200)
            .map(|line| json!({ "text": format!("line {:05}", request * 200 + line) }))
            .collect();
        desk.ok("log", of(&worker, &job, json!({ "lines": lines }))).await;
    }
    let last = json!([{ "stream": "stderr", "text": "the disk is full" }]);
    desk.ok("log", of(&worker, &job, json!({ "lines": last }))).await;
    desk.ok("fail", of(&worker, &job, json!({ "message": "no", "retry": false }))).await;
    desk.ended(&run).await;

    let run: uuid::Uuid = run.as_str().unwrap().parse().unwrap();
    let lines = database.store.lines_after(run, 0, 100_000).await.unwrap();
    let texts: Vec<&str> = lines.iter().map(|line| &*line.text).collect();
    assert!(texts.contains(&"line 07999") && !texts.contains(&"line 08000"));
    let mark = texts.iter().position(|text| text.ends_with("left out ...")).unwrap();
    assert_eq!(texts[mark], "... 2,001 lines (22 kB) left out ...");
    // The last 2,000 lines are kept, the lines about errors among them.
    assert_eq!(texts[mark + 1], "line 10001");
    assert_eq!(texts[texts.len() - 2..], ["line 11999", "the disk is full"]);
    let printed = texts.iter().filter(|text| text.starts_with("line ")).count();
    assert_eq!(printed, 8_000 + 1_999);
}

async fn the_end_of_a_long_output_is_kept_although_the_worker_does_not_stop(
    database: TestDatabase,
) {
    let desk = Desk::open(&database);
    let worker = desk.worker("mailer", 1).await;
    let mut task = task(json!({}));
    task["killGraceSeconds"] = json!(0);
    let run = desk.run("stubborn", task).await;
    let job = desk.job(&worker).await;
    // Together these lines are longer than the part that is kept as the beginning.
    let lines = json!(vec![json!({ "text": "x".repeat(16 * 1024) }); 16]);
    for _ in 0..16 {
        desk.ok("log", of(&worker, &job, json!({ "lines": lines }))).await;
    }
    let last = json!([{ "text": "the last words" }]);
    desk.ok("log", of(&worker, &job, json!({ "lines": last }))).await;
    let cancel = "mutation ($id: UUID!) { cancelRun(id: $id) { run { id } } }";
    desk.graphql(cancel, json!({ "id": run })).await;
    assert_eq!(desk.ended(&run).await["state"], "CANCELLED");
    let run: uuid::Uuid = run.as_str().unwrap().parse().unwrap();
    let lines = database.store.lines_after(run, 0, 100_000).await.unwrap();
    assert!(lines.iter().any(|line| line.text == "the last words"));
}

async fn of_an_endless_output_no_more_is_stored(database: TestDatabase) {
    let desk = Desk::open(&database);
    let worker = desk.worker("mailer", 1).await;
    desk.run("endless", task(json!({}))).await;
    let job = desk.job(&worker).await;
    // Makes the attempt look as if it had already printed much.
    let tx = database.store.begin().await.unwrap();
    let line_bytes = Set(64 * 1024 * 1024 - 3);
    let row = job::ActiveModel { line_bytes, ..job::ActiveModel::default() };
    job::Entity::update_many().set(row).exec(&tx).await.unwrap();
    database.store.commit(tx).await.unwrap();
    for text in ["four", "more", "more still"] {
        let lines = json!([{ "text": text }]);
        desk.ok("log", of(&worker, &job, json!({ "lines": lines }))).await;
    }
    let read = database.store.read();
    let lines = job_line::Entity::find().order_by_asc(job_line::Column::Seq);
    let lines = lines.all(read).await.unwrap();
    let texts: Vec<&str> = lines.iter().map(|line| &*line.text).collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts[0] == "four" && texts[1].contains("only counted"), "{texts:?}");
    assert_eq!(job::Entity::find().one(read).await.unwrap().unwrap().lines, 4);
}

async fn a_failure_is_tried_again_unless_the_worker_knows_better(database: TestDatabase) {
    let desk = Desk::open(&database);
    let worker = desk.worker("mailer", 2).await;
    let mut task = task(json!({}));
    task["retry"] = json!({ "maxAttempts": 3, "initialSeconds": 0, "maxSeconds": 0 });
    let run = desk.run("nightly", task).await;
    let first = desk.job(&worker).await;
    desk.ok("fail", of(&worker, &first, json!({ "message": "the mail server is away" }))).await;
    let second = desk.job(&worker).await;
    assert_eq!(second["run"]["attempt"], 2);
    assert_ne!(second["id"], first["id"]);
    assert_eq!(second["run"]["idempotencyKey"], first["run"]["idempotencyKey"]);
    let why = json!({ "message": "there is no such customer", "retry": false });
    desk.ok("fail", of(&worker, &second, why)).await;
    let ended = desk.ended(&run).await;
    assert_eq!((&ended["state"], &ended["attempt"]), (&json!("FAILED"), &json!(2)), "{ended}");
    assert_eq!(ended["error"], "there is no such customer");
    let attempts = &ended["tasks"][0]["attempts"];
    assert_eq!(attempts[0]["error"], "the mail server is away", "{attempts}");
}

async fn a_job_is_one_workers_however_many_pull(database: TestDatabase) {
    const JOBS: usize = 40;
    let desk = Desk::open(&database);
    let mut runs = vec![desk.run("nightly", task(json!({}))).await];
    let schedule = desk.graphql("{ schedules { nodes { id } } }", json!({})).await;
    let schedule = schedule["schedules"]["nodes"][0]["id"].clone();
    for _ in 1..JOBS {
        runs.push(desk.trigger(&schedule).await);
    }
    let pulls = async |name: &str| {
        let worker = desk.worker(name, 5).await;
        let mut mine = Vec::new();
        let mut idle = 0;
        while idle < 2 {
            let ask = json!({ "workerId": worker, "free": 5, "waitSeconds": 1 });
            let polled = desk.ok("poll", ask).await;
            let jobs = polled["jobs"].as_array().unwrap().clone();
            idle = if jobs.is_empty() { idle + 1 } else { 0 };
            assert!(jobs.len() <= 5, "no more than there is room for");
            for job in jobs {
                mine.push(job["id"].to_string());
                desk.ok("complete", of(&worker, &job, json!({}))).await;
            }
        }
        mine
    };
    let (a, b, c, d) = tokio::join!(pulls("a"), pulls("b"), pulls("c"), pulls("d"));
    let all: Vec<String> = [a, b, c, d].concat();
    assert_eq!(all.len(), JOBS, "nothing is lost, nothing is doubled");
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), JOBS);
    for run in &runs {
        assert_eq!(desk.ended(run).await["state"], "SUCCEEDED");
    }
}

/// Reports share a transaction. A report about a job of another worker is refused, without an
/// effect on the other reports.
async fn reports_at_once_count_each_for_itself(database: TestDatabase) {
    const JOBS: usize = 40;
    let desk = Desk::open(&database);
    let worker = desk.worker("mailer", 100).await;
    let mut runs = vec![desk.run("nightly", task(json!({}))).await];
    let schedule = desk.graphql("{ schedules { nodes { id } } }", json!({})).await;
    let schedule = schedule["schedules"]["nodes"][0]["id"].clone();
    for _ in 1..JOBS {
        runs.push(desk.trigger(&schedule).await);
    }
    let mut jobs = Vec::new();
    while jobs.len() < JOBS {
        let ask = json!({ "workerId": worker, "free": 100, "waitSeconds": 20 });
        jobs.extend(desk.ok("poll", ask).await["jobs"].as_array().unwrap().clone());
    }
    let report = |index: usize| {
        let (desk, worker, job) = (&desk, &worker, &jobs[index]);
        async move {
            let forged = json!({ "id": job["id"], "token": "carjob_forged" });
            let (completed, failed) = (
                of(worker, job, json!({ "output": index })),
                json!({ "message": "no", "retry": false }),
            );
            let said =
                |(status, answer): (StatusCode, Value)| (status, answer["error"]["code"].clone());
            match index % 4 {
                0 => desk.ok("fail", of(worker, job, failed)).await,
                // The worker sends the same report twice at once, as it would after a lost answer.
                1 => {
                    let twice = [
                        desk.word("complete", completed.clone()),
                        desk.word("complete", completed),
                    ];
                    for answer in futures::future::join_all(twice).await {
                        assert_eq!(said(answer), (StatusCode::OK, Value::Null));
                    }
                    json!({})
                }
                2 => {
                    let (true_one, false_one) = tokio::join!(
                        desk.word("complete", completed),
                        desk.word("complete", of(worker, &forged, json!({ "output": "forged" }))),
                    );
                    assert_eq!(said(true_one), (StatusCode::OK, Value::Null));
                    assert_eq!(said(false_one), (StatusCode::CONFLICT, json!("STALE")));
                    json!({})
                }
                _ => desk.ok("complete", completed).await,
            }
        }
    };
    futures::future::join_all((0..JOBS).map(report)).await;
    for (index, job) in jobs.iter().enumerate() {
        let ended = desk.ended(&job["run"]["id"]).await;
        let expected = match index % 4 {
            0 => (json!("FAILED"), json!("no"), Value::Null),
            _ => (json!("SUCCEEDED"), Value::Null, json!(index)),
        };
        assert_eq!((&ended["state"], &ended["error"]), (&expected.0, &expected.1), "{ended}");
        let output = &ended["tasks"][0]["attempts"][0]["output"];
        assert_eq!(output["value"], expected.2, "{ended}");
    }
}

/// An entry that is refused has no effect on the others, and a repeated one gets the same answer.
async fn reports_in_one_request_are_answered_each_for_itself(database: TestDatabase) {
    let desk = Desk::open(&database);
    let worker = desk.worker("mailer", 10).await;
    let mut jobs = Vec::new();
    for name in ["good", "bad", "large", "forged"] {
        desk.run(name, task(json!({}))).await;
        jobs.push(desk.job(&worker).await);
    }
    let end = |index: usize, mut said: Value| {
        said["id"] = jobs[index]["id"].clone();
        said["token"] = jobs[index]["token"].clone();
        said
    };
    let mut forged = end(3, json!({ "output": 4 }));
    forged["token"] = json!("carjob_forged");
    let ends = json!([
        end(0, json!({ "output": 1 })),
        end(1, json!({ "message": "no", "retry": false })),
        end(2, json!({ "output": "x".repeat(300_000) })),
        forged,
        end(0, json!({ "output": 1 })),
        end(2, json!({ "message": " " })),
    ]);
    let answer = desk.ok("report", json!({ "workerId": worker, "ends": ends })).await;
    let answers: Vec<(u64, &str, &str)> = answer["answers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            let text = |field: &str| one["error"][field].as_str().unwrap_or_default();
            (one["status"].as_u64().unwrap(), text("code"), text("field"))
        })
        .collect();
    let expected = [
        (200, "", ""),
        (200, "", ""),
        (400, "BAD_USER_INPUT", "output"),
        (409, "STALE", ""),
        (200, "", ""),
        (400, "BAD_USER_INPUT", "message"),
    ];
    assert_eq!(answers, expected, "{answer}");
    let ended = desk.ended(&jobs[0]["run"]["id"]).await;
    assert_eq!(ended["tasks"][0]["attempts"][0]["output"]["value"], 1, "{ended}");
    assert_eq!(desk.ended(&jobs[1]["run"]["id"]).await["error"], "no");
    // The two that were refused are still the worker's.
    for (index, output) in [(2, 3), (3, 4)] {
        desk.ok("complete", of(&worker, &jobs[index], json!({ "output": output }))).await;
        assert_eq!(desk.ended(&jobs[index]["run"]["id"]).await["state"], "SUCCEEDED");
    }
}

async fn a_cancelled_run_is_stopped_and_late_words_change_nothing(database: TestDatabase) {
    let desk = Desk::open(&database);
    let worker = desk.worker("mailer", 2).await;
    let mut task = task(json!({}));
    task["killGraceSeconds"] = json!(1);
    let run = desk.run("nightly", task).await;
    let job = desk.job(&worker).await;
    let cancel = "mutation ($id: UUID!) { cancelRun(id: $id) { run { id } } }";
    desk.graphql(cancel, json!({ "id": run })).await;
    // Workers that wait for jobs learn of the cancellation at once.
    let ask = json!({ "workerId": worker, "free": 0, "waitSeconds": 20 });
    let named = json!([{ "id": job["id"], "token": job["token"] }]);
    let polled = desk.ok("poll", ask).await;
    let beat = desk.ok("heartbeat", json!({ "workerId": worker, "jobs": named })).await;
    let told = [&polled["stop"], &beat["stop"], &beat["lost"]];
    assert!(told.iter().any(|list| list[0] == job["id"]), "{polled} {beat}");
    assert_eq!(desk.ended(&run).await["state"], "CANCELLED");
    let (status, answer) = desk.word("complete", of(&worker, &job, json!({}))).await;
    assert_eq!((status, &answer["error"]["code"]), (StatusCode::CONFLICT, &json!("STALE")));
    let beat = desk.ok("heartbeat", json!({ "workerId": worker, "jobs": named })).await;
    assert_eq!(beat["lost"][0], job["id"]);
    // A request with another worker's key does not end the job either.
    let forged = json!({ "id": job["id"], "token": "carjob_forged" });
    let (status, _) = desk.word("complete", of(&worker, &forged, json!({}))).await;
    assert_eq!(status, StatusCode::CONFLICT);
}

async fn jobs_that_a_worker_leaves_behind_are_lost_and_tried_again(database: TestDatabase) {
    let desk = Desk::open(&database);
    let leaving = desk.worker("leaving", 1).await;
    let mut task = task(json!({}));
    task["retry"] = json!({ "maxAttempts": 2, "initialSeconds": 0, "maxSeconds": 0 });
    let run = desk.run("nightly", task).await;
    let job = desk.job(&leaving).await;
    desk.ok("leave", json!({ "workerId": leaving })).await;
    let (status, answer) = desk.word("complete", of(&leaving, &job, json!({}))).await;
    assert_eq!((status, &answer["error"]["code"]), (StatusCode::NOT_FOUND, &json!("NOT_FOUND")));
    let other = desk.worker("other", 1).await;
    let again = desk.job(&other).await;
    assert_eq!(again["run"]["attempt"], 2);
    desk.ok("complete", of(&other, &again, json!({}))).await;
    let ended = desk.ended(&run).await;
    assert_eq!(ended["state"], "SUCCEEDED", "{ended}");
    let error = ended["tasks"][0]["attempts"][0]["error"].as_str().unwrap();
    let whom = ["the worker leaving was lost", "its worker was lost"];
    assert!(whom.iter().any(|whom| error.starts_with(whom)), "{error}");
}

async fn the_highest_priority_goes_first_and_no_more_than_the_queue_allows(database: TestDatabase) {
    const QUEUES: &str = "{ workerQueues { name workers free waiting waitingSince held maxJobs } }";
    let desk = Desk::open(&database);
    let limit = async |arguments: &[&str]| {
        let workers = [&["workers", "limit", "emails"], arguments].concat();
        desk.command(&workers).run().done()
    };
    let said = limit(&["--max", "2"]).await;
    assert_eq!(said.trim(), "workers have 2 jobs of 'emails' at once, 0 now");
    let told: Value = serde_json::from_str(&limit(&["--max", "2", "--json"]).await).unwrap();
    assert_eq!((&told["name"], &told["maxJobs"]), (&json!("emails"), &json!(2)), "{told}");
    for (name, priority) in [("plain", 0), ("urgent", 5), ("idle", -5)] {
        let made = desk
            .graphql(
                "mutation ($input: CreateScheduleInput!) {
                    createSchedule(input: $input) { schedule { id } } }",
                json!({ "input": {
                    "name": name, "timing": { "expressions": ["0 0 1 1 *"] },
                    "priority": priority, "task": task(json!({})),
                } }),
            )
            .await;
        desk.trigger(&made["createSchedule"]["schedule"]["id"]).await;
    }
    let queue = async |waiting: i64| {
        let look = async {
            loop {
                let queues = desk.graphql(QUEUES, json!({})).await;
                if queues["workerQueues"][0]["waiting"] == waiting {
                    return queues["workerQueues"][0].clone();
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(60), look).await.unwrap()
    };
    let waits = queue(3).await;
    assert_eq!((&waits["workers"], &waits["maxJobs"]), (&json!(0), &json!(2)), "{waits}");
    assert!(waits["waitingSince"].is_string(), "{waits}");

    let worker = desk.worker("mailer", 5).await;
    let polls = async || {
        let ask = json!({ "workerId": worker, "free": 5, "waitSeconds": 0 });
        desk.ok("poll", ask).await["jobs"].as_array().unwrap().clone()
    };
    let jobs = polls().await;
    let names: Vec<_> = jobs.iter().map(|job| job["run"]["schedule"].clone()).collect();
    assert_eq!(names, ["urgent", "plain"]);
    assert!(polls().await.is_empty(), "two are at work");
    // Workers that wait do not try to take jobs, because that would need the database's writer.
    let takeable = async || {
        let (kinds, _) = database.store.waiting_for_workers(Timestamp(0)).await.unwrap();
        kinds.into_iter().map(|kind| kind.queue).collect::<Vec<_>>()
    };
    assert!(takeable().await.is_empty(), "the queue is full");
    let full = queue(1).await;
    assert_eq!((&full["held"], &full["free"]), (&json!(2), &json!(3)), "{full}");
    desk.ok("complete", of(&worker, &jobs[0], json!({}))).await;
    assert_eq!(takeable().await, ["emails"]);
    assert_eq!(polls().await[0]["run"]["schedule"], "idle");

    let list = desk.command(&["workers"]).run().done();
    assert!(list.contains("mailer") && list.contains("2/5"), "{list}");
    assert_eq!(limit(&["--none"]).await.trim(), "the queue 'emails' no longer has a limit");
    assert_eq!(queue(0).await["maxJobs"], Value::Null);
    let bad = ["workers", "limit", "emails", "--max", "0"];
    let refused = desk.command(&bad).run().refused(1);
    assert!(refused.contains("1 to 10000"), "{refused}");
}
