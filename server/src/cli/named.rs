use clap::Args;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    CliError,
    client::{ClientError, Server},
};

/// One schedule of a server.
#[derive(Debug, Args)]
pub(super) struct Named {
    #[command(flatten)]
    pub(super) server: Server,
    /// The schedule's name or id
    schedule: String,
    /// Where the name is looked for
    #[arg(long, default_value = "default")]
    namespace: String,
}

const FIND: &str = "query ($namespace: String!, $name: String!) {
    schedule(namespace: $namespace, name: $name) { id }
}";

impl Named {
    /// Its id. One that is given is taken as it is: whoever is asked about it says if there is none.
    pub(super) async fn id(&self, action: &'static str) -> Result<Value, CliError> {
        id(&self.server, action, &self.namespace, &self.schedule).await
    }

    /// What a query by `$id` says of it in its field `schedule`.
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

    /// Does what a mutation by `$id` says, and gives its field `done`.
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

/// The id of the schedule of that name, or that id as it is given.
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

/// What is told of a schedule's future behind an order.
pub(super) fn next(schedule: &Value) -> String {
    match schedule["nextFireAt"].as_str() {
        Some(next) => format!("next {next}"),
        None => "no fire is left".to_owned(),
    }
}
