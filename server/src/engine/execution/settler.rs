//! Settles attempts in batches. Attempts that end while a batch commits form the next batch,
//! together with those that end before the database is ready for it, and share its commit.
//! A single attempt is settled without delay.

use std::{
    ops::Range,
    sync::Arc,
    time::{Duration, Instant},
};

use entity::{run, task_run};
use sea_orm::ActiveEnum;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{
    batcher::json_size,
    clock::Clock,
    engine::{
        core::{Bisect, Core},
        signals::SignalKind,
    },
    store::{DatabaseTransaction, StoreError, holds::Settlement},
};

/// Maximum number of attempts per transaction.
const BATCH: usize = 500;

/// Maximum size of outputs and last lines per transaction,
/// in addition to those of the first attempt.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// While at least this many attempts are in progress, others are about to end.
const MANY: usize = 32;

/// While many attempts are in progress, a smaller batch than this waits until this time has passed
/// since the batch before it began: a transaction costs more than the attempts that it settles.
/// This is real time, because it is about the database's work.
const WORTHWHILE: usize = 64;
const PACE: Duration = Duration::from_millis(10);

/// The pause after the first failure, and the longest pause. The pause doubles after each failure.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The error of an attempt whose outcome the database refuses.
const REFUSED: &str = "the database refused the attempt's result; see the server's log";

/// Settles attempts until `stop`, and then the remaining ones.
pub(in crate::engine) async fn run(
    core: Arc<Core>,
    mut settlements: mpsc::Receiver<Settlement>,
    stop: CancellationToken,
) {
    let mut batch = Vec::with_capacity(BATCH);
    let (pace, mut began) = (Clock::system(), None);
    loop {
        let received = tokio::select! {
            biased;
            received = settlements.recv_many(&mut batch, BATCH) => received,
            () = stop.cancelled(), if !settlements.is_closed() => {
                settlements.close();
                continue;
            }
        };
        if received == 0 {
            return;
        }
        gather(&mut settlements, &mut batch).await;
        let left = left_of_pace(began, pace.instant());
        if batch.len() < WORTHWHILE && !left.is_zero() && core.registry.count() >= MANY {
            pace.sleep(left).await;
        }
        began = Some(pace.instant());
        let tx = core.store.begin().await;
        take_along(&mut settlements, &mut batch);
        finish(&core, tx, &mut batch).await;
    }
}

/// Settles all attempts that have arrived. Returns their number.
pub(in crate::engine) async fn settle_waiting(
    core: &Core,
    settlements: &mut mpsc::Receiver<Settlement>,
) -> usize {
    let mut batch = Vec::new();
    take_along(settlements, &mut batch);
    let count = batch.len();
    if count > 0 {
        finish(core, core.store.begin().await, &mut batch).await;
    }
    count
}

/// A transaction to write in, or the error that prevented it.
type Begun = Result<DatabaseTransaction, StoreError>;

async fn finish(core: &Core, tx: Begun, batch: &mut Vec<Settlement>) {
    write(core, tx, batch).await;
    if batch.iter().any(|settlement| settlement.run_state == run::State::Retrying) {
        // This node's dispatcher must know when a retry is due;
        // other nodes' dispatchers learn it at their next poll.
        core.signals.wake_here(SignalKind::Dispatcher);
    }
    // Settled runs are reported whatever was decided:
    // a run with a cancel request is cancelled instead of retried.
    core.run_settled();
    if core.backfills.has_any(batch.iter().map(|settled| settled.hold.run_id)) {
        core.signals.wake_backfill();
    }
    for settled in batch.drain(..) {
        core.registry.forget(&settled.hold);
    }
}

/// Collects attempts that are just ending, by letting tasks that are ready run first.
/// It does not wait, so a single attempt is settled immediately.
async fn gather(settlements: &mut mpsc::Receiver<Settlement>, batch: &mut Vec<Settlement>) {
    while batch.len() < BATCH {
        tokio::task::yield_now().await;
        if settlements.is_empty() {
            return;
        }
        settlements.recv_many(batch, BATCH - batch.len()).await;
    }
}

/// How long a small batch waits if the batch before it began at `began`.
fn left_of_pace(began: Option<Instant>, now: Instant) -> Duration {
    began.map_or(Duration::ZERO, |began| PACE.saturating_sub(now.saturating_duration_since(began)))
}

/// Adds the settlements that have already arrived, without waiting for more.
fn take_along(settlements: &mut mpsc::Receiver<Settlement>, batch: &mut Vec<Settlement>) {
    let room = BATCH.saturating_sub(batch.len());
    batch.extend(std::iter::from_fn(|| settlements.try_recv().ok()).take(room));
}

/// Writes all of `batch`, the first part in `tx`. Retries until everything is written, because only
/// this process knows the outcomes; if the process dies first, recovery finds the runs. Bisection
/// isolates items that the database refuses, so that one attempt does not delay the others.
async fn write(core: &Core, tx: Begun, batch: &mut [Settlement]) {
    let mut parts = Bisect::new(portions(batch).into_iter().rev());
    let mut begun = Some(tx);
    let mut pause = FIRST_PAUSE;
    let mut is_told = false;
    let renewed = core.store.renewed();
    while let Some(part) = parts.pop() {
        let renewed = renewed.notified();
        let tx = match begun.take() {
            Some(tx) => tx,
            None => core.store.begin().await,
        };
        let Err(error) = settle(core, tx, &batch[part.clone()]).await else {
            pause = FIRST_PAUSE;
            continue;
        };
        if !error.is_refusal() {
            if std::mem::replace(&mut is_told, true) {
                tracing::debug!(attempts = part.len(), %error, "failed to settle");
            } else {
                tracing::warn!(
                    attempts = part.len(),
                    %error,
                    "failed to settle; trying again until it succeeds"
                );
            }
            core.pause(pause, renewed).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
            parts.again(part);
        } else if let Err(alone) = parts.split(part.clone())
            && let Some(one) = batch.get_mut(alone)
        {
            tracing::error!(run_id = %one.hold.run_id, %error, "failed to settle an attempt");
            if one.error.as_deref() == Some(REFUSED) {
                // The database refuses the run even without its outcome.
                // This node drops the run, and recovery takes it over.
                continue;
            }
            strip(one);
            parts.again(part);
        }
    }
}

/// Replaces the outcome of an attempt that the database refuses.
fn strip(settlement: &mut Settlement) {
    settlement.output = None;
    settlement.lines = None;
    settlement.error = Some(REFUSED.to_owned());
    if settlement.task_state == task_run::State::Succeeded {
        settlement.task_state = task_run::State::Failed;
        settlement.run_state = run::State::Failed;
    }
}

/// Splits the batch into parts whose outcomes fit into one transaction each.
/// The first part is last.
fn portions(batch: &[Settlement]) -> Vec<Range<usize>> {
    let mut parts = Vec::with_capacity(1);
    let (mut start, mut bytes) = (0, 0);
    for (index, settlement) in batch.iter().enumerate() {
        let text = settlement.lines.as_ref().map_or(0, |lines| lines.text.len());
        let more = text + settlement.output.as_ref().map_or(0, json_size);
        if index > start && bytes + more > MAX_BYTES {
            parts.push(start..index);
            (start, bytes) = (index, 0);
        }
        bytes += more;
    }
    parts.push(start..batch.len());
    parts.reverse();
    parts
}

async fn settle(core: &Core, tx: Begun, batch: &[Settlement]) -> Result<(), StoreError> {
    let start = core.clock.instant();
    let tx = tx?;
    let mut held = core.store.settle_if_held(&tx, batch).await?;
    if held.len() < batch.len() {
        // If an earlier try was committed but its answer was
        // lost, this node still seems to hold these runs.
        let others = batch.iter().filter(|settlement| !held.contains(&settlement.hold));
        let others: Vec<&Settlement> = others.collect();
        let before = core.store.settled_before(&tx, &others).await?;
        held.extend(before);
    }
    // This includes the lines of attempts that lost their hold, because these lines were printed.
    let lines = batch.iter().filter_map(|settlement| settlement.lines.as_ref());
    core.store.append_lines_in(&tx, lines).await?;
    core.store.commit(tx).await?;
    core.metrics.settled(batch.len(), start.elapsed());
    for settled in batch.iter().filter(|settlement| held.contains(&settlement.hold)) {
        core.metrics.attempt(settled.task_state.to_value());
        if !settled.run_state.is_live() {
            let failed = matches!(settled.run_state, run::State::Failed | run::State::TimedOut);
            let state = settled.run_state.to_value();
            if let Some(traced) = &settled.traced {
                core.metrics.traces().run(traced, &state, settled.at.utc());
            }
            let schedule = settled.traced.as_ref().and_then(|run| run.schedule.as_ref());
            let schedule = schedule.map(|(id, _)| *id);
            core.metrics.execution(schedule, state, settled.took, failed);
        }
    }
    for lost in batch.iter().filter(|settlement| !held.contains(&settlement.hold)) {
        tracing::warn!(
            run_id = %lost.hold.run_id,
            attempt = lost.hold.attempt,
            "the run was taken over before its attempt settled; its outcome is not recorded"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use entity::Timestamp;
    use serde_json::json;
    use uuid::Uuid;

    use super::*;
    use crate::store::holds::RunLease;

    fn settlement(bytes: usize) -> Settlement {
        Settlement {
            hold: RunLease { run_id: Uuid::nil(), attempt: 1, node_id: Uuid::nil(), epoch: 1 },
            task: "main".to_owned(),
            task_state: task_run::State::Succeeded,
            run_state: run::State::Succeeded,
            available_at: None,
            error: None,
            output: Some(json!({ "body": "x".repeat(bytes) })),
            lines: None,
            extra_attempts: 0,
            at: Timestamp(0),
            took: Duration::ZERO,
            traced: None,
        }
    }

    #[test]
    fn a_batch_is_one_part_unless_its_outcomes_are_large() {
        let small = vec![settlement(100); BATCH];
        assert_eq!(portions(&small).as_slice(), std::slice::from_ref(&(0..BATCH)));
        let sizes = [100, MAX_BYTES / 2, MAX_BYTES / 2, MAX_BYTES * 2, 100];
        let large: Vec<_> = sizes.into_iter().map(settlement).collect();
        assert_eq!(portions(&large), [4..5, 3..4, 2..3, 0..2]);
    }

    #[test]
    fn waiting_outcomes_join_a_batch_as_far_as_there_is_room() {
        let (sender, mut settlements) = mpsc::channel(BATCH);
        let mut batch = vec![settlement(1), settlement(1)];
        take_along(&mut settlements, &mut batch);
        assert_eq!(batch.len(), 2, "nothing has come in");
        for _ in 0..BATCH {
            sender.try_send(settlement(1)).unwrap();
        }
        take_along(&mut settlements, &mut batch);
        assert_eq!((batch.len(), settlements.len()), (BATCH, 2));
    }
}
