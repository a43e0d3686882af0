//! Decides what the end of an attempt means for its run, without IO.

use chrono::{DateTime, TimeDelta, Utc};
use entity::{run, task_run};
use serde_json::Value;

use super::flow;
use crate::{engine::core::StopReason, model::definition::Task, target::AttemptOutcome};

/// The decision about an attempt and its run.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::engine) struct Decision {
    pub(in crate::engine) task_state: task_run::State,
    pub(in crate::engine) run_state: run::State,
    pub(in crate::engine) available_at: Option<DateTime<Utc>>,
    pub(in crate::engine) error: Option<String>,
    pub(in crate::engine) output: Option<Value>,
    pub(in crate::engine) extra_attempts: i32,
}

/// The facts about a run that decide what follows the end of its attempt.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine) struct AttemptContext<'a> {
    pub(in crate::engine) attempt: i32,
    pub(in crate::engine) max_attempts: i32,
    pub(in crate::engine) task: &'a Task,
    pub(in crate::engine) now: DateTime<Utc>,
    /// A random number, uniform in `[0, 1)`.
    pub(in crate::engine) random: f64,
}

/// Decides about an attempt that ended on its own, or that was stopped for the reason `why`.
/// Returns `None` if the node lost the run, because then it must not write anything.
pub(in crate::engine) fn settle(
    outcome: AttemptOutcome,
    why: Option<StopReason>,
    standing: AttemptContext<'_>,
) -> Option<Decision> {
    if why == Some(StopReason::Lost) {
        return None;
    }
    let decision = match outcome {
        AttemptOutcome::Succeeded { output } => Decision {
            task_state: task_run::State::Succeeded,
            run_state: run::State::Succeeded,
            available_at: None,
            error: None,
            output: Some(output),
            extra_attempts: 0,
        },
        AttemptOutcome::Cancelled { output } if why == Some(StopReason::Released) => Decision {
            task_state: task_run::State::Lost,
            run_state: run::State::Retrying,
            available_at: Some(standing.now),
            error: Some("the node shut down".to_owned()),
            output: Some(output),
            extra_attempts: 1,
        },
        AttemptOutcome::Cancelled { output } => Decision {
            task_state: task_run::State::Cancelled,
            run_state: run::State::Cancelled,
            available_at: None,
            error: None,
            output: Some(output),
            extra_attempts: 0,
        },
        AttemptOutcome::Failed { message, output } => failed(
            task_run::State::Failed,
            run::State::Failed,
            message,
            Some(output),
            why,
            standing,
        ),
        AttemptOutcome::TimedOut { message, output } => failed(
            task_run::State::TimedOut,
            run::State::TimedOut,
            message,
            Some(output),
            why,
            standing,
        ),
    };
    Some(decision)
}

/// Decides about an attempt that is still in progress after its hard deadline.
pub(in crate::engine) fn overrun(standing: AttemptContext<'_>) -> Decision {
    let message = "it exceeded its timeout and its grace period".to_owned();
    failed(task_run::State::TimedOut, run::State::TimedOut, message, None, None, standing)
}

fn failed(
    task_state: task_run::State,
    final_state: run::State,
    message: String,
    output: Option<Value>,
    why: Option<StopReason>,
    standing: AttemptContext<'_>,
) -> Decision {
    let cancelled = why == Some(StopReason::Cancelled);
    let again = !cancelled
        && standing.attempt < standing.max_attempts
        && flow::retries(standing.task, task_state, output.as_ref());
    let delay = standing.task.retry.delay(standing.attempt, standing.random);
    let available_at = standing.now + TimeDelta::from_std(delay).unwrap_or_default();
    let run_state = match (cancelled, again) {
        (true, _) => run::State::Cancelled,
        (false, true) => run::State::Retrying,
        (false, false) => final_state,
    };
    Decision {
        task_state,
        run_state,
        available_at: again.then_some(available_at),
        error: Some(message),
        output,
        extra_attempts: 0,
    }
}

#[cfg(test)]
mod tests {
    use timetable::retry;

    use super::*;
    use crate::target::{Noop, Target};

    fn standing(attempt: i32, max_attempts: i32, task: &Task) -> AttemptContext<'_> {
        let now = DateTime::from_timestamp(1_000, 0).unwrap();
        AttemptContext { attempt, max_attempts, task, now, random: 0.0 }
    }

    fn task() -> Task {
        Task::new("main", Target::Noop(Noop::default()))
    }

    fn failure() -> AttemptOutcome {
        AttemptOutcome::Failed { message: "exit code 1".to_owned(), output: Value::Null }
    }

    #[test]
    fn a_failed_attempt_is_followed_by_another_after_its_delay() {
        let policy = retry::Policy { initial_ms: 2_000, ..retry::Policy::default() };
        let task = Task { retry: policy, ..task() };
        let decision = settle(failure(), None, standing(2, 3, &task)).unwrap();
        assert_eq!(decision.run_state, run::State::Retrying);
        assert_eq!(decision.available_at, DateTime::from_timestamp(1_004, 0));
        assert_eq!(decision.task_state, task_run::State::Failed);
    }

    #[test]
    fn a_failure_that_no_condition_names_ends_the_run_at_once() {
        let task = Task { retry_on: vec!["timeout".parse().unwrap()], ..task() };
        let decision = settle(failure(), None, standing(1, 3, &task)).unwrap();
        assert_eq!((decision.run_state, decision.available_at), (run::State::Failed, None));
        let late = AttemptOutcome::TimedOut { message: "late".to_owned(), output: Value::Null };
        let decision = settle(late, None, standing(1, 3, &task)).unwrap();
        assert_eq!(decision.run_state, run::State::Retrying);
    }

    #[test]
    fn the_last_failure_ends_the_run() {
        let task = task();
        let decision = settle(failure(), None, standing(3, 3, &task)).unwrap();
        assert_eq!(decision.run_state, run::State::Failed);
        assert_eq!(decision.error.as_deref(), Some("exit code 1"));
    }

    #[test]
    fn a_cancelled_run_is_not_tried_again() {
        let task = task();
        let why = Some(StopReason::Cancelled);
        let decision = settle(failure(), why, standing(1, 3, &task)).unwrap();
        assert_eq!(decision.run_state, run::State::Cancelled);
    }

    #[test]
    fn a_released_attempt_costs_the_run_nothing() {
        let task = task();
        let outcome = AttemptOutcome::Cancelled { output: Value::Null };
        let decision = settle(outcome, Some(StopReason::Released), standing(1, 1, &task)).unwrap();
        assert_eq!(decision.run_state, run::State::Retrying);
        assert_eq!(decision.task_state, task_run::State::Lost);
        assert_eq!(decision.extra_attempts, 1);
    }

    #[test]
    fn a_node_without_its_hold_writes_nothing() {
        let task = task();
        assert_eq!(settle(failure(), Some(StopReason::Lost), standing(1, 1, &task)), None);
    }
}
