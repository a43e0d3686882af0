//! Checks durations: an attempt or run that was ended because of its time limit had exceeded the
//! limit, nothing started after the time limit of its run, and retries waited for as long as the
//! policy says.

use carillon::{engine::EngineSettings, model::Definition};
use chrono::{DateTime, TimeDelta, Utc};
use entity::{run, task_run};
use timetable::retry::{self, Backoff};

use super::{invariants::Ended, moments::Moment, order::Definitions, plan::ONLY_TASK};

/// Checks all durations. Those between two moments are checked only in worlds whose clocks are
/// never stepped.
pub(crate) fn check(
    moments: &[Moment],
    ended: &Ended,
    definitions: &Definitions,
    is_steady: bool,
) -> Result<(), String> {
    let waits = |moment: &&Moment| moment.is_of_run() && moment.state() == run::State::Retrying;
    for moment in moments.iter().filter(waits) {
        waited(moment, ended, definitions).map_err(|what| format!("{what}: {moment:?}"))?;
    }
    if !is_steady {
        return Ok(());
    }
    for run in ended.runs.values() {
        let Some(definition) = definition(run, definitions) else { continue };
        ran(run, definition).map_err(|what| format!("{what}: {run:?}"))?;
    }
    for attempt in ended.attempts.values() {
        let run = &ended.runs[&attempt.run_id];
        let Some(definition) = definition(run, definitions) else { continue };
        let judged = tried(attempt, run, definition);
        judged.map_err(|what| format!("{what}: {attempt:?}, of {run:?}"))?;
    }
    Ok(())
}

/// The definition that a run executed, unless it was removed with its schedule.
fn definition<'a>(run: &run::Model, definitions: &'a Definitions) -> Option<&'a Definition> {
    definitions.get(&(run.workflow_id, run.workflow_version))
}

/// The shortest and the longest permitted delay of a task after that many failures.
pub(crate) fn wait_after(failures: i32, retry: &retry::Policy) -> (TimeDelta, TimeDelta) {
    let doublings = if retry.backoff == Backoff::Fixed { 0 } else { (failures - 1).clamp(0, 40) };
    let most = retry.initial_ms.saturating_mul(1 << doublings).min(retry.max_ms);
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "ms")]
    let least = (most as f64 * (1.0 - retry.jitter)) as i64;
    (TimeDelta::milliseconds(least), TimeDelta::milliseconds(most))
}

/// Checks how long a run of one task waits for its retry. Both instants were written at the same
/// moment, so steps of the clock do not matter.
fn waited(moment: &Moment, ended: &Ended, definitions: &Definitions) -> Result<(), String> {
    use task_run::State::{Failed, TimedOut};
    let attempt = i32::try_from(moment.attempt).unwrap();
    let row = ended.attempts.get(&(moment.id, ONLY_TASK.to_owned(), attempt));
    let Some(row) = row.filter(|row| matches!(row.state, Failed | TimedOut)) else {
        return Ok(());
    };
    let run = &ended.runs[&moment.id];
    let Some(definition) = definition(run, definitions) else { return Ok(()) };
    let task = &definition.tasks[0];
    let finished = row.finished_at.ok_or("its attempt did not end")?;
    let wait = TimeDelta::milliseconds(moment.available_at - finished.0);
    // A lost attempt has a number, but it does not count as a failure.
    let (least, _) = wait_after(1, &task.retry);
    let (_, most) = wait_after(attempt, &task.retry);
    if (least..=most).contains(&wait) {
        return Ok(());
    }
    Err(format!("it waits for {wait}, and not for {least} to {most}"))
}

/// The time limit of a run, if it has one.
fn limit(run: &run::Model, definition: &Definition) -> Option<DateTime<Utc>> {
    let limit = TimeDelta::milliseconds(definition.timeout_ms?);
    Some(run.started_at?.utc() + limit)
}

fn ran(run: &run::Model, definition: &Definition) -> Result<(), String> {
    let is_over = says(run.error.as_deref(), "within its time limit");
    if run.state != run::State::TimedOut || !is_over {
        return Ok(());
    }
    let limit = limit(run, definition).ok_or("it was ended for its time, and had no limit")?;
    if run.finished_at.is_some_and(|at| at.utc() >= limit) {
        return Ok(());
    }
    Err(format!("it was ended before its time was over, {limit}"))
}

fn tried(
    attempt: &task_run::Model,
    run: &run::Model,
    definition: &Definition,
) -> Result<(), String> {
    use task_run::State::{Skipped, TimedOut};
    let (began, ended) = (attempt.started_at.utc(), attempt.finished_at);
    let ended = ended.ok_or("it did not end")?.utc();
    let limit = limit(run, definition);
    if attempt.state != Skipped && limit.is_some_and(|limit| limit <= began) {
        return Err("it began when the time of its run was over".to_owned());
    }
    if attempt.state != TimedOut {
        return Ok(());
    }
    if says(attempt.error.as_deref(), "the time of the whole run")
        && limit.is_none_or(|limit| ended < limit)
    {
        return Err("it was stopped before the time of its run was over".to_owned());
    }
    let task = definition.tasks.iter().find(|task| task.name == attempt.task);
    let task = task.ok_or("there is no such task")?;
    let own = TimeDelta::milliseconds(task.timeout_ms + task.kill_grace_ms);
    let patience = own + TimeDelta::from_std(EngineSettings::default().heartbeat_expiry).unwrap();
    if says(attempt.error.as_deref(), "outlived") && ended - began < patience {
        return Err(format!("it was ended before {patience} were over"));
    }
    Ok(())
}

fn says(error: Option<&str>, what: &str) -> bool {
    error.is_some_and(|text| text.contains(what))
}
