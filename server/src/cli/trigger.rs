use chrono::{DateTime, Utc};
use clap::Args;
use serde_json::{Value, json};

use super::{CliError, named::Named, output, timing::instant};

/// Run a schedule's workflow now
#[derive(Debug, Args)]
pub(super) struct Trigger {
    #[command(flatten)]
    named: Named,
    /// JSON object laid over the schedule's context, key by key
    #[arg(long, value_name = "JSON", value_parser = context)]
    context: Option<Value>,
    /// Run as if it were due at this instant
    #[arg(long, value_name = "RFC3339", value_parser = instant)]
    as_of: Option<DateTime<Utc>>,
    /// Why, for the audit log
    #[arg(long)]
    reason: Option<String>,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

const TRIGGER: &str = "mutation ($id: UUID!, $context: JSON, $asOf: DateTime, $reason: String) {
    done: triggerSchedule(id: $id, context: $context, asOf: $asOf, reason: $reason) {
        run { id state scheduledAt idempotencyKey }
    }
}";

impl Trigger {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let variables =
            json!({ "context": self.context, "asOf": self.as_of, "reason": self.reason });
        let done = self.named.order("trigger the schedule", TRIGGER, variables).await?;
        let run = &done["run"];
        if self.json {
            return output::json(run);
        }
        output::line(format!("run {}", run["id"].as_str().unwrap_or_default()))
    }
}

/// A context on the command line.
pub(super) fn context(text: &str) -> Result<Value, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if value.is_object() { Ok(value) } else { Err("give a JSON object".to_owned()) }
}
