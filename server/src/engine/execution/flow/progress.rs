//! Computes the state of a task from its attempts, without IO.

use std::hash::{DefaultHasher, Hash, Hasher};

use chrono::{DateTime, SubsecRound, TimeDelta, Utc};
use entity::{
    run,
    task_run::{self, State},
};
use serde_json::Value;
use uuid::Uuid;

use crate::{model::definition::Task, target::Target};

/// The facts of an attempt that decide what happens next.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AttemptFacts {
    pub(super) attempt: i32,
    pub(super) state: State,
    pub(super) finished_at: Option<DateTime<Utc>>,
    pub(super) error: Option<String>,
    /// The attempt's exit code or HTTP status, and its result.
    pub(super) output: Option<Value>,
}

impl AttemptFacts {
    pub(super) fn of(row: task_run::Model) -> Self {
        Self {
            attempt: row.attempt,
            state: row.state,
            finished_at: row.finished_at.map(|at| at.utc()),
            error: row.error,
            output: row.output.map(gist),
        }
    }
}

/// The part of an output that is needed later; the rest stays only in the tables.
pub(super) fn gist(output: Value) -> Value {
    let Value::Object(mut members) = output else { return Value::Null };
    members.retain(|key, _| matches!(key.as_str(), "exit_code" | "status" | "result"));
    Value::Object(members)
}

/// The state of a task.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TaskProgress {
    /// No attempt at the task has begun.
    Untouched,
    /// An attempt has failed or was lost, and another may begin from this time on.
    Again { attempt: i32, from: DateTime<Utc> },
    /// An attempt at the task is in progress.
    Working,
    /// The task has succeeded.
    Succeeded,
    /// The task has failed, and is not retried.
    Failed { timed_out: bool, error: String },
    /// The task will not run.
    Skipped,
}

/// The state of a task after these attempts, which are in order.
pub(super) fn standing(task: &Task, run: Uuid, attempts: &[AttemptFacts]) -> TaskProgress {
    let Some(last) = attempts.last() else { return TaskProgress::Untouched };
    let ended = last.finished_at.unwrap_or(DateTime::<Utc>::MIN_UTC);
    let again = |from| TaskProgress::Again { attempt: last.attempt + 1, from: whole_ms(from) };
    match last.state {
        State::Running => TaskProgress::Working,
        State::Succeeded => TaskProgress::Succeeded,
        State::Skipped => TaskProgress::Skipped,
        // The task itself caused neither of these, so it is tried again at once.
        State::Lost | State::Cancelled => again(ended),
        State::Failed | State::TimedOut => {
            let own =
                |attempt: &&AttemptFacts| matches!(attempt.state, State::Failed | State::TimedOut);
            let failures = i32::try_from(attempts.iter().filter(own).count()).unwrap_or(i32::MAX);
            let meets = retries(task, last.state, last.output.as_ref());
            if failures < task.retry.max_attempts && meets {
                let delay = task.retry.delay(failures, chance(run, &task.name, last.attempt));
                return again(ended + TimeDelta::from_std(delay).unwrap_or_default());
            }
            let error = last.error.clone().unwrap_or_default();
            TaskProgress::Failed { timed_out: last.state == State::TimedOut, error }
        }
    }
}

/// Rounds up to a whole millisecond. The tables store no finer times, and a run that is parked
/// until just before its task may begin would be taken and parked again to no purpose.
fn whole_ms(at: DateTime<Utc>) -> DateTime<Utc> {
    let floor = at.trunc_subsecs(3);
    if floor == at { at } else { floor + TimeDelta::milliseconds(1) }
}

/// Whether the task is retried after an attempt failed in this state.
pub(crate) fn retries(task: &Task, state: State, output: Option<&Value>) -> bool {
    // A worker may report that a retry would be useless.
    let is_final = output.is_some_and(|output| output["retry"] == false);
    let is_final = is_final && matches!(task.target, Target::Worker(_));
    !is_final
        && (task.retry_on.is_empty()
            || task.retry_on.iter().any(|condition| condition.matches(state, output)))
}

/// A number in `[0, 1)`: uniform but deterministic, so that a node that takes over the run waits as
/// long as the previous node would have.
fn chance(run: Uuid, task: &str, attempt: i32) -> f64 {
    let mut hasher = DefaultHasher::new();
    (run.as_bytes(), task, attempt).hash(&mut hasher);
    f64::from(u32::try_from(hasher.finish() >> 32).unwrap_or(0)) / (f64::from(u32::MAX) + 1.0)
}

/// The state of a task, as the API shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShownTaskState {
    Waiting,
    Running,
    Retrying,
    Succeeded,
    Failed,
    TimedOut,
    Cancelled,
    Skipped,
    NotRun,
}

/// The state of a task after these attempts, which are in order, as the API shows it.
pub(crate) fn shown(
    task: &Task,
    id: Uuid,
    run: run::State,
    rows: &[task_run::Model],
) -> ShownTaskState {
    let live = run.is_live();
    let again = || {
        let attempts: Vec<_> = rows.iter().cloned().map(AttemptFacts::of).collect();
        live && matches!(standing(task, id, &attempts), TaskProgress::Again { .. })
    };
    match rows.last().map(|row| row.state) {
        None if live => ShownTaskState::Waiting,
        None => ShownTaskState::NotRun,
        Some(State::Running) => ShownTaskState::Running,
        Some(State::Succeeded) => ShownTaskState::Succeeded,
        Some(State::Skipped) => ShownTaskState::Skipped,
        Some(State::Cancelled) => ShownTaskState::Cancelled,
        Some(State::Lost) if live => ShownTaskState::Retrying,
        Some(State::Lost) => match run {
            run::State::Cancelled => ShownTaskState::Cancelled,
            run::State::TimedOut => ShownTaskState::TimedOut,
            run::State::Queued
            | run::State::Running
            | run::State::Retrying
            | run::State::Succeeded
            | run::State::Failed => ShownTaskState::Failed,
        },
        Some(State::Failed | State::TimedOut) if again() => ShownTaskState::Retrying,
        Some(State::Failed) => ShownTaskState::Failed,
        Some(State::TimedOut) => ShownTaskState::TimedOut,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use timetable::retry;

    use super::*;
    use crate::target::CommandTarget;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(second, 0).unwrap()
    }

    fn task() -> Task {
        let command = CommandTarget { script: Some("true".to_owned()), ..CommandTarget::default() };
        let retry = retry::Policy {
            max_attempts: 3,
            backoff: retry::Backoff::Exponential,
            initial_ms: 10_000,
            max_ms: 60_000,
            jitter: 0.0,
        };
        Task { retry, ..Task::new("a", Target::Command(command)) }
    }

    fn attempts(states: &[State]) -> Vec<AttemptFacts> {
        let attempt = |(index, state): (usize, &State)| AttemptFacts {
            attempt: i32::try_from(index).unwrap() + 1,
            state: *state,
            finished_at: Some(at(100)),
            error: Some("exited with code 75".to_owned()),
            output: Some(json!({ "exit_code": 75 })),
        };
        states.iter().enumerate().map(attempt).collect()
    }

    fn after(states: &[State]) -> TaskProgress {
        standing(&task(), Uuid::nil(), &attempts(states))
    }

    #[test]
    fn a_failed_attempt_is_followed_by_another_while_its_policy_says_so() {
        use State::{Cancelled, Failed, Lost, TimedOut};
        assert_eq!(after(&[]), TaskProgress::Untouched);
        assert_eq!(after(&[Failed]), TaskProgress::Again { attempt: 2, from: at(110) });
        assert_eq!(after(&[Failed, TimedOut]), TaskProgress::Again { attempt: 3, from: at(120) });
        let error = "exited with code 75".to_owned();
        assert_eq!(
            after(&[Failed, Failed, TimedOut]),
            TaskProgress::Failed { timed_out: true, error }
        );
        // An attempt that its node lost does not count as one of the task's attempts.
        assert_eq!(
            after(&[Lost, Lost, Cancelled, Lost]),
            TaskProgress::Again { attempt: 5, from: at(100) }
        );
        assert_eq!(
            after(&[Lost, Failed, Lost, Failed]),
            TaskProgress::Again { attempt: 5, from: at(120) }
        );
    }

    #[test]
    fn no_attempt_waits_for_a_part_of_a_millisecond() {
        let mut failed = attempts(&[State::Failed]);
        failed[0].finished_at = Some(at(100) + TimeDelta::microseconds(1));
        let standing = standing(&task(), Uuid::nil(), &failed);
        let from = at(110) + TimeDelta::milliseconds(1);
        assert_eq!(standing, TaskProgress::Again { attempt: 2, from });
    }

    #[test]
    fn a_failure_that_no_condition_names_is_final() {
        let only = |condition: &str| Task { retry_on: vec![condition.parse().unwrap()], ..task() };
        let failed = attempts(&[State::Failed]);
        let first = |task: &Task| standing(task, Uuid::nil(), &failed);
        assert!(matches!(first(&only("exit 75")), TaskProgress::Again { .. }));
        assert!(matches!(first(&only("exit 76")), TaskProgress::Failed { timed_out: false, .. }));
        assert!(matches!(first(&only("timeout")), TaskProgress::Failed { .. }));
    }

    #[test]
    fn the_random_part_of_a_delay_is_the_same_for_everybody() {
        let run = Uuid::from_u128(7);
        assert!((chance(run, "a", 1) - chance(run, "a", 1)).abs() < f64::EPSILON);
        assert!((chance(run, "a", 1) - chance(run, "a", 2)).abs() > f64::EPSILON);
        assert!((0..1_000).all(|n| (0.0..1.0).contains(&chance(run, "b", n))));
    }
}
