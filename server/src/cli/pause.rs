use chrono::{DateTime, Utc};
use clap::Args;
use serde_json::{Value, json};

use super::{CliError, named::NamedSchedule, output, resume::CatchUp, when::future};

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
    /// What to do about the fires that fell into the pause when it ends at --until [default: skip]
    #[arg(long, value_enum, value_name = "MODE", requires = "until", visible_alias = "catch-up")]
    missed: Option<CatchUp>,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

const PAUSE: &str = "mutation (
    $id: UUID!, $reason: String!, $until: DateTime, $missed: CatchUp
) {
    done: pauseSchedule(id: $id, reason: $reason, until: $until, missed: $missed) {
        schedule { id name state pause { by at reason until missed } }
    }
}";

impl Pause {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let missed = self.missed.map(CatchUp::word);
        let variables = json!({ "reason": self.reason, "until": self.until, "missed": missed });
        let done = self.named.order("pause the schedule", PAUSE, variables).await?;
        let schedule = &done["schedule"];
        if self.json {
            return output::json(schedule);
        }
        let name = schedule["name"].as_str().unwrap_or_default();
        let pause = &schedule["pause"];
        match pause["until"].as_str() {
            Some(until) => {
                output::line(format!("paused {name} until {until}{}", afterwards(pause)))
            }
            None => output::line(format!("paused {name}")),
        }
    }
}

/// Which fires of a pause run when it ends automatically; empty if none does.
pub(super) fn afterwards(pause: &Value) -> &'static str {
    match pause["missed"].as_str() {
        Some("LATEST") => ", then runs the latest",
        Some("ALL") => ", then runs all, as its catch-up limits allow",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_pause_that_starts_runs_says_so() {
        let words = |missed: Value| afterwards(&json!({ "missed": missed }));
        assert_eq!([words(json!(null)), words(json!("SKIP"))], ["", ""]);
        assert_eq!(words(json!("LATEST")), ", then runs the latest");
        assert!(words(json!("ALL")).starts_with(", then runs all"));
    }
}
