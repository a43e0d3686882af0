//! Bulk operations on all schedules or runs that match a search.
//!
//! - `verbs`: the operations, as mutations
//! - `outcome`: the outcome of an operation, for people

mod outcome;
mod verbs;

use clap::Args;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    CliError,
    client::{ClientError, Server},
    output,
    progress::ProgressLine,
    search,
    why::Why,
};
use crate::search::SearchedList;

/// Change all schedules or runs that match a search, at most 10,000
#[derive(Debug, Args)]
pub(super) struct Bulk {
    #[command(subcommand)]
    verb: verbs::Verb,
}

impl Bulk {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let (order, sought) = self.verb.order()?;
        sought.carry_out(order).await
    }
}

/// The objects that a bulk operation selects, and how it is executed.
#[derive(Debug, Args)]
struct BulkSelection {
    #[command(flatten)]
    server: Server,
    /// A search that selects the objects, such as 'state:failed tag:billing'
    #[arg(value_name = "SEARCH", allow_hyphen_values = true, value_parser = no_flag)]
    search: String,
    /// Namespace to search
    #[arg(long, default_value = "default")]
    namespace: String,
    /// Only count the objects, and show the first ones
    #[arg(long)]
    dry_run: bool,
    /// The expected number of objects; refused if the search finds a different number
    #[arg(long, value_name = "COUNT")]
    expect: Option<u32>,
    /// Idempotency key: a repeated command with the same key continues where it stopped, and does
    /// nothing twice [default: a new one]
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

/// Refuses a text that looks like a mistyped flag: as a search, `--all` would match everything
/// except `-all`.
fn no_flag(text: &str) -> Result<String, String> {
    if text.starts_with("--") {
        return Err(format!("there is no such flag; to search for it as text, give '\"{text}\"'"));
    }
    Ok(text.to_owned())
}

/// A bulk mutation.
struct Order {
    list: SearchedList,
    /// The action, to follow "failed to".
    action: &'static str,
    /// The action as in "PAUSED 3 schedules".
    past: &'static str,
    /// The action as in "3 schedules would BE PAUSED".
    would: String,
    field: &'static str,
    /// The variables that only this mutation has: name, type, value.
    variables: Vec<(&'static str, &'static str, Value)>,
    /// The reason, if the mutation has no variable for it.
    why: Why,
}

impl Order {
    fn new(
        list: SearchedList,
        action: &'static str,
        past: &'static str,
        field: &'static str,
    ) -> Self {
        let (would, why) = (format!("be {past}"), Why { reason: None });
        Self { list, action, past, would, field, variables: vec![], why }
    }

    fn with(mut self, name: &'static str, kind: &'static str, value: Value) -> Self {
        self.variables.push((name, kind, value));
        self
    }

    fn query(&self) -> String {
        let declared: String =
            self.variables.iter().map(|(name, kind, _)| format!(", ${name}: {kind}")).collect();
        let given: String =
            self.variables.iter().map(|(name, ..)| format!(", {name}: ${name}")).collect();
        let sample = match self.list {
            SearchedList::Schedules => "id name",
            SearchedList::Runs => "id",
        };
        format!(
            "mutation ($which: ManyInput!, $key: String!{declared}) {{
                done: {}(which: $which, idempotencyKey: $key{given}) {{
                    dryRun matched tooMany done refused refusals {{ id code message }} remaining
                    sample {{ {sample} }}
                }}
            }}",
            self.field
        )
    }
}

impl BulkSelection {
    async fn carry_out(self, order: Order) -> Result<(), CliError> {
        search::check(order.list, "SEARCH", Some(&self.search))?;
        // A repeated request with the same key continues where the previous one ran out of time.
        let key = self.key.clone().unwrap_or_else(|| Uuid::now_v7().to_string());
        let mut variables = json!({
            "which": {
                "namespace": self.namespace, "search": self.search, "dryRun": self.dry_run,
                "expectedCount": self.expect,
            },
            "key": key,
        });
        for (name, _, value) in &order.variables {
            variables[*name] = value.clone();
        }
        let query = order.query();
        let mut before: Option<Value> = None;
        let progress = ProgressLine::begin(order.action);
        let done = loop {
            let asked = variables.clone();
            let answer = self.server.order(order.action, &query, asked, &order.why).await;
            let mut answer = answer.map_err(|error| self.stopped(error, before.as_ref(), &key))?;
            let done = answer["done"].take();
            if done["remaining"].as_u64().is_none_or(|left| left == 0) || self.dry_run {
                break done;
            }
            progress.tell(format_args!("{} of {} done", done["done"], done["matched"]));
            before = Some(done);
        };
        drop(progress);
        if self.json {
            output::json(&done)?;
        } else {
            outcome::print(&order, &done)?;
        }
        match done["refused"].as_u64() {
            // A dry run has done what it was asked for, even if it found refusals.
            _ if self.dry_run => Ok(()),
            None | Some(0) => Ok(()),
            Some(refused) => {
                let problem = format!("it was refused for {refused} of {}", done["matched"]);
                Err(ClientError::Refused { action: order.action, problem }.into())
            }
        }
    }

    /// Adds to the error how far the operation had progressed and how to continue it, unless it was
    /// refused before it began.
    fn stopped(&self, error: CliError, before: Option<&Value>, key: &str) -> CliError {
        let may_be_done = matches!(
            &error,
            CliError::Client(ClientError::Unreachable { .. } | ClientError::Failed { .. })
        );
        if self.dry_run || !(may_be_done || before.is_some()) {
            return error;
        }
        let known = match before {
            Some(told) => format!("at least {} of {} are done", told["done"], told["matched"]),
            None => "it is unknown how many are done".to_owned(),
        };
        let told = format!("{known}; to continue, repeat with --key {key}");
        CliError::Stopped { error: Box::new(error), told }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        bulk: Bulk,
    }

    fn read(args: &[&str]) -> Result<Line, clap::Error> {
        Line::try_parse_from([&["bulk"][..], args].concat())
    }

    #[test]
    fn a_mistyped_flag_is_no_search() {
        for flag in ["--all", "--dryrun"] {
            let error = read(&["delete", flag]).unwrap_err().to_string();
            assert!(error.contains("there is no such flag"), "{error}");
        }
        for search in ["-tag:billing", "\"--all\""] {
            let (_, sought) = read(&["delete", search]).unwrap().bulk.verb.order().unwrap();
            assert_eq!(sought.search, search);
        }
    }

    #[test]
    fn each_cancelled_run_has_its_own_reason() {
        let line = read(&["cancel-runs", "state:queued", "--reason", "enough"]).unwrap();
        let (order, _) = line.bulk.verb.order().unwrap();
        assert!(order.query().contains("reason: $reason"), "{}", order.query());
        assert_eq!(order.variables, [("reason", "String", json!("enough"))]);
    }

    #[test]
    fn an_interrupted_command_says_how_to_continue() {
        let line = read(&["retry-runs", "state:failed"]).unwrap();
        let (order, sought) = line.bulk.verb.order().unwrap();
        let error = |problem: &str| {
            CliError::from(ClientError::Refused { action: order.action, problem: problem.into() })
        };
        let refused = sought.stopped(error("no"), None, "k");
        assert_eq!(refused.to_string(), "failed to retry the runs: no");
        let before = json!({ "done": 3, "matched": 7 });
        let stopped = sought.stopped(error("no"), Some(&before), "k").to_string();
        assert!(
            stopped.ends_with("3 of 7 are done; to continue, repeat with --key k"),
            "{stopped}"
        );
    }
}
