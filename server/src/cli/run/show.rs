use clap::Args;
use serde_json::{Value, json};

use super::{OneRun, refused_if_none};
use crate::cli::{CliError, output};

/// Show how a run went: its tasks, their attempts, and why it ended as it did
#[derive(Debug, Args)]
pub(super) struct Show {
    #[command(flatten)]
    one: OneRun,
}

const SHOW: &str = "query ($id: UUID!) { run(id: $id) {
    id state trigger schedule { name } workflow { name } workflowVersion scheduledAt createdAt
    availableAt startedAt finishedAt durationMs latenessMs attempt maxAttempts node error stuck
    isRecovery idempotencyKey retryOf context output cancel { by at reason }
    tasks { name state kept attempts { attempt state startedAt finishedAt durationMs node error } }
} }";

impl Show {
    pub(super) async fn run(self) -> Result<(), CliError> {
        const ACTION: &str = "show the run";
        let asked = json!({ "id": self.one.run });
        let run = self.one.server.ask(ACTION, SHOW, asked).await?["run"].take();
        refused_if_none(ACTION, self.one.run, &run)?;
        if self.one.json { output::json(&run) } else { print(&run) }
    }
}

fn print(run: &Value) -> Result<(), CliError> {
    let of = run["schedule"]["name"].as_str().unwrap_or("no schedule");
    let (workflow, version) = (output::cell(&run["workflow"]["name"]), &run["workflowVersion"]);
    output::line(format!(
        "run {} of {of}, by {}: {}",
        output::cell(&run["id"]),
        output::cell(&run["trigger"]).to_lowercase(),
        output::state(&run["state"]),
    ))?;
    output::line(format!("  workflow {workflow} version {version}"))?;
    let (due, started) = (output::cell(&run["scheduledAt"]), output::cell(&run["startedAt"]));
    output::line(format!("  due {due}, started {started}, took {}", took(run)))?;
    for (field, what) in [("error", "error"), ("stuck", "it waits"), ("retryOf", "repeat of")] {
        if let Some(told) = run[field].as_str() {
            output::line(format!("  {what}: {}", output::one_line(told)))?;
        }
    }
    if let Some(by) = run["cancel"]["by"].as_str() {
        let why =
            run["cancel"]["reason"].as_str().map(|why| format!(": {}", output::one_line(why)));
        output::line(format!("  cancelled by {by}{}", why.unwrap_or_default()))?;
    }
    let mut rows: Vec<[String; 7]> = Vec::new();
    for task in run["tasks"].as_array().into_iter().flatten() {
        let attempts: Vec<&Value> = task["attempts"].as_array().into_iter().flatten().collect();
        if attempts.is_empty() {
            let dash = || "-".to_owned();
            let state = output::cell(&task["state"]).to_lowercase();
            let state = if task["kept"] == true { "kept".to_owned() } else { state };
            rows.push([output::cell(&task["name"]), dash(), state, dash(), dash(), dash(), dash()]);
        }
        for attempt in attempts {
            rows.push([
                output::cell(&task["name"]),
                attempt["attempt"].to_string(),
                output::cell(&attempt["state"]).to_lowercase(),
                output::cell(&attempt["startedAt"]),
                took(attempt),
                output::cell(&attempt["node"]),
                output::one_line(attempt["error"].as_str().unwrap_or("-")),
            ]);
        }
    }
    output::table(["TASK", "ATTEMPT", "STATE", "STARTED", "TOOK", "NODE", "ERROR"], &rows)
}

fn took(of: &Value) -> String {
    of["durationMs"].as_i64().map_or("-".to_owned(), |ms| format!("{ms} ms"))
}
