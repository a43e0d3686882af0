//! Backfills from the command line: `preview` shows what `create` would run; the others list and
//! control existing backfills.

mod create;
mod list;
mod preview;
mod switch;

use chrono::{DateTime, Utc};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use super::{CliError, named::NamedSchedule, when::past};

/// Run a schedule for past instants
#[derive(Debug, Args)]
pub(super) struct Backfill {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Preview(preview::Preview),
    Create(create::Create),
    List(list::List),
    Pause(switch::Pause),
    Resume(switch::Resume),
    Cancel(switch::Cancel),
}

impl Backfill {
    pub(super) async fn run(self) -> Result<(), CliError> {
        match self.action {
            Action::Preview(preview) => preview.run().await,
            Action::Create(create) => create.run().await,
            Action::List(list) => list.run().await,
            Action::Pause(pause) => pause.run().await,
            Action::Resume(resume) => resume.run().await,
            Action::Cancel(cancel) => cancel.run().await,
        }
    }
}

/// The fires of a schedule to backfill.
#[derive(Debug, Args)]
struct FireSelection {
    #[command(flatten)]
    named: NamedSchedule,
    /// Start of the window, inclusive
    #[arg(long, value_name = "WHEN", value_parser = past)]
    from: DateTime<Utc>,
    /// End of the window, exclusive; not in the future
    #[arg(long, value_name = "WHEN", value_parser = past)]
    to: DateTime<Utc>,
    /// Which fires of the window to run
    #[arg(long, value_enum, default_value = "missing")]
    mode: Mode,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Mode {
    /// Fires that have had no run
    Missing,
    /// In addition, fires whose runs have all ended without success
    MissingAndFailed,
    /// In addition, fires that succeeded
    All,
}

impl FireSelection {
    /// The variables that the queries of preview and create share.
    async fn variables(&self, action: &'static str) -> Result<Value, CliError> {
        let id = self.named.id(action).await?;
        let mode = match self.mode {
            Mode::Missing => "MISSING",
            Mode::MissingAndFailed => "MISSING_AND_FAILED",
            Mode::All => "ALL",
        };
        Ok(json!({ "id": id, "from": self.from, "to": self.to, "mode": mode }))
    }
}

/// The fields of a backfill that the commands show.
const FACTS: &str = "id state mode order concurrency from to reason createdAt finishedAt
    pause { by at reason } schedule { name } progress { total pending running succeeded failed cancelled skipped }";

/// The progress of a backfill, in words.
fn progress(backfill: &Value) -> String {
    let progress = &backfill["progress"];
    let count = |name: &str| progress[name].as_i64().unwrap_or(0);
    let done = count("total") - count("pending") - count("running");
    let mut words = vec![format!("{done}/{}", count("total"))];
    let parts = ["running", "failed", "cancelled", "skipped"].into_iter();
    words
        .extend(parts.filter(|name| count(name) > 0).map(|name| format!("{} {name}", count(name))));
    words.join(", ")
}
