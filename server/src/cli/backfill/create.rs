use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::{FACTS, FireSelection};
use crate::cli::{CliError, output, trigger};

/// Create a backfill, which runs the fires that its preview shows
#[derive(Debug, Args)]
pub(super) struct Create {
    #[command(flatten)]
    wanted: FireSelection,
    /// Order in which the fires run
    #[arg(long, value_enum, default_value = "oldest-first")]
    order: Order,
    /// Maximum number of runs at once, 1 to 100
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    concurrency: u32,
    /// Reason, for the next person on call
    #[arg(long)]
    reason: String,
    /// JSON object merged into the schedule's context; its keys take precedence
    #[arg(long, value_name = "JSON", value_parser = trigger::context)]
    context: Option<Value>,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Order {
    OldestFirst,
    NewestFirst,
}

impl Create {
    pub(super) async fn run(self) -> Result<(), CliError> {
        const ACTION: &str = "create the backfill";
        let query = format!(
            "mutation (
                $id: UUID!, $from: DateTime!, $to: DateTime!, $mode: BackfillMode!,
                $order: BackfillOrder!, $concurrency: Int!, $reason: String!, $context: JSON
            ) {{
                createBackfill(
                    scheduleId: $id, from: $from, to: $to, mode: $mode, order: $order,
                    concurrency: $concurrency, reason: $reason, context: $context
                ) {{ backfill {{ {FACTS} }} }}
            }}"
        );
        let mut variables = self.wanted.variables(ACTION).await?;
        variables["order"] = json!(match self.order {
            Order::OldestFirst => "OLDEST_FIRST",
            Order::NewestFirst => "NEWEST_FIRST",
        });
        variables["concurrency"] = json!(self.concurrency);
        variables["reason"] = json!(self.reason);
        variables["context"] = json!(self.context);
        let answer = self.wanted.named.server.ask(ACTION, &query, variables).await?;
        let backfill = &answer["createBackfill"]["backfill"];
        if self.json {
            return output::json(backfill);
        }
        let total = backfill["progress"]["total"].as_i64().unwrap_or(0);
        output::line(format!("backfill {} of {total} fires", output::cell(&backfill["id"])))
    }
}
