//! `carillon budgets`: what the schedules with a tag may lose, fail or delay.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{CliError, client::Server, output, when::duration, why::Why};
use crate::config::Span;

/// List the health budgets of tags with what they have used, set one, or remove it
#[derive(Debug, Args)]
pub(super) struct Budgets {
    #[command(flatten)]
    server: Server,
    /// Namespace of the budgets [default: all for the list, 'default' for a change]
    #[arg(long, global = true)]
    namespace: Option<String>,
    /// Only the budgets of this tag
    #[arg(long)]
    tag: Option<String>,
    /// Answer as JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    Set(Box<NewBudget>),
    /// Remove the budget of a tag; the server's thresholds apply to it again
    Remove {
        /// The tag
        tag: String,
        #[command(flatten)]
        why: Why,
    },
}

/// Set the budget of a tag, in place of an earlier one; a value may reach its limit
#[derive(Debug, Args)]
struct NewBudget {
    /// The tag; no schedule needs to have it yet
    tag: String,
    /// Maximum number of missed fires in the span [default: the server's threshold]
    #[arg(long, value_name = "FIRES")]
    missed: Option<i64>,
    /// Maximum number of failed runs in the span [default: the server's threshold]
    #[arg(long, value_name = "RUNS")]
    failed: Option<i64>,
    /// Maximum number of stalled runs [default: the server's threshold]
    #[arg(long, value_name = "RUNS")]
    stalled: Option<i64>,
    /// How late 99 of 100 fires of the span may be handed over, such as 5s [default: no limit]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    late: Option<Span>,
    /// Span up to now that is judged, 1m to 24h, in whole minutes
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = duration)]
    span: Span,
    #[command(flatten)]
    why: Why,
}

const LIST: &str = "query ($namespace: String, $tag: String) {
    budgets: healthBudgets(namespace: $namespace, tag: $tag) {
        id namespace tag spanMinutes healthy issues updatedBy updatedAt
        missed { value limit own exceeded } failed { value limit own exceeded }
        stalled { value limit own exceeded } late { value limit own exceeded }
    }
}";

const SET: &str = "mutation ($namespace: String!, $tag: String!, $limits: HealthBudgetInput!,
        $reason: String) {
    done: setHealthBudget(namespace: $namespace, tag: $tag, limits: $limits, reason: $reason) {
        budget { id namespace tag spanMinutes healthy issues }
    }
}";

const REMOVE: &str = "mutation ($namespace: String!, $tag: String!, $reason: String) {
    done: removeHealthBudget(namespace: $namespace, tag: $tag, reason: $reason) { id }
}";

impl Budgets {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let Self { server, namespace, tag, json: as_json, action } = self;
        let Some(action) = action else {
            let asked = json!({ "namespace": namespace, "tag": tag });
            let budgets = server.ask("list the budgets", LIST, asked).await?["budgets"].take();
            return if as_json { output::json(&budgets) } else { print(&budgets) };
        };
        if tag.is_some() {
            let text = "--tag is for the list; a change names its tag after 'set' or 'remove'";
            return Err(CliError::Usage(text.to_owned()));
        }
        let namespace = namespace.unwrap_or_else(|| "default".to_owned());
        match action {
            Action::Set(new) => {
                let (tag, limits) = (new.tag.clone(), new.limits()?);
                let asked = json!({
                    "namespace": namespace, "tag": tag, "limits": limits,
                    "reason": new.why.reason,
                });
                let done = server.ask("set the budget", SET, asked).await?["done"].take();
                let budget = &done["budget"];
                if as_json {
                    return output::json(budget);
                }
                output::line(format!("set the budget of '{tag}'"))?;
                issues(budget).try_for_each(output::line)
            }
            Action::Remove { tag, why } => {
                let asked = json!({ "namespace": namespace, "tag": tag, "reason": why.reason });
                let done = server.ask("remove the budget", REMOVE, asked).await?["done"].take();
                if as_json {
                    return output::json(&done);
                }
                output::line(format!("removed the budget of '{tag}'"))
            }
        }
    }
}

impl NewBudget {
    /// The limits as the API takes them.
    fn limits(&self) -> Result<Value, CliError> {
        let late_ms = self.late.map(|late| u64::try_from(late.0.as_millis()).unwrap_or(u64::MAX));
        let seconds = self.span.0.as_secs();
        if !seconds.is_multiple_of(60) || self.span.0.subsec_nanos() != 0 {
            let text = "--span is not a number of whole minutes; give 5m, 1h or the like";
            return Err(CliError::Usage(text.to_owned()));
        }
        Ok(json!({
            "missed": self.missed, "failed": self.failed, "stalled": self.stalled,
            "lateMs": late_ms, "spanMinutes": seconds / 60,
        }))
    }
}

/// What is wrong with a budget.
fn issues(budget: &Value) -> impl Iterator<Item = String> {
    budget["issues"].as_array().into_iter().flatten().map(output::cell)
}

fn print(budgets: &Value) -> Result<(), CliError> {
    let budgets = || budgets.as_array().into_iter().flatten();
    // The value, and the limit that applies to it.
    let figure = |figure: &Value, unit: &str| {
        let text = |value: &Value| value.as_i64().map(|value| format!("{value}{unit}"));
        let value = text(&figure["value"]).unwrap_or_else(|| "-".to_owned());
        match text(&figure["limit"]) {
            Some(limit) => format!("{value}/{limit}"),
            None => value,
        }
    };
    let row = |budget: &Value| {
        let state = if budget["healthy"] == true { "within" } else { "over" };
        [
            output::cell(&budget["tag"]),
            output::cell(&budget["namespace"]),
            state.to_owned(),
            figure(&budget["missed"], ""),
            figure(&budget["failed"], ""),
            figure(&budget["stalled"], ""),
            figure(&budget["late"], " ms"),
            format!("{} min", budget["spanMinutes"]),
        ]
    };
    let rows: Vec<[String; 8]> = budgets().map(row).collect();
    let heads = ["TAG", "NAMESPACE", "BUDGET", "MISSED", "FAILED", "STALLED", "LATE", "SPAN"];
    output::table(heads, &rows)?;
    budgets().flat_map(issues).try_for_each(output::line)
}
