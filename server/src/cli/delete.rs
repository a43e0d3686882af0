use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    CliError,
    client::{ClientError, Server},
    output,
    why::Why,
};

/// Delete an object that was created by hand; to delete one that a module declares, deploy the
/// module without it
#[derive(Debug, Args)]
pub(super) struct Delete {
    #[command(flatten)]
    server: Server,
    /// The kind of object
    kind: Kind,
    /// The object's name, or the id of a schedule
    name: String,
    /// Namespace of the object
    #[arg(long, default_value = "default")]
    namespace: String,
    #[command(flatten)]
    why: Why,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// A schedule; its history stays
    Schedule,
    /// A workflow that no schedule uses
    Workflow,
    /// A calendar that no schedule uses
    Calendar,
    /// A concurrency group that no schedule uses
    Group,
}

const BY_ID: &str = "query ($id: UUID!) { found: schedule(id: $id) { id name version } }";

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Schedule => "schedule",
            Self::Workflow => "workflow",
            Self::Calendar => "calendar",
            Self::Group => "group",
        }
    }

    fn action(self) -> &'static str {
        match self {
            Self::Schedule => "delete the schedule",
            Self::Workflow => "delete the workflow",
            Self::Calendar => "delete the calendar",
            Self::Group => "delete the group",
        }
    }

    /// Looks the object up by name, as `found`.
    fn query(self) -> String {
        let field = match self {
            Self::Schedule | Self::Workflow | Self::Calendar => {
                format!("{}(namespace: $namespace, name: $name)", self.word())
            }
            // A namespace has few groups, and the API has no query for a single group.
            Self::Group => {
                return "query ($namespace: String!) {
                    found: concurrencyGroups(namespace: $namespace) { id name version }
                }"
                .to_owned();
            }
        };
        format!(
            "query ($namespace: String!, $name: String!) {{ found: {field} {{ id name version }} }}"
        )
    }

    fn mutation(self) -> String {
        let field = match self {
            Self::Schedule => "deleteSchedule",
            Self::Workflow => "deleteWorkflow",
            Self::Calendar => "deleteCalendar",
            Self::Group => "deleteConcurrencyGroup",
        };
        format!(
            "mutation ($id: UUID!, $seen: Int!) {{
                done: {field}(id: $id, expectedVersion: $seen) {{ id }}
            }}"
        )
    }
}

impl Delete {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let Self { kind, name, namespace, server, .. } = &self;
        let id = Uuid::try_parse(name).ok().filter(|_| *kind == Kind::Schedule);
        let (query, asked) = match (id, kind) {
            (Some(id), _) => (BY_ID.to_owned(), json!({ "id": id })),
            (None, Kind::Group) => (kind.query(), json!({ "namespace": namespace })),
            (None, Kind::Schedule | Kind::Workflow | Kind::Calendar) => {
                (kind.query(), json!({ "namespace": namespace, "name": name }))
            }
        };
        let found = server.ask(kind.action(), &query, asked).await?["found"].take();
        let found = if let Value::Array(all) = found {
            all.into_iter().find(|one| one["name"] == **name)
        } else {
            Some(found).filter(|one| !one.is_null())
        };
        let Some(found) = found else {
            let what = kind.word();
            let problem = match id {
                Some(id) => format!("there is no {what} with the id {id}"),
                None => format!("there is no {what} '{name}' in the namespace '{namespace}'"),
            };
            return Err(ClientError::Refused { action: kind.action(), problem }.into());
        };
        let name = output::cell(&found["name"]);
        // If the object has changed since the lookup, it may no longer be the one that the user
        // wanted to delete.
        let asked = json!({ "id": found["id"], "seen": found["version"] });
        let mut done = server.order(kind.action(), &kind.mutation(), asked, &self.why).await?;
        if self.json {
            return output::json(&done["done"].take());
        }
        output::line(format!("deleted the {} {name}", kind.word()))
    }
}
