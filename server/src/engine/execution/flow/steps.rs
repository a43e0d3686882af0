//! Writes the steps of runs in batches.
//! Steps that arrive while a batch commits form the next batch and share its commit.

use std::{sync::Arc, time::Duration};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{
    engine::core::{Core, StepOutcome, StepRequest},
    store::{StoreError, flows::FlowStep},
};

/// Maximum number of steps per transaction.
const BATCH: usize = 200;

/// Writes steps until `stop`, and then the remaining ones.
pub(in crate::engine) async fn write(
    core: Arc<Core>,
    mut steps: mpsc::Receiver<StepRequest>,
    stop: CancellationToken,
) {
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        let received = tokio::select! {
            biased;
            received = steps.recv_many(&mut batch, BATCH) => received,
            () = stop.cancelled(), if !steps.is_closed() => {
                steps.close();
                continue;
            }
        };
        if received == 0 {
            return;
        }
        finish(&core, std::mem::take(&mut batch)).await;
    }
}

/// Writes all steps that have arrived. Returns their number.
pub(in crate::engine) async fn write_waiting(
    core: &Core,
    steps: &mut mpsc::Receiver<StepRequest>,
) -> usize {
    let asked: Vec<_> = std::iter::from_fn(|| steps.try_recv().ok()).take(BATCH).collect();
    let count = asked.len();
    if count > 0 {
        finish(core, asked).await;
    }
    count
}

async fn finish(core: &Core, asked: Vec<StepRequest>) {
    match tried(core, &asked).await {
        Ok(written) => answer(asked, &written),
        // One of the steps is refused, and must not affect the others.
        Err(_) => {
            for one in asked {
                let alone = [one];
                let written = tried(core, &alone).await;
                let written = written.unwrap_or_else(|error| {
                    let run = alone[0].step.hold.run_id;
                    tracing::error!(run_id = %run, %error, "failed to write a step");
                    vec![StepOutcome::Refused]
                });
                answer(alone.into(), &written);
            }
        }
    }
}

fn answer(asked: Vec<StepRequest>, written: &[StepOutcome]) {
    for (asked, written) in asked.into_iter().zip(written) {
        // Sending fails if the requester no longer waits, which is not a problem.
        let _ = asked.answer.send(*written);
    }
}

/// Writes steps, and retries until the database answers, because only this process knows the
/// outcome of the tasks. If the process dies first, recovery finds the runs.
async fn tried(core: &Core, asked: &[StepRequest]) -> Result<Vec<StepOutcome>, StoreError> {
    let mut pause = Duration::from_millis(50);
    let renewed = core.store.renewed();
    loop {
        let renewed = renewed.notified();
        match written(core, asked).await {
            Err(error) if !error.is_refusal() => {
                tracing::error!(steps = asked.len(), %error, "failed to write steps of runs");
                core.pause(pause, renewed).await;
                pause = (pause * 2).min(Duration::from_secs(5));
            }
            answer => return answer,
        }
    }
}

async fn written(core: &Core, asked: &[StepRequest]) -> Result<Vec<StepOutcome>, StoreError> {
    let start = core.clock.instant();
    let steps: Vec<FlowStep> = asked.iter().map(|asked| asked.step.clone()).collect();
    let tx = core.store.begin().await?;
    let mut held = core.store.step_if_held(&tx, &steps).await?;
    if held.len() < steps.len() {
        // If an earlier try was committed but its answer was lost,
        // this node no longer holds the runs that it has ended or parked.
        let others = steps.iter().filter(|step| !held.contains(&step.hold));
        let others: Vec<&FlowStep> = others.collect();
        let before = core.store.stepped_before(&tx, &others).await?;
        held.extend(before);
    }
    core.store.commit(tx).await?;
    core.metrics.settled(steps.len(), start.elapsed());
    let each = |step: &FlowStep| match held.contains(&step.hold) {
        true => StepOutcome::Done,
        false => StepOutcome::Lost,
    };
    Ok(steps.iter().map(each).collect())
}
