use clap::Args;
use serde_json::{Value, json};

use super::{CliError, Server, output};
use crate::cli::client::entry_count;

/// Options that the lists share: namespace, number of entries, output format.
#[derive(Debug, Args)]
struct ListOptions {
    #[command(flatten)]
    server: Server,
    /// Namespace of the alerts
    #[arg(long, default_value = "default")]
    namespace: String,
    /// Maximum number of entries, 1 to 100000
    #[arg(long, default_value_t = 50, value_parser = entry_count())]
    limit: u32,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

/// List open alerts, newest first
#[derive(Debug, Args)]
pub(super) struct List {
    #[command(flatten)]
    listed: ListOptions,
    /// Include alerts that have ended
    #[arg(long)]
    all: bool,
}

/// List the rules, by name
#[derive(Debug, Args)]
pub(super) struct Rules {
    #[command(flatten)]
    server: Server,
    /// Namespace of the rules
    #[arg(long, default_value = "default")]
    namespace: String,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

/// List the messages that rules have sent, newest first
#[derive(Debug, Args)]
pub(super) struct Messages {
    #[command(flatten)]
    listed: ListOptions,
    /// Only messages whose delivery was given up
    #[arg(long)]
    dead: bool,
}

const ALERTS: &str = "query ($namespace: String!, $open: Boolean, $first: Int!, $after: String,
    $count: Boolean! = false) {
    all: alerts(namespace: $namespace, filter: { open: $open }, first: $first, after: $after) {
        nodes { id kind subject count beganAt endedAt toldAt acknowledgedBy detail rule { name } }
        pageInfo { hasNextPage endCursor } totalCount @include(if: $count)
    }
}";
const RULES: &str = "query ($namespace: String!) {
    alertRules(namespace: $namespace) {
        id name enabled on search channels { name } mutedUntil mutedBy mutedReason module
    }
}";
const MESSAGES: &str = "query ($namespace: String!, $state: NotificationState, $first: Int!,
    $after: String, $count: Boolean! = false) {
    all: notifications(namespace: $namespace, state: $state, first: $first, after: $after) {
        nodes { id state subject attempts nextAttemptAt error createdAt channel { name } }
        pageInfo { hasNextPage endCursor } totalCount @include(if: $count)
    }
}";

impl List {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let open = (!self.all).then_some(true);
        let ListOptions { server, namespace, limit, json } = self.listed;
        let asked = json!({ "namespace": namespace, "open": open });
        let (alerts, left) = server.pages("list the alerts", ALERTS, asked, limit).await?;
        if json { output::json(&alerts) } else { Self::print(&alerts) }?;
        left.tell(alerts.len());
        Ok(())
    }

    fn print(alerts: &[Value]) -> Result<(), CliError> {
        let row = |alert: &Value| {
            [
                output::cell(&alert["id"]),
                output::cell(&alert["kind"]).to_lowercase(),
                output::cell(&alert["subject"]),
                alert["count"].to_string(),
                output::cell(&alert["beganAt"]),
                output::cell(&alert["endedAt"]),
                output::cell(&alert["toldAt"]),
                output::cell(&alert["acknowledgedBy"]),
                output::cell(&alert["rule"]["name"]),
            ]
        };
        let rows: Vec<[String; 9]> = alerts.iter().map(row).collect();
        let headings = [
            "ALERT",
            "KIND",
            "ABOUT",
            "COUNT",
            "SINCE",
            "UNTIL",
            "REPORTED",
            "ACKNOWLEDGED",
            "RULE",
        ];
        output::table(headings, &rows)
    }
}

impl Rules {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let asked = json!({ "namespace": self.namespace });
        let answer = self.server.ask("list the rules", RULES, asked).await?;
        let rules = &answer["alertRules"];
        if self.json {
            return output::json(rules);
        }
        let words = |list: &Value, name: fn(&Value) -> String| {
            list.as_array().into_iter().flatten().map(name).collect::<Vec<_>>().join(", ")
        };
        let row = |rule: &Value| {
            let state = match (&rule["enabled"], rule["mutedUntil"].as_str()) {
                (Value::Bool(false), _) => "disabled".to_owned(),
                (_, Some(until)) => format!("muted until {until}"),
                (_, None) => "enabled".to_owned(),
            };
            let on = words(&rule["on"], |word| output::cell(word).to_lowercase());
            let channels = words(&rule["channels"], |channel| output::cell(&channel["name"]));
            [output::cell(&rule["name"]), state, on, output::cell(&rule["search"]), channels]
        };
        let rows: Vec<[String; 5]> = rules.as_array().into_iter().flatten().map(row).collect();
        output::table(["RULE", "STATE", "EVENTS", "ABOUT", "CHANNELS"], &rows)
    }
}

impl Messages {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let state = self.dead.then_some("DEAD");
        let ListOptions { server, namespace, limit, json } = self.listed;
        let asked = json!({ "namespace": namespace, "state": state });
        let (messages, left) = server.pages("list the messages", MESSAGES, asked, limit).await?;
        if json { output::json(&messages) } else { Self::print(&messages) }?;
        left.tell(messages.len());
        Ok(())
    }

    fn print(messages: &[Value]) -> Result<(), CliError> {
        let row = |message: &Value| {
            [
                output::cell(&message["id"]),
                output::cell(&message["state"]).to_lowercase(),
                output::cell(&message["channel"]["name"]),
                output::cell(&message["createdAt"]),
                message["attempts"].to_string(),
                output::cell(&message["subject"]),
                output::cell(&message["error"]),
            ]
        };
        let rows: Vec<[String; 7]> = messages.iter().map(row).collect();
        output::table(
            ["MESSAGE", "STATE", "CHANNEL", "CREATED", "ATTEMPTS", "ABOUT", "ERROR"],
            &rows,
        )
    }
}
