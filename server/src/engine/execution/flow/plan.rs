//! Decides what happens next in a run of several tasks, without IO.

use chrono::{DateTime, Utc};
use entity::run;

use super::progress::TaskProgress;
use crate::model::definition::{Definition, Graph, When};

/// Why the run must not continue on this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HaltReason {
    /// A user or a service requested that the run be cancelled.
    Cancelled,
    /// The node is shutting down, and another node may continue the run.
    Released,
}

/// The facts on which the plan depends.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowFacts<'a> {
    pub(super) definition: &'a Definition,
    pub(super) graph: &'a Graph,
    /// The state of each task, in the definition's order.
    pub(super) standings: &'a [TaskProgress],
    pub(super) now: DateTime<Utc>,
    /// The time by which the whole run must have ended.
    pub(super) deadline: Option<DateTime<Utc>>,
    pub(super) halt: Option<HaltReason>,
    /// Number of tasks that this node may execute at once: at least one.
    pub(super) room: usize,
}

/// The tasks to begin and to skip, by their index in the definition, and the next step of the run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FlowPlan {
    /// Tasks that will never run, each with the reason.
    pub(super) skip: Vec<(usize, String)>,
    /// Tasks to begin, each with the number of its attempt.
    pub(super) begin: Vec<(usize, i32)>,
    /// Number of further tasks that could begin if there were room.
    pub(super) held_back: usize,
    pub(super) next: NextStep,
}

/// The next step of the run.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum NextStep {
    /// Tasks are in progress. The conductor plans again when one ends, or at this time.
    Wait { until: Option<DateTime<Utc>> },
    /// The run's time limit has passed, so the tasks in progress must be stopped.
    StopTasks,
    /// No task is in progress, so the run gives up its place until this time.
    Park { until: DateTime<Utc> },
    /// The run has ended.
    Settle { state: run::State, error: Option<String> },
}

/// The meaning of an ended task for the tasks that need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bearing {
    Good,
    /// The task failed, or was skipped because a task that it needs had failed.
    Broken,
    /// The task was skipped, and no task before it had failed.
    Idle,
}

/// Decides what happens next.
pub(super) fn plan(situation: &FlowFacts<'_>) -> FlowPlan {
    let mut standings = situation.standings.to_vec();
    let working = standings.iter().filter(|standing| **standing == TaskProgress::Working).count();
    let over = situation.deadline.is_some_and(|deadline| situation.now >= deadline);
    let halted = situation.halt.is_some() || over;
    let mut skip = Vec::new();
    if situation.halt != Some(HaltReason::Cancelled) {
        skip = skipped(situation, &mut standings);
    }
    let ready = if halted { Vec::new() } else { ready(situation, &standings) };
    let room = limit(situation).saturating_sub(working);
    let held_back = ready.len().saturating_sub(room);
    let begin: Vec<_> = ready.into_iter().take(room).collect();
    let at_work = working + begin.len();
    let next = next(situation, &standings, at_work, over);
    FlowPlan { skip, begin, held_back, next }
}

/// Number of tasks that may be in progress at once.
fn limit(situation: &FlowFacts<'_>) -> usize {
    let most = usize::try_from(situation.definition.max_parallel).unwrap_or(1);
    situation.room.min(most).max(1)
}

fn next(
    situation: &FlowFacts<'_>,
    standings: &[TaskProgress],
    at_work: usize,
    over: bool,
) -> NextStep {
    if at_work > 0 {
        if over && situation.halt.is_none() {
            return NextStep::StopTasks;
        }
        // A task that is already due waits for room, not for a time.
        let later = waiting_until(standings, |from| from > situation.now);
        let until = [later, situation.deadline].into_iter().flatten().min();
        // During a halt, or after the time limit, the run waits only for its running tasks, not for
        // a retry.
        return NextStep::Wait { until: until.filter(|_| situation.halt.is_none() && !over) };
    }
    let open = |standing: &TaskProgress| {
        matches!(
            standing,
            TaskProgress::Untouched | TaskProgress::Again { .. } | TaskProgress::Working
        )
    };
    let settled = (!standings.iter().any(open)).then(|| settled(situation.definition, standings));
    let succeeded = NextStep::Settle { state: run::State::Succeeded, error: None };
    if situation.halt == Some(HaltReason::Cancelled) && settled.as_ref() != Some(&succeeded) {
        return NextStep::Settle { state: run::State::Cancelled, error: None };
    }
    if let Some(settled) = settled {
        return settled;
    }
    if over {
        let error = out_of_time(situation.definition.timeout_ms.unwrap_or_default());
        return NextStep::Settle { state: run::State::TimedOut, error: Some(error) };
    }
    if situation.halt == Some(HaltReason::Released) {
        return NextStep::Park { until: situation.now };
    }
    match waiting_until(standings, |_| true) {
        Some(until) => NextStep::Park {
            until: situation.deadline.map_or(until, |deadline| until.min(deadline)),
        },
        // No command saves a definition that leads here.
        None => NextStep::Settle {
            state: run::State::Failed,
            error: Some("its tasks wait for each other".to_owned()),
        },
    }
}

/// The error text of a run whose time limit has passed.
pub(in crate::engine) fn out_of_time(limit_ms: i64) -> String {
    format!("the run did not end within its time limit of {limit_ms} ms")
}

/// The first time at which a task that waits for another attempt may begin it.
fn waiting_until(
    standings: &[TaskProgress],
    counts: impl Fn(DateTime<Utc>) -> bool,
) -> Option<DateTime<Utc>> {
    let from = |standing: &TaskProgress| match standing {
        TaskProgress::Again { from, .. } => Some(*from),
        TaskProgress::Untouched
        | TaskProgress::Working
        | TaskProgress::Succeeded
        | TaskProgress::Failed { .. }
        | TaskProgress::Skipped => None,
    };
    standings.iter().filter_map(from).filter(|from| counts(*from)).min()
}

/// The bearing of each task that has ended; `None` if a task that it needs has not ended.
fn bearings(situation: &FlowFacts<'_>, standings: &[TaskProgress]) -> Vec<Option<Bearing>> {
    let mut bearings = vec![None; standings.len()];
    for &index in situation.graph.order() {
        bearings[index] = match standings[index] {
            TaskProgress::Untouched | TaskProgress::Again { .. } | TaskProgress::Working => None,
            TaskProgress::Succeeded => Some(Bearing::Good),
            TaskProgress::Failed { .. } => Some(Bearing::Broken),
            TaskProgress::Skipped => {
                let mut needs = situation.graph.needs(index).iter();
                let broken = needs.any(|need| bearings[*need] == Some(Bearing::Broken));
                Some(if broken { Bearing::Broken } else { Bearing::Idle })
            }
        };
    }
    bearings
}

/// Whether the conditions of an untouched task are met;
/// `None` if a task that it needs has not ended.
fn is_met(situation: &FlowFacts<'_>, index: usize, bearings: &[Option<Bearing>]) -> Option<bool> {
    let needs = situation.graph.needs(index).iter().map(|need| bearings[*need]);
    let needs = needs.collect::<Option<Vec<_>>>()?;
    Some(match situation.definition.tasks[index].when {
        When::Success => needs.iter().all(|bearing| *bearing == Bearing::Good),
        When::Failure => needs.contains(&Bearing::Broken),
        When::Always => true,
    })
}

/// Marks the tasks whose conditions can never be met as skipped, and returns them.
fn skipped(situation: &FlowFacts<'_>, standings: &mut [TaskProgress]) -> Vec<(usize, String)> {
    let mut skipped = Vec::new();
    // Each task comes after those that it needs, so a single pass finds all of them.
    for &index in situation.graph.order() {
        if standings[index] != TaskProgress::Untouched {
            continue;
        }
        let bearings = bearings(situation, standings);
        if is_met(situation, index, &bearings) != Some(false) {
            continue;
        }
        let needs = situation.graph.needs(index).iter();
        let named = |wanted: Bearing, needs: std::slice::Iter<'_, usize>| {
            let mut found = needs.filter(|need| bearings[**need] == Some(wanted));
            found.next().map(|need| situation.definition.tasks[*need].name.clone())
        };
        let why = match situation.definition.tasks[index].when {
            When::Failure => "nothing that it needs has failed".to_owned(),
            When::Success | When::Always => match named(Bearing::Broken, needs.clone()) {
                Some(name) => format!("'{name}', which it needs, has not succeeded"),
                None => {
                    let name = named(Bearing::Idle, needs).unwrap_or_default();
                    format!("'{name}', which it needs, was skipped")
                }
            },
        };
        standings[index] = TaskProgress::Skipped;
        skipped.push((index, why));
    }
    skipped
}

/// The tasks that could begin now, each with the number of its attempt.
fn ready(situation: &FlowFacts<'_>, standings: &[TaskProgress]) -> Vec<(usize, i32)> {
    let bearings = bearings(situation, standings);
    let attempt = |index: usize| match &standings[index] {
        TaskProgress::Untouched => {
            is_met(situation, index, &bearings).unwrap_or(false).then_some((index, 1))
        }
        TaskProgress::Again { attempt, from } => {
            (*from <= situation.now).then_some((index, *attempt))
        }
        TaskProgress::Working
        | TaskProgress::Succeeded
        | TaskProgress::Failed { .. }
        | TaskProgress::Skipped => None,
    };
    (0..standings.len()).filter_map(attempt).collect()
}

/// The outcome of a run whose tasks have all ended. If a task failed for good, the run fails,
/// whatever ran afterwards, unless the task is allowed to fail.
fn settled(definition: &Definition, standings: &[TaskProgress]) -> NextStep {
    let failed =
        definition.tasks.iter().zip(standings).filter_map(|(task, standing)| match standing {
            TaskProgress::Failed { timed_out, error } if !task.allow_failure => {
                Some((&task.name, *timed_out, error))
            }
            TaskProgress::Untouched
            | TaskProgress::Again { .. }
            | TaskProgress::Working
            | TaskProgress::Succeeded
            | TaskProgress::Failed { .. }
            | TaskProgress::Skipped => None,
        });
    let failed: Vec<_> = failed.collect();
    let Some((name, _, error)) = failed.first() else {
        return NextStep::Settle { state: run::State::Succeeded, error: None };
    };
    let more = match failed.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    let all_timed_out = failed.iter().all(|(_, timed_out, _)| *timed_out);
    let state = if all_timed_out { run::State::TimedOut } else { run::State::Failed };
    NextStep::Settle { state, error: Some(format!("task '{name}': {error}{more}")) }
}

#[cfg(test)]
#[path = "plan_properties.rs"]
mod properties;
#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
