use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use super::{OneRun, refused_if_none};
use crate::{
    cli::{
        CliError,
        await_run::{AWAY, BETWEEN, has_settled, patiently},
        output,
    },
    clock::Clock,
};

/// Print a run's log so far
#[derive(Debug, Args)]
pub(in crate::cli) struct Logs {
    #[command(flatten)]
    one: OneRun,
    /// Only lines of this task
    #[arg(long, value_name = "NAME")]
    task: Option<String>,
    /// Continue until the run has settled
    #[arg(long, short)]
    follow: bool,
}

const RUN: &str = "query ($id: UUID!) { run(id: $id) { id state } }";

const PAGE: &str = "query ($id: UUID!, $after: String) {
    taskLog(runId: $id, first: 200, after: $after) {
        nodes { task attempt at stream text } pageInfo { hasNextPage endCursor }
    }
}";

impl Logs {
    pub(in crate::cli) async fn run(self) -> Result<(), CliError> {
        const ACTION: &str = "read the log";
        let OneRun { server, run, json } = &self.one;
        let clock = Clock::system();
        let (mut after, mut patience) = (Value::Null, Duration::ZERO);
        loop {
            // The state is queried before the lines, so that the lines include all that were
            // written until the run settled.
            let state = async || server.ask(ACTION, RUN, json!({ "id": run })).await;
            let found = patiently(patience, state).await?["run"].take();
            refused_if_none(ACTION, *run, &found)?;
            loop {
                let asked = json!({ "id": run, "after": after });
                let lines = async || server.ask(ACTION, PAGE, asked.clone()).await;
                let mut page = patiently(patience, lines).await?["taskLog"].take();
                for line in page["nodes"].as_array().into_iter().flatten() {
                    let is_meant = self.task.as_ref().is_none_or(|task| line["task"] == **task);
                    if is_meant && *json {
                        output::json(line)?;
                    } else if is_meant {
                        print(line)?;
                    }
                }
                let end = page["pageInfo"]["endCursor"].take();
                if !end.is_null() {
                    after = end;
                }
                if page["pageInfo"]["hasNextPage"] != true {
                    break;
                }
            }
            if !self.follow || has_settled(&found) {
                return Ok(());
            }
            // Once there was an answer, the server may be restarted meanwhile.
            patience = AWAY;
            clock.sleep(BETWEEN).await;
        }
    }
}

fn print(line: &Value) -> Result<(), CliError> {
    let text = |field: &str| line[field].as_str().unwrap_or_default();
    let stream = text("stream").to_lowercase();
    let (at, task, attempt) = (text("at"), text("task"), &line["attempt"]);
    output::line(format!("{at} {task}/{attempt} {stream}: {}", text("text")))
}
