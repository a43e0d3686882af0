use clap::Args;
use serde_json::json;
use uuid::Uuid;

use super::{CliError, client::Server, output, trigger::find};

/// Leave out the next fires of a schedule
#[derive(Debug, Args)]
pub(super) struct SkipNext {
    #[command(flatten)]
    server: Server,
    /// Its name or id
    schedule: String,
    /// Where the name is looked for
    #[arg(long, default_value = "default")]
    namespace: String,
    /// How many, 1 to 100
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(i32).range(1..=100))]
    count: i32,
    /// Why, for the ledger and the audit log
    #[arg(long)]
    reason: String,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

const SKIP: &str = "mutation ($id: UUID!, $count: Int!, $reason: String!) {
    skipNext(id: $id, count: $count, reason: $reason) { skippedAt schedule { id nextFireAt } }
}";

impl SkipNext {
    pub(super) async fn run(self) -> Result<(), CliError> {
        const ACTION: &str = "skip the next fires";
        let id = match Uuid::try_parse(&self.schedule) {
            Ok(id) => json!(id),
            Err(_) => find(&self.server, ACTION, &self.namespace, &self.schedule).await?,
        };
        let variables = json!({ "id": id, "count": self.count, "reason": self.reason });
        let answer = self.server.ask(ACTION, SKIP, variables).await?;
        let skipped = &answer["skipNext"];
        if self.json {
            return output::json(skipped);
        }
        for at in skipped["skippedAt"].as_array().into_iter().flatten() {
            output::line(format!("skipped {}", at.as_str().unwrap_or_default()))?;
        }
        match skipped["schedule"]["nextFireAt"].as_str() {
            Some(next) => output::line(format!("next {next}")),
            None => output::line("no fire is left"),
        }
    }
}
