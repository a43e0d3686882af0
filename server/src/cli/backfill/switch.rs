use clap::Args;
use serde_json::json;
use uuid::Uuid;

use super::{FACTS, progress};
use crate::cli::{CliError, client::Server, output, why::Why};

/// One backfill.
#[derive(Debug, Args)]
struct OneBackfill {
    #[command(flatten)]
    server: Server,
    /// The backfill's id
    backfill: Uuid,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

/// Start no more runs of a backfill until it is resumed
#[derive(Debug, Args)]
pub(super) struct Pause {
    #[command(flatten)]
    one: OneBackfill,
    #[command(flatten)]
    why: Why,
}

/// Resume a paused backfill
#[derive(Debug, Args)]
pub(super) struct Resume {
    #[command(flatten)]
    one: OneBackfill,
    #[command(flatten)]
    why: Why,
}

/// Stop a backfill for good, and cancel its live runs
#[derive(Debug, Args)]
pub(super) struct Cancel {
    #[command(flatten)]
    one: OneBackfill,
    #[command(flatten)]
    why: Why,
}

impl Pause {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let query = format!(
            "mutation ($id: UUID!) {{ done: pauseBackfill(id: $id) {{ backfill {{ {FACTS} }} }} }}"
        );
        self.one.order("pause the backfill", &query, &self.why).await
    }
}

impl Resume {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let query = format!(
            "mutation ($id: UUID!) {{ done: resumeBackfill(id: $id) {{ backfill {{ {FACTS} }} }} }}"
        );
        self.one.order("resume the backfill", &query, &self.why).await
    }
}

impl Cancel {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let query = format!(
            "mutation ($id: UUID!, $reason: String) {{
                done: cancelBackfill(id: $id, reason: $reason) {{ backfill {{ {FACTS} }} }}
            }}"
        );
        self.one.order("cancel the backfill", &query, &self.why).await
    }
}

impl OneBackfill {
    async fn order(&self, action: &'static str, query: &str, why: &Why) -> Result<(), CliError> {
        // Cancelling has an argument for the reason, which is also stored in the runs. Pausing has
        // none, so its reason goes into the header.
        let variables = json!({ "id": self.backfill, "reason": why.reason });
        let answer = self.server.order(action, query, variables, why).await?;
        let backfill = &answer["done"]["backfill"];
        if self.json {
            return output::json(backfill);
        }
        let state = output::cell(&backfill["state"]).to_lowercase();
        output::line(format!("backfill {} is {state}: {}", self.backfill, progress(backfill)))
    }
}
