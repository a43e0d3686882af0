//! EventBridge Scheduler: one or more outputs of `aws scheduler get-schedule`; and EventBridge
//! rules with a schedule, from `aws events list-rules`.

use chrono::{DateTime, Utc};
use entity::schedule::{DstGap, Overlap};
use serde_json::Value;
use timetable::Dialect;

use super::{
    exported::{items, number, script, task, text},
    gathered::{ForeignEntry, Gathered},
};
use crate::{
    commands::modules::file::{DstEntry, MisfireEntry, ScheduleEntry, Seconds},
    target::{CommandTarget, Target},
};

/// EventBridge's default number of retries, for at most a day.
const USUAL_RETRIES: i64 = 185;
const USUAL_AGE: i64 = 86_400;
/// The beginning of the texts that EventBridge Scheduler replaces in an input.
const PLACEHOLDER: &str = "<aws.scheduler.";
/// The longest jitter, in seconds.
const MAX_JITTER: i64 = 86_400;

/// Imports the schedules in a file.
pub(super) fn gather(gathered: &mut Gathered, file: &str, json: &Value) {
    for (index, item) in items(json, &["Schedules", "Rules"]).into_iter().enumerate() {
        let name = text(item, "Name").unwrap_or_default();
        let when = text(item, "ScheduleExpression").unwrap_or_default();
        let entry = format!("{name} {when}");
        let origin = ForeignEntry { place: format!("{file}:{}", index + 1), entry: entry.trim() };
        let mut changes = Vec::new();
        match schedule(gathered, item, when, &mut changes) {
            Ok(schedule) => {
                let group = text(item, "GroupName").filter(|group| *group != "default");
                let longer = group.map(|group| format!("{group}-{name}"));
                let names: Vec<&str> =
                    [Some(name), longer.as_deref()].into_iter().flatten().collect();
                gathered.add(&origin, &names, schedule, None, changes);
            }
            Err(why) => gathered.refuse(&origin, why),
        }
    }
}

fn schedule(
    gathered: &mut Gathered,
    item: &Value,
    when: &str,
    changes: &mut Vec<String>,
) -> Result<ScheduleEntry, String> {
    if when.is_empty() {
        return Err(if item.get("EventPattern").is_some() {
            "it is a rule for events, without a schedule".to_owned()
        } else {
            "it has no ScheduleExpression: list-schedules leaves it out; give what 'aws scheduler \
             get-schedule --name NAME --group-name GROUP' prints"
                .to_owned()
        });
    }
    let here = Dialect::EventBridge.translate(when).map_err(|why| format!("{when}: {why}"))?;
    if here.starts_with("@every") {
        changes.push(format!("{when}: counted from when the schedule is created, not from there"));
    }
    let mut schedule = ScheduleEntry::new(vec![here]);
    if let Some(zone) = text(item, "ScheduleExpressionTimezone") {
        zone.clone_into(&mut schedule.zone);
    }
    if schedule.zone != "UTC" {
        // EventBridge does not invoke times that the clock skips, and invokes times that it repeats
        // once.
        schedule.dst = DstEntry { gap: Some(DstGap::Skip), overlap: None };
    }
    // EventBridge does not know how long its targets work, and invokes them regardless.
    schedule.overlap = Some(Overlap::Allow);
    schedule.start = instant(item, "StartDate")?;
    schedule.end = instant(item, "EndDate")?;
    schedule.paused = text(item, "State") == Some("DISABLED");
    schedule.note = text(item, "Description").unwrap_or_default().to_owned();
    let window = item.pointer("/FlexibleTimeWindow/MaximumWindowInMinutes").and_then(Value::as_i64);
    if let Some(minutes) = window.filter(|minutes| *minutes > 0) {
        let seconds = minutes.saturating_mul(60);
        if seconds > MAX_JITTER {
            changes.push(format!("a window of {minutes} minutes: a jitter is at most a day"));
        }
        schedule.jitter = Some(Seconds(seconds.min(MAX_JITTER)));
    }
    if text(item, "ActionAfterCompletion") == Some("DELETE") {
        changes.push("ActionAfterCompletion DELETE: it is kept when no fire is left".to_owned());
    }
    let nothing = Value::Null;
    let target = item.get("Target").unwrap_or(&nothing);
    let retry = target.get("RetryPolicy").unwrap_or(&nothing);
    let age = number(retry, "MaximumEventAgeInSeconds").unwrap_or(USUAL_AGE).clamp(60, USUAL_AGE);
    schedule.misfire = MisfireEntry { window: Some(Seconds(age)), ..MisfireEntry::default() };
    if text(target, "Input").is_some_and(|input| input.contains(PLACEHOLDER)) {
        changes.push(format!(
            "Target.Input: EventBridge replaces {PLACEHOLDER}...>; here it is passed on as it is"
        ));
    }
    let command = command(target)?;
    for key in ["DeadLetterConfig", "EcsParameters", "KinesisParameters", "SqsParameters"] {
        if target.get(key).is_some_and(|value| !value.is_null()) {
            changes.push(format!("Target.{key} is left out"));
        }
    }
    let role = text(target, "RoleArn").unwrap_or("its role");
    gathered.remark(format!(
        "the AWS CLI calls the target from a node: its credentials need the rights of {role}"
    ));
    gathered.remark("disable it in EventBridge, or each of its fires occurs twice");
    let again = number(retry, "MaximumRetryAttempts").unwrap_or(USUAL_RETRIES);
    // EventBridge's default is nearly twice the maximum number of attempts of a task. The reduction
    // is reported only if the user chose the number.
    let again = if retry.get("MaximumRetryAttempts").is_some() { again } else { again.min(99) };
    task(&mut schedule, Target::Command(command), again, Some(3_600), changes);
    Ok(schedule)
}

/// The AWS CLI call that invokes a target.
fn command(target: &Value) -> Result<CommandTarget, String> {
    let arn = text(target, "Arn").ok_or("it has no Target.Arn")?;
    let input = text(target, "Input").unwrap_or("{}");
    let parts: Vec<&str> = arn.splitn(6, ':').collect();
    let [_, _, service, region, _, resource] = parts[..] else {
        return Err(format!("Target.Arn {arn:?} is not valid"));
    };
    let mut words = match service {
        "lambda" => vec![
            "aws",
            "lambda",
            "invoke",
            "--function-name",
            arn,
            "--cli-binary-format",
            "raw-in-base64-out",
            "--payload",
            input,
            "/dev/stdout",
        ],
        "states" => vec![
            "aws",
            "stepfunctions",
            "start-execution",
            "--state-machine-arn",
            arn,
            "--input",
            input,
        ],
        "sns" => vec!["aws", "sns", "publish", "--topic-arn", arn, "--message", input],
        "sqs" => {
            let url = format!(
                "https://sqs.{region}.amazonaws.com/{}/{resource}",
                parts.get(4).copied().unwrap_or_default()
            );
            return Ok(script(&[
                "aws",
                "sqs",
                "send-message",
                "--region",
                region,
                "--queue-url",
                &url,
                "--message-body",
                input,
            ]));
        }
        "scheduler" if resource.starts_with("aws-sdk:") => {
            let mut call = resource.split(':').skip(1);
            let (Some(service), Some(action), None) = (call.next(), call.next(), call.next())
            else {
                return Err(format!("Target.Arn {arn:?} names no call of an SDK"));
            };
            let action = hyphened(action);
            return Ok(script(&["aws", service, &action, "--cli-input-json", input]));
        }
        other => {
            return Err(format!(
                "its target is of {other}, for which no command is known: write the task yourself"
            ));
        }
    };
    if !region.is_empty() {
        words.extend(["--region", region]);
    }
    Ok(script(&words))
}

/// Converts `stopInstances` to the CLI's spelling, `stop-instances`.
fn hyphened(action: &str) -> String {
    let mut made = String::new();
    for (index, c) in action.char_indices() {
        if c.is_ascii_uppercase() && index > 0 {
            made.push('-');
        }
        made.push(c.to_ascii_lowercase());
    }
    made
}

/// An instant in RFC 3339 or in seconds.
fn instant(item: &Value, key: &str) -> Result<Option<DateTime<Utc>>, String> {
    let at = match item.get(key) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => DateTime::parse_from_rfc3339(text).ok().map(|at| at.to_utc()),
        Some(Value::Number(seconds)) => {
            let ms = seconds.as_f64().map(|seconds| (seconds * 1_000.0).round());
            ms.and_then(|ms| DateTime::from_timestamp_millis(ms as i64))
        }
        Some(Value::Bool(_) | Value::Array(_) | Value::Object(_)) => None,
    };
    at.map(Some).ok_or_else(|| format!("{key} is not an instant"))
}
