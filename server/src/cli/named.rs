use clap::Args;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    CliError,
    client::{ClientError, Server},
};

/// One schedule of a server.
#[derive(Debug, Args)]
pub(super) struct NamedSchedule {
    #[command(flatten)]
    pub(super) server: Server,
    /// The schedule's name or id
    schedule: String,
    /// Namespace of the schedule
    #[arg(long, default_value = "default")]
    namespace: String,
}

const FIND: &str = "query ($namespace: String!, $name: String!) {
    schedule(namespace: $namespace, name: $name) { id }
}";

impl NamedSchedule {
    /// Its id. A given id is used as it is; the server reports if it does not exist.
    pub(super) async fn id(&self, action: &'static str) -> Result<Value, CliError> {
        id(&self.server, action, &self.namespace, &self.schedule).await
    }

    /// The `schedule` field of a query by `$id`.
    pub(super) async fn ask(
        &self,
        action: &'static str,
        query: &str,
        mut variables: Value,
    ) -> Result<Value, CliError> {
        variables["id"] = self.id(action).await?;
        let schedule = self.server.ask(action, query, variables).await?["schedule"].take();
        if schedule.is_null() {
            let problem = format!("there is no schedule with the id {}", self.schedule);
            return Err(ClientError::Refused { action, problem }.into());
        }
        Ok(schedule)
    }

    /// Executes a mutation by `$id`, and returns its field `done`.
    pub(super) async fn order(
        &self,
        action: &'static str,
        query: &str,
        mut variables: Value,
    ) -> Result<Value, CliError> {
        variables["id"] = self.id(action).await?;
        Ok(self.server.ask(action, query, variables).await?["done"].take())
    }
}

/// The id of the schedule with this name, or the given id itself.
pub(super) async fn id(
    server: &Server,
    action: &'static str,
    namespace: &str,
    schedule: &str,
) -> Result<Value, CliError> {
    match Uuid::try_parse(schedule) {
        Ok(id) => Ok(json!(id)),
        Err(_) => find(server, action, namespace, schedule).await,
    }
}

/// The id of the schedule with this name.
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

/// What is reported of a schedule's next fire after a change.
pub(super) fn next(schedule: &Value) -> String {
    match schedule["nextFireAt"].as_str() {
        Some(next) => format!("next {next}"),
        None => "no fire is left".to_owned(),
    }
}
