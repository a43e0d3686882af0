//! One order for all schedules or runs that a search finds.
//!
//! - `verbs`: what can be ordered, as mutations
//! - `told`: what became of an order, for people

mod told;
mod verbs;

use clap::Args;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    CliError,
    client::{ClientError, Server},
    output, search,
    why::Why,
};
use crate::search::List;

/// Order something for all schedules or runs that a search finds, 10,000 at the most
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

/// Of what, and whether.
#[derive(Debug, Args)]
struct Sought {
    #[command(flatten)]
    server: Server,
    /// Which, in the search language, as in 'state:failed tag:billing'
    #[arg(value_name = "SEARCH", allow_hyphen_values = true)]
    search: String,
    /// Of this namespace
    #[arg(long, default_value = "default")]
    namespace: String,
    /// Only count them, and show the first
    #[arg(long)]
    dry_run: bool,
    /// How many are meant; refused if another number is found
    #[arg(long, value_name = "COUNT")]
    expect: Option<u32>,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

/// A mutation for many.
struct Order {
    list: List,
    /// Reads after "failed to".
    action: &'static str,
    /// As in "PAUSED 3 schedules".
    past: &'static str,
    /// As in "3 schedules would BE PAUSED".
    would: String,
    field: &'static str,
    /// Its own variables: name, type, value.
    variables: Vec<(&'static str, &'static str, Value)>,
    /// Why, where it has no variable for that.
    why: Why,
}

impl Order {
    fn new(list: List, action: &'static str, past: &'static str, field: &'static str) -> Self {
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
            List::Schedules => "id name",
            List::Runs => "id",
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

impl Sought {
    async fn carry_out(self, order: Order) -> Result<(), CliError> {
        search::check(order.list, Some(&self.search))?;
        // Under one key it goes on where the time of a request was over.
        let mut variables = json!({
            "which": {
                "namespace": self.namespace, "search": self.search, "dryRun": self.dry_run,
                "expectedCount": self.expect,
            },
            "key": Uuid::now_v7(),
        });
        for (name, _, value) in &order.variables {
            variables[*name] = value.clone();
        }
        let query = order.query();
        let done = loop {
            let asked = variables.clone();
            let mut answer = self.server.order(order.action, &query, asked, &order.why).await?;
            let done = answer["done"].take();
            if done["remaining"].as_u64().is_none_or(|left| left == 0) || self.dry_run {
                break done;
            }
        };
        if self.json {
            output::json(&done)?;
        } else {
            told::print(&order, &done)?;
        }
        match done["refused"].as_u64() {
            None | Some(0) => Ok(()),
            Some(refused) => {
                let problem = format!("it was refused for {refused} of {}", done["matched"]);
                Err(ClientError::Refused { action: order.action, problem }.into())
            }
        }
    }
}
