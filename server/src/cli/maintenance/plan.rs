use chrono::{DateTime, Utc};
use clap::Args;
use serde_json::json;

use super::{FACTS, preview, told};
use crate::{
    cli::{
        CliError, client::Server, output, resume::CatchUp, search as searches, when::future,
        why::Why,
    },
    clock::Clock,
    search::SearchedList,
};

/// Plan a maintenance window: it pauses schedules when it begins, and resumes them when it ends
#[derive(Debug, Args)]
pub(super) struct Plan {
    #[command(flatten)]
    server: Server,
    /// What the maintenance is, such as 'Database move'; 1 to 100 characters
    title: String,
    /// When it begins [default: now]
    #[arg(long, value_name = "WHEN", value_parser = future)]
    from: Option<DateTime<Utc>>,
    /// When it ends, at most 31 days after it begins
    #[arg(long, value_name = "WHEN", value_parser = future)]
    until: DateTime<Utc>,
    /// Search that selects the schedules, such as 'tag:billing' [default: every schedule of the
    /// namespace]
    #[arg(long, value_name = "SEARCH", allow_hyphen_values = true)]
    search: Option<String>,
    /// Namespace of the schedules
    #[arg(long, default_value = "default")]
    namespace: String,
    /// Ticket that it belongs to: a URL or an id
    #[arg(long, value_name = "TEXT")]
    ticket: Option<String>,
    /// What to do about the fires that fell into it, at its end
    #[arg(
        long,
        value_enum,
        value_name = "MODE",
        default_value = "skip",
        visible_alias = "catch-up"
    )]
    missed: CatchUp,
    /// Only show what it would hold back
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    why: Why,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

impl Plan {
    pub(super) async fn run(self) -> Result<(), CliError> {
        searches::check(SearchedList::Schedules, "--search", self.search.as_deref())?;
        let starts_at = self.from.unwrap_or_else(|| Clock::system().now());
        let input = json!({
            "namespace": self.namespace, "title": self.title, "ticket": self.ticket,
            "search": self.search, "startsAt": starts_at, "endsAt": self.until,
            "missed": self.missed.word(),
        });
        if self.dry_run {
            return preview::show(&self.server, &input, None, self.json).await;
        }
        let query = format!(
            "mutation ($input: MaintenanceInput!, $reason: String) {{
                planMaintenance(input: $input, reason: $reason) {{ window {{ {FACTS} }} }}
            }}"
        );
        let variables = json!({ "input": input, "reason": self.why.reason });
        let answer = self.server.ask("plan the maintenance", &query, variables).await?;
        let window = &answer["planMaintenance"]["window"];
        if self.json {
            return output::json(window);
        }
        output::line(told(window))
    }
}
