use clap::Args;
use serde_json::{Value, json};

use super::{CliError, client::Server, output};

/// List the server processes that share the work
#[derive(Debug, Args)]
pub(super) struct Nodes {
    #[command(flatten)]
    server: Server,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

const NODES: &str = "{
    nodes: serverNodes {
        id name incarnation state roles tags startedAt heartbeatAt silentMs clockOffsetMs runs
        heartbeats redisProblem capacity version zoneData schema firstShards secondShards
        leases { name epoch }
    }
}";

impl Nodes {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let answer = self.server.ask("list the nodes", NODES, json!({})).await?;
        let nodes = &answer["nodes"];
        if self.json { output::json(nodes) } else { print(nodes) }
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
