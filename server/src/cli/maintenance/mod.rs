//! Maintenance windows from the command line: planned pauses of the schedules that a search finds.
//!
//! - `list`: lists windows
//! - `plan`: plans one, or shows what it would hold back
//! - `change`: changes one, or cancels it
//! - `preview`: what a window would hold back

mod change;
mod list;
mod plan;
mod preview;

use clap::{Args, Subcommand};
use serde_json::Value;

use super::{CliError, output, pause::afterwards};

/// Plan pauses of schedules ahead, with their ends
#[derive(Debug, Args)]
pub(super) struct Maintenance {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    List(list::List),
    Plan(plan::Plan),
    Change(change::Change),
    Cancel(change::Cancel),
}

impl Maintenance {
    pub(super) async fn run(self) -> Result<(), CliError> {
        match self.action {
            Action::List(list) => list.run().await,
            Action::Plan(plan) => plan.run().await,
            Action::Change(change) => change.run().await,
            Action::Cancel(cancel) => cancel.run().await,
        }
    }
}

/// The fields of a window that the commands show.
const FACTS: &str = "id namespace title ticket search startsAt endsAt missed state plannedBy
    plannedAt cancelledBy cancelledAt cancelReason scheduleCount";

/// A window in one line, after its change.
fn told(window: &Value) -> String {
    format!(
        "maintenance {} is {}: {} from {} until {}{}",
        output::cell(&window["id"]),
        output::cell(&window["state"]).to_lowercase(),
        output::cell(&window["title"]),
        output::cell(&window["startsAt"]),
        output::cell(&window["endsAt"]),
        afterwards(window),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_window_is_told_with_what_runs_at_its_end() {
        let window = json!({
            "id": "w", "title": "Move", "state": "PLANNED", "missed": "LATEST",
            "startsAt": "2026-12-01T22:00:00Z", "endsAt": "2026-12-02T02:00:00Z",
        });
        let line = "maintenance w is planned: Move from 2026-12-01T22:00:00Z until \
                    2026-12-02T02:00:00Z, then runs the latest";
        assert_eq!(told(&window), line);
    }
}
