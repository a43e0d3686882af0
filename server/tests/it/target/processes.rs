//! A program's life: no part of it may outlive its attempt.
//!
//! The test moves the clock by hand, so a time limit is exceeded only if the test says so. A
//! process holds a named pipe open; the end of that pipe shows that the process has ended, without
//! polling.

use std::{path::PathBuf, time::Duration};

use carillon::{
    clock::ManualClock,
    target::{AttemptOutcome, Executor, Invocation, Line, Stream, Target},
};
use chrono::DateTime;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::json;
use tempfile::TempDir;
use tokio::{fs, sync::mpsc, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use super::support::{fifo, invocation, open, succeeded, target};

/// An attempt in progress.
struct Attempt {
    clock: ManualClock,
    lines: mpsc::Receiver<Line>,
    stop: CancellationToken,
    task: JoinHandle<AttemptOutcome>,
    folder: TempDir,
}

impl Attempt {
    /// Starts a script; `$1` is a folder with the named pipes `gate` and `life`.
    fn start(script: &str) -> Self {
        let folder = TempDir::new().unwrap();
        fifo(&folder.path().join("gate"));
        fifo(&folder.path().join("life"));
        let args = json!(["-c", script, "sh", folder.path()]);
        let target = target(json!({"command": {"program": "/bin/sh", "args": args}}));
        let clock = ManualClock::new(DateTime::UNIX_EPOCH);
        let (sender, lines) = mpsc::channel(100);
        let stop = CancellationToken::new();
        let task = tokio::spawn(execute(target, clock.clone(), sender, stop.clone()));
        Self { clock, lines, stop, task, folder }
    }

    fn pipe(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    async fn line(&mut self) -> (Stream, String) {
        let line = self.lines.recv().await.unwrap();
        (line.stream, line.text)
    }

    async fn stdout(&mut self) -> String {
        let (stream, text) = self.line().await;
        assert_eq!(stream, Stream::Stdout, "{text}");
        text
    }

    async fn system(&mut self) -> String {
        let (stream, text) = self.line().await;
        assert_eq!(stream, Stream::System, "{text}");
        text
    }
}

async fn execute(
    target: Target,
    clock: ManualClock,
    lines: mpsc::Sender<Line>,
    stop: CancellationToken,
) -> AttemptOutcome {
    let executor = Executor::new(open(), clock.clock()).unwrap();
    executor.execute(&target, &patient(), lines, stop).await
}

fn patient() -> Invocation {
    Invocation {
        timeout: Duration::from_secs(1_000_000),
        kill_grace: Duration::from_secs(1000),
        ..invocation()
    }
}

/// A process that never ends by itself. It prints `ready` only once it holds `life` open: if it
/// were killed earlier, the reader of the pipe would wait for a first writer forever.
const HOLD_LIFE: &str = "(exec 3> \"$1/life\"; echo ready; exec tail -f /dev/null)";

#[tokio::test]
async fn a_line_arrives_while_the_program_still_waits() {
    let mut attempt = Attempt::start("echo first; read line < \"$1/gate\"; echo \"got $line\"");
    assert_eq!(attempt.stdout().await, "first");
    fs::write(attempt.pipe("gate"), "word\n").await.unwrap();
    assert_eq!(attempt.stdout().await, "got word");
    succeeded(attempt.task.await.unwrap());
}

#[tokio::test]
async fn the_time_limit_asks_the_whole_group_to_end() {
    let mut attempt = Attempt::start(&format!("{HOLD_LIFE} & wait"));
    let life = tokio::spawn(fs::read(attempt.pipe("life")));
    assert_eq!(attempt.stdout().await, "ready");
    attempt.clock.advance(patient().timeout);
    assert_eq!(
        attempt.system().await,
        "time limit of 1000000 s passed: SIGTERM sent to the process group"
    );
    let outcome = attempt.task.await.unwrap();
    let AttemptOutcome::TimedOut { message, output } = outcome else { panic!("{outcome:?}") };
    assert_eq!(message, "did not end within 1000000 s, was stopped by SIGTERM");
    assert_eq!(output["signal"], "SIGTERM");
    life.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_group_that_ignores_the_request_is_killed_after_the_grace_time() {
    let mut attempt = Attempt::start(&format!("trap '' TERM; {HOLD_LIFE} & wait"));
    let life = tokio::spawn(fs::read(attempt.pipe("life")));
    assert_eq!(attempt.stdout().await, "ready");
    attempt.clock.advance(patient().timeout);
    attempt.system().await;
    attempt.clock.advance(patient().kill_grace);
    let outcome = attempt.task.await.unwrap();
    let AttemptOutcome::TimedOut { message, output } = outcome else { panic!("{outcome:?}") };
    assert_eq!(message, "did not end within 1000000 s, ignored SIGTERM for 1000 s and was killed");
    assert_eq!(output["signal"], "SIGKILL");
    life.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_stop_lets_the_program_clean_up() {
    let script = "trap 'echo cleaning up; exit 0' TERM; tail -f /dev/null & echo ready; wait";
    let mut attempt = Attempt::start(script);
    assert_eq!(attempt.stdout().await, "ready");
    attempt.stop.cancel();
    let mut said = vec![attempt.line().await.1, attempt.line().await.1];
    said.sort();
    assert_eq!(said, ["cleaning up", "stop requested: SIGTERM sent to the process group"]);
    let outcome = attempt.task.await.unwrap();
    let AttemptOutcome::Cancelled { output } = outcome else { panic!("{outcome:?}") };
    assert_eq!(output["exit_code"], 0);
}

#[tokio::test]
async fn leftover_processes_are_killed_when_the_leader_ends() {
    let mut attempt = Attempt::start(&format!("{HOLD_LIFE} & read line < \"$1/gate\""));
    let life = tokio::spawn(fs::read(attempt.pipe("life")));
    assert_eq!(attempt.stdout().await, "ready");
    fs::write(attempt.pipe("gate"), "end\n").await.unwrap();
    succeeded(attempt.task.await.unwrap());
    life.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_dropped_attempt_takes_its_group_with_it() {
    let mut attempt = Attempt::start(&format!("{HOLD_LIFE} & wait"));
    let life = tokio::spawn(fs::read(attempt.pipe("life")));
    assert_eq!(attempt.stdout().await, "ready");
    attempt.task.abort();
    life.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_process_that_left_the_group_does_not_hold_up_the_attempt() {
    let script = "setsid sh -c 'echo $$; exec tail -f /dev/null' & read line < \"$1/gate\"";
    let mut attempt = Attempt::start(script);
    let runaway = attempt.stdout().await.parse().unwrap();
    fs::write(attempt.pipe("gate"), "end\n").await.unwrap();
    // From here on the attempt is over its time limit.
    let clock = attempt.clock.clone();
    let passing = tokio::spawn(async move {
        loop {
            clock.advance(Duration::from_secs(1));
            tokio::task::yield_now().await;
        }
    });
    let said = attempt.system().await;
    succeeded(attempt.task.await.unwrap());
    passing.abort();
    kill(Pid::from_raw(runaway), Signal::SIGKILL).unwrap();
    assert_eq!(said, "a process that left the group holds the output open; not waiting for it");
}

#[tokio::test]
async fn a_log_that_is_behind_when_the_program_ends_gets_all_lines() {
    let mut attempt = Attempt::start("seq 1 5000; echo $$ > \"$1/gate\"");
    let pid = fs::read_to_string(attempt.pipe("gate")).await.unwrap();
    let pid = Pid::from_raw(pid.trim().parse().unwrap());
    // The process has ended and has been waited for, so the attempt knows its end. None of its
    // lines has been read.
    while kill(pid, None).is_ok() {
        tokio::task::yield_now().await;
    }
    attempt.clock.advance(Duration::from_secs(3_600));
    for number in 1..=5000 {
        assert_eq!(attempt.stdout().await, number.to_string());
    }
    succeeded(attempt.task.await.unwrap());
    assert!(attempt.lines.recv().await.is_none());
}
