//! The facts of two runs, side by side.

use crate::{
    components::{Mark, trigger_words},
    model::{Attempt, RunDetail, RunTask},
    pages::run::{earlier::is_much, log::plain},
    time::{Moment, amount, duration},
};

/// A fact of both runs. A side without it is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) name: String,
    pub(super) other: Option<String>,
    pub(super) own: Option<String>,
    /// Whether the difference says something. Instants always differ, and durations do a little.
    pub(super) differs: bool,
}

/// The facts that at least one of the runs has; `clock` writes an instant.
pub(super) fn pairs(
    own: &RunDetail,
    other: &RunDetail,
    clock: impl Fn(Moment) -> String,
) -> Vec<Pair> {
    let word = |name: &str, take: &dyn Fn(&RunDetail) -> Option<String>| {
        let (other, own) = (take(other), take(own));
        Pair { name: name.to_owned(), differs: other != own, other, own }
    };
    let instant = |name: &str, take: &dyn Fn(&RunDetail) -> Option<Moment>| Pair {
        differs: false,
        ..word(name, &|run| take(run).map(&clock))
    };
    let length = |name: &str, take: &dyn Fn(&RunDetail) -> Option<i64>| Pair {
        differs: differ_much(take(other), take(own)),
        ..word(name, &|run| take(run).map(duration))
    };
    let mut pairs = vec![
        word("State", &|run| Some(Mark::Run(run.row.state).word().to_owned())),
        word("Verdict", &|run| {
            run.more.fire.as_ref().map(|fire| Mark::Verdict(fire.verdict).word().to_owned())
        }),
        word("Reason", &|run| run.more.fire.as_ref().map(|fire| fire.reason.text.clone())),
        word("Started by", &|run| {
            Some(trigger_words(run.row.trigger, run.row.is_recovery).to_owned())
        }),
        instant("Scheduled", &|run| Some(run.row.scheduled_at)),
        instant("Started", &|run| run.row.started_at),
        instant("Finished", &|run| run.row.finished_at),
        length("Late", &|run| run.row.lateness_ms),
        length("Took", &|run| run.row.duration_ms),
        word("Node", &|run| run.row.node.clone()),
        word("Workflow", &|run| {
            Some(format!("{} version {}", run.row.workflow.name, run.more.workflow_version))
        }),
        word("Error", &|run| run.row.error.as_deref().map(plain)),
    ];
    pairs.extend(tasks(own, other));
    pairs.retain(|pair| pair.other.is_some() || pair.own.is_some());
    pairs
}

/// The tasks of this run, then those that only the other one has.
fn tasks(own: &RunDetail, other: &RunDetail) -> Vec<Pair> {
    let (own, other) = (&own.more.tasks, &other.more.tasks);
    let find = |tasks: &[RunTask], name: &str| -> Option<RunTask> {
        tasks.iter().find(|task| task.name == name).cloned()
    };
    let gone = other.iter().filter(|task| find(own, &task.name).is_none());
    let names: Vec<&str> = own.iter().chain(gone).map(|task| task.name.as_str()).collect();
    let name = |task: &str| match names.len() {
        1 => "Attempts".to_owned(),
        _ => format!("Task {task}"),
    };
    names.iter().map(|task| attempts(name(task), find(other, task), find(own, task))).collect()
}

fn attempts(name: String, other: Option<RunTask>, own: Option<RunTask>) -> Pair {
    let took =
        |task: &Option<RunTask>| task.as_ref()?.attempts.last().and_then(|last| last.duration_ms);
    let ended = |task: &Option<RunTask>| task.as_ref().map(outcome);
    let differs = ended(&other) != ended(&own) || differ_much(took(&other), took(&own));
    let words = |task: &Option<RunTask>| {
        let took = took(task).map(|millis| format!(", {}", duration(millis)));
        ended(task).map(|ended| format!("{ended}{}", took.unwrap_or_default()))
    };
    Pair { name, other: words(&other), own: words(&own), differs }
}

/// `Failed, 3 attempts, exit 7`
fn outcome(task: &RunTask) -> String {
    let mut words = vec![Mark::Task(task.state).word().to_owned()];
    if task.kept {
        words.push("kept from the run that it repeats".to_owned());
    }
    if !task.attempts.is_empty() {
        words.push(amount(task.attempts.len() as i64, "attempt", "attempts"));
    }
    words.extend(task.attempts.last().and_then(Attempt::code));
    words.join(", ")
}

fn differ_much(one: Option<i64>, other: Option<i64>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => is_much(one, other),
        (None, None) => false,
        (Some(_), None) | (None, Some(_)) => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn run(state: &str, took: i64, tasks: &Value) -> RunDetail {
        serde_json::from_value(json!({
            "id": state, "namespace": "default", "state": state, "trigger": "SCHEDULE",
            "scheduledAt": "2026-11-25T02:30:00Z", "createdAt": "2026-11-25T02:30:00Z",
            "startedAt": "2026-11-25T02:30:00Z", "finishedAt": null, "latenessMs": 20,
            "durationMs": took, "attempt": 1, "maxAttempts": 3, "node": "a", "error": null,
            "isRecovery": false, "workflow": { "name": "nightly" }, "schedule": null,
            "workflowVersion": 1, "availableAt": "2026-11-25T02:30:00Z", "context": {},
            "work": { "id": "w" }, "backfill": null,
            "idempotencyKey": "x", "retryOf": null, "cancel": null, "fire": null,
            "forecast": null, "waitsFor": [], "tasks": tasks, "output": null,
        }))
        .unwrap()
    }

    fn task(name: &str, state: &str, exits: &[i64]) -> Value {
        let attempt = |(number, exit): (usize, &i64)| {
            json!({
                "attempt": number + 1, "state": state, "startedAt": "2026-11-25T02:30:00Z",
                "finishedAt": null, "durationMs": 1_000, "node": "a", "error": null,
                "output": { "exit_code": exit },
            })
        };
        let attempts: Vec<_> = exits.iter().enumerate().map(attempt).collect();
        json!({
            "name": name, "needs": [], "when": "SUCCESS", "state": state, "kept": false,
            "attempts": attempts, "output": null,
        })
    }

    fn found(own: &RunDetail, other: &RunDetail) -> Vec<Pair> {
        pairs(own, other, |at| at.millis().to_string())
    }

    fn differing(own: &RunDetail, other: &RunDetail) -> Vec<String> {
        let pairs = found(own, other).into_iter().filter(|pair| pair.differs);
        pairs.map(|pair| pair.name).collect()
    }

    #[test]
    fn facts_that_differ_are_marked() {
        let failed = run("FAILED", 2_000, &json!([task("main", "FAILED", &[7, 7, 7])]));
        let succeeded = run("SUCCEEDED", 1_990, &json!([task("main", "SUCCEEDED", &[0])]));
        assert_eq!(differing(&failed, &succeeded), ["State", "Attempts"]);
        let attempts = found(&failed, &succeeded).pop().unwrap();
        assert_eq!(attempts.own.unwrap(), "Failed, 3 attempts, exit 7, 1.0 s");
        assert_eq!(attempts.other.unwrap(), "Succeeded, 1 attempt, exit 0, 1.0 s");
        assert!(differing(&failed, &failed).is_empty());
    }

    #[test]
    fn only_large_differences_of_a_duration_are_marked() {
        let tasks = json!([]);
        let (short, long) = (run("SUCCEEDED", 1_000, &tasks), run("SUCCEEDED", 5_000, &tasks));
        assert_eq!(differing(&short, &long), ["Took"]);
        let pair = found(&short, &long).into_iter().find(|pair| pair.name == "Took").unwrap();
        assert_eq!((pair.other.unwrap(), pair.own.unwrap()), ("5.0 s".into(), "1.0 s".into()));
    }

    #[test]
    fn a_task_of_only_one_run_stands_alone() {
        let (first, second) = (task("fetch", "SUCCEEDED", &[0]), task("build", "SUCCEEDED", &[0]));
        let one = run("SUCCEEDED", 1_000, &json!([first]));
        let two = run("SUCCEEDED", 1_000, &json!([first, second]));
        assert_eq!(differing(&one, &two), ["Task build"]);
        let build = found(&one, &two).pop().unwrap();
        assert_eq!((build.own, build.other.is_some()), (None, true));
    }

    #[test]
    fn facts_that_neither_run_has_are_left_out() {
        let one = run("SUCCEEDED", 1_000, &json!([]));
        let names: Vec<_> = found(&one, &one).into_iter().map(|pair| pair.name).collect();
        assert!(!names.iter().any(|name| name == "Error" || name == "Verdict"), "{names:?}");
    }
}
