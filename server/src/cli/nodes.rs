//! `carillon nodes`: the server processes that share the work, and what is done to one of them.

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    CliError,
    client::{ClientError, Server},
    output,
    why::Why,
};

/// List the server processes that share the work, drain one, or put it back into service
#[derive(Debug, Args)]
pub(super) struct Nodes {
    #[command(flatten)]
    server: Server,
    /// Answer as JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Give a node no more work, such as before its machine is serviced; it finishes the work that
    /// it holds, and a restart ends the drain
    Drain {
        /// The node's name or id; see 'carillon nodes'
        node: String,
        /// Reason, for the other administrators and the audit log
        #[arg(long)]
        reason: String,
    },
    /// Put a drained node back into service
    Undrain {
        /// The node's name or id; see 'carillon nodes'
        node: String,
        #[command(flatten)]
        why: Why,
    },
}

const NODES: &str = "{
    nodes: serverNodes {
        id name incarnation state roles tags startedAt heartbeatAt silentMs clockOffsetMs runs
        heartbeats redisProblem capacity version zoneData schema firstShards secondShards
        leases { name epoch }
    }
}";

const NAMES: &str = "{ nodes: serverNodes { id name state } }";

const DRAIN: &str = "mutation ($id: UUID!, $reason: String!) {
    done: drainNode(id: $id, reason: $reason) {
        node { id name state runs drain { by at reason } }
    }
}";

const UNDRAIN: &str = "mutation ($id: UUID!, $reason: String) {
    done: undrainNode(id: $id, reason: $reason) { node { id name state runs } }
}";

impl Nodes {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let (action, change, node, reason) = match &self.action {
            None => return self.list().await,
            Some(Action::Drain { node, reason }) => {
                ("drain the node", DRAIN, node, Some(reason.clone()))
            }
            Some(Action::Undrain { node, why }) => {
                ("put the node back into service", UNDRAIN, node, why.reason.clone())
            }
        };
        let variables = json!({ "id": self.id(action, node).await?, "reason": reason });
        let answer = self.server.ask(action, change, variables).await?;
        let node = &answer["done"]["node"];
        if self.json {
            return output::json(node);
        }
        let (name, runs) = (output::cell(&node["name"]), &node["runs"]);
        output::line(match self.action {
            Some(Action::Drain { .. }) => {
                format!("drained {name}: it finishes the {runs} runs that it holds")
            }
            Some(Action::Undrain { .. }) | None => format!("{name} takes work again"),
        })
    }

    async fn list(&self) -> Result<(), CliError> {
        let answer = self.server.ask("list the nodes", NODES, json!({})).await?;
        let nodes = &answer["nodes"];
        if self.json { output::json(nodes) } else { print(nodes) }
    }

    /// The id of the member with this name, or the given id itself.
    async fn id(&self, action: &'static str, node: &str) -> Result<Value, CliError> {
        if let Ok(id) = Uuid::try_parse(node) {
            return Ok(json!(id));
        }
        let answer = self.server.ask(action, NAMES, json!({})).await?;
        // A name may also be that of nodes that have left, and of earlier processes.
        let is_gone = |one: &&Value| one["state"] == "LEFT" || one["state"] == "DEAD";
        let members: Vec<&Value> =
            answer["nodes"].as_array().into_iter().flatten().filter(|one| !is_gone(one)).collect();
        if let Some(found) = members.iter().find(|one| one["name"] == node) {
            return Ok(found["id"].clone());
        }
        let names: Vec<String> = members.iter().map(|one| output::cell(&one["name"])).collect();
        let problem = format!("there is no node '{node}'; there are {}", names.join(", "));
        Err(ClientError::Refused { action, problem }.into())
    }
}

fn print(nodes: &Value) -> Result<(), CliError> {
    let words = |value: &Value, of: fn(&Value) -> &Value| {
        let words = value.as_array().into_iter().flatten();
        let words: Vec<&str> = words.filter_map(|word| of(word).as_str()).collect();
        if words.is_empty() { "-".to_owned() } else { words.join(",") }
    };
    let row = |node: &Value| {
        let silent = node["silentMs"].as_i64();
        [
            output::cell(&node["name"]),
            output::cell(&node["state"]).to_lowercase(),
            words(&node["roles"], |word| word),
            words(&node["tags"], |word| word),
            format!("{}/{}", node["runs"], node["capacity"]),
            format!("{}+{}", node["firstShards"], node["secondShards"]),
            words(&node["leases"], |lease| &lease["name"]),
            silent.map_or("-".to_owned(), |ms| format!("{ms} ms ago")),
            format!("{} ms", node["clockOffsetMs"]),
            output::cell(&node["version"]),
        ]
    };
    let rows: Vec<[String; 10]> = nodes.as_array().into_iter().flatten().map(row).collect();
    let heads =
        ["NODE", "STATE", "ROLES", "TAGS", "RUNS", "SHARDS", "LEASES", "HEARD", "CLOCK", "VERSION"];
    output::table(heads, &rows)
}
