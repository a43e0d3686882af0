//! `carillon what-if`: what each catch-up policy would do about an outage.

use chrono::{DateTime, Utc};
use clap::Args;
use serde_json::{Value, json};

use super::{CliError, client::Server, named, output, resume::CatchUp, search, when::future};
use crate::search::SearchedList;

/// Show what each catch-up policy would do if no scheduler ran for a while
///
/// The outage may be in the future or in the past. For a past one, the outcomes that the ledger
/// holds are shown as well. Schedules have their present definition. The policy that a schedule has
/// is marked with '*'.
#[derive(Debug, Args)]
pub(super) struct WhatIf {
    #[command(flatten)]
    server: Server,
    /// The schedule's name or id [default: all schedules]
    schedule: Option<String>,
    /// When the outage begins, at most a year from now
    #[arg(long, value_name = "WHEN", value_parser = future)]
    from: DateTime<Utc>,
    /// When a scheduler runs again, at most 31 days later
    #[arg(long, value_name = "WHEN", value_parser = future)]
    to: DateTime<Utc>,
    /// Only schedules that match this search, such as 'tag:billing'
    #[arg(long, value_name = "SEARCH", allow_hyphen_values = true, conflicts_with = "schedule")]
    search: Option<String>,
    /// Only this policy; may be given several times
    #[arg(long, value_enum, value_name = "POLICY")]
    policy: Vec<CatchUp>,
    /// Namespace of the schedules
    #[arg(long, default_value = "default")]
    namespace: String,
    /// Maximum number of schedules, 1 to 100
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100))]
    limit: u32,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

const ACTION: &str = "preview the outage";

const PREVIEW: &str = "query ($namespace: String!, $id: UUID, $search: String, $from: DateTime!,
    $to: DateTime!, $policies: [CatchUp!], $first: Int!, $each: Int!) {
    outagePreview(namespace: $namespace, scheduleId: $id, search: $search, from: $from, to: $to,
        policies: $policies, first: $first) {
        from to expected hasMore
        totals { catchUp counts { onTime late collapsed missed skipped } }
        schedules {
            schedule { id name } expected suppressed isPaused isComplete
            ledger { started collapsed missed skipped pending isComplete }
            policies {
                catchUp isOwn lastStartAt instantCount
                counts { onTime late collapsed missed skipped }
                instants(first: $each) {
                    scheduledAt lastScheduledAt count startsAt waits isLate kind verdict reason
                    detail
                }
            }
        }
    }
}";

impl WhatIf {
    pub(super) async fn run(self) -> Result<(), CliError> {
        search::check(SearchedList::Schedules, "--search", self.search.as_deref())?;
        let id = match &self.schedule {
            Some(schedule) => named::id(&self.server, ACTION, &self.namespace, schedule).await?,
            None => Value::Null,
        };
        let policies: Vec<_> = self.policy.iter().map(|policy| policy.word()).collect();
        // The instants of one schedule are listed; for many, that would be too much.
        let (first, each) = if id.is_null() { (self.limit, 1) } else { (1, 200) };
        let variables = json!({
            "namespace": self.namespace, "id": id, "search": self.search, "from": self.from,
            "to": self.to, "first": first, "each": each,
            "policies": (!policies.is_empty()).then_some(policies),
        });
        let mut answer = self.server.ask(ACTION, PREVIEW, variables).await?;
        let preview = answer["outagePreview"].take();
        if self.json {
            return output::json(&preview);
        }
        print(&preview)?;
        if !id.is_null() {
            print_instants(&preview)?;
        }
        if preview["hasMore"] == true {
            output::aside(format!(
                "more schedules match than the {} shown: give --limit or --search",
                self.limit
            ));
        }
        Ok(())
    }
}

/// The counts of each schedule and policy, and those of the ledger.
fn print(preview: &Value) -> Result<(), CliError> {
    let mut rows = Vec::new();
    for one in list(&preview["schedules"]) {
        let name = output::cell(&one["schedule"]["name"]);
        if one["isPaused"] == true {
            rows.push(empty_row(name, "paused"));
            continue;
        }
        for policy in list(&one["policies"]) {
            let own = if policy["isOwn"] == true { " *" } else { "" };
            let word = output::cell(&policy["catchUp"]).to_lowercase();
            let last = output::cell(&policy["lastStartAt"]);
            rows.push(row(name.clone(), format!("{word}{own}"), &policy["counts"], last));
        }
        if let Some(held) = one["ledger"].as_object() {
            let count = |name: &str| held.get(name).map_or_else(|| "-".to_owned(), number);
            let [started, collapsed, missed, skipped] =
                ["started", "collapsed", "missed", "skipped"].map(count);
            let what = "(the ledger)".to_owned();
            rows.push([
                name,
                what,
                "-".to_owned(),
                started,
                collapsed,
                missed,
                skipped,
                "-".into(),
            ]);
        }
    }
    for total in list(&preview["totals"]) {
        let word = output::cell(&total["catchUp"]).to_lowercase();
        rows.push(row("(all)".to_owned(), word, &total["counts"], "-".to_owned()));
    }
    let headings =
        ["SCHEDULE", "POLICY", "ON TIME", "LATE", "COLLAPSED", "MISSED", "SKIPPED", "LAST START"];
    output::table(headings, &rows)
}

/// The instants of one schedule under each policy.
fn print_instants(preview: &Value) -> Result<(), CliError> {
    for policy in list(&preview["schedules"][0]["policies"]) {
        let instants = list(&policy["instants"]);
        if instants.is_empty() {
            continue;
        }
        output::line(format!("\n{}:", output::cell(&policy["catchUp"]).to_lowercase()))?;
        let row = |instant: &Value| {
            [
                output::cell(&instant["scheduledAt"]),
                number(&instant["count"]),
                outcome(instant),
                output::cell(&instant["startsAt"]),
            ]
        };
        let rows: Vec<[String; 4]> = instants.iter().map(row).collect();
        output::table(["AT", "COUNT", "OUTCOME", "STARTS"], &rows)?;
        let all = policy["instantCount"].as_u64().unwrap_or_default();
        let shown = u64::try_from(instants.len()).unwrap_or(u64::MAX);
        if all > shown {
            output::line(format!("and {} more", all - shown))?;
        }
    }
    Ok(())
}

fn outcome(instant: &Value) -> String {
    if instant["verdict"] != "PENDING" {
        return output::cell(&instant["verdict"]).to_lowercase();
    }
    let time = if instant["isLate"] == true { "runs late" } else { "runs on time" };
    let order = if instant["waits"] == true { ", after the run before it" } else { "" };
    format!("{time}{order}")
}

fn row(name: String, policy: String, counts: &Value, last: String) -> [String; 8] {
    let [on_time, late, collapsed, missed, skipped] =
        ["onTime", "late", "collapsed", "missed", "skipped"].map(|name| number(&counts[name]));
    [name, policy, on_time, late, collapsed, missed, skipped, last]
}

fn empty_row(name: String, policy: &str) -> [String; 8] {
    row(name, policy.to_owned(), &Value::Null, "-".to_owned())
}

fn number(count: &Value) -> String {
    count.as_i64().map_or_else(|| "-".to_owned(), |count| count.to_string())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}
