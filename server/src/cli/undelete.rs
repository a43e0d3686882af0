use clap::Args;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    CliError,
    client::{ClientError, Server},
    output,
    why::Why,
};

/// Restore a deleted schedule with its own workflow; it fires from now on
#[derive(Debug, Args)]
pub(super) struct Undelete {
    #[command(flatten)]
    server: Server,
    /// The schedule's former name, or its id: `carillon deleted` lists both
    schedule: String,
    /// The namespace that it was in
    #[arg(long, default_value = "default")]
    namespace: String,
    /// New name, in case the old one is taken
    #[arg(long, value_name = "NAME")]
    rename: Option<String>,
    #[command(flatten)]
    why: Why,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

const ACTION: &str = "restore the schedule";

const FIND: &str = "query ($namespace: String!, $after: String) {
    found: deletedSchedules(namespace: $namespace, first: 200, after: $after) {
        nodes { id name }
        pageInfo { hasNextPage endCursor }
    }
}";

const UNDELETE: &str = "mutation ($id: UUID!, $name: String) {
    done: undeleteSchedule(id: $id, name: $name) {
        schedule { id name version state nextFireAt }
    }
}";

impl Undelete {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let id = self.id().await?;
        let asked = json!({ "id": id, "name": self.rename });
        let mut done = self.server.order(ACTION, UNDELETE, asked, &self.why).await?;
        let schedule = done["done"]["schedule"].take();
        if self.json {
            return output::json(&schedule);
        }
        let cell = |key: &str| output::cell(&schedule[key]);
        output::line(format!("restored {}: {}", cell("name"), cell("state").to_lowercase()))
    }

    /// The schedule's id. Refused if several schedules had the name.
    async fn id(&self) -> Result<Value, CliError> {
        if Uuid::try_parse(&self.schedule).is_ok() {
            return Ok(json!(self.schedule));
        }
        let (mut found, mut after) = (Vec::new(), Value::Null);
        loop {
            let asked = json!({ "namespace": self.namespace, "after": after });
            let page = self.server.ask(ACTION, FIND, asked).await?["found"].take();
            let nodes = page["nodes"].as_array().into_iter().flatten();
            found.extend(
                nodes.filter(|one| one["name"] == *self.schedule).map(|one| one["id"].clone()),
            );
            if page["pageInfo"]["hasNextPage"] != true {
                break;
            }
            after = page["pageInfo"]["endCursor"].clone();
        }
        let problem = match found.as_slice() {
            [one] => return Ok(one.clone()),
            [] => format!(
                "no deleted schedule was named '{}' in the namespace '{}'",
                self.schedule, self.namespace
            ),
            several => format!(
                "{} deleted schedules were named '{}': give the id of one, as `carillon deleted` \
                 lists them",
                several.len(),
                self.schedule
            ),
        };
        Err(ClientError::Refused { action: ACTION, problem }.into())
    }
}
