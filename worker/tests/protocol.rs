//! A worker against a scripted server. The server speaks the protocol and has faults that a real
//! server rarely has.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Json, Router,
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::post,
};
use carillon_worker::{
    Context, Error, Failure, Job, Program, Running, Stopper, Stream, Worker, scheduled, task,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::watch;

#[derive(Default)]
struct Script {
    requests: Vec<(String, Value)>,
    answers: HashMap<String, VecDeque<(u16, Value)>>,
    jobs: Vec<Value>,
    stop: Vec<String>,
    /// The job whose log lines are never answered.
    silent_to: Option<String>,
}

#[derive(Clone)]
struct Fake {
    url: String,
    script: Arc<Mutex<Script>>,
    changed: watch::Sender<()>,
    heartbeat: f64,
}

impl Fake {
    async fn start() -> Self {
        Self::with_heartbeat(10.0).await
    }

    async fn with_heartbeat(heartbeat: f64) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let fake = Self { url, script: Arc::default(), changed: watch::Sender::new(()), heartbeat };
        let router = Router::new().route("/worker/v1/{word}", post(answer));
        let router = router.with_state(fake.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        fake
    }

    fn change(&self, change: impl FnOnce(&mut Script)) {
        change(&mut self.script.lock().unwrap());
        self.changed.send_replace(());
    }

    fn give(&self, task: &str, input: Value) {
        let job = json!({
            "id": format!("job-{task}"), "token": "fence-1", "queue": "emails", "task": task,
            "input": input, "timeoutSeconds": 300.0,
            "run": {
                "id": "run-1", "attempt": 1, "task": "main", "namespace": "default",
                "schedule": "nightly", "scheduleId": "schedule-1", "scheduleVersion": 3,
                "scheduledAt": "2026-11-26T02:00:00Z",
                "idempotencyKey": "key-1", "traceparent": null,
            },
        });
        self.change(|script| script.jobs.push(job));
    }

    fn script(&self, word: &str, status: u16, code: &str) {
        let error = json!({ "error": { "code": code, "message": format!("says {code}") } });
        self.change(|script| {
            script.answers.entry(word.to_owned()).or_default().push_back((status, error));
        });
    }

    /// Records a request; returns its answer, if the script has one.
    fn heard(&self, word: &str, body: &Value) -> Option<(u16, Value)> {
        let mut scripted = None;
        self.change(|script| {
            scripted = script.answers.get_mut(word).and_then(VecDeque::pop_front);
            script.requests.push((word.to_owned(), body.clone()));
        });
        scripted
    }

    /// Records each report of a request as a `complete` or a `fail`, and answers it so.
    fn answers_to(&self, body: &Value) -> Vec<Value> {
        let answer = |end: &Value| {
            let word = if end["message"].is_null() { "complete" } else { "fail" };
            let mut alone = end.clone();
            alone["workerId"] = body["workerId"].clone();
            match self.heard(word, &alone) {
                Some((status, answer)) => json!({ "status": status, "error": answer["error"] }),
                None => json!({ "status": 200 }),
            }
        };
        body["ends"].as_array().unwrap().iter().map(answer).collect()
    }

    fn is_silent_to(&self, job: &Value) -> bool {
        self.script.lock().unwrap().silent_to.as_deref().is_some_and(|silent| job == silent)
    }

    fn bodies(&self, word: &str) -> Vec<Value> {
        let script = self.script.lock().unwrap();
        let of_word = script.requests.iter().filter(|(asked, _)| asked == word);
        of_word.map(|(_, body)| body.clone()).collect()
    }

    async fn wait_for(&self, word: &str, count: usize) -> Vec<Value> {
        let mut changes = self.changed.subscribe();
        let came = changes.wait_for(|()| self.bodies(word).len() >= count);
        tokio::time::timeout(Duration::from_secs(20), came).await.expect("requests").unwrap();
        self.bodies(word)
    }
}

async fn answer(
    State(fake): State<Fake>,
    Path(word): Path<String>,
    Json(body): Json<Value>,
) -> Response {
    if let Some((status, answer)) = fake.heard(&word, &body) {
        return (StatusCode::from_u16(status).unwrap(), Json(answer)).into_response();
    }
    let answer = match word.as_str() {
        "register" => json!({
            "workerId": format!("worker-{}", fake.bodies("register").len()), "leaseSeconds": 30,
            "heartbeatSeconds": fake.heartbeat, "maxWaitSeconds": 20,
        }),
        "poll" => {
            let has_news = |(): &()| {
                let script = fake.script.lock().unwrap();
                !script.jobs.is_empty() || !script.stop.is_empty()
            };
            fake.changed.subscribe().wait_for(has_news).await.unwrap();
            let mut script = fake.script.lock().unwrap();
            let jobs = std::mem::take(&mut script.jobs);
            json!({ "jobs": jobs, "stop": std::mem::take(&mut script.stop), "drain": false })
        }
        "log" if fake.is_silent_to(&body["id"]) => std::future::pending().await,
        "extend" => json!({ "leaseSeconds": body["seconds"] }),
        "report" => json!({ "answers": fake.answers_to(&body) }),
        _ => json!({}),
    };
    Json(answer).into_response()
}

#[derive(Deserialize)]
struct Letter {
    to: String,
    copies: u32,
}

#[derive(Serialize)]
struct Sent {
    to: String,
    copies: u32,
    at: String,
    schedule: Option<String>,
    version: Option<i32>,
}

#[scheduled(
    cron = "0 2 * * *",
    zone = "Europe/Berlin",
    queue = "emails",
    attempts = 3,
    schedule = "nightly",
    input = r#"{ "to": "{{ context.to }}", "copies": 2 }"#,
    options = r#"{ "misfire": { "catch_up": "all" } }"#,
    timeout = "10m",
    note = "at night"
)]
#[scheduled(
    cron = ["@every 6h", "0 0 1 1 *"],
    schedule = "often",
    tags = ["billing", "eu"],
    worker_tags = "gpu",
    retry = r#"{ "max_attempts": 5, "backoff": "fixed", "initial": "2s" }"#
)]
async fn send(letter: Letter, context: Context) -> Result<Sent, Failure> {
    context.log("one\ntwo");
    context.log_to(Stream::Stderr, "three");
    let at = context.scheduled_at().ok_or_else(|| Failure::new("by hand"))?.to_rfc3339();
    let schedule = context.schedule_id().map(str::to_owned);
    let version = context.schedule_version();
    Ok(Sent { to: letter.to, copies: letter.copies, at, schedule, version })
}

#[task(queue = "emails")]
async fn breaks() -> Result<(), Failure> {
    Err("no number".parse::<u32>().map(drop).unwrap_err())?
}

#[task(queue = "emails")]
async fn refuses() -> Result<(), Failure> {
    Err(Failure::permanent("no such customer"))
}

#[task(queue = "emails")]
async fn says_nothing() -> Result<(), Failure> {
    Err(Failure::permanent(" "))
}

#[task(queue = "emails")]
#[expect(clippy::panic, reason = "a function that panics is what is tried")]
async fn panics() -> Result<(), Failure> {
    panic!("out of paper")
}

#[task(queue = "emails")]
async fn waits(context: Context) -> Result<(), Failure> {
    context.cancelled().await;
    Err(Failure::new("stopped"))
}

/// Prints until it is stopped.
#[task(queue = "emails")]
async fn chatters(context: Context) -> Result<(), Failure> {
    while !context.is_cancelled() {
        context.log("more");
        tokio::task::yield_now().await;
    }
    Ok(())
}

#[task(queue = "emails")]
async fn tells(context: Context) -> Result<(), Failure> {
    context.log("begun");
    context.cancelled().await;
    Ok(())
}

#[task(queue = "emails")]
async fn extends(context: Context) -> Result<u64, Failure> {
    Ok(context.extend(Duration::from_secs(120)).await?.as_secs())
}

/// Returns an output that is nested too deep to be read.
#[task(queue = "emails")]
async fn nests() -> Result<Value, Failure> {
    Ok((0..200).fold(json!("innermost"), |inner, _| json!([inner])))
}

fn program() -> Program {
    let program = Program::new("mailer").with::<send>().with::<breaks>().with::<refuses>();
    let program = program.with::<panics>().with::<waits>().with::<extends>().with::<nests>();
    program.with::<chatters>().with::<tells>().with::<says_nothing>()
}

type Ended = tokio::task::JoinHandle<Result<(), Error>>;

/// A running worker.
struct AtWork {
    stopper: Stopper,
    ended: Ended,
}

fn start(fake: &Fake, capacity: usize) -> AtWork {
    let worker = Worker::new(&fake.url, "secret", &program()).name("mailer-1").capacity(capacity);
    AtWork { stopper: worker.stopper(), ended: tokio::spawn(worker.run()) }
}

async fn end(worker: AtWork) {
    worker.stopper.stop();
    tokio::time::timeout(Duration::from_secs(20), worker.ended).await.unwrap().unwrap().unwrap();
}

#[test]
fn a_program_is_a_module() {
    let module = program().module().unwrap();
    let expected = json!({
        "module": "mailer", "namespace": "default",
        "schedules": {
            "nightly": {
                "when": ["0 2 * * *"], "zone": "Europe/Berlin", "overlap": "skip",
                "note": "at night", "misfire": { "catch_up": "all" },
                "task": {
                    "timeout": "10m", "retry": { "max_attempts": 3 },
                    "target": { "worker": {
                        "queue": "emails", "task": "send",
                        "input": { "to": "{{ context.to }}", "copies": 2 },
                    } },
                },
            },
            "often": {
                "when": ["@every 6h", "0 0 1 1 *"], "zone": "UTC", "overlap": "skip",
                "tags": ["billing", "eu"],
                "task": {
                    "retry": { "max_attempts": 5, "backoff": "fixed", "initial": "2s" },
                    "target": { "worker": {
                        "queue": "emails", "task": "send", "tags": ["gpu"],
                    } },
                },
            },
        },
    });
    assert_eq!(module, expected);
    let twice = Program::new("mailer").with::<send>().with::<send>().module().unwrap_err();
    assert!(twice.to_string().contains("two declare the task send"), "{twice}");
}

#[tokio::test]
async fn a_job_runs_with_typed_input_and_its_output_is_told() {
    let fake = Fake::start().await;
    let worker = start(&fake, 3);
    fake.give("send", json!({ "to": "ada", "copies": 2 }));
    let told = fake.wait_for("complete", 1).await;
    let output = json!({
        "to": "ada", "copies": 2, "at": "2026-11-26T02:00:00+00:00",
        "schedule": "schedule-1", "version": 3,
    });
    let expected = json!({
        "workerId": "worker-1", "id": "job-send", "token": "fence-1", "output": output,
    });
    assert_eq!(told, [expected]);
    let lines = &fake.bodies("log")[0]["lines"];
    let line = |stream: &str, text: &str| json!({ "stream": stream, "text": text });
    let expected = [line("stdout", "one"), line("stdout", "two"), line("stderr", "three")];
    assert_eq!(*lines, json!(expected));

    fake.give("extends", json!({}));
    assert_eq!(fake.wait_for("complete", 2).await[1]["output"], 120);
    end(worker).await;
    assert_eq!(fake.bodies("leave"), [json!({ "workerId": "worker-1", "jobs": [] })]);
    let registered = &fake.bodies("register")[0];
    assert_eq!(registered["queues"], json!(["emails"]));
    assert_eq!(registered["capacity"], 3);
}

#[tokio::test]
async fn one_handler_gets_the_jobs_of_all_tasks() {
    let fake = Fake::start().await;
    let worker = Worker::new(&fake.url, "secret", &Program::new("agent")).queues(["emails"]);
    let worker = worker.handler(|job: Job| -> Running {
        Box::pin(async move {
            let context = job.context();
            context.log("before");
            context.flush().await;
            Ok(json!({ "ran": job.task() }))
        })
    });
    let worker = AtWork { stopper: worker.stopper(), ended: tokio::spawn(worker.run()) };
    fake.give("anything", json!({}));
    let told = fake.wait_for("complete", 1).await;
    assert_eq!(told[0]["output"], json!({ "ran": "anything" }));
    assert_eq!(fake.bodies("log")[0]["lines"][0]["text"], "before");
    end(worker).await;
}

#[tokio::test]
async fn a_handler_that_panics_fails_the_job() {
    let fake = Fake::start().await;
    let worker = Worker::new(&fake.url, "secret", &Program::new("agent")).queues(["emails"]);
    let worker = worker.handler(|job: Job| -> Running {
        assert_eq!(job.task(), "other");
        Box::pin(std::future::ready(Ok(json!({}))))
    });
    let worker = AtWork { stopper: worker.stopper(), ended: tokio::spawn(worker.run()) };
    fake.give("anything", json!({}));
    let told = fake.wait_for("fail", 1).await;
    assert!(told[0]["message"].as_str().unwrap().contains("panicked"), "{told:?}");
    end(worker).await;
}

#[tokio::test]
async fn a_job_that_prints_without_end_delays_no_other() {
    let fake = Fake::start().await;
    let worker = start(&fake, 2);
    fake.change(|script| script.silent_to = Some("job-chatters".to_owned()));
    fake.give("chatters", json!({}));
    fake.wait_for("log", 1).await;
    fake.give("tells", json!({}));
    let mut changes = fake.changed.subscribe();
    let came = changes.wait_for(|()| fake.bodies("log").iter().any(|log| log["id"] == "job-tells"));
    tokio::time::timeout(Duration::from_secs(20), came).await.expect("its lines").unwrap();
    worker.ended.abort();
}

#[tokio::test]
async fn failures_say_why_and_whether_to_try_again() {
    let fake = Fake::start().await;
    let worker = start(&fake, 8);
    for (task, input, expected, retry) in [
        ("breaks", json!({}), "invalid digit found in string", true),
        ("refuses", json!({}), "no such customer", false),
        ("says_nothing", json!({}), "the function gave no reason", false),
        ("panics", json!({}), "panicked", true),
        ("send", json!({ "to": "ada", "copies": "2" }), "copies: invalid type", false),
        ("unknown", json!({}), "this worker has no task named \"unknown\"", true),
    ] {
        let before = fake.bodies("fail").len();
        fake.give(task, input);
        let told = fake.wait_for("fail", before + 1).await.pop().unwrap();
        assert!(told["message"].as_str().unwrap().contains(expected), "{told}");
        assert_eq!(told["retry"], retry, "{told}");
    }
    end(worker).await;
}

#[tokio::test]
async fn an_unanswered_report_is_repeated_and_a_stale_one_is_dropped() {
    let fake = Fake::start().await;
    fake.script("register", 503, "UNAVAILABLE");
    fake.script("poll", 429, "RATE_LIMITED");
    fake.script("poll", 408, "HTTP_408");
    fake.script("complete", 503, "UNAVAILABLE");
    fake.script("complete", 409, "STALE");
    let worker = start(&fake, 8);
    fake.give("send", json!({ "to": "ada", "copies": 1 }));
    let told = fake.wait_for("complete", 2).await;
    assert_eq!(told[0], told[1]);

    fake.script("complete", 400, "BAD_USER_INPUT");
    fake.give("send", json!({ "to": "bo", "copies": 1 }));
    let told = fake.wait_for("fail", 1).await;
    assert_eq!(told[0]["message"], "the server refused the output: says BAD_USER_INPUT");
    assert_eq!(told[0]["retry"], false);
    end(worker).await;
    assert_eq!(fake.bodies("complete").len(), 3);
}

#[tokio::test]
async fn a_request_of_reports_that_is_not_answered_is_repeated_as_it_was() {
    let fake = Fake::start().await;
    let worker = start(&fake, 8);
    fake.script("report", 503, "UNAVAILABLE");
    fake.give("send", json!({ "to": "ada", "copies": 1 }));
    fake.wait_for("report", 1).await;
    fake.give("breaks", json!({}));
    fake.give("refuses", json!({}));
    fake.wait_for("fail", 2).await;
    end(worker).await;
    let reports = fake.bodies("report");
    assert_eq!(reports[0], reports[1]);
    // Each job was reported once, alone or with another one.
    assert_eq!((fake.bodies("complete").len(), fake.bodies("fail").len()), (1, 2));
}

#[tokio::test]
async fn an_output_that_cannot_be_read_fails_only_its_own_job() {
    let fake = Fake::start().await;
    let worker = start(&fake, 8);
    // While this report waits to be repeated, the other jobs end: one request has both.
    fake.script("report", 503, "UNAVAILABLE");
    fake.give("extends", json!({}));
    fake.wait_for("report", 1).await;
    fake.give("nests", json!({}));
    fake.give("send", json!({ "to": "ada", "copies": 1 }));
    fake.give("breaks", json!({}));
    let failed = fake.wait_for("fail", 2).await;
    fake.wait_for("complete", 2).await;
    end(worker).await;
    let of = |id: &str| failed.iter().find(|told| told["id"] == id).unwrap();
    assert_eq!(of("job-nests")["retry"], false);
    let message = of("job-nests")["message"].as_str().unwrap();
    assert!(message.starts_with("the server refused the output"), "{message}");
    assert_eq!(of("job-breaks")["message"], "invalid digit found in string");
    let mut completed: Vec<Value> =
        fake.bodies("complete").iter().map(|told| told["id"].clone()).collect();
    completed.sort_by_key(Value::to_string);
    assert_eq!(completed, ["job-extends", "job-send"]);
}

#[tokio::test]
async fn a_server_without_requests_of_several_reports_gets_each_alone() {
    let fake = Fake::start().await;
    let worker = start(&fake, 8);
    // The jobs are reported in one request or in two.
    fake.script("report", 404, "NOT_FOUND");
    fake.script("report", 404, "NOT_FOUND");
    fake.give("extends", json!({}));
    fake.give("refuses", json!({}));
    let completed = fake.wait_for("complete", 1).await;
    let failed = fake.wait_for("fail", 1).await;
    end(worker).await;
    assert_eq!(
        completed,
        [json!({ "workerId": "worker-1", "id": "job-extends", "token": "fence-1", "output": 120 })]
    );
    let refused = json!({ "workerId": "worker-1", "id": "job-refuses", "token": "fence-1",
        "message": "no such customer", "retry": false });
    assert_eq!(failed, [refused]);
}

#[tokio::test]
async fn a_worker_declared_lost_registers_again_and_drops_its_jobs() {
    let fake = Fake::with_heartbeat(0.05).await;
    let worker = start(&fake, 2);
    fake.give("waits", json!({}));
    let holds = |fake: &Fake| {
        let beats = fake.bodies("heartbeat");
        beats.last().is_some_and(|beat| beat["jobs"].as_array().is_some_and(|j| !j.is_empty()))
    };
    fake.changed.subscribe().wait_for(|()| holds(&fake)).await.unwrap();
    fake.script("heartbeat", 404, "NOT_FOUND");
    fake.wait_for("register", 2).await;
    fake.changed.subscribe().wait_for(|()| !holds(&fake)).await.unwrap();
    end(worker).await;
    assert!(fake.bodies("fail").is_empty());
    assert_eq!(fake.bodies("leave"), [json!({ "workerId": "worker-2", "jobs": [] })]);
}

#[tokio::test]
async fn a_function_is_asked_to_stop() {
    let fake = Fake::start().await;
    let worker = start(&fake, 2);
    fake.give("waits", json!({}));
    fake.wait_for("poll", 2).await;
    fake.change(|script| script.stop.push("job-waits".to_owned()));
    assert_eq!(fake.wait_for("fail", 1).await[0]["message"], "stopped");
    end(worker).await;
}

#[tokio::test]
async fn what_cannot_get_better_ends_the_worker() {
    for (status, code) in [(401, "UNAUTHENTICATED"), (403, "FORBIDDEN"), (426, "PROTOCOL")] {
        for word in ["register", "poll"] {
            let fake = Fake::start().await;
            fake.script(word, status, code);
            let worker = start(&fake, 1);
            let error = worker.ended.await.unwrap().unwrap_err();
            assert!(matches!(&error, Error::Api(error) if error.status == status), "{error}");
        }
    }
}
