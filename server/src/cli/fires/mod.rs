//! `carillon fires`: the ledger, where every instant at which a schedule was due has its row.
//!
//! - `follow`: rows as they come and as their verdicts change

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
    client::{Left, MAX_LISTED, Server},
    named, output,
    when::past,
};

/// Show the ledger: what became of each instant at which a schedule was due, newest first
#[derive(Debug, Args)]
pub(super) struct Fires {
    #[command(flatten)]
    server: Server,
    /// Of the schedule of this name or id
    #[arg(long, value_name = "NAME")]
    schedule: String,
    /// Where the schedule's name is looked for
    #[arg(long, default_value = "default")]
    namespace: String,
    /// With this verdict; may be given several times
    #[arg(long, value_name = "VERDICT", value_parser = words::<Verdict>())]
    verdict: Vec<String>,
    /// For this reason; may be given several times
    #[arg(long, value_name = "REASON", value_parser = words::<Reason>())]
    reason: Vec<String>,
    /// Due at this instant or later, such as 2h or 'yesterday 02:00'
    #[arg(long, value_name = "WHEN", value_parser = past)]
    since: Option<DateTime<Utc>>,
    /// Due earlier than this instant
    #[arg(long, value_name = "WHEN", value_parser = past)]
    until: Option<DateTime<Utc>>,
    /// Begin with the last ones in order of time, and go on as rows come and change
    #[arg(long, short, conflicts_with = "until")]
    follow: bool,
    /// How many, 1 to 100000
    #[arg(
        long,
        default_value_t = 20,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_LISTED))
    )]
    limit: u32,
    /// Answer as JSON; with --follow a line for each row
    #[arg(long)]
    json: bool,
}

const ACTION: &str = "read the ledger";

/// What is told of a fire.
const FACTS: &str = "id scheduledAt local offset kind verdict reason { code text } count
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
        let (namespace, name) = (&*self.namespace, &*self.schedule);
        let schedule = named::id(&self.server, ACTION, namespace, name).await?;
        let mut filter = json!({});
        if !self.verdict.is_empty() {
            filter["verdicts"] = self.verdict.iter().map(|word| in_schema(word)).collect();
        }
        if let Some(until) = self.until {
            filter["before"] = json!(until);
        }
        let reasons = self.reason.iter().map(|word| in_schema(word)).collect();
        Ok(Ledger { server: &self.server, schedule, filter, reasons })
    }
}

/// The rows that were asked for.
struct Ledger<'a> {
    server: &'a Server,
    schedule: Value,
    filter: Value,
    reasons: Vec<String>,
}

impl Ledger<'_> {
    /// The newest of them from an instant on, newest first, and what is left.
    async fn newest(
        &self,
        since: Option<DateTime<Utc>>,
        limit: u32,
    ) -> Result<(Vec<Value>, Left), CliError> {
        let query = format!(
            "query ($id: UUID!, $filter: FireFilter, $first: Int, $after: String, $count: Boolean! = false) {{
                all: fires(scheduleId: $id, filter: $filter, first: $first, after: $after) {{
                    nodes {{ {FACTS} }} pageInfo {{ hasNextPage endCursor }} totalCount @include(if: $count)
                }}
            }}"
        );
        let mut filter = self.filter.clone();
        if let Some(since) = since {
            filter["after"] = json!(since);
        }
        let is_meant = |row: &Value| {
            let code = row["reason"]["code"].as_str().unwrap_or_default();
            self.reasons.is_empty() || self.reasons.iter().any(|reason| reason == code)
        };
        let variables = json!({ "id": self.schedule, "filter": filter });
        let found = self.server.pages_of(ACTION, &query, variables, limit, is_meant).await;
        match found? {
            // The total does not know of the reasons.
            (rows, Left::Some { .. }) if !self.reasons.is_empty() => {
                Ok((rows, Left::Some { total: None }))
            }
            found => Ok(found),
        }
    }
}

/// The words of an enum, as people write them.
fn words<E: ActiveEnum<Value = String> + Iterable>() -> impl TypedValueParser<Value = String> {
    let word = |value: E| {
        let stored = value.to_value();
        let written = stored.replace('_', "-");
        PossibleValue::new(written).alias(stored)
    };
    PossibleValuesParser::new(E::iter().map(word)).map(|word| word.replace('-', "_"))
}

/// The same word in the API.
fn in_schema(word: &str) -> String {
    word.to_uppercase()
}

/// When a row was due, and until when if it stands for several instants.
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
            due(row),
            output::cell(&row["verdict"]).to_lowercase(),
            output::cell(&row["reason"]["text"]),
            output::cell(&row["run"]["state"]).to_lowercase(),
        ]
    };
    let rows: Vec<[String; 5]> = rows.iter().map(row).collect();
    output::table(["FIRE", "DUE", "VERDICT", "WHY", "RUN STATE"], &rows)
}
