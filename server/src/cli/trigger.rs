use chrono::{DateTime, Utc};
use clap::Args;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    CliError,
    client::{ClientError, Server},
    output,
    timing::instant,
};

/// Run a schedule's workflow now
#[derive(Debug, Args)]
pub(super) struct Trigger {
    #[command(flatten)]
    server: Server,
    /// Its name or id
    schedule: String,
    /// Where the name is looked for
    #[arg(long, default_value = "default")]
    namespace: String,
    /// JSON object laid over the schedule's context, key by key
    #[arg(long, value_name = "JSON", value_parser = context)]
    context: Option<Value>,
    /// Run as if it were due at this instant
    #[arg(long, value_name = "RFC3339", value_parser = instant)]
    as_of: Option<DateTime<Utc>>,
    /// Why, for the audit log
    #[arg(long)]
    reason: Option<String>,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

const FIND: &str = "query ($namespace: String!, $name: String!) {
    schedule(namespace: $namespace, name: $name) { id }
}";

const TRIGGER: &str = "mutation ($id: UUID!, $context: JSON, $asOf: DateTime, $reason: String) {
    triggerSchedule(id: $id, context: $context, asOf: $asOf, reason: $reason) {
        run { id state scheduledAt idempotencyKey }
    }
}";

impl Trigger {
    pub(super) async fn run(self) -> Result<(), CliError> {
        const ACTION: &str = "trigger the schedule";
        let id = match Uuid::try_parse(&self.schedule) {
            Ok(id) => json!(id),
            Err(_) => find(&self.server, ACTION, &self.namespace, &self.schedule).await?,
        };
        let variables = json!({
            "id": id, "context": self.context, "asOf": self.as_of, "reason": self.reason,
        });
        let answer = self.server.ask(ACTION, TRIGGER, variables).await?;
        let run = &answer["triggerSchedule"]["run"];
        if self.json {
            return output::json(run);
        }
        output::line(format!("run {}", run["id"].as_str().unwrap_or_default()))
    }
}

/// The id of the schedule of that name.
pub(super) async fn find(
    server: &Server,
    action: &'static str,
    namespace: &str,
    name: &str,
) -> Result<Value, CliError> {
    let variables = json!({ "namespace": namespace, "name": name });
    let mut answer = server.ask(action, FIND, variables).await?;
    let id = answer["schedule"]["id"].take();
    if id.is_null() {
        let problem = format!("there is no schedule '{name}' in the namespace '{namespace}'");
        return Err(ClientError::Refused { action, problem }.into());
    }
    Ok(id)
}

/// A context on the command line.
pub(super) fn context(text: &str) -> Result<Value, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if value.is_object() { Ok(value) } else { Err("give a JSON object".to_owned()) }
}
