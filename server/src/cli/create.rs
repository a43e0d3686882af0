use clap::Args;
use serde_json::json;

use super::{CliError, client::Server, json::object, revised, why::Why};

/// Create a schedule by hand; permanent schedules belong in a module's file: see 'carillon apply'
#[derive(Debug, Args)]
pub(super) struct Create {
    #[command(flatten)]
    server: Server,
    /// The schedule, as the API's `CreateScheduleInput`; '-' reads it from standard input
    #[arg(value_name = "JSON")]
    definition: String,
    /// Namespace of the schedule, unless the definition names one [default: default]
    #[arg(long)]
    namespace: Option<String>,
    #[command(flatten)]
    why: Why,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

impl Create {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let mut input = object("the definition", &self.definition)?;
        let written = &input["namespace"];
        if written.is_null() {
            input["namespace"] = json!(self.namespace.as_deref().unwrap_or("default"));
        } else if let Some(named) = &self.namespace
            && written != named
        {
            let text = format!(
                "the definition is for the namespace {written}, --namespace says {named:?}; leave \
                 one of them out"
            );
            return Err(CliError::Usage(text));
        }
        let query = format!(
            "mutation ($input: CreateScheduleInput!) {{
                done: createSchedule(input: $input) {{ {} }}
            }}",
            revised::REVISED
        );
        let variables = json!({ "input": input });
        let action = "make the schedule";
        let done = self.server.order(action, &query, variables, &self.why).await?["done"].take();
        // The schedule had no version before, so any version counts as a change.
        revised::tell(done, &json!(null), self.json, str::to_owned)
    }
}
