//! `carillon upcoming`: the next fires of all schedules.

use chrono::{DateTime, Utc};
use clap::Args;
use serde_json::{Value, json};

use super::{
    CliError,
    client::Server,
    output,
    when::{duration, future},
};
use crate::config::Span;

/// Show what all schedules of a namespace will do next, soonest first
#[derive(Debug, Args)]
pub(super) struct Upcoming {
    #[command(flatten)]
    server: Server,
    /// Namespace of the schedules
    #[arg(long, default_value = "default")]
    namespace: String,
    /// Start of the window, at most a year ahead [default: now]
    #[arg(long, value_name = "WHEN", value_parser = future)]
    from: Option<DateTime<Utc>>,
    /// Length of the window, in whole hours up to 14d
    #[arg(long = "for", value_name = "DURATION", default_value = "24h", value_parser = duration)]
    span: Span,
    /// Maximum number of fires, 1 to 200
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: u32,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

const UPCOMING: &str = "query ($namespace: String!, $from: DateTime, $hours: Int!, $first: Int!) {
    upcoming(namespace: $namespace, from: $from, hours: $hours, first: $first) {
        from to isComplete hours { at fires }
        fires { at schedule { id name timing { zone } workflow { name } } }
    }
}";

impl Upcoming {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let hours = self.span.0.as_secs().div_ceil(3600);
        if !(1..=336).contains(&hours) {
            return Err(CliError::Usage(format!("--for '{}' must be 1h to 14d", self.span)));
        }
        let variables = json!({
            "namespace": self.namespace, "from": self.from, "hours": hours, "first": self.limit,
        });
        let answer = self.server.ask("list what is upcoming", UPCOMING, variables).await;
        let forecast = answer?["upcoming"].take();
        if self.json {
            return output::json(&forecast);
        }
        print(&forecast)
    }
}

fn print(forecast: &Value) -> Result<(), CliError> {
    let fires = forecast["fires"].as_array().map(Vec::as_slice).unwrap_or_default();
    let row = |fire: &Value| {
        let schedule = &fire["schedule"];
        [
            output::cell(&fire["at"]),
            output::cell(&schedule["name"]),
            output::cell(&schedule["workflow"]["name"]),
            output::cell(&schedule["timing"]["zone"]),
        ]
    };
    let rows: Vec<[String; 4]> = fires.iter().map(row).collect();
    output::table(["AT", "SCHEDULE", "WORKFLOW", "ZONE"], &rows)?;
    let hours = forecast["hours"].as_array().into_iter().flatten();
    let all: u64 = hours.filter_map(|hour| hour["fires"].as_u64()).sum();
    let shown = u64::try_from(fires.len()).unwrap_or(u64::MAX);
    let until = output::cell(&forecast["to"]);
    if forecast["isComplete"] == false {
        output::aside(format!(
            "{shown} shown, and more than {} are left until {until}",
            all.saturating_sub(shown)
        ));
    } else if all > shown {
        output::aside(format!(
            "{shown} shown, {} are left until {until}: give --limit, up to 200, or a later --from",
            all - shown
        ));
    }
    Ok(())
}
