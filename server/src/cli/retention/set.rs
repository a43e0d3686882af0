use clap::Args;
use serde_json::{Value, json};

use super::{PREVIEW, RetentionOwner, day, figures};
use crate::cli::{CliError, named::find, output, why::Why};

/// Set how long history is kept, or show what a change would remove
#[derive(Debug, Args)]
pub(super) struct Set {
    /// Number of days, 1 to 3650, or 'default' to inherit the setting
    #[arg(value_name = "DAYS", value_parser = days)]
    days: Days,
    #[command(flatten)]
    whose: RetentionOwner,
    /// Only show what the next round would remove with and without the change
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    why: Why,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

/// The number of days; `None` inherits the setting.
#[derive(Clone, Copy, Debug)]
struct Days(Option<i64>);

fn days(text: &str) -> Result<Days, String> {
    if text == "default" {
        return Ok(Days(None));
    }
    let days = text.parse().ok().filter(|days| (1..=3_650).contains(days));
    let refused = || "give 1 to 3650, or 'default'".to_owned();
    days.map(|days| Days(Some(days))).ok_or_else(refused)
}

const SET: &str = "mutation ($namespace: String!, $days: Int) {
    done: setNamespaceRetention(namespace: $namespace, days: $days) {
        namespace days effectiveDays
    }
}";

const SET_ONE: &str = "mutation ($input: UpdateScheduleInput!) {
    done: updateSchedule(input: $input) { schedule { id name version retentionDays } }
}";

const VERSION: &str = "query ($id: UUID!) { schedule(id: $id) { version } }";

const ACTION: &str = "set how long history is kept";

impl Set {
    pub(super) async fn run(self) -> Result<(), CliError> {
        if self.dry_run {
            return self.look().await;
        }
        let RetentionOwner { server, namespace, schedule } = &self.whose;
        let days = self.days.0;
        let Some(name) = schedule else {
            let variables = json!({ "namespace": namespace, "days": days });
            let done = server.order(ACTION, SET, variables, &self.why).await?["done"].take();
            if self.json {
                return output::json(&done);
            }
            let effective = &done["effectiveDays"];
            return output::line(format!("{namespace} keeps history for {effective} days"));
        };
        let id = find(server, ACTION, namespace, name).await?;
        let found = server.ask(ACTION, VERSION, json!({ "id": id })).await?;
        let expected = &found["schedule"]["version"];
        let input = json!({ "id": id, "expectedVersion": expected, "retentionDays": days });
        let variables = json!({ "input": input });
        let mut done = server.order(ACTION, SET_ONE, variables, &self.why).await?;
        let schedule = done["done"]["schedule"].take();
        if self.json {
            return output::json(&schedule);
        }
        output::line(match days {
            Some(days) => format!("{name} keeps history for {days} days"),
            None => format!("{name} keeps history as its namespace does"),
        })
    }

    /// Previews the next round without and with the change.
    async fn look(&self) -> Result<(), CliError> {
        let RetentionOwner { server, namespace, schedule } = &self.whose;
        let query = format!(
            "query ($of: String!, $if: RetentionChangeInput!) {{ \
             now: retentionPreview(namespace: $of) {{ {PREVIEW} }} \
             then: retentionPreview(namespace: $of, if: $if) {{ {PREVIEW} }} }}"
        );
        let thought = json!({ "namespace": namespace, "schedule": schedule, "days": self.days.0 });
        let asked = json!({ "of": namespace, "if": thought });
        let answer = server.ask("look what would be removed", &query, asked).await?;
        if self.json {
            return output::json(&answer);
        }
        let (now, then) = (&answer["now"], &answer["then"]);
        let of = Some(namespace.as_str());
        let mut rows: Vec<[String; 6]> = Vec::new();
        for table in ["fire", "run", "task_run", "task_log"] {
            let find = |preview| figures(preview, of).find(|figure| figure["table"] == table);
            let (now, then) = (find(now), find(then));
            if now.is_none() && then.is_none() {
                continue;
            }
            let count = |figure: Option<&Value>| {
                figure.map_or_else(|| "0".to_owned(), |figure| figure["rows"].to_string())
            };
            let (bytes, oldest, newest) = match then {
                Some(then) => (
                    format!("~{}", then["estimatedBytes"]),
                    day(&then["oldest"]),
                    day(&then["newest"]),
                ),
                None => ("0".to_owned(), "-".to_owned(), "-".to_owned()),
            };
            rows.push([table.to_owned(), count(now), count(then), bytes, oldest, newest]);
        }
        if rows.is_empty() {
            return output::line(format!(
                "nothing of {namespace} would be old enough to be removed"
            ));
        }
        let heads = ["TABLE", "GOES NOW", "WOULD GO", "BYTES", "OLDEST (UTC)", "NEWEST (UTC)"];
        output::table(heads, &rows)
    }
}
