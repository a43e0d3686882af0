//! `carillon fires`: the ledger, which has a row for every instant at which a schedule was due.
//!
//! - `follow`: prints rows as they appear and as their verdicts change

mod follow;

use chrono::{DateTime, Utc};
use clap::{
    Args,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use entity::fire::{Reason, Verdict};
use sea_orm::{ActiveEnum, Iterable};
use serde_json::{Value, json};

use super::{
    CliError,
    client::{MoreEntries, Server, entry_count},
    named, output, search,
    when::past,
};
use crate::search::SearchedList;

/// Show the ledger: the outcome of each instant at which a schedule was due, newest first
#[derive(Debug, Args)]
pub(super) struct Fires {
    #[command(flatten)]
    server: Server,
    /// Only the schedule with this name or id [default: all schedules]
    #[arg(long, value_name = "NAME")]
    schedule: Option<String>,
    /// Only schedules that match this search, such as 'tag:billing'
    #[arg(long, value_name = "SEARCH", conflicts_with = "schedule", allow_hyphen_values = true)]
    search: Option<String>,
    /// Namespace of the schedules [default: 'default' for a schedule given by name, otherwise all
    /// you may see]
    #[arg(long)]
    namespace: Option<String>,
    /// Only fires with this verdict; may be given several times
    #[arg(long, value_name = "VERDICT", value_parser = words::<Verdict>())]
    verdict: Vec<String>,
    /// Only fires with this reason; may be given several times
    #[arg(long, value_name = "REASON", value_parser = words::<Reason>())]
    reason: Vec<String>,
    /// Due at this instant or later, such as 2h or 'yesterday 02:00'
    #[arg(long, value_name = "WHEN", value_parser = past)]
    since: Option<DateTime<Utc>>,
    /// Due before this instant
    #[arg(long, value_name = "WHEN", value_parser = past)]
    until: Option<DateTime<Utc>>,
    /// Start with the last fires in chronological order, and continue with new and changed ones that
    /// were due within the last hour
    #[arg(long, short, conflicts_with = "until")]
    follow: bool,
    /// Maximum number of fires, 1 to 100000
    #[arg(long, default_value_t = 20, value_parser = entry_count())]
    limit: u32,
    /// Answer as JSON; with --follow, one line per fire
    #[arg(long)]
    json: bool,
}

const ACTION: &str = "read the ledger";

/// The fields of a fire that the command shows.
const FACTS: &str = "id namespace schedule { name } scheduledAt local offset kind verdict reason { code text } count
    lastScheduledAt decidedAt node run { id state durationMs }";

impl Fires {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let ledger = self.ledger().await?;
        if self.follow {
            return follow::follow(&ledger, self.since, self.limit, self.json).await;
        }
        let (rows, left) = ledger.newest(self.since, self.limit).await?;
        if self.json { output::json(&rows) } else { print(&rows) }?;
        left.tell(rows.len());
        Ok(())
    }

    async fn ledger(&self) -> Result<Ledger<'_>, CliError> {
        search::check(SearchedList::Schedules, "--search", self.search.as_deref())?;
        let mut filter = json!({});
        if let Some(name) = &self.schedule {
            let namespace = self.namespace.as_deref().unwrap_or("default");
            filter["scheduleIds"] =
                json!([named::id(&self.server, ACTION, namespace, name).await?]);
        }
        if !self.reason.is_empty() {
            filter["reasons"] = self.reason.iter().map(|word| in_schema(word)).collect();
        }
        if !self.verdict.is_empty() {
            filter["verdicts"] = self.verdict.iter().map(|word| in_schema(word)).collect();
        }
        if let Some(until) = self.until {
            filter["before"] = json!(until);
        }
        Ok(Ledger { asked: self, filter })
    }
}

/// A query for the requested rows.
struct Ledger<'a> {
    asked: &'a Fires,
    filter: Value,
}

impl Ledger<'_> {
    /// The newest rows from an instant on, newest first, and the number of rows left out.
    async fn newest(
        &self,
        since: Option<DateTime<Utc>>,
        limit: u32,
    ) -> Result<(Vec<Value>, MoreEntries), CliError> {
        let query = format!(
            "query ($namespace: String, $filter: LedgerFilter, $search: String, $first: Int, $after: String,
                    $count: Boolean! = false) {{
                all: ledger(namespace: $namespace, filter: $filter, search: $search, first: $first, after: $after) {{
                    nodes {{ {FACTS} }} pageInfo {{ hasNextPage endCursor }} totalCount @include(if: $count)
                }}
            }}"
        );
        let mut filter = self.filter.clone();
        if let Some(since) = since {
            filter["after"] = json!(since);
        }
        let Fires { server, namespace, search, .. } = self.asked;
        let variables = json!({ "namespace": namespace, "filter": filter, "search": search });
        server.pages(ACTION, &query, variables, limit).await
    }
}

/// The values of an enum, as users write them.
fn words<E: ActiveEnum<Value = String> + Iterable>() -> impl TypedValueParser<Value = String> {
    let word = |value: E| {
        let stored = value.to_value();
        let written = stored.replace('_', "-");
        PossibleValue::new(written).alias(stored)
    };
    PossibleValuesParser::new(E::iter().map(word)).map(|word| word.replace('-', "_"))
}

/// A word as the API spells it.
fn in_schema(word: &str) -> String {
    word.to_uppercase()
}

/// When a row was due; if it covers several instants, up to the last one.
fn due(row: &Value) -> String {
    let at = output::cell(&row["scheduledAt"]);
    match row["count"].as_i64() {
        Some(count @ 2..) => {
            format!("{at} and {} more until {}", count - 1, output::cell(&row["lastScheduledAt"]))
        }
        _ => at,
    }
}

fn print(rows: &[Value]) -> Result<(), CliError> {
    let row = |row: &Value| {
        [
            output::cell(&row["id"]),
            output::cell(&row["schedule"]["name"]),
            due(row),
            output::cell(&row["verdict"]).to_lowercase(),
            output::cell(&row["reason"]["text"]),
            output::cell(&row["run"]["state"]).to_lowercase(),
        ]
    };
    let rows: Vec<[String; 6]> = rows.iter().map(row).collect();
    output::table(["FIRE", "SCHEDULE", "DUE", "VERDICT", "WHY", "RUN STATE"], &rows)
}
