//! Lists the objects that schedules share: workflows, calendars, concurrency groups, modules.

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::{CliError, client::Server, output};

/// List the objects that schedules share or come from, by name
#[derive(Debug, Args)]
pub(super) struct Shared {
    #[command(flatten)]
    server: Server,
    /// The kind of object
    kind: Kind,
    /// Namespace of the objects
    #[arg(long, default_value = "default")]
    namespace: String,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Workflows that schedules run
    Workflows,
    /// Calendars that suppress fires
    Calendars,
    /// Limits on concurrent runs
    Groups,
    /// Module files that declare objects
    Modules,
}

impl Kind {
    fn action(self) -> &'static str {
        match self {
            Self::Workflows => "list the workflows",
            Self::Calendars => "list the calendars",
            Self::Groups => "list the groups",
            Self::Modules => "list the modules",
        }
    }

    /// The fields to request of each kind of object.
    fn facts(self) -> &'static str {
        match self {
            Self::Workflows => "id name version module updatedAt tasks { name }",
            Self::Calendars => "id name version module updatedAt mode",
            Self::Groups => "id name version module updatedAt maxRuns running waiting schedules",
            Self::Modules => "name schedules workflows changedAt",
        }
    }

    fn query(self) -> String {
        let list = match self {
            Self::Groups => {
                return format!(
                    "query ($in: String!) {{ all: concurrencyGroups(namespace: $in) {{ {} }} }}",
                    self.facts()
                );
            }
            Self::Workflows => "workflows",
            Self::Calendars => "calendars",
            Self::Modules => "modules",
        };
        format!(
            "query ($in: String!, $after: String) {{
                all: {list}(namespace: $in, first: 100, after: $after) {{
                    nodes {{ {} }} pageInfo {{ hasNextPage endCursor }}
                }}
            }}",
            self.facts()
        )
    }

    fn print(self, all: &[Value]) -> Result<(), CliError> {
        let name = |one: &Value| output::cell(&one["name"]);
        let common = |one: &Value| [one["version"].to_string(), output::cell(&one["module"])];
        if self == Self::Modules {
            let row = |one: &Value| {
                let [schedules, workflows] =
                    ["schedules", "workflows"].map(|field| one[field].to_string());
                [name(one), schedules, workflows, output::cell(&one["changedAt"])]
            };
            let rows: Vec<[String; 4]> = all.iter().map(row).collect();
            return output::table(["MODULE", "SCHEDULES", "WORKFLOWS", "CHANGED"], &rows);
        }
        let (heading, what) = match self {
            Self::Workflows => ("WORKFLOW", "TASKS"),
            Self::Calendars => ("CALENDAR", "MODE"),
            Self::Groups | Self::Modules => ("GROUP", "RUNS"),
        };
        let told = |one: &Value| match self {
            Self::Workflows => one["tasks"].as_array().map_or(0, Vec::len).to_string(),
            Self::Calendars => output::cell(&one["mode"]).to_lowercase(),
            Self::Groups | Self::Modules => {
                format!("{} of {}, {} wait", one["running"], one["maxRuns"], one["waiting"])
            }
        };
        let row = |one: &Value| {
            let [version, module] = common(one);
            [name(one), told(one), version, output::cell(&one["updatedAt"]), module]
        };
        let rows: Vec<[String; 5]> = all.iter().map(row).collect();
        output::table([heading, what, "VERSION", "CHANGED", "MODULE"], &rows)
    }
}

impl Shared {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let (mut all, mut after) = (Vec::new(), Value::Null);
        loop {
            let asked = match self.kind {
                Kind::Groups => json!({ "in": self.namespace }),
                Kind::Workflows | Kind::Calendars | Kind::Modules => {
                    json!({ "in": self.namespace, "after": after })
                }
            };
            let action = self.kind.action();
            let mut page = self.server.ask(action, &self.kind.query(), asked).await?["all"].take();
            let nodes = if page.is_array() { page.take() } else { page["nodes"].take() };
            if let Value::Array(nodes) = nodes {
                all.extend(nodes);
            }
            if page["pageInfo"]["hasNextPage"] != true {
                break;
            }
            after = page["pageInfo"]["endCursor"].take();
        }
        if self.json { output::json(&all) } else { self.kind.print(&all) }
    }
}
