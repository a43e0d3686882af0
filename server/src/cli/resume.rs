use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::{
    CliError,
    client::ClientError,
    named::{NamedSchedule, next},
    output,
};
use crate::commands::MAX_FORESEEN;

/// Let a paused schedule fire again
#[derive(Debug, Args)]
pub(super) struct Resume {
    #[command(flatten)]
    named: NamedSchedule,
    /// What to do about the fires that fell into the pause [default: skip]
    #[arg(long, value_enum, value_name = "MODE")]
    catch_up: Option<CatchUp>,
    /// Only show the outcome of each fire, under --catch-up or else under each of the three modes
    #[arg(long)]
    dry_run: bool,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum CatchUp {
    /// None of the missed fires runs
    Skip,
    /// Only the last of them runs, in place of all
    Latest,
    /// Each of them runs, up to the limit of the schedule's misfire policy
    All,
}

impl CatchUp {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Skip => "SKIP",
            Self::Latest => "LATEST",
            Self::All => "ALL",
        }
    }
}

const RESUME: &str = "mutation ($id: UUID!, $missed: CatchUp!) {
    done: resumeSchedule(id: $id, missed: $missed) { schedule { id name state nextFireAt } }
}";

const PREVIEW: &str = "query ($id: UUID!, $at: DateTime, $after: String) {
    resumePreview(id: $id, at: $at) {
        at paused choices {
            missed runs others rowCount nextFireAt
            rows(first: 200, after: $after) {
                nodes { scheduledAt lastScheduledAt count dueAt kind verdict reason detail }
                pageInfo { hasNextPage endCursor }
            }
        }
    }
}";

impl Resume {
    pub(super) async fn run(self) -> Result<(), CliError> {
        if self.dry_run {
            let preview = self.preview().await?;
            return if self.json { output::json(&preview) } else { print(&preview) };
        }
        let missed = self.catch_up.unwrap_or(CatchUp::Skip).word();
        let variables = json!({ "missed": missed });
        let done = self.named.order("resume the schedule", RESUME, variables).await?;
        let schedule = &done["schedule"];
        if self.json {
            return output::json(schedule);
        }
        output::line(format!("resumed {}", schedule["name"].as_str().unwrap_or_default()))?;
        output::line(next(schedule))
    }

    /// The effects of a resume at one instant, with all rows, page by page.
    async fn preview(&self) -> Result<Value, CliError> {
        const ACTION: &str = "preview the resume";
        let mut variables = json!({ "id": self.named.id(ACTION).await? });
        let ask = async |variables: &Value| -> Result<Value, CliError> {
            let answer = self.named.server.ask(ACTION, PREVIEW, variables.clone()).await;
            Ok(answer?["resumePreview"].take())
        };
        let mut preview = ask(&variables).await?;
        variables["at"] = preview["at"].clone();
        let Value::Array(mut choices) = preview["choices"].take() else { return Ok(preview) };
        if let Some(catch_up) = self.catch_up {
            choices.retain(|choice| choice["missed"] == catch_up.word());
        }
        for choice in &mut choices {
            let (mut page, mut rows) = (choice["rows"].take(), Vec::new());
            loop {
                if let Value::Array(nodes) = page["nodes"].take() {
                    rows.extend(nodes);
                }
                if page["pageInfo"]["hasNextPage"] != true {
                    break;
                }
                variables["after"] = page["pageInfo"]["endCursor"].take();
                let mut more = ask(&variables).await?;
                let mut same = more["choices"].as_array_mut().into_iter().flatten();
                let same = same.find(|other| other["missed"] == choice["missed"]);
                page = same.map_or(Value::Null, |same| same["rows"].take());
            }
            if choice["rowCount"].as_u64().map(shown) != Some(rows.len()) {
                let problem = "the schedule was changed in the meantime; try again".to_owned();
                return Err(ClientError::Refused { action: ACTION, problem }.into());
            }
            choice["rows"] = Value::Array(rows);
        }
        preview["choices"] = Value::Array(choices);
        Ok(preview)
    }
}

/// Maximum number of these rows that are listed individually.
fn shown(rows: u64) -> usize {
    usize::try_from(rows).unwrap_or(usize::MAX).min(MAX_FORESEEN)
}

fn print(preview: &Value) -> Result<(), CliError> {
    if preview["paused"] != true {
        return output::line("it is not paused: there is nothing to resume");
    }
    for choice in preview["choices"].as_array().into_iter().flatten() {
        let count = |name: &str| choice[name].as_i64().unwrap_or(0);
        output::line(format!(
            "{}: {} would run, {} would not; {}",
            output::cell(&choice["missed"]).to_lowercase(),
            count("runs"),
            count("others"),
            next(choice),
        ))?;
        let rows: Vec<[String; 5]> =
            choice["rows"].as_array().into_iter().flatten().map(row).collect();
        if !rows.is_empty() {
            output::table(["AT", "TO", "FIRES", "BECOMES", "WHY"], &rows)?;
        }
        let all = choice["rowCount"].as_u64().unwrap_or_default();
        if shown(all) < usize::try_from(all).unwrap_or(usize::MAX) {
            output::line(format!("these are the first {} of {all} rows", rows.len()))?;
        }
    }
    Ok(())
}

fn row(row: &Value) -> [String; 5] {
    let is_range = row["scheduledAt"] != row["lastScheduledAt"];
    let to = if is_range { output::cell(&row["lastScheduledAt"]) } else { "-".to_owned() };
    let (becomes, why) = if row["verdict"] == "PENDING" {
        (format!("runs at {}", output::cell(&row["dueAt"])), "-".to_owned())
    } else {
        let why = output::cell(&row["reason"]).to_lowercase().replace('_', " ");
        let why = row["detail"].as_str().map_or(why.clone(), |detail| format!("{why}: {detail}"));
        (output::cell(&row["verdict"]).to_lowercase(), why)
    };
    [output::cell(&row["scheduledAt"]), to, row["count"].to_string(), becomes, why]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_rows_than_are_kept_are_no_change_in_between() {
        assert_eq!([shown(0), shown(301), shown(10_000)], [0, 301, 10_000]);
        assert_eq!([shown(10_001), shown(73_000)], [10_000, 10_000]);
    }
}
