//! One attempt at one task, from its start to the settlement that it asks for.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use entity::Timestamp;
use futures::FutureExt;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::{
    core::Core,
    definition::Task,
    logs,
    settle::{self, Standing},
};
use crate::{
    store::holds::{Hold, Settlement},
    target::{Invocation, Outcome},
};

/// An attempt that the tables say this node works on.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) hold: Hold,
    pub(super) max_attempts: i32,
    pub(super) task: Task,
    pub(super) invocation: Invocation,
    pub(super) slot: OwnedSemaphorePermit,
}

/// Lines that wait to be written, of one attempt.
const LINES: usize = 256;

/// Starts it. It ends by asking the settler for what became of it.
pub(super) fn spawn(core: &Arc<Core>, attempt: Attempt) {
    // Before the task starts: a cancel request must find it from now on.
    let stop = core.hold(attempt.hold);
    let core = core.clone();
    let tracker = core.attempts.clone();
    tracker.spawn(async move {
        let Attempt { hold, max_attempts, task, invocation, slot } = attempt;
        let start = core.clock.instant();
        let (lines, written) = mpsc::channel(LINES);
        let work = core.executor.execute(&task.target, &invocation, lines, stop);
        // A target that panics must not leave its run hanging.
        let work = AssertUnwindSafe(work).catch_unwind();
        let copy = logs::copy(&core.logs, &hold, &task.name, written);
        let (outcome, ()) = tokio::join!(work, copy);
        let outcome = outcome.unwrap_or_else(|_| Outcome::Failed {
            message: "the target broke down; this is a defect of Carillon, please report it"
                .to_owned(),
            output: serde_json::Value::Null,
        });
        let took = start.elapsed();
        drop(slot);
        core.slot_freed();

        let now = core.clock.now();
        let why = core.let_go(&hold);
        let retry = &task.retry;
        let standing =
            Standing { attempt: hold.attempt, max_attempts, retry, now, random: rand::random() };
        let Some(decision) = settle::settle(outcome, why, standing) else {
            core.forget(&hold);
            return;
        };
        let settlement = Settlement {
            hold,
            task: task.name,
            task_state: decision.task_state,
            run_state: decision.run_state,
            available_at: decision.available_at.map(Timestamp::from),
            error: decision.error,
            output: decision.output,
            extra_attempts: decision.extra_attempts,
            at: now.into(),
            took,
        };
        // The settler lives longer than any attempt.
        let _ = core.settlements.send(settlement).await;
    });
}

/// After how long any node may declare the attempt timed out: when its own node should have killed
/// it long ago.
pub(super) fn hard_limit(core: &Core, task: &Task) -> Duration {
    task.timeout() + task.kill_grace() + core.settings.heartbeat_expiry
}

/// The trace that a run is: its key is the trace's id, its attempt the parent span.
pub(super) fn traceparent(hold: &Hold) -> String {
    format!("00-{}-{:016x}-01", hold.run_id.simple(), hold.attempt)
}
