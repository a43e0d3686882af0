//! Checks that moments are in order.

use std::collections::{BTreeMap, HashMap};

use carillon::{model::Definition, store::Store};
use chrono::TimeDelta;
use entity::{Timestamp, fire, run, task_run, workflow_version};
use sea_orm::EntityTrait;
use uuid::Uuid;

use super::{
    durations::wait_after,
    invariants::{Ended, Key},
};

/// The definitions of all versions of all workflows.
pub(crate) type Definitions = HashMap<(Uuid, i32), Definition>;

/// Reads the definitions.
pub(crate) async fn definitions(store: &Store) -> Definitions {
    let versions = workflow_version::Entity::find().all(store.read()).await.unwrap();
    let definitions = versions.into_iter().map(|row| {
        let definition = serde_json::from_value(row.definition).expect("a definition");
        ((row.workflow_id, row.version), definition)
    });
    definitions.collect()
}

/// Checks that all moments of a world are in order. `is_steady` says that no clock is ever stepped.
pub(crate) fn check(
    ended: &Ended,
    definitions: &Definitions,
    is_steady: bool,
) -> Result<(), String> {
    // If clocks are stepped, times need not be in order.
    if !is_steady {
        return Ok(());
    }
    for fire in ended.fires.values() {
        in_order(&fire_moments(fire)).map_err(|what| format!("{what}: {fire:?}"))?;
    }
    for run in ended.runs.values() {
        let moments = [Some(run.created_at), run.started_at, run.finished_at];
        in_order(&moments).map_err(|what| format!("{what}: {run:?}"))?;
    }
    attempts(&ended.attempts, &ended.runs, definitions)
}

fn fire_moments(fire: &fire::Model) -> [Option<Timestamp>; 2] {
    [Some(fire.claimed_at), fire.decided_at]
}

fn in_order(moments: &[Option<Timestamp>]) -> Result<(), String> {
    let known: Vec<_> = moments.iter().flatten().collect();
    if known.is_sorted() { Ok(()) } else { Err("its moments are not in order".to_owned()) }
}

fn attempts(
    attempts: &BTreeMap<Key, task_run::Model>,
    runs: &BTreeMap<Uuid, run::Model>,
    definitions: &Definitions,
) -> Result<(), String> {
    use task_run::State::{Failed, TimedOut};
    let mut last: Option<&task_run::Model> = None;
    let mut failures = 0;
    for row in attempts.values() {
        let moments = [Some(row.started_at), row.finished_at];
        in_order(&moments).map_err(|what| format!("{what}: {row:?}"))?;
        let same =
            |other: &&task_run::Model| (other.run_id, &other.task) == (row.run_id, &row.task);
        let before = last.replace(row).filter(same);
        failures = if before.is_none() { 0 } else { failures };
        let Some(before) = before else { continue };
        let finished = before.finished_at.ok_or_else(|| format!("it did not end: {before:?}"))?;
        let mut wait = TimeDelta::zero();
        if matches!(before.state, Failed | TimedOut) {
            failures += 1;
            let run = &runs[&row.run_id];
            let definition = definitions.get(&(run.workflow_id, run.workflow_version));
            let task = definition.and_then(|all| all.tasks.iter().find(|t| t.name == row.task));
            let retry = task.ok_or_else(|| format!("there is no such task: {row:?}"))?.retry;
            (wait, _) = wait_after(failures, &retry);
        }
        if row.started_at.utc() < finished.utc() + wait {
            return Err(format!("it began before its time: {row:?}, after {before:?}"));
        }
    }
    Ok(())
}
