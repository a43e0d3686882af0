//! Prints the outcome of a bulk operation for people.

use serde_json::Value;

use super::Order;
use crate::{
    cli::{CliError, output},
    search::SearchedList,
};

pub(super) fn print(order: &Order, done: &Value) -> Result<(), CliError> {
    let count = |field: &str| done[field].as_u64().unwrap_or(0);
    if done["dryRun"] == true {
        let most = if done["tooMany"] == true { "more than " } else { "" };
        // If the search finds too many objects, the count is one above the limit.
        let matched = count("matched") - u64::from(done["tooMany"] == true && count("matched") > 0);
        let what = things(order.list, matched);
        output::line(format!("{most}{matched} {what} would {}", order.would))?;
        let sample: Vec<&Value> = done["sample"].as_array().into_iter().flatten().collect();
        for one in &sample {
            let name = one["name"].as_str().or(one["id"].as_str()).unwrap_or_default();
            output::line(format!("  {name}"))?;
        }
        let others = matched.saturating_sub(sample.len() as u64);
        if others > 0 {
            output::line(format!("  and {others} others"))?;
        }
        if count("refused") > 0 {
            output::line(format!("{} of them would be refused", count("refused")))?;
        }
        if count("remaining") > 0 {
            let left = count("remaining");
            output::line(format!("there was no time to check {left} of them"))?;
        }
        return refusals(done);
    }
    let (done_for, what) = (count("done"), things(order.list, count("done")));
    output::line(format!("{} {done_for} {what}", order.past))?;
    refusals(done)
}

/// A line for each refused object.
fn refusals(done: &Value) -> Result<(), CliError> {
    for refusal in done["refusals"].as_array().into_iter().flatten() {
        let text = |field: &str| refusal[field].as_str().unwrap_or_default();
        output::line(format!("  not {}: {}", text("id"), text("message")))?;
    }
    Ok(())
}

fn things(list: SearchedList, count: u64) -> &'static str {
    match (list, count) {
        (SearchedList::Schedules, 1) => "schedule",
        (SearchedList::Schedules, _) => "schedules",
        (SearchedList::Runs, 1) => "run",
        (SearchedList::Runs, _) => "runs",
    }
}
