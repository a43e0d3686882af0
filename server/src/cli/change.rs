use clap::Args;
use serde_json::json;

use super::{CliError, json::object, named::NamedSchedule, revised, why::Why};

/// Change a schedule that was created by hand; if a module declares it, change the module's file
/// instead
#[derive(Debug, Args)]
pub(super) struct Change {
    #[command(flatten)]
    named: NamedSchedule,
    /// The changes, as the API's `UpdateScheduleInput`; '-' reads them from standard input
    #[arg(value_name = "JSON")]
    change: String,
    /// The version that you saw; refused if there is a newer one [default: the current one]
    #[arg(long, value_name = "VERSION", value_parser = clap::value_parser!(i32).range(1..))]
    expected: Option<i32>,
    #[command(flatten)]
    why: Why,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

const VERSION: &str = "query ($id: UUID!) { schedule(id: $id) { id version } }";

impl Change {
    pub(super) async fn run(self) -> Result<(), CliError> {
        const ACTION: &str = "change the schedule";
        let mut input = object("the change", &self.change)?;
        for (field, flag) in
            [("id", "the schedule's name or id"), ("expectedVersion", "--expected")]
        {
            if !input[field].is_null() {
                let text = format!("the change names '{field}'; give {flag} instead");
                return Err(CliError::Usage(text));
            }
        }
        let found = self.named.ask(ACTION, VERSION, json!({})).await?;
        let expected = self.expected.map_or_else(|| found["version"].clone(), |given| json!(given));
        input["id"] = found["id"].clone();
        input["expectedVersion"] = expected.clone();
        let query = format!(
            "mutation ($input: UpdateScheduleInput!) {{
                done: updateSchedule(input: $input) {{ {} }}
            }}",
            revised::REVISED
        );
        let (server, variables) = (&self.named.server, json!({ "input": input }));
        let done = server.order(ACTION, &query, variables, &self.why).await?["done"].take();
        revised::tell(done, &expected, self.json, |name| format!("{name} already has these values"))
    }
}
