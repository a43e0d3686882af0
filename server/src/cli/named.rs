use clap::Args;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    CliError,
    client::{ClientError, MoreEntries, Server},
};
use crate::search::nearest;

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

/// The names to compare a mistyped one with: one page of them.
const NAMES: &str = "query ($namespace: String!) {
    schedules(namespace: $namespace, first: 200) { nodes { name } }
}";

impl NamedSchedule {
    /// The schedule's id. A given id is used as it is; the server reports if it does not exist.
    pub(super) async fn id(&self, action: &'static str) -> Result<Value, CliError> {
        id(&self.server, action, &self.namespace, &self.schedule).await
    }

    /// Executes a query by `$id`, and returns its field `schedule`.
    pub(super) async fn ask(
        &self,
        action: &'static str,
        query: &str,
        mut variables: Value,
    ) -> Result<Value, CliError> {
        variables["id"] = self.id(action).await?;
        self.found(action, self.server.ask(action, query, variables).await?)
    }

    /// The first `limit` entries of one of the schedule's lists, and how many more there are. The
    /// query is like that of [`Server::pages`], but takes `$id`, and returns the list as `all` of
    /// the `schedule`.
    pub(super) async fn pages(
        &self,
        action: &'static str,
        query: &str,
        limit: u32,
    ) -> Result<(Vec<Value>, MoreEntries), CliError> {
        let variables = json!({ "id": self.id(action).await? });
        let list =
            |answer: Value| self.found(action, answer).map(|mut schedule| schedule["all"].take());
        self.server.pages_of(action, query, variables, limit, list).await
    }

    /// The `schedule` of an answer; an error if it is null.
    fn found(&self, action: &'static str, mut answer: Value) -> Result<Value, CliError> {
        let schedule = answer["schedule"].take();
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
        let help = help(server, action, namespace, name).await?;
        let problem =
            format!("there is no schedule '{name}' in the namespace '{namespace}'; {help}");
        return Err(ClientError::Refused { action, problem }.into());
    }
    Ok(id)
}

/// What the caller of a schedule that is not there can do.
async fn help(
    server: &Server,
    action: &'static str,
    namespace: &str,
    name: &str,
) -> Result<String, CliError> {
    let answer = server.ask(action, NAMES, json!({ "namespace": namespace })).await?;
    let nodes = answer["schedules"]["nodes"].as_array().into_iter().flatten();
    let names: Vec<&str> = nodes.filter_map(|node| node["name"].as_str()).collect();
    Ok(match nearest(name, &names) {
        Some(meant) => format!("did you mean '{meant}'?"),
        None => format!("'carillon schedules --namespace {namespace}' lists them"),
    })
}

/// A text about the next fire of a changed schedule.
pub(super) fn next(schedule: &Value) -> String {
    match schedule["nextFireAt"].as_str() {
        Some(next) => format!("next {next}"),
        None => "no fire is left".to_owned(),
    }
}
