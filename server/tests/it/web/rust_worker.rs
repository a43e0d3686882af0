//! Programs that declare their own schedules, written with `carillon-worker`, against the built
//! server. Each program is a separate process: the test's own executable, started once more.

use std::{
    collections::BTreeSet,
    io::{Read, Write},
    process::{Child, Command as Process, ExitStatus, Stdio},
    time::Duration,
};

use carillon_worker::{Failure, Program, Worker, scheduled};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::workers::Desk;
use crate::support::{Command, TestDatabase, on_both};

#[expect(dead_code, reason = "only 'cargo run' needs its main function")]
#[path = "../../../../worker/examples/worker.rs"]
mod example;

on_both!(
    the_example_deploys_its_schedule_runs_it_and_leaves,
    a_job_that_is_at_work_is_finished_after_sigterm,
    a_rolling_deploy_loses_and_doubles_nothing,
    a_name_that_another_program_or_a_person_has_is_refused_and_changes_nothing,
);

/// The input of a program, on its standard input.
#[derive(Deserialize)]
struct Order {
    program: String,
    url: String,
    deploy_token: String,
    worker_token: String,
}

#[derive(Deserialize)]
struct Number {
    number: u64,
}

#[derive(Deserialize)]
struct Gate {
    address: String,
}

/// The old version of a program.
mod one {
    use super::{AsyncReadExt, Failure, Gate, Number, TcpStream, Value, json, scheduled};

    #[scheduled(
        cron = "@daily",
        queue = "rolled",
        retry = r#"{ "max_attempts": 5, "initial": "10ms" }"#
    )]
    pub(super) async fn rolling(input: Number) -> Result<Value, Failure> {
        Ok(json!({ "number": input.number, "version": "1" }))
    }

    #[scheduled(cron = "@daily", queue = "rolled")]
    #[scheduled(cron = "@hourly", schedule = "only_in_1_as_well")]
    pub(super) async fn only_in_1() -> Result<(), Failure> {
        Ok(())
    }

    /// Ends when the test opens the gate.
    #[scheduled(cron = "@daily", queue = "rolled")]
    pub(super) async fn late(gate: Gate) -> Result<Value, Failure> {
        let told = TcpStream::connect(&gate.address).await?.read_u8().await?;
        Ok(json!({ "told": told }))
    }
}

/// The new version of the program.
mod two {
    use super::{Failure, Number, Value, json, scheduled};

    #[scheduled(
        cron = "@daily",
        queue = "rolled",
        retry = r#"{ "max_attempts": 5, "initial": "10ms" }"#
    )]
    pub(super) async fn rolling(input: Number) -> Result<Value, Failure> {
        Ok(json!({ "number": input.number, "version": "2" }))
    }

    #[scheduled(cron = "@daily", queue = "rolled")]
    pub(super) async fn only_in_2() -> Result<(), Failure> {
        Ok(())
    }
}

#[tokio::test]
#[ignore = "a process that the tests of this file start"]
async fn as_a_process() {
    let mut order = String::new();
    std::io::stdin().read_to_string(&mut order).unwrap();
    if order.is_empty() {
        return;
    }
    let Order { program, url, deploy_token, worker_token } = serde_json::from_str(&order).unwrap();
    let rolled = Program::new("rolled");
    let declared = match program.as_str() {
        "example" => return example::run(&url, &deploy_token, &worker_token).await.unwrap(),
        "1" => rolled.with::<one::rolling>().with::<one::only_in_1>().with::<one::late>(),
        "2" => rolled.with::<two::rolling>().with::<two::only_in_2>(),
        other => panic!("there is no program {other}"),
    };
    declared.deploy(&url, &deploy_token).await.unwrap();
    let worker = Worker::new(&url, &worker_token, &declared).version(program).capacity(4);
    worker.run().await.unwrap();
}

/// A running program.
struct AtWork(Child);

impl AtWork {
    fn ask_to_stop(&self) {
        kill(Pid::from_raw(i32::try_from(self.0.id()).unwrap()), Signal::SIGTERM).unwrap();
    }

    fn ended(mut self) -> ExitStatus {
        self.0.wait().unwrap()
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server, and the tokens of a program.
struct Setup {
    desk: Desk,
    deploy_token: String,
    worker_token: String,
}

impl Setup {
    /// A server for a program with this queue.
    fn open(database: &TestDatabase, queue: &str) -> Self {
        let desk = Desk::open(database);
        let token = |args: &[&str]| {
            let create = [&["token", "create"][..], args].concat();
            Command::new(&create).on(database).run().done().trim().to_owned()
        };
        let worker = ["worker", "--role", "operator", "--namespace", "default", "--queue", queue];
        Self {
            desk,
            deploy_token: token(&["deployer", "--role", "editor"]),
            worker_token: token(&worker),
        }
    }

    fn start(&self, program: &str) -> AtWork {
        let order = json!({
            "program": program, "url": self.desk.server.url,
            "deploy_token": self.deploy_token, "worker_token": self.worker_token,
        });
        let mut process = Process::new(std::env::current_exe().unwrap());
        process.args(["--exact", "web::rust_worker::as_a_process", "--ignored", "--nocapture"]);
        let mut child = process.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(order.to_string().as_bytes()).unwrap();
        AtWork(child)
    }

    async fn names(&self, query: &str, list: &str) -> BTreeSet<String> {
        let found = self.desk.graphql(query, json!({})).await;
        let found = found.pointer(list).and_then(Value::as_array).unwrap().iter();
        found.map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Waits until exactly these schedules exist.
    async fn declares(&self, expected: &[&str]) {
        let query = "{ schedules { nodes { name } } }";
        let expected: BTreeSet<String> = expected.iter().copied().map(str::to_owned).collect();
        until(&format!("the schedules are {expected:?}"), async || {
            self.names(query, "/schedules/nodes").await == expected
        })
        .await;
    }

    async fn has_no_worker(&self) -> bool {
        self.names("{ workers { name } }", "/workers").await.is_empty()
    }

    /// Starts the schedule by hand; returns the run's key.
    async fn trigger(&self, schedule: &str, context: Value) -> Value {
        let query = "query ($name: String) { schedule(name: $name) { id } }";
        let found = self.desk.graphql(query, json!({ "name": schedule })).await;
        let trigger = "mutation ($id: UUID!, $context: JSON) {
            triggerSchedule(id: $id, context: $context) { run { id } } }";
        let variables = json!({ "id": found["schedule"]["id"], "context": context });
        let made = self.desk.graphql(trigger, variables).await;
        made["triggerSchedule"]["run"]["id"].clone()
    }

    async fn roll(&self, numbers: std::ops::Range<u64>) -> Vec<Value> {
        let mut runs = Vec::new();
        for number in numbers {
            runs.push(self.trigger("rolling", json!({ "number": number })).await);
        }
        runs
    }
}

/// Waits for a state of the server.
async fn until(what: &str, look: impl AsyncFn() -> bool) {
    let looks = async { while !look().await {} };
    let waited = tokio::time::timeout(Duration::from_secs(60), looks).await;
    waited.unwrap_or_else(|_| panic!("waited in vain until {what}"));
}

async fn the_example_deploys_its_schedule_runs_it_and_leaves(database: TestDatabase) {
    let setup = Setup::open(&database, "emails");
    let program = setup.start("example");
    setup.declares(&["send_report"]).await;
    let run = setup.trigger("send_report", json!({ "day": "friday" })).await;
    let ended = setup.desk.ended(&run).await;
    assert_eq!(ended["state"], "SUCCEEDED", "{ended}");
    assert_eq!(ended["output"], json!({ "day": "friday", "attempt": 1 }), "{ended}");

    // A schedule that was created by hand calls the program's other function.
    let target = json!({ "worker": {
        "queue": "emails", "task": "send_one", "input": { "address": "ada" },
    } });
    let retry = json!({ "maxAttempts": 3 });
    let run = setup.desk.run("by-hand", json!({ "target": target, "retry": retry })).await;
    let ended = setup.desk.ended(&run).await;
    assert_eq!((&ended["state"], &ended["attempt"]), (&json!("FAILED"), &json!(1)), "{ended}");
    assert_eq!(ended["error"], "ada is not an address", "{ended}");

    program.ask_to_stop();
    assert!(program.ended().success());
    assert!(setup.has_no_worker().await, "it has left");
}

async fn a_job_that_is_at_work_is_finished_after_sigterm(database: TestDatabase) {
    let setup = Setup::open(&database, "rolled");
    let program = setup.start("1");
    setup.declares(&["late", "only_in_1", "only_in_1_as_well", "rolling"]).await;
    let gate = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = gate.local_addr().unwrap().to_string();
    let run = setup.trigger("late", json!({ "address": address })).await;
    let at_work = tokio::time::timeout(Duration::from_secs(60), gate.accept()).await;
    let (mut at_work, _) = at_work.expect("the job is at work").unwrap();

    program.ask_to_stop();
    until("the worker takes no more jobs", async || {
        let found = setup.desk.graphql("{ workers { draining } }", json!({})).await;
        found["workers"][0]["draining"] == true
    })
    .await;
    let more = setup.trigger("rolling", json!({ "number": 1 })).await;
    at_work.write_u8(7).await.unwrap();
    assert!(program.ended().success());
    let ended = setup.desk.ended(&run).await;
    assert_eq!((&ended["state"], &ended["attempt"]), (&json!("SUCCEEDED"), &json!(1)), "{ended}");
    assert_eq!(ended["output"], json!({ "told": 7 }), "{ended}");
    assert!(setup.has_no_worker().await, "it has left");
    // The run that was created during the shutdown waits for the next program.
    let next = setup.start("2");
    assert_eq!(setup.desk.ended(&more).await["output"]["version"], "2");
    next.ask_to_stop();
    assert!(next.ended().success());
}

async fn a_rolling_deploy_loses_and_doubles_nothing(database: TestDatabase) {
    const OLD: &[&str] = &["late", "only_in_1", "only_in_1_as_well", "rolling"];
    const NEW: &[&str] = &["only_in_2", "rolling"];
    let setup = Setup::open(&database, "rolled");
    let old = setup.start("1");
    setup.declares(OLD).await;
    let mut runs = setup.roll(0..20).await;
    // The program that deploys last wins: schedules of functions that it no longer has are deleted.
    // The old program keeps working on the queue.
    let new = setup.start("2");
    setup.declares(NEW).await;
    runs.extend(setup.roll(20..60).await);
    old.ask_to_stop();
    assert!(old.ended().success());
    runs.extend(setup.roll(60..80).await);
    for (number, run) in runs.iter().enumerate() {
        let ended = setup.desk.ended(run).await;
        assert_eq!(ended["state"], "SUCCEEDED", "{ended}");
        assert_eq!(ended["output"]["number"], number, "{ended}");
        let attempts = ended["tasks"][0]["attempts"].as_array().map(Vec::len);
        assert_eq!((&ended["attempt"], attempts), (&json!(1), Some(1)), "{ended}");
        // After the old program has left, the new one executes everything.
        assert!(number < 60 || ended["output"]["version"] == "2", "{ended}");
    }
    // If the old program starts again, it deploys its old module.
    let again = setup.start("1");
    setup.declares(OLD).await;
    // Before it has registered, it does not follow signals.
    until("the old program works again", async || {
        let query = "{ workers { version } }";
        let found = setup.desk.graphql(query, json!({})).await;
        found["workers"].as_array().is_some_and(|all| all.iter().any(|one| one["version"] == "1"))
    })
    .await;
    for program in [again, new] {
        program.ask_to_stop();
        assert!(program.ended().success());
    }
}

async fn a_name_that_another_program_or_a_person_has_is_refused_and_changes_nothing(
    database: TestDatabase,
) {
    let setup = Setup::open(&database, "rolled");
    let (url, token) = (&setup.desk.server.url, &setup.deploy_token);
    let refused = async |program: Program| {
        program.deploy(url, token).await.expect_err("it was deployed").to_string()
    };
    Program::new("first").with::<one::rolling>().deploy(url, token).await.unwrap();
    let second = Program::new("second").with::<two::rolling>().with::<two::only_in_2>();
    let said = refused(second).await;
    assert!(said.contains("\"rolling\": is declared by the module \"first\""), "{said}");
    setup.declares(&["rolling"]).await;

    let target = json!({ "worker": { "queue": "rolled", "task": "only_in_1" } });
    setup.desk.run("only_in_1", json!({ "target": target })).await;
    let said = refused(Program::new("third").with::<one::only_in_1>()).await;
    assert!(said.contains("\"only_in_1\": was created by hand"), "{said}");
    setup.declares(&["only_in_1", "rolling"]).await;
    let query = "{ schedules { nodes { name module version } } modules { nodes { name } } }";
    let found = setup.desk.graphql(query, json!({})).await;
    let of = |name: &str, module: Value| json!({ "name": name, "module": module, "version": 1 });
    let schedules = json!([of("only_in_1", Value::Null), of("rolling", json!("first"))]);
    assert_eq!(found["schedules"]["nodes"], schedules, "{found}");
    assert_eq!(found["modules"]["nodes"], json!([{ "name": "first" }]), "{found}");
}
