use clap::Args;
use serde_json::json;
use uuid::Uuid;

use super::{FACTS, MAX_FIRES, NamedSchedule, print};
use crate::cli::{CliError, output};

/// Move fires to the head of the buffer; the others follow in their current order
#[derive(Debug, Args)]
pub(super) struct Move {
    #[command(flatten)]
    named: NamedSchedule,
    /// The fires' ids, in the order in which they should start; see 'carillon buffer list'
    #[arg(required = true)]
    fires: Vec<Uuid>,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

impl Move {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let query = format!(
            "mutation ($id: UUID!, $fires: [UUID!]!, $first: Int!) {{
                done: reorderBuffer(scheduleId: $id, fireIds: $fires) {{ schedule {{ {FACTS} }} }}
            }}"
        );
        let variables = json!({ "fires": self.fires, "first": MAX_FIRES });
        let done = self.named.order("reorder the buffer", &query, variables).await?;
        let schedule = &done["schedule"];
        if self.json { output::json(schedule) } else { print(schedule) }
    }
}
