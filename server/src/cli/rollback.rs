use clap::Args;
use serde_json::json;

use super::{CliError, named::NamedSchedule, revised};

/// Restore the definition of an earlier version, as a new version that applies from now on
#[derive(Debug, Args)]
pub(super) struct Rollback {
    #[command(flatten)]
    named: NamedSchedule,
    /// The version to restore; see 'carillon versions'
    #[arg(long, value_name = "VERSION", value_parser = clap::value_parser!(i32).range(1..))]
    to: i32,
    /// The version that you saw; refused if there is a newer one [default: the current one]
    #[arg(long, value_name = "VERSION", value_parser = clap::value_parser!(i32).range(1..))]
    expected: Option<i32>,
    /// Reason, for the audit log
    #[arg(long)]
    reason: Option<String>,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

const VERSION: &str = "query ($id: UUID!) { schedule(id: $id) { version } }";

impl Rollback {
    pub(super) async fn run(self) -> Result<(), CliError> {
        const ACTION: &str = "roll the schedule back";
        let expected = match self.expected {
            Some(expected) => json!(expected),
            None => self.named.ask(ACTION, VERSION, json!({})).await?["version"].take(),
        };
        let query = format!(
            "mutation ($id: UUID!, $to: Int!, $expected: Int!, $reason: String) {{
                done: rollbackSchedule(
                    id: $id, toVersion: $to, expectedVersion: $expected, reason: $reason
                ) {{ {} }}
            }}",
            revised::REVISED
        );
        let variables = json!({ "to": self.to, "expected": expected, "reason": self.reason });
        let done = self.named.order(ACTION, &query, variables).await?;
        let same = |name: &str| format!("{name} is now as version {} was", self.to);
        revised::tell(done, &expected, self.json, same)
    }
}
