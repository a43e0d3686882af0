//! Alerts from the command line: what goes on, and whether a channel works.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{
    CliError,
    client::{ClientError, Server},
    output,
    why::Why,
};

/// See what is wrong, and whether people would be told
#[derive(Debug, Args)]
pub(super) struct Alerts {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    List(List),
    Test(Test),
}

/// List the alerts that go on, newest first
#[derive(Debug, Args)]
struct List {
    #[command(flatten)]
    server: Server,
    /// Whose
    #[arg(long, default_value = "default")]
    namespace: String,
    /// Those that are over, too
    #[arg(long)]
    all: bool,
    /// How many, 1 to 200
    #[arg(long, default_value_t = 50)]
    limit: i32,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

/// Send a message to a channel that says that it is a test
#[derive(Debug, Args)]
struct Test {
    #[command(flatten)]
    server: Server,
    /// The channel's name
    channel: String,
    /// Where the name is looked for
    #[arg(long, default_value = "default")]
    namespace: String,
    #[command(flatten)]
    why: Why,
}

const ALERTS: &str = "query ($namespace: String!, $open: Boolean, $first: Int!) {
    alerts(namespace: $namespace, filter: { open: $open }, first: $first) { nodes {
        id kind subject count beganAt endedAt toldAt acknowledgedBy detail rule { name }
    } }
}";
const CHANNELS: &str = "query ($namespace: String!) {
    alertChannels(namespace: $namespace) { id name }
}";
const TEST: &str = "mutation ($id: UUID!) {
    testAlertChannel(id: $id) { notification { id } }
}";

impl Alerts {
    pub(super) async fn run(self) -> Result<(), CliError> {
        match self.action {
            Action::List(list) => list.run().await,
            Action::Test(test) => test.run().await,
        }
    }
}

impl List {
    async fn run(self) -> Result<(), CliError> {
        let open = (!self.all).then_some(true);
        let asked = json!({ "namespace": self.namespace, "open": open, "first": self.limit });
        let answer = self.server.ask("list the alerts", ALERTS, asked).await?;
        let alerts = &answer["alerts"]["nodes"];
        if self.json { output::json(alerts) } else { print(alerts) }
    }
}

impl Test {
    async fn run(self) -> Result<(), CliError> {
        const ACTION: &str = "test the channel";
        let asked = json!({ "namespace": self.namespace });
        let found = self.server.ask(ACTION, CHANNELS, asked).await?;
        let channels = found["alertChannels"].as_array().into_iter().flatten();
        let names: Vec<&Value> = channels.collect();
        let Some(channel) = names.iter().find(|channel| channel["name"] == *self.channel) else {
            let problem = format!(
                "there is no channel \"{}\" in the namespace {}",
                self.channel, self.namespace
            );
            return Err(ClientError::Refused { action: ACTION, problem }.into());
        };
        let asked = json!({ "id": channel["id"] });
        let sent = self.server.order(ACTION, TEST, asked, &self.why).await?;
        let id = sent["testAlertChannel"]["notification"]["id"].as_str().unwrap_or_default();
        output::line(format!("A message is on its way: {id} in 'notifications'"))
    }
}

fn print(alerts: &Value) -> Result<(), CliError> {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let row = |alert: &Value| {
        [
            text(&alert["kind"]).to_lowercase(),
            text(&alert["subject"]),
            alert["count"].to_string(),
            text(&alert["beganAt"]),
            text(&alert["endedAt"]),
            text(&alert["toldAt"]),
            text(&alert["acknowledgedBy"]),
            text(&alert["rule"]["name"]),
        ]
    };
    let rows: Vec<[String; 8]> = alerts.as_array().into_iter().flatten().map(row).collect();
    output::table(["KIND", "ABOUT", "COUNT", "SINCE", "UNTIL", "TOLD", "SEEN TO BY", "RULE"], &rows)
}
