use clap::Args;
use serde_json::{Value, json};

use super::{
    CliError,
    named::{Named, next},
    output,
};

/// Give a schedule the definition of an earlier version, as a new one that begins now
#[derive(Debug, Args)]
pub(super) struct Rollback {
    #[command(flatten)]
    named: Named,
    /// Of which version; see 'carillon versions'
    #[arg(long, value_name = "VERSION", value_parser = clap::value_parser!(i32).range(1..))]
    to: i32,
    /// The version in force; refused if there is a newer one [default: whichever it is]
    #[arg(long, value_name = "VERSION", value_parser = clap::value_parser!(i32).range(1..))]
    expected: Option<i32>,
    /// Why, for the audit log
    #[arg(long)]
    reason: Option<String>,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

const VERSION: &str = "query ($id: UUID!) { schedule(id: $id) { version } }";

const ROLLBACK: &str = "mutation ($id: UUID!, $to: Int!, $expected: Int!, $reason: String) {
    done: rollbackSchedule(id: $id, toVersion: $to, expectedVersion: $expected, reason: $reason) {
        schedule { id name version nextFireAt versions(first: 1) { nodes { change } } }
        warnings { code message }
    }
}";

impl Rollback {
    pub(super) async fn run(self) -> Result<(), CliError> {
        const ACTION: &str = "roll the schedule back";
        let expected = match self.expected {
            Some(expected) => json!(expected),
            None => self.named.ask(ACTION, VERSION, json!({})).await?["version"].take(),
        };
        let variables = json!({ "to": self.to, "expected": expected, "reason": self.reason });
        let mut done = self.named.order(ACTION, ROLLBACK, variables).await?;
        let versions = done["schedule"].as_object_mut().and_then(|rest| rest.remove("versions"));
        if self.json {
            return output::json(&done);
        }
        let schedule = &done["schedule"];
        let name = schedule["name"].as_str().unwrap_or_default();
        // Nothing is written where the definition is the same already.
        if schedule["version"] == expected {
            return output::line(format!("{name} is as version {} was", self.to));
        }
        let change = versions.as_ref().and_then(|versions| versions.pointer("/nodes/0/change"));
        let change = change.and_then(Value::as_str).unwrap_or_default();
        output::line(format!("{name} version {}: {change}", schedule["version"]))?;
        for warning in done["warnings"].as_array().into_iter().flatten() {
            output::line(format!("warning: {}", warning["message"].as_str().unwrap_or_default()))?;
        }
        output::line(next(schedule))
    }
}
