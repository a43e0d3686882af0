//! Retention from the command line: runs a round on the configured database, or asks a running
//! server how long history is kept, previews a round, and changes the retention.

mod preview;
mod round;
mod set;
mod show;

use clap::{Args, Subcommand};
use serde_json::Value;

use super::{CliError, client::Server};

/// Remove history that is old enough, as the server does each hour; or show and set how long it is
/// kept
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Retention {
    #[command(flatten)]
    round: round::Round,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    Show(show::Show),
    Set(set::Set),
    Preview(preview::Preview),
}

impl Retention {
    pub(super) async fn run(self) -> Result<(), CliError> {
        match self.action {
            None => self.round.run().await,
            Some(Action::Show(show)) => show.run().await,
            Some(Action::Set(set)) => set.run().await,
            Some(Action::Preview(preview)) => preview.run().await,
        }
    }
}

/// The owner of a retention setting: a namespace of a server, or one of its schedules.
#[derive(Debug, Args)]
struct RetentionOwner {
    #[command(flatten)]
    server: Server,
    /// Namespace whose history is kept
    #[arg(long, default_value = "default")]
    namespace: String,
    /// Only the schedule with this name
    #[arg(long, value_name = "NAME")]
    schedule: Option<String>,
}

/// The fields to request of a preview.
const PREVIEW: &str = "longestDays shortestDays partitions oldestKept { table madeAt }
    tables(first: 1000) { table namespace rows estimatedBytes oldest newest }";

/// The day of an instant in UTC. The output says so beside it.
fn day(instant: &Value) -> String {
    let day = instant.as_str().and_then(|text| text.get(..10));
    day.unwrap_or("-").to_owned()
}

/// The figures of a preview for one namespace, or for all of them.
fn figures<'a>(preview: &'a Value, of: Option<&str>) -> impl Iterator<Item = &'a Value> {
    let tables = preview["tables"].as_array().into_iter().flatten();
    tables.filter(move |figure| of.is_none() || figure["namespace"].as_str() == of)
}
