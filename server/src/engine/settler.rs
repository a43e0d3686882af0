//! Settles attempts in batches: those that end while one batch commits make the next, so a commit
//! is shared by as many as there are, and a lone attempt waits for nobody.

use std::{sync::Arc, time::Duration};

use entity::run;
use sea_orm::ActiveEnum;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::core::Core;
use crate::store::{StoreError, holds::Settlement};

/// So many attempts go into one transaction.
const BATCH: usize = 500;

/// Settles until `stop`, and then what is still on its way.
pub(super) async fn run(
    core: Arc<Core>,
    mut settlements: mpsc::Receiver<Settlement>,
    stop: CancellationToken,
) {
    let mut batch = Vec::with_capacity(BATCH);
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
        let mut pause = Duration::from_millis(50);
        // What an attempt did is known here alone: try until it is written. Should this process
        // die first, recovery finds the run.
        while let Err(error) = settle(&core, &batch).await {
            tracing::error!(attempts = batch.len(), "failed to settle: {error}");
            core.clock.sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(5));
        }
        if batch.iter().any(|settlement| settlement.run_state == run::State::Retrying) {
            core.signals.wake_dispatcher();
        }
        for settled in batch.drain(..) {
            core.forget(&settled.hold);
        }
    }
}

/// Attempts that end at this very moment come along: whatever is ready to run gets its turn first.
/// No time is spent waiting, so an attempt that ends alone is settled at once.
async fn gather(settlements: &mut mpsc::Receiver<Settlement>, batch: &mut Vec<Settlement>) {
    while batch.len() < BATCH {
        tokio::task::yield_now().await;
        if settlements.is_empty() {
            return;
        }
        settlements.recv_many(batch, BATCH - batch.len()).await;
    }
}

async fn settle(core: &Core, batch: &[Settlement]) -> Result<(), StoreError> {
    let start = core.clock.instant();
    let tx = core.store.begin().await?;
    let held = core.store.settle_if_held(&tx, batch).await?;
    core.store.commit(tx).await?;
    core.metrics.settled(batch.len(), start.elapsed());
    for settled in batch.iter().filter(|settlement| held.contains(&settlement.hold.run_id)) {
        core.metrics.attempt(settled.task_state.to_value());
        if !settled.run_state.is_live() {
            let failed = matches!(settled.run_state, run::State::Failed | run::State::TimedOut);
            core.metrics.execution(settled.run_state.to_value(), settled.took, failed);
        }
    }
    for lost in batch.iter().filter(|settlement| !held.contains(&settlement.hold.run_id)) {
        tracing::warn!(
            run = %lost.hold.run_id,
            attempt = lost.hold.attempt,
            "the run was taken over before its attempt settled; its outcome is not recorded"
        );
    }
    Ok(())
}
