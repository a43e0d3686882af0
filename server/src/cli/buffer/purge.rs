use clap::Args;
use serde_json::json;
use uuid::Uuid;

use super::NamedSchedule;
use crate::cli::{CliError, output};

/// Remove fires from the buffer; the ledger shows them as skipped, and who removed them
#[derive(Debug, Args)]
pub(super) struct Purge {
    #[command(flatten)]
    named: NamedSchedule,
    /// The fires' ids; see 'carillon buffer list'
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    fires: Vec<Uuid>,
    /// Remove all fires
    #[arg(long)]
    all: bool,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

const PURGE: &str = "mutation ($id: UUID!, $fires: [UUID!]) {
    done: purgeBuffer(scheduleId: $id, fireIds: $fires) { purged schedule { bufferSize } }
}";

impl Purge {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let fires = (!self.all).then_some(&self.fires);
        let done = self.named.order("purge the buffer", PURGE, json!({ "fires": fires })).await?;
        if self.json {
            return output::json(&done);
        }
        let purged = done["purged"].as_array().map_or(0, Vec::len);
        output::line(format!("purged {purged}; {} left", done["schedule"]["bufferSize"]))
    }
}
