//! Decides what recovery does about a stray attempt, without IO.

use chrono::{DateTime, Utc};
use entity::{Timestamp, fire, run, task_run};
use sea_orm::ActiveEnum;

use crate::{
    engine::execution::{handoff::HandoffLimits, settle::Decision},
    store::{
        holds::{RunLease, Settlement},
        recoveries::OrphanedAttempt,
    },
};

/// The decision of recovery about a run whose node is dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OrphanFate {
    TakeOver,
    Cancel,
    Abandon(fire::Reason),
}

pub(super) fn judge(
    stray: &OrphanedAttempt,
    now: DateTime<Utc>,
    limits: HandoffLimits,
) -> OrphanFate {
    if stray.cancel_requested_at.is_some() {
        OrphanFate::Cancel
    } else if stray.deleted {
        OrphanFate::Abandon(fire::Reason::Deleted)
    } else if stray.paused {
        OrphanFate::Abandon(fire::Reason::Disabled)
    } else if stray.recovery_attempts >= limits.attempts {
        OrphanFate::Abandon(fire::Reason::AttemptsExhausted)
    } else if now - stray.created_at.utc() > limits.age {
        OrphanFate::Abandon(fire::Reason::TooOld)
    } else {
        OrphanFate::TakeOver
    }
}

pub(super) fn orphaned(fate: OrphanFate, now: DateTime<Utc>) -> Decision {
    let lost = "the node that worked on it died";
    let (run_state, error) = match fate {
        OrphanFate::TakeOver => (run::State::Retrying, lost.to_owned()),
        OrphanFate::Cancel => (run::State::Cancelled, lost.to_owned()),
        OrphanFate::Abandon(reason) => {
            let why = reason.to_value().replace('_', " ");
            (run::State::Failed, format!("{lost}, and recovery gave up: {why}"))
        }
    };
    Decision {
        task_state: task_run::State::Lost,
        run_state,
        available_at: (run_state == run::State::Retrying).then_some(now),
        error: Some(error),
        output: None,
        extra_attempts: i32::from(run_state == run::State::Retrying),
    }
}

/// The decision about a run of several tasks whose node does not end it: the task in progress has
/// timed out, and the next node that takes the run decides what follows.
pub(super) fn stuck(now: DateTime<Utc>) -> Decision {
    Decision {
        task_state: task_run::State::TimedOut,
        run_state: run::State::Retrying,
        available_at: Some(now),
        error: Some("it exceeded its timeout and its grace period".to_owned()),
        output: None,
        extra_attempts: 1,
    }
}

pub(super) fn hold(stray: &OrphanedAttempt) -> RunLease {
    RunLease {
        run_id: stray.id,
        attempt: stray.attempt,
        node_id: stray.node_id,
        epoch: stray.epoch,
    }
}

pub(super) fn settlement(
    stray: &OrphanedAttempt,
    decision: Decision,
    now: DateTime<Utc>,
) -> Settlement {
    // The two instants may come from the clocks of different nodes.
    let took = stray.started_at.and_then(|at| (now - at.utc()).to_std().ok());
    Settlement {
        hold: hold(stray),
        task: stray.task.clone().unwrap_or_default(),
        task_state: decision.task_state,
        run_state: decision.run_state,
        available_at: decision.available_at.map(Timestamp::from),
        error: decision.error,
        output: decision.output,
        lines: None,
        extra_attempts: decision.extra_attempts,
        at: now.into(),
        took: took.unwrap_or_default(),
        traced: None,
    }
}
