use clap::Args;
use serde_json::json;

use super::{
    CliError,
    named::{NamedSchedule, next},
    output,
};

/// Skip the next fires of a schedule
#[derive(Debug, Args)]
pub(super) struct SkipNext {
    #[command(flatten)]
    named: NamedSchedule,
    /// Number of fires, 1 to 100
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(i32).range(1..=100))]
    count: i32,
    /// Reason, for the ledger and the audit log
    #[arg(long)]
    reason: String,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

const SKIP: &str = "mutation ($id: UUID!, $count: Int!, $reason: String!) {
    done: skipNext(id: $id, count: $count, reason: $reason) {
        skippedAt schedule { id nextFireAt }
    }
}";

impl SkipNext {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let variables = json!({ "count": self.count, "reason": self.reason });
        let skipped = self.named.order("skip the next fires", SKIP, variables).await?;
        if self.json {
            return output::json(&skipped);
        }
        for at in skipped["skippedAt"].as_array().into_iter().flatten() {
            output::line(format!("skipped {}", at.as_str().unwrap_or_default()))?;
        }
        output::line(next(&skipped["schedule"]))
    }
}
