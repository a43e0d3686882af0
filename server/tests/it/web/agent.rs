//! `carillon work`: programs that run on another machine, against the built server.

use std::{
    process::{Child, ExitStatus, Stdio},
    time::Duration,
};

use carillon::clock::Clock;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::workers::Desk;
use crate::support::{Command, TestDatabase, on_both};

on_both!(
    a_task_runs_the_program_that_the_machine_defines,
    a_program_that_fails_and_a_task_that_is_not_defined_fail_the_run,
    a_cancelled_run_ends_the_whole_group_of_its_program,
    programs_that_run_are_finished_after_sigterm,
    a_second_sigterm_ends_the_programs,
);

/// A running agent, with its files.
struct Agent {
    process: Child,
    _folder: tempfile::TempDir,
}

impl Agent {
    fn ask_to_stop(&self) {
        kill(Pid::from_raw(i32::try_from(self.process.id()).unwrap()), Signal::SIGTERM).unwrap();
    }

    async fn ended(mut self) -> ExitStatus {
        let clock = Clock::system();
        let ended = async {
            loop {
                if let Some(status) = self.process.try_wait().unwrap() {
                    return status;
                }
                clock.sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), ended).await.expect("the agent ends")
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A server, the token of an agent, and the port that its programs connect to.
struct Setup {
    desk: Desk,
    token: String,
    gate: TcpListener,
}

impl Setup {
    async fn open(database: &TestDatabase) -> Self {
        let desk = Desk::open(database);
        let create = "token create agent --role operator --namespace default --queue reports";
        let create: Vec<&str> = create.split(' ').collect();
        let token = Command::new(&create).on(database).run().done();
        Self { desk, token, gate: TcpListener::bind("127.0.0.1:0").await.unwrap() }
    }

    fn command(&self, args: &[&str]) -> Command {
        let args = [&["work", "--token-file", "token"][..], args].concat();
        let command = Command::new(&args).env("CARILLON_SERVER", &self.desk.server.url);
        command.file("token", &self.token)
    }

    /// Starts an agent with these tasks; the programs find the port of the gate in `PORT`.
    fn start(&self, tasks: &[(&str, &str)], args: &[&str]) -> Agent {
        let port = self.gate.local_addr().unwrap().port();
        let tasks = tasks.iter().map(|(name, script)| {
            format!(
                "[tasks.{name}]\nprogram = '/bin/bash'\nargs = ['-c', '''{script}''']\n\
                 env = {{ PORT = '{port}' }}\n"
            )
        });
        let tasks: String = tasks.collect();
        let args = [&["--queue", "reports", "--tasks", "tasks.toml"][..], args].concat();
        let (mut command, folder) = self.command(&args).file("tasks.toml", &tasks).into_inner();
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Agent { process: quiet.spawn().unwrap(), _folder: folder }
    }

    /// Creates a schedule with the agent's task of the same name, and triggers it; returns the
    /// run's key.
    async fn run(&self, task: &str, input: Value) -> Value {
        let target = json!({ "worker": { "queue": "reports", "task": task, "input": input } });
        self.desk.run(task, json!({ "target": target })).await
    }

    /// The connection of the program that has started.
    async fn connection(&self) -> TcpStream {
        let accepted = tokio::time::timeout(Duration::from_secs(60), self.gate.accept()).await;
        accepted.expect("the program has started").unwrap().0
    }

    /// The log of a run: each line with its stream.
    async fn log(&self, run: &Value) -> Vec<(String, String)> {
        let query =
            "query ($id: UUID!) { taskLog(runId: $id, first: 50) { nodes { stream text } } }";
        let log = self.desk.graphql(query, json!({ "id": run })).await;
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let lines = log["taskLog"]["nodes"].as_array().unwrap().iter();
        lines.map(|line| (text(&line["stream"]), text(&line["text"]))).collect()
    }

    /// Waits for a state of the worker; `is_it` gets the list of workers.
    async fn until(&self, what: &str, is_it: impl Fn(&Value) -> bool) {
        let looks = async {
            let query = "{ workers { name draining } }";
            while !is_it(&self.desk.graphql(query, json!({})).await["workers"]) {}
        };
        let waited = tokio::time::timeout(Duration::from_secs(60), looks).await;
        waited.unwrap_or_else(|_| panic!("waited in vain until {what}"));
    }
}

/// Returns once every process that has the connection open has ended.
async fn closed(mut connection: TcpStream) {
    let mut rest = Vec::new();
    let read = connection.read_to_end(&mut rest);
    tokio::time::timeout(Duration::from_secs(60), read).await.expect("all have ended").unwrap();
}

async fn a_task_runs_the_program_that_the_machine_defines(database: TestDatabase) {
    let setup = Setup::open(&database).await;
    let script = r#"cat; echo; echo "of $CARILLON_SCHEDULE, attempt $CARILLON_ATTEMPT"
        echo "version $CARILLON_SCHEDULE_VERSION of ${CARILLON_SCHEDULE_ID:+an id}"
        echo "token:$CARILLON_TOKEN." >&2
        echo '{ "rows": 7 }' > "$CARILLON_OUTPUT""#;
    let agent = setup.start(&[("report", script)], &["--name", "reporter"]);
    let run = setup.run("report", json!({ "day": "friday" })).await;
    let ended = setup.desk.ended(&run).await;
    assert_eq!(ended["state"], "SUCCEEDED", "{ended}");
    assert_eq!(ended["output"], json!({ "rows": 7 }), "{ended}");
    let log = setup.log(&run).await;
    for (stream, text) in [
        ("STDOUT", r#"{"day":"friday"}"#),
        ("STDOUT", "of report, attempt 1"),
        ("STDOUT", "version 1 of an id"),
        ("STDERR", "token:."),
        ("STDERR", "[carillon] the program exited with code 0"),
    ] {
        assert!(log.contains(&(stream.to_owned(), text.to_owned())), "{text}: {log:?}");
    }
    setup.until("the worker has its name", |workers| workers[0]["name"] == "reporter").await;
    agent.ask_to_stop();
    assert!(agent.ended().await.success());
    setup.until("the worker has left", |workers| workers == &json!([])).await;
}

async fn a_program_that_fails_and_a_task_that_is_not_defined_fail_the_run(database: TestDatabase) {
    let setup = Setup::open(&database).await;
    let tasks = [("fails", "echo begins; echo no space left >&2; exit 3"), ("works", "true")];
    let _agent = setup.start(&tasks, &[]);
    let run = setup.run("fails", json!({})).await;
    let ended = setup.desk.ended(&run).await;
    assert_eq!(ended["state"], "FAILED", "{ended}");
    assert_eq!(ended["error"], "exited with code 3: no space left", "{ended}");

    let run = setup.run("other", json!({})).await;
    let ended = setup.desk.ended(&run).await;
    assert_eq!(ended["state"], "FAILED", "{ended}");
    let said = ended["error"].as_str().unwrap();
    assert!(
        said.starts_with("this worker has no task named \"other\", only fails, works;"),
        "{said}"
    );
}

async fn a_cancelled_run_ends_the_whole_group_of_its_program(database: TestDatabase) {
    let setup = Setup::open(&database).await;
    // The shell and its child ignore the request to end.
    let script = r#"trap "" TERM; exec 3<> /dev/tcp/127.0.0.1/$PORT; tail -f /dev/null & wait"#;
    let _agent = setup.start(&[("stubborn", script)], &["--kill-grace", "1s"]);
    let run = setup.run("stubborn", json!({})).await;
    let connection = setup.connection().await;
    let cancel = "mutation ($id: UUID!) { cancelRun(id: $id) { run { id } } }";
    setup.desk.graphql(cancel, json!({ "id": run })).await;
    closed(connection).await;
    assert_eq!(setup.desk.ended(&run).await["state"], "CANCELLED");
}

async fn programs_that_run_are_finished_after_sigterm(database: TestDatabase) {
    let setup = Setup::open(&database).await;
    let script = r#"exec 3<> /dev/tcp/127.0.0.1/$PORT; read -r word <&3; echo "got $word""#;
    let agent = setup.start(&[("late", script), ("next", "true")], &[]);
    let run = setup.run("late", json!({})).await;
    let mut connection = setup.connection().await;
    agent.ask_to_stop();
    setup.until("the worker takes no more", |workers| workers[0]["draining"] == true).await;
    let next = setup.run("next", json!({})).await;
    connection.write_all(b"seven\n").await.unwrap();
    assert!(agent.ended().await.success());
    assert_eq!(setup.desk.ended(&run).await["state"], "SUCCEEDED");
    let got = ("STDOUT".to_owned(), "got seven".to_owned());
    assert!(setup.log(&run).await.contains(&got));
    setup.until("the worker has left", |workers| workers == &json!([])).await;

    // The task that came during the drain waits for the next agent.
    let _agent = setup.start(&[("next", "true")], &[]);
    assert_eq!(setup.desk.ended(&next).await["state"], "SUCCEEDED");
}

async fn a_second_sigterm_ends_the_programs(database: TestDatabase) {
    let setup = Setup::open(&database).await;
    let script = r#"exec 3<> /dev/tcp/127.0.0.1/$PORT; tail -f /dev/null & wait"#;
    let agent = setup.start(&[("endless", script)], &[]);
    let run = setup.run("endless", json!({})).await;
    let connection = setup.connection().await;
    agent.ask_to_stop();
    setup.until("the worker takes no more", |workers| workers[0]["draining"] == true).await;
    agent.ask_to_stop();
    closed(connection).await;
    assert!(agent.ended().await.success());
    let ended = setup.desk.ended(&run).await;
    assert_eq!(ended["state"], "FAILED", "{ended}");
    assert_eq!(ended["error"], "the program was stopped, as requested", "{ended}");
}

#[tokio::test]
async fn what_an_agent_cannot_do_is_said_with_what_helps() {
    let database = TestDatabase::sqlite().await;
    let setup = Setup::open(&database).await;
    let args = ["--queue", "reports", "--queue", "other", "--run", "report=/bin/true"];
    let refused = setup.command(&args).run();
    assert_eq!(refused.code, 1, "{refused:?}");
    for said in [
        "this token does not give access to the queue \"other\"",
        "carillon token create NAME --role operator --namespace default --queue reports --queue other",
    ] {
        assert!(refused.err.contains(said), "{refused:?}");
    }
    let unknown = setup.command(&args).file("token", "car_unknown").run();
    assert_eq!(unknown.code, 1, "{unknown:?}");
    assert!(unknown.err.contains("carillon token create"), "{unknown:?}");

    let args = ["--queue", "reports"];
    let none = setup.command(&args).run();
    assert_eq!(none.code, 2, "{none:?}");
    let args = ["--queue", "reports", "--tasks", "tasks.toml"];
    let wrong = "[tasks.report]\nprogram = 'report'\nargs = [\"a\\u0000\"]\n";
    let line = setup.command(&args).file("tasks.toml", wrong).run().refused(2);
    assert!(line.starts_with("the task 'report': command.args[0]: has a NUL character"), "{line}");
    let line = setup.command(&args).run().refused(2);
    assert!(line.starts_with("tasks.toml: "), "{line}");
}
