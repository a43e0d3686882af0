use chrono::{DateTime, Utc};
use clap::Args;
use serde_json::{Value, json};

use super::{
    CliError, await_run,
    named::NamedSchedule,
    output,
    when::{duration, past},
};
use crate::config::Span;

/// Run a schedule's workflow now
#[derive(Debug, Args)]
pub(super) struct Trigger {
    #[command(flatten)]
    named: NamedSchedule,
    /// JSON object merged into the schedule's context; its keys take precedence
    #[arg(long, value_name = "JSON", value_parser = context)]
    context: Option<Value>,
    /// Run as if it were due at this instant
    #[arg(long, value_name = "WHEN", value_parser = past)]
    as_of: Option<DateTime<Utc>>,
    /// Reason, for the audit log
    #[arg(long)]
    reason: Option<String>,
    /// Wait until the run has settled; exit with 0 if it succeeded, otherwise with 4
    #[arg(long)]
    wait: bool,
    /// Maximum time to wait; after that, the run continues
    #[arg(long, value_name = "DURATION", requires = "wait", value_parser = duration)]
    timeout: Option<Span>,
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
        if !self.json {
            output::line(format!("run {}", run["id"].as_str().unwrap_or_default()))?;
        } else if !self.wait {
            output::json(run)?;
        }
        if !self.wait {
            return Ok(());
        }
        let run = await_run::settled(&self.named.server, &run["id"], self.timeout).await?;
        if self.json {
            output::json(&run)?;
        } else {
            let took = run["durationMs"].as_i64();
            let took = took.map(|ms| format!(" after {ms} ms")).unwrap_or_default();
            output::line(format!("{}{took}", output::state(&run["state"])))?;
        }
        await_run::succeeded(&run)
    }
}

/// A context on the command line.
pub(super) fn context(text: &str) -> Result<Value, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if value.is_object() { Ok(value) } else { Err("give a JSON object".to_owned()) }
}
