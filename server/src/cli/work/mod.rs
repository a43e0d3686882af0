//! `carillon work`: runs programs on this machine, as a worker of a server elsewhere.
//!
//! - `tasks`: the programs that this machine defines, in flags and in a file; `words`: splits a
//!   command line; pure
//! - `agent`: runs the program of a job, and reports how it ended

mod agent;
mod tasks;
mod words;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use agent::Agent;
use carillon_worker::{Error, Job, Program, Running, Worker};
use clap::Args;
use secrecy::{ExposeSecret, SecretString};
use tasks::NamedTask;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::{
    CliError,
    client::{ClientError, Server, unreachable},
    when::duration,
};
use crate::{
    app::AppError,
    config::{self, LogFormat, Span},
    target::drop_dumpable,
    telemetry::start_logging,
};

/// How long an ended program may take to be noticed, before its task is given up.
const NOTICE: Duration = Duration::from_secs(5);

/// Run programs on this machine for a server elsewhere, as a worker of its queues
///
/// Each task that the server sends names one of the tasks that --run and --tasks define; it cannot
/// name a program. After SIGTERM, takes no more tasks and waits for the programs that run; a second
/// SIGTERM ends them.
#[derive(Debug, Args)]
pub(super) struct Work {
    #[command(flatten)]
    server: Server,
    /// File with the token to sign in with, in place of --token
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Namespace of the queues
    #[arg(long, default_value = "default")]
    namespace: String,
    /// Queue to take tasks from; may be given several times
    #[arg(long = "queue", value_name = "QUEUE", required = true)]
    queues: Vec<String>,
    /// Tag that tasks can require of this machine, such as gpu; may be given several times
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// A task and its command line, which is split like a shell's but started without a shell; may
    /// be given several times
    #[arg(
        long = "run",
        value_name = "TASK=COMMAND",
        value_parser = tasks::named,
        required_unless_present = "tasks"
    )]
    runs: Vec<NamedTask>,
    /// TOML file of tasks: a table [tasks.NAME] for each, with the keys of a command target
    #[arg(long, value_name = "FILE")]
    tasks: Option<PathBuf>,
    /// Maximum number of programs at once, 1 to 1000
    #[arg(
        long,
        value_name = "PROGRAMS",
        default_value_t = 4,
        value_parser = clap::value_parser!(u16).range(1..=1000)
    )]
    capacity: u16,
    /// Name of this worker for operators [default: HOST-PID]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// How long a program may take to end after SIGTERM, before it is killed
    #[arg(long, value_name = "DURATION", default_value = "8s", value_parser = duration)]
    kill_grace: Span,
    /// How long programs may continue once this process is asked to stop [default: until they end]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    drain_timeout: Option<Span>,
    /// Format of log lines
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    log_format: LogFormat,
    /// Log filter, such as info or warn,carillon=debug
    #[arg(long, value_name = "FILTER", default_value = "info")]
    log_filter: String,
}

impl Work {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let connection = self.server.connection()?;
        let token = self.token_file.as_deref().map(token_in).transpose()?;
        let token = token.or_else(|| connection.token().cloned()).ok_or_else(no_token)?;
        let server = connection.server;
        // The programs must not read the token in this process's memory.
        drop_dumpable().map_err(AppError::Dumpable)?;
        let tasks = tasks::all(self.runs, self.tasks.as_deref())?;
        let (ending, kill_grace) = (CancellationToken::new(), self.kill_grace.0);
        let agent = Arc::new(Agent::new(tasks, kill_grace, ending.clone())?);
        end_at_second_request(ending)?;
        start_logging(&config::Log { format: self.log_format, filter: self.log_filter })?;

        let of_namespace = Program::new("carillon-work").in_namespace(&self.namespace);
        let mut worker = Worker::new(&server, token.expose_secret(), &of_namespace)
            .queues(&self.queues)
            .tags(&self.tags)
            .capacity(usize::from(self.capacity))
            .version(env!("CARGO_PKG_VERSION"))
            .grace(self.drain_timeout.map_or(Duration::MAX, |limit| limit.0))
            .patience(kill_grace.saturating_add(NOTICE));
        if let Some(name) = &self.name {
            worker = worker.name(name);
        }
        let starting = agent.clone();
        let worker = worker.handler(move |job: Job| -> Running {
            let agent = starting.clone();
            Box::pin(async move { agent.work(&job).await })
        });
        let ended = Box::pin(worker.run()).await;
        agent.close();
        ended.map_err(|error| failure(error, server, &self.namespace, &self.queues))
    }
}

/// The token in a file, without the end of its line.
fn token_in(file: &Path) -> Result<SecretString, CliError> {
    let refused = |problem: &dyn std::fmt::Display| {
        CliError::Usage(format!("--token-file '{}': {problem}", file.display()))
    };
    let text = fs::read_to_string(file).map_err(|error| refused(&error))?;
    match text.trim() {
        "" => Err(refused(&"is empty; write the token into it")),
        token => Ok(token.to_owned().into()),
    }
}

fn no_token() -> CliError {
    let text = "there is no token: give --token-file or CARILLON_TOKEN with one from 'carillon \
                token create', or sign in with 'carillon login'";
    CliError::Usage(text.to_owned())
}

/// Ends the programs at the second request to stop. At the first one, the worker takes no more
/// tasks.
fn end_at_second_request(ending: CancellationToken) -> Result<(), CliError> {
    let failed = || CliError::io("listen for signals");
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed())?;
    let mut terminate = signal(SignalKind::terminate()).map_err(failed())?;
    tokio::spawn(async move {
        for _ in 0..2 {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        }
        tracing::warn!("asked to stop a second time: ending the programs");
        ending.cancel();
    });
    Ok(())
}

/// Why the worker ended, and what to do.
fn failure(error: Error, server: String, namespace: &str, queues: &[String]) -> CliError {
    let action = "work for the server";
    let problem = match error {
        Error::Unanswered(error) => return unreachable(&server)(error).into(),
        Error::Api(error) => match error.status {
            401 => {
                return ClientError::Unauthenticated { server, problem: error.message }.into();
            }
            403 => format!(
                "{}; one is made by 'carillon token create NAME --role operator --namespace \
                 {namespace} --queue {}'",
                error.message,
                queues.join(" --queue ")
            ),
            426 => format!(
                "{}; this is carillon {}: install the version of the server here",
                error.message,
                env!("CARGO_PKG_VERSION")
            ),
            _ => error.message,
        },
        Error::Unreadable(problem) | Error::Setting(problem) | Error::Deploy { problem, .. } => {
            problem
        }
    };
    ClientError::Refused { action, problem }.into()
}
