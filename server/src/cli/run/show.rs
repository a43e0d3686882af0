use clap::Args;
use serde_json::{Value, json};

use super::{One, refused_if_none};
use crate::cli::{CliError, output};

/// Say how a run went: its tasks, their attempts, and why it ended as it did
#[derive(Debug, Args)]
pub(super) struct Show {
    #[command(flatten)]
    one: One,
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
    let (workflow, version) = (text(&run["workflow"]["name"]), &run["workflowVersion"]);
    output::line(format!(
        "run {} of {of}, by {}: {}",
        text(&run["id"]),
        text(&run["trigger"]).to_lowercase(),
        text(&run["state"]).to_lowercase(),
    ))?;
    output::line(format!("  workflow {workflow} version {version}"))?;
    let (due, started) = (text(&run["scheduledAt"]), text(&run["startedAt"]));
    output::line(format!("  due {due}, started {started}, took {}", took(run)))?;
    for (field, what) in [("error", "error"), ("stuck", "it waits"), ("retryOf", "done again of")] {
        if let Some(told) = run[field].as_str() {
            output::line(format!("  {what}: {}", one_line(told)))?;
        }
    }
    if let Some(by) = run["cancel"]["by"].as_str() {
        let why = run["cancel"]["reason"].as_str().map(|why| format!(": {}", one_line(why)));
        output::line(format!("  cancelled by {by}{}", why.unwrap_or_default()))?;
    }
    let mut rows: Vec<[String; 7]> = Vec::new();
    for task in run["tasks"].as_array().into_iter().flatten() {
        let attempts: Vec<&Value> = task["attempts"].as_array().into_iter().flatten().collect();
        if attempts.is_empty() {
            let dash = || "-".to_owned();
            let state = text(&task["state"]).to_lowercase();
            let state = if task["kept"] == true { "kept".to_owned() } else { state };
            rows.push([text(&task["name"]), dash(), state, dash(), dash(), dash(), dash()]);
        }
        for attempt in attempts {
            rows.push([
                text(&task["name"]),
                attempt["attempt"].to_string(),
                text(&attempt["state"]).to_lowercase(),
                text(&attempt["startedAt"]),
                took(attempt),
                text(&attempt["node"]),
                one_line(attempt["error"].as_str().unwrap_or("-")),
            ]);
        }
    }
    output::table(["TASK", "ATTEMPT", "STATE", "STARTED", "TOOK", "NODE", "ERROR"], &rows)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or("-").to_owned()
}

fn took(of: &Value) -> String {
    of["durationMs"].as_i64().map_or("-".to_owned(), |ms| format!("{ms} ms"))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
