//! `carillon explain`: the outcome of one fire, and why.

use chrono::{DateTime, TimeDelta, Utc};
use clap::Args;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    CliError,
    client::{ClientError, Server},
    named::find,
    output,
    when::past,
};
use crate::clock::Clock;

/// Show the outcome of a fire and the reason: a fire by its id, or the last fire of a schedule up
/// to --at
#[derive(Debug, Args)]
pub(super) struct Explain {
    #[command(flatten)]
    server: Server,
    /// The fire's id, as 'carillon fires' shows it, or a schedule's name
    #[arg(value_name = "FIRE|SCHEDULE")]
    which: String,
    /// For a schedule: the fire due at this instant, or the last one before it [default: now]
    #[arg(long, value_name = "WHEN", value_parser = past)]
    at: Option<DateTime<Utc>>,
    /// Namespace of the schedule
    #[arg(long, default_value = "default")]
    namespace: String,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

const ACTION: &str = "explain the fire";

/// The fields of a fire that the command shows.
const FACTS: &str = "id scheduleId scheduleVersion scheduledAt dueAt local offset kind verdict
    reason { code text } count lastScheduledAt claimedAt decidedAt node recoveryAttempts
    run { id state startedAt finishedAt durationMs latenessMs error }";

const SCHEDULE: &str = "query ($id: UUID!) { schedule(id: $id) { name timing { description } } }";

impl Explain {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let fire = match Uuid::try_parse(&self.which) {
            Ok(id) => self.by_id(id).await?,
            Err(_) => self.by_instant().await?,
        };
        if self.json {
            return output::json(&fire);
        }
        let asked = json!({ "id": fire["scheduleId"] });
        // The fires of a deleted schedule can still be found, but not the schedule itself.
        let schedule = self.server.ask(ACTION, SCHEDULE, asked).await?["schedule"].take();
        print(&fire, &schedule)
    }

    async fn by_id(&self, id: Uuid) -> Result<Value, CliError> {
        let query = format!("query ($id: UUID!) {{ fire(id: $id) {{ {FACTS} }} }}");
        let fire = self.server.ask(ACTION, &query, json!({ "id": id })).await?["fire"].take();
        if !fire.is_null() {
            return Ok(fire);
        }
        let problem = format!("there is no fire with the id {id}; 'carillon fires' lists them");
        Err(ClientError::Refused { action: ACTION, problem }.into())
    }

    /// The last fire of a schedule that was due at an instant or before it.
    async fn by_instant(&self) -> Result<Value, CliError> {
        let query = format!(
            "query ($id: UUID!, $before: DateTime!) {{
                fires(scheduleId: $id, filter: {{ before: $before }}, first: 1) {{
                    nodes {{ {FACTS} }}
                }}
            }}"
        );
        let id = find(&self.server, ACTION, &self.namespace, &self.which).await?;
        let at = self.at.unwrap_or_else(|| Clock::system().now());
        // The ledger stores milliseconds, and the query excludes `before`, so this includes `at`.
        let before = at + TimeDelta::milliseconds(1);
        let asked = json!({ "id": id, "before": before });
        let mut answer = self.server.ask(ACTION, &query, asked).await?;
        if let Some(fire) = answer.pointer_mut("/fires/nodes/0") {
            return Ok(fire.take());
        }
        let problem = format!("no fire of '{}' was due until {at}", self.which);
        Err(ClientError::Refused { action: ACTION, problem }.into())
    }
}

fn print(fire: &Value, schedule: &Value) -> Result<(), CliError> {
    let text = |field: &str| output::cell(&fire[field]);
    let name = schedule["name"].as_str().unwrap_or("a schedule that was deleted");
    let due = text("scheduledAt");
    output::line(format!("{name} was due at {due}: {}", output::state(&fire["verdict"])))?;
    output::line(format!("  why: {}", output::cell(&fire["reason"]["text"])))?;
    let code = output::cell(&fire["reason"]["code"]).to_lowercase();
    output::line(format!("  reason code: {code}"))?;
    if let Some(description) = schedule["timing"]["description"].as_str() {
        output::line(format!("  timing: {description} (version {})", fire["scheduleVersion"]))?;
    }
    let kind = match fire["kind"].as_str() {
        Some("SHIFTED") => " (the clocks skipped the requested time: right after the gap)",
        Some("FIRST_OF_TWO") => " (this time occurred twice: the first)",
        Some("SECOND_OF_TWO") => " (this time occurred twice: the second)",
        _ => "",
    };
    output::line(format!("  on the wall clock: {} {}{kind}", text("local"), text("offset")))?;
    if fire["count"].as_i64().is_some_and(|count| count > 1) {
        let last = text("lastScheduledAt");
        output::line(format!("  covers {} instants, until {last}", fire["count"]))?;
    }
    let decided = fire["decidedAt"].as_str().map_or("not yet".to_owned(), str::to_owned);
    let (claimed, node) = (text("claimedAt"), text("node"));
    output::line(format!("  claimed {claimed} by {node}, decided {decided}"))?;
    if fire["recoveryAttempts"].as_i64().is_some_and(|attempts| attempts > 0) {
        output::line(format!("  recovery handled it {} times", fire["recoveryAttempts"]))?;
    }
    let run = &fire["run"];
    let Some(id) = run["id"].as_str() else { return output::line("  it has no run") };
    let took = run["durationMs"].as_i64().map_or(String::new(), |ms| format!(", took {ms} ms"));
    output::line(format!("  run {id}: {}{took}", output::state(&run["state"])))?;
    if let Some(error) = run["error"].as_str() {
        output::line(format!("  error: {}", output::one_line(error)))?;
    }
    output::line(format!("  more: carillon run show {id}"))
}
