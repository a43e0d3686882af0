//! Kubernetes CronJob manifests.
//!
//! There are two ways to import a CronJob. In one, it stays in the cluster, and each fire creates a
//! job from it, so that the image, volumes and all other properties of the pod keep their meaning.
//! In the other, the pod becomes a command on a node: its image is not used, and every property
//! without an equivalent is listed, so that no one assumes that it was imported.
//!
//! - `job`: creates a job from the CronJob; `container`: the command of a container
//! - `documents`: the documents of a file, and detecting Helm templates

mod container;
mod documents;
mod job;

use entity::schedule::Overlap;
use serde_json::{Map, Value};
use timetable::Dialect;

use self::documents::documents;
use super::gathered::{ForeignEntry, Gathered, check_zone};
use crate::{
    commands::modules::file::{
        DstEntry, MisfireEntry, ScheduleEntry, Seconds, TaskEntry, WorkflowEntry,
    },
    model::{Definition, Task},
    target::Target,
};

/// The default number of retries of a job.
const BACKOFF_LIMIT: i64 = 6;
/// Maximum number of attempts of a task.
const MAX_ATTEMPTS: i64 = 100;
/// The longest attempt, and the longest catch-up window, in seconds.
const LONGEST: i64 = 7 * 24 * 60 * 60;
const WINDOW: i64 = 30 * 24 * 60 * 60;
/// Maximum nesting depth of lists.
const MAX_DEPTH: usize = 8;
/// What to do about Helm templates.
const HELM: &str = "it is a template of Helm's, not a manifest: render it first, as in 'helm \
                    template CHART | carillon import kubernetes -'";

/// The effect of a fire of an imported CronJob.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum ImportedRun {
    /// Creates a job from the CronJob, in the cluster
    Job,
    /// Runs the command of the first container on a node, without its image
    Command,
}

/// Facts about the cluster that manifests do not state.
#[derive(Clone, Copy)]
pub(super) struct ClusterFacts<'a> {
    /// The zone of manifests that do not name one.
    pub(super) zone: &'a str,
    pub(super) runs: ImportedRun,
    /// The dialect of 'schedule', if it is not cron's.
    pub(super) dialect: Option<Dialect>,
}

/// Imports the CronJobs in a file.
pub(super) fn gather(gathered: &mut Gathered, file: &str, text: &str, cluster: ClusterFacts<'_>) {
    for (line, document) in documents(text) {
        let place = format!("{file}:{line}");
        let origin = ForeignEntry { place, entry: document.lines().next().unwrap_or_default() };
        if documents::is_helm(document) {
            gathered.refuse(&origin, HELM);
            continue;
        }
        match serde_saphyr::from_str::<Value>(document) {
            Ok(Value::Null) => {}
            Ok(value) => manifest(gathered, &origin, &value, cluster, MAX_DEPTH),
            Err(_) if document.contains("{{") => gathered.refuse(&origin, HELM),
            Err(error) => {
                let said = error.without_snippet().to_string();
                let place = match error.location() {
                    Some(at) => format!("{file}:{}:{}", line as u64 + at.line() - 1, at.column()),
                    None => origin.place.clone(),
                };
                let why = format!("it is not YAML: {}", said.lines().next().unwrap_or_default());
                gathered.refuse(&ForeignEntry { place, ..origin }, why);
            }
        }
    }
}

fn manifest(
    gathered: &mut Gathered,
    origin: &ForeignEntry<'_>,
    value: &Value,
    cluster: ClusterFacts<'_>,
    depth: usize,
) {
    let kind = value.get("kind").and_then(Value::as_str).unwrap_or_default();
    let name = value.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let shown = format!("{kind} {name}");
    let origin = ForeignEntry { place: origin.place.clone(), entry: shown.trim() };
    if kind == "List" || kind == "CronJobList" {
        let items = value.get("items").and_then(Value::as_array);
        for item in items.into_iter().flatten() {
            if depth == 0 {
                return gathered.refuse(&origin, "lists are nested too deeply");
            }
            let mut item = item.clone();
            if let (Some(item), "CronJobList") = (item.as_object_mut(), kind) {
                item.entry("kind").or_insert_with(|| "CronJob".into());
            }
            manifest(gathered, &origin, &item, cluster, depth - 1);
        }
        return;
    }
    if kind.is_empty() {
        return gathered.refuse(&origin, "without a 'kind' it is not a manifest");
    }
    if kind != "CronJob" {
        return gathered.skip(&origin, "it is not a CronJob: it stays as it is");
    }
    let namespace = value.pointer("/metadata/namespace").and_then(Value::as_str);
    match cron_job(gathered, value, name, cluster) {
        Ok((schedule, workflow, changes)) => {
            let longer = namespace.map(|namespace| format!("{namespace}-{name}"));
            let names = [Some(name), longer.as_deref()];
            let names: Vec<&str> = names.into_iter().flatten().collect();
            gathered.add(&origin, &names, schedule, workflow, changes);
        }
        Err(why) => gathered.refuse(&origin, why),
    }
}

type CronJobEntries = (ScheduleEntry, Option<WorkflowEntry>, Vec<String>);

fn cron_job(
    gathered: &mut Gathered,
    value: &Value,
    name: &str,
    cluster: ClusterFacts<'_>,
) -> Result<CronJobEntries, String> {
    let spec = value.get("spec").and_then(Value::as_object).ok_or("it has no 'spec'")?;
    let job = value.pointer("/spec/jobTemplate/spec").and_then(Value::as_object);
    let job = job.ok_or("it has no 'spec.jobTemplate.spec'")?;
    let pod = value.pointer("/spec/jobTemplate/spec/template/spec").and_then(Value::as_object);
    let pod = pod.ok_or("it has no 'spec.jobTemplate.spec.template.spec'")?;
    let mut changes = Vec::new();

    let mut schedule = timed(spec, cluster)?;
    let namespace = value.pointer("/metadata/namespace").and_then(Value::as_str);
    if let Some(namespace) = namespace {
        schedule.note = format!("{namespace}/{name} in Kubernetes");
    }
    policies(spec, &mut schedule, &mut changes)?;
    if cluster.runs == ImportedRun::Job {
        // The cluster keeps its own history of jobs.
        changes.retain(|change| !change.contains("HistoryLimit"));
        let account = pod.get("serviceAccountName").and_then(Value::as_str);
        let cron_job = job::CronJob { name, namespace, account };
        let mut task = Task::new("main", Target::Command(cron_job.command(gathered)?));
        // The cluster itself retries, as the CronJob specifies.
        let deadline = number(job, "activeDeadlineSeconds")?;
        let limit = deadline.map_or(LONGEST, |seconds| seconds.saturating_add(job::SLACK));
        (task.retry.max_attempts, task.timeout_ms) = (1, limit.clamp(1, LONGEST) * 1_000);
        schedule.task = Some(TaskEntry::of(&task));
        return Ok((schedule, None, changes));
    }

    let mut task = Task::new("main", Target::Command(container::command(pod, &mut changes)?));
    let limit = number(job, "backoffLimit")?.unwrap_or(BACKOFF_LIMIT);
    let attempts = limit.saturating_add(1).clamp(1, MAX_ATTEMPTS);
    if attempts != limit.saturating_add(1) {
        changes.push(format!("backoffLimit {limit}: a task has at most {MAX_ATTEMPTS} attempts"));
    }
    // The number was checked to be in range.
    task.retry.max_attempts = i32::try_from(attempts).unwrap_or(1);
    if attempts > 1 {
        (task.retry.initial_ms, task.retry.max_ms, task.retry.jitter) = (10_000, 360_000, 0.0);
    }
    let of_pod = number(pod, "activeDeadlineSeconds")?;
    task.timeout_ms = of_pod.unwrap_or(LONGEST).clamp(1, LONGEST) * 1_000;
    if let Some(grace) = number(pod, "terminationGracePeriodSeconds")? {
        task.kill_grace_ms = grace.clamp(0, 3_600) * 1_000;
    } else {
        task.kill_grace_ms = 30_000;
    }
    left_out(spec, job, pod, &mut changes);

    let deadline = number(job, "activeDeadlineSeconds")?;
    if deadline.is_none() {
        schedule.task = Some(TaskEntry::of(&task));
        return Ok((schedule, None, changes));
    }
    // The deadline of a job covers all of its attempts, so it becomes the workflow's.
    let mut definition = Definition::single(task);
    definition.timeout_ms = deadline.map(|seconds| seconds.clamp(1, WINDOW) * 1_000);
    Ok((schedule, Some(WorkflowEntry::of(&definition)), changes))
}

fn timed(spec: &Map<String, Value>, cluster: ClusterFacts<'_>) -> Result<ScheduleEntry, String> {
    let when = spec.get("schedule").and_then(Value::as_str).ok_or("it has no 'spec.schedule'")?;
    let mut zone = cluster.zone;
    let mut when = when.trim();
    if let Some((prefix, rest)) = when.split_once(' ')
        && let Some(named) = prefix.strip_prefix("CRON_TZ=").or(prefix.strip_prefix("TZ="))
    {
        (zone, when) = (named, rest.trim());
    }
    if let Some(named) = spec.get("timeZone").and_then(Value::as_str) {
        zone = named;
    }
    check_zone(zone).map_err(|why| format!("spec.timeZone: {why}"))?;
    let when = match cluster.dialect {
        Some(dialect) => vec![dialect.translate(when).map_err(|error| error.to_string())?],
        None => expressions(when),
    };
    let mut schedule = ScheduleEntry::new(when);
    zone.clone_into(&mut schedule.zone);
    if schedule.zone != "UTC" && schedule.zone != "Etc/UTC" {
        // Kubernetes does not run times that the clock skips, and runs times that it repeats twice.
        schedule.dst = DstEntry {
            gap: Some(entity::schedule::DstGap::Skip),
            overlap: Some(entity::schedule::DstOverlap::Both),
        };
    }
    Ok(schedule)
}

/// The expressions in our dialect. In Kubernetes, a day field with steps does not count as `*`: if
/// both day fields are restricted, either may match, whereas in our dialect both must. So the
/// result may be two expressions.
pub(super) fn expressions(when: &str) -> Vec<String> {
    let fields: Vec<&str> = when.split_whitespace().collect();
    let is_stepped = |field: &str| field.strip_prefix("*/").is_some_and(|step| step != "1");
    if let [time @ .., day, month, weekday] = &fields[..]
        && matches!(time.len(), 2 | 3)
    {
        let is_any = |field: &str| matches!(field, "*" | "?" | "*/1");
        let either = !is_any(day) && !is_any(weekday);
        if either && (is_stepped(day) || is_stepped(weekday)) {
            let time = time.join(" ");
            return vec![format!("{time} {day} {month} *"), format!("{time} * {month} {weekday}")];
        }
    }
    vec![fields.join(" ")]
}

fn policies(
    spec: &Map<String, Value>,
    schedule: &mut ScheduleEntry,
    changes: &mut Vec<String>,
) -> Result<(), String> {
    schedule.overlap = match spec.get("concurrencyPolicy").and_then(Value::as_str) {
        None | Some("Allow") => Some(Overlap::Allow),
        Some("Forbid") => None,
        Some("Replace") => Some(Overlap::TerminateOther),
        Some(other) => return Err(format!("concurrencyPolicy {other:?} is not known")),
    };
    let window = match number(spec, "startingDeadlineSeconds")? {
        Some(deadline) => {
            let kept = deadline.clamp(1, WINDOW);
            if kept != deadline {
                changes.push(format!("startingDeadlineSeconds {deadline} becomes {kept}"));
            }
            schedule.start_deadline = Some(Seconds(kept));
            kept
        }
        None => WINDOW,
    };
    schedule.misfire = MisfireEntry { window: Some(Seconds(window)), ..MisfireEntry::default() };
    schedule.paused = spec.get("suspend").and_then(Value::as_bool).unwrap_or(false);
    for key in ["successfulJobsHistoryLimit", "failedJobsHistoryLimit"] {
        if let Some(limit) = number(spec, key)? {
            changes.push(format!("{key} {limit}: history is kept by days; see 'retention'"));
        }
    }
    Ok(())
}

/// Lists the properties of a manifest that are not imported.
fn left_out(
    spec: &Map<String, Value>,
    job: &Map<String, Value>,
    pod: &Map<String, Value>,
    changes: &mut Vec<String>,
) {
    for (at, map, known) in [
        (
            "spec",
            spec,
            &[
                "schedule",
                "timeZone",
                "concurrencyPolicy",
                "startingDeadlineSeconds",
                "suspend",
                "jobTemplate",
                "successfulJobsHistoryLimit",
                "failedJobsHistoryLimit",
            ][..],
        ),
        (
            "the job",
            job,
            &["backoffLimit", "activeDeadlineSeconds", "template", "ttlSecondsAfterFinished"][..],
        ),
        (
            "the pod",
            pod,
            &[
                "containers",
                "restartPolicy",
                "activeDeadlineSeconds",
                "terminationGracePeriodSeconds",
                "dnsPolicy",
                "schedulerName",
            ][..],
        ),
    ] {
        let others = map.iter().filter(|(key, value)| {
            let is_one = matches!(&***key, "parallelism" | "completions") && **value == 1;
            let is_empty = value.as_object().is_some_and(Map::is_empty) || value.is_null();
            !known.contains(&key.as_str()) && !is_one && !is_empty
        });
        let others: Vec<&str> = others.map(|(key, _)| key.as_str()).collect();
        if !others.is_empty() {
            changes.push(format!("of {at} is left out: {}", others.join(", ")));
        }
    }
}

fn number(map: &Map<String, Value>, key: &str) -> Result<Option<i64>, String> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            value.as_i64().map(Some).ok_or_else(|| format!("{key} {value} is not a whole number"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_do_not_count_as_a_star() {
        assert_eq!(expressions("0 0 */2 * 1"), ["0 0 */2 * *", "0 0 * * 1"]);
        assert_eq!(expressions("5 0 0 */2 * 1"), ["5 0 0 */2 * *", "5 0 0 * * 1"]);
        assert_eq!(expressions("0 0 */2 * *"), ["0 0 */2 * *"]);
        assert_eq!(expressions("0  0 13 * 5"), ["0 0 13 * 5"]);
        assert_eq!(expressions("@hourly"), ["@hourly"]);
    }
}
