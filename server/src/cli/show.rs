//! `carillon show`: an overview of one schedule.

use clap::Args;
use serde_json::{Value, json};

use super::{CliError, named::NamedSchedule, output, pause::afterwards};

/// Show a schedule: its timing, policies, next fires and recent results
#[derive(Debug, Args)]
pub(super) struct Show {
    #[command(flatten)]
    named: NamedSchedule,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

const SHOW: &str = "query ($id: UUID!) { schedule(id: $id) {
    id namespace name note tags version state pause { reason by at until missed }
    plannedPause { from until missed window { id title ticket } }
    timing { expressions zone description gap overlap startAt endAt jitterSeconds warnings { message } }
    workflow { name version } misfire { catchUp graceSeconds max windowSeconds }
    overlap bufferLimit bufferSize group priority startDeadlineSeconds calendars { name }
    maxFires fireCount module nextFireAt lastFireAt liveRuns updatedAt
    lastRun { id state scheduledAt durationMs error }
    tally { succeeded failed running skipped missed }
    nextFires(count: 5) { at local offset suppressedBy }
} }";

impl Show {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let schedule = self.named.ask("show the schedule", SHOW, json!({})).await?;
        if self.json { output::json(&schedule) } else { print(&schedule) }
    }
}

fn print(schedule: &Value) -> Result<(), CliError> {
    print_identity(schedule)?;
    print_timing(&schedule["timing"])?;
    print_policies(schedule)?;
    print_history(schedule)?;
    print_next(schedule)
}

fn tell(what: &str, told: String) -> Result<(), CliError> {
    output::line(format!("  {what:<10} {told}"))
}

fn print_identity(schedule: &Value) -> Result<(), CliError> {
    let text = |field: &str| output::cell(&schedule[field]);
    let state = output::state(&schedule["state"]);
    output::line(format!("{} in {}: {state}", text("name"), text("namespace")))?;
    if let Some(note) = schedule["note"].as_str().filter(|note| !note.is_empty()) {
        tell("note", output::one_line(note))?;
    }
    let pause = &schedule["pause"];
    if let Some(reason) = pause["reason"].as_str() {
        let until = pause["until"].as_str().unwrap_or("someone resumes it");
        let (by, at) = (output::cell(&pause["by"]), output::cell(&pause["at"]));
        let (then, reason) = (afterwards(pause), output::one_line(reason));
        tell("paused", format!("by {by} at {at} until {until}{then}: {reason}"))?;
    }
    let planned = &schedule["plannedPause"];
    if let Some(title) = planned["window"]["title"].as_str() {
        let (from, until) = (output::cell(&planned["from"]), output::cell(&planned["until"]));
        let (then, title) = (afterwards(planned), output::one_line(title));
        tell("planned", format!("maintenance from {from} until {until}{then}: {title}"))?;
    }
    Ok(())
}

fn print_timing(timing: &Value) -> Result<(), CliError> {
    let expressions = timing["expressions"].as_array().into_iter().flatten();
    let expressions: Vec<&str> = expressions.filter_map(Value::as_str).collect();
    let zone = output::cell(&timing["zone"]);
    tell("when", format!("{} ({zone})", expressions.join(" | ")))?;
    tell("", output::cell(&timing["description"]))?;
    for warning in timing["warnings"].as_array().into_iter().flatten() {
        tell("warning", output::cell(&warning["message"]))?;
    }
    Ok(())
}

fn print_policies(schedule: &Value) -> Result<(), CliError> {
    let word = |value: &Value| output::cell(value).to_lowercase();
    let workflow = &schedule["workflow"];
    let workflow = format!("{} version {}", output::cell(&workflow["name"]), workflow["version"]);
    tell("workflow", workflow)?;
    let misfire = &schedule["misfire"];
    tell(
        "policies",
        format!(
            "overlap {}, catch-up {} within {} s, priority {}",
            word(&schedule["overlap"]),
            word(&misfire["catchUp"]),
            misfire["windowSeconds"],
            schedule["priority"],
        ),
    )?;
    for what in ["group", "module"] {
        if let Some(told) = schedule[what].as_str() {
            tell(what, told.to_owned())?;
        }
    }
    let names = |field: &str, of: fn(&Value) -> &Value| {
        let names = schedule[field].as_array().into_iter().flatten();
        names.filter_map(|name| of(name).as_str()).collect::<Vec<_>>().join(", ")
    };
    let told =
        [("tags", names("tags", |tag| tag)), ("calendars", names("calendars", |c| &c["name"]))];
    for (what, told) in told.into_iter().filter(|(_, told)| !told.is_empty()) {
        tell(what, told)?;
    }
    Ok(())
}

fn print_history(schedule: &Value) -> Result<(), CliError> {
    let waits = schedule["bufferSize"].as_i64().unwrap_or_default();
    let waits = if waits > 0 { format!(", {waits} wait in its buffer") } else { String::new() };
    tell(
        "runs",
        format!("{} alive{waits}, {} fires so far", schedule["liveRuns"], schedule["fireCount"]),
    )?;
    let tally = &schedule["tally"];
    let tallied = ["succeeded", "failed", "running", "skipped", "missed"]
        .map(|field| format!("{} {field}", tally[field]));
    tell("last 24 h", tallied.join(", "))?;
    let run = &schedule["lastRun"];
    if let Some(id) = run["id"].as_str() {
        let error = run["error"].as_str();
        let error = error.map(|error| format!(": {}", output::one_line(error)));
        let due = output::cell(&run["scheduledAt"]);
        let state = output::state(&run["state"]);
        tell("last run", format!("{id} due {due}: {state}{}", error.unwrap_or_default()))?;
    }
    Ok(())
}

fn print_next(schedule: &Value) -> Result<(), CliError> {
    let next = schedule["nextFires"].as_array().into_iter().flatten();
    for (index, fire) in next.enumerate() {
        let (at, local) = (output::cell(&fire["at"]), output::cell(&fire["local"]));
        let by = fire["suppressedBy"].as_str();
        let by = by.map(|by| format!("  suppressed by {by}")).unwrap_or_default();
        let local = local.replacen('T', " ", 1);
        let offset = output::cell(&fire["offset"]);
        tell(if index == 0 { "next" } else { "" }, format!("{local} {offset}  {at}{by}"))?;
    }
    Ok(())
}
