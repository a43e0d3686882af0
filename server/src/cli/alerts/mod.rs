//! Alerts from the command line: list, acknowledge, mute, and test the channels.
//!
//! - `look`: lists alerts, rules and messages
//! - `orders`: changes to alerts, rules and messages

mod look;
mod orders;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{
    CliError,
    client::{ClientError, Server},
    output,
};

/// List and acknowledge alerts, mute rules, and check that messages arrive
#[derive(Debug, Args)]
pub(super) struct Alerts {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    List(look::List),
    Ack(orders::Ack),
    Rules(look::Rules),
    Mute(orders::Mute),
    Unmute(orders::Unmute),
    Messages(look::Messages),
    Retry(orders::Retry),
    Test(orders::Test),
}

impl Alerts {
    pub(super) async fn run(self) -> Result<(), CliError> {
        match self.action {
            Action::List(list) => list.run().await,
            Action::Ack(ack) => ack.run().await,
            Action::Rules(rules) => rules.run().await,
            Action::Mute(mute) => mute.run().await,
            Action::Unmute(unmute) => unmute.run().await,
            Action::Messages(messages) => messages.run().await,
            Action::Retry(retry) => retry.run().await,
            Action::Test(test) => test.run().await,
        }
    }
}

/// The rule or channel with this name, from the list in `field`.
async fn find(
    server: &Server,
    action: &'static str,
    what: &str,
    field: &str,
    namespace: &str,
    name: &str,
) -> Result<Value, CliError> {
    let query =
        format!("query ($namespace: String!) {{ {field}(namespace: $namespace) {{ id name }} }}");
    let found = server.ask(action, &query, json!({ "namespace": namespace })).await?;
    let all: Vec<&Value> = found[field].as_array().into_iter().flatten().collect();
    if let Some(one) = all.iter().find(|one| one["name"] == *name) {
        return Ok(one["id"].clone());
    }
    let names: Vec<&str> = all.iter().filter_map(|one| one["name"].as_str()).collect();
    let help = match names.as_slice() {
        [] => "there are none; a module file declares them: see docs/alerts.md".to_owned(),
        names => format!("there are: {}", names.join(", ")),
    };
    let problem = format!("there is no {what} '{name}' in the namespace '{namespace}'; {help}");
    Err(ClientError::Refused { action, problem }.into())
}
