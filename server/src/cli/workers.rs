//! `carillon workers`: workers, which pull tasks, and their queues.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{CliError, client::Server, output};

/// List workers, which pull tasks, and their queues
#[derive(Debug, Args)]
pub(super) struct Workers {
    #[command(flatten)]
    server: Server,
    /// Namespace of the workers
    #[arg(long, default_value = "default", global = true)]
    namespace: String,
    /// Answer as JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Limit how many jobs of a queue all workers together may hold at once
    Limit {
        /// The queue
        queue: String,
        /// Maximum number of jobs, 1 to 10000
        #[arg(long, value_name = "JOBS", required_unless_present = "none")]
        max: Option<i64>,
        /// Remove the limit
        #[arg(long, conflicts_with = "max")]
        none: bool,
    },
}

const LIST: &str = "query ($namespace: String!) {
    queues: workerQueues(namespace: $namespace) {
        name workers free waiting waitingSince held maxJobs
    }
    workers(namespace: $namespace) {
        id name queues tags jobs capacity draining version client token registeredAt heartbeatAt
    }
}";

const LIMIT: &str = "mutation ($namespace: String!, $name: String!, $maxJobs: Int) {
    done: limitWorkerQueue(namespace: $namespace, name: $name, maxJobs: $maxJobs) {
        queue { name maxJobs held }
    }
}";

impl Workers {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let namespace = &self.namespace;
        let Some(Action::Limit { queue, max, none: _ }) = self.action else {
            let asked = json!({ "namespace": namespace });
            let answer = self.server.ask("list the workers", LIST, asked).await?;
            return if self.json { output::json(&answer) } else { print(&answer) };
        };
        let asked = json!({ "namespace": namespace, "name": queue, "maxJobs": max });
        let answer = self.server.ask("limit the queue", LIMIT, asked).await?;
        let limited = &answer["done"]["queue"];
        if self.json {
            return output::json(limited);
        }
        let held = &limited["held"];
        output::line(match max {
            Some(max) => format!("workers have {max} jobs of '{queue}' at once, {held} now"),
            None => format!("the queue '{queue}' no longer has a limit"),
        })
    }
}

fn print(answer: &Value) -> Result<(), CliError> {
    let rows = |of: &Value| of.as_array().cloned().unwrap_or_default();
    let words = |value: &Value| {
        let words: Vec<&str> =
            value.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if words.is_empty() { "-".to_owned() } else { words.join(",") }
    };
    let number = |value: &Value| value.as_i64().map_or("-".to_owned(), |n| n.to_string());
    let queue = |queue: &Value| {
        [
            output::cell(&queue["name"]),
            number(&queue["waiting"]),
            output::cell(&queue["waitingSince"]),
            number(&queue["held"]),
            number(&queue["maxJobs"]),
            number(&queue["workers"]),
            number(&queue["free"]),
        ]
    };
    let worker = |worker: &Value| {
        let state = if worker["draining"] == true { "draining" } else { "ready" };
        [
            output::cell(&worker["name"]),
            state.to_owned(),
            format!("{}/{}", worker["jobs"], worker["capacity"]),
            words(&worker["queues"]),
            words(&worker["tags"]),
            output::cell(&worker["heartbeatAt"]),
            output::cell(&worker["version"]),
            output::cell(&worker["client"]),
        ]
    };
    let queues: Vec<_> = rows(&answer["queues"]).iter().map(queue).collect();
    let workers: Vec<_> = rows(&answer["workers"]).iter().map(worker).collect();
    let heads = ["QUEUE", "WAITING", "OLDEST", "AT WORK", "LIMIT", "WORKERS", "FREE"];
    output::table(heads, &queues)?;
    output::line("")?;
    let heads = ["WORKER", "STATE", "JOBS", "QUEUES", "TAGS", "HEARD", "VERSION", "CLIENT"];
    output::table(heads, &workers)
}
