use clap::Args;
use serde_json::{Value, json};

use super::RetentionOwner;
use crate::cli::{CliError, client::ClientError, output};

/// Show how long history is kept
#[derive(Debug, Args)]
pub(super) struct Show {
    #[command(flatten)]
    whose: RetentionOwner,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

const SHOW: &str = "query ($namespace: String!) {
    retention(namespace: $namespace) {
        namespace days effectiveDays schedules { id name days }
    }
}";

const SHOW_ONE: &str = "query ($namespace: String!, $schedule: String!) {
    retention(namespace: $namespace) { namespace effectiveDays }
    schedule(namespace: $namespace, name: $schedule) { id name retentionDays }
}";

const ACTION: &str = "say how long history is kept";

impl Show {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let RetentionOwner { server, namespace, schedule } = &self.whose;
        let Some(name) = schedule else {
            let answer = server.ask(ACTION, SHOW, json!({ "namespace": namespace })).await?;
            let kept = &answer["retention"];
            return if self.json { output::json(kept) } else { print(kept) };
        };
        let variables = json!({ "namespace": namespace, "schedule": name });
        let answer = server.ask(ACTION, SHOW_ONE, variables).await?;
        let (kept, found) = (&answer["retention"], &answer["schedule"]);
        if found.is_null() {
            let problem = format!("there is no schedule '{name}' in the namespace '{namespace}'");
            return Err(ClientError::Refused { action: ACTION, problem }.into());
        }
        let own = &found["retentionDays"];
        let effective = if own.is_null() { &kept["effectiveDays"] } else { own };
        if self.json {
            return output::json(&json!({
                "namespace": kept["namespace"], "schedule": found["name"], "id": found["id"],
                "days": own, "effectiveDays": effective,
            }));
        }
        let from = if own.is_null() { "as its namespace" } else { "its own" };
        output::line(format!("{name} keeps history for {effective} days, {from}"))
    }
}

fn print(kept: &Value) -> Result<(), CliError> {
    let (name, days) = (output::cell(&kept["namespace"]), &kept["effectiveDays"]);
    let from = if kept["days"].is_null() { "as the server is configured" } else { "its own" };
    output::line(format!("{name} keeps history for {days} days, {from}"))?;
    let rows = kept["schedules"].as_array().into_iter().flatten();
    let row = |schedule: &Value| [output::cell(&schedule["name"]), schedule["days"].to_string()];
    let rows: Vec<[String; 2]> = rows.map(row).collect();
    if rows.is_empty() {
        return Ok(());
    }
    output::table(["SCHEDULE", "DAYS"], &rows)
}
