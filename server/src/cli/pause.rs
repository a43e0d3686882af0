use chrono::{DateTime, Utc};
use clap::Args;
use serde_json::json;

use super::{CliError, named::NamedSchedule, output, when::future};

/// Stop a schedule from firing; its runs in flight continue
#[derive(Debug, Args)]
pub(super) struct Pause {
    #[command(flatten)]
    named: NamedSchedule,
    /// Reason, for the next person on call
    #[arg(long)]
    reason: String,
    /// When it resumes automatically [default: when someone resumes it]
    #[arg(long, value_name = "WHEN", value_parser = future)]
    until: Option<DateTime<Utc>>,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

const PAUSE: &str = "mutation ($id: UUID!, $reason: String!, $until: DateTime) {
    done: pauseSchedule(id: $id, reason: $reason, until: $until) {
        schedule { id name state pause { by at reason until } }
    }
}";

impl Pause {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let variables = json!({ "reason": self.reason, "until": self.until });
        let done = self.named.order("pause the schedule", PAUSE, variables).await?;
        let schedule = &done["schedule"];
        if self.json {
            return output::json(schedule);
        }
        let name = schedule["name"].as_str().unwrap_or_default();
        match schedule["pause"]["until"].as_str() {
            Some(until) => output::line(format!("paused {name} until {until}")),
            None => output::line(format!("paused {name}")),
        }
    }
}
