//! Runs the program of a job, and reports how it ended.

use std::{collections::BTreeMap, pin::pin, time::Duration};

use carillon_worker::{Context, Failure, Job, Stream as WorkerStream};
use serde_json::Value;
use tokio::{join, select, sync::mpsc};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{
    app::AppError,
    cli::CliError,
    clock::Clock,
    target::{
        AttemptOutcome, CommandPolicy, CommandTarget, Executor, Invocation, Line, Policy, Stream,
        Target, programs_user, result_of,
    },
};

/// How many lines of a program wait until they are read.
const LINES: usize = 256;

/// Maximum size of the lines that wait to be sent, in bytes. A program that prints faster waits.
const MAX_UNSENT_BYTES: usize = 1024 * 1024;
/// The size of a waiting line, in addition to its text. It keeps the number of waiting lines below
/// the number at which the worker's client drops lines.
const LINE_BYTES: usize = 128;

/// Runs the programs of this machine's tasks.
pub(super) struct Agent {
    tasks: BTreeMap<String, Target>,
    executor: Executor,
    kill_grace: Duration,
    /// Cancelled when the programs must end although the worker may still wait for them.
    ending: CancellationToken,
}

impl Agent {
    /// An agent for these tasks. Fails if one of them cannot be started as it is defined.
    pub(super) fn new(
        tasks: BTreeMap<String, CommandTarget>,
        kill_grace: Duration,
        ending: CancellationToken,
    ) -> Result<Self, CliError> {
        let command = CommandPolicy {
            // Like a server, an agent of root starts no program as root.
            user: programs_user(None).map_err(AppError::from)?,
            users: tasks.values().filter_map(|task| task.user.clone()).collect(),
            is_apart: true,
            ..CommandPolicy::default()
        };
        let policy = Policy { commands: true, command, ..Policy::default() };
        let executor = Executor::new(policy, Clock::system()).map_err(AppError::from)?;
        for (name, task) in &tasks {
            executor
                .check_command(task)
                .map_err(|error| CliError::Usage(format!("the task '{name}': {error}")))?;
        }
        let tasks = tasks.into_iter().map(|(name, task)| (name, Target::Command(task))).collect();
        Ok(Self { tasks, executor, kill_grace, ending })
    }

    /// Removes the files that programs were given. Must only be called once none runs any more.
    pub(super) fn close(&self) {
        self.executor.close();
    }

    /// Runs the program of a job, until it ends or is stopped; returns its output.
    pub(super) async fn work(&self, job: &Job) -> Result<Value, Failure> {
        let context = job.context();
        let Some(target) = self.tasks.get(job.task()) else {
            return Err(Failure::new(self.unknown(job.task())));
        };
        let invocation = self.invocation(&context, job.input()?)?;
        let stop = self.ending.child_token();
        let (sender, lines) = mpsc::channel(LINES);
        let mut run = pin!(self.executor.execute(target, &invocation, sender, stop.clone()));
        let ended = async {
            select! {
                outcome = run.as_mut() => outcome,
                () = context.cancelled() => {
                    stop.cancel();
                    run.as_mut().await
                }
            }
        };
        let (outcome, ()) = join!(ended, forward(&context, lines));
        report(outcome, &context)
    }

    fn invocation(&self, context: &Context, input: Value) -> Result<Invocation, Failure> {
        Ok(Invocation {
            run_id: Uuid::parse_str(context.run_id())?,
            attempt: i32::try_from(context.attempt())?,
            task: context.task().to_owned(),
            namespace: context.namespace().to_owned(),
            namespace_id: Uuid::nil(),
            priority: 0,
            schedule: context.schedule().map(str::to_owned),
            schedule_id: context.schedule_id().map(Uuid::parse_str).transpose()?,
            schedule_version: context.schedule_version(),
            scheduled_at: context.scheduled_at(),
            idempotency_key: context.idempotency_key().to_owned(),
            traceparent: context.traceparent().map(str::to_owned),
            context: input,
            // The server counts from the beginning of the attempt, and usually stops it first.
            timeout: context.timeout(),
            kill_grace: self.kill_grace,
        })
    }

    fn unknown(&self, name: &str) -> String {
        let names: Vec<&str> = self.tasks.keys().map(String::as_str).collect();
        format!(
            "this worker has no task named {name:?}, only {}; correct the name, or define the task \
             where 'carillon work' runs",
            names.join(", ")
        )
    }
}

/// Sends the lines of a program to the server. A program that prints faster than the server takes
/// its lines waits.
async fn forward(context: &Context, mut lines: mpsc::Receiver<Line>) {
    let mut unsent = 0;
    while let Some(line) = lines.recv().await {
        unsent += line.text.len() + LINE_BYTES;
        let text = if line.left_out > 0 { format!("{} [cut]", line.text) } else { line.text };
        match line.stream {
            Stream::Stdout => context.log_to(WorkerStream::Stdout, text),
            Stream::Stderr => context.log_to(WorkerStream::Stderr, text),
            Stream::System => note(context, &text),
        }
        if unsent > MAX_UNSENT_BYTES {
            context.flush().await;
            unsent = 0;
        }
    }
}

/// Writes a line that is not the program's own: the protocol has no stream for these.
fn note(context: &Context, text: &str) {
    context.log_to(WorkerStream::Stderr, format!("[carillon] {text}"));
}

/// What the server is told about the end of a program.
fn report(outcome: AttemptOutcome, context: &Context) -> Result<Value, Failure> {
    match outcome {
        AttemptOutcome::Succeeded { output } => {
            note(context, "the program exited with code 0");
            Ok(result_of(&output).map_or(Value::Null, |result| Value::Object(result.clone())))
        }
        AttemptOutcome::Failed { message, .. } | AttemptOutcome::TimedOut { message, .. } => {
            Err(Failure::new(message))
        }
        AttemptOutcome::Cancelled { .. } => {
            Err(Failure::new("the program was stopped, as requested"))
        }
    }
}
