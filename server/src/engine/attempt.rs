//! One attempt at one task, from its start to the settlement that it asks for.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use chrono::{DateTime, Utc};
use entity::Timestamp;
use futures::FutureExt;
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    core::Core,
    definition::Known,
    flow,
    logs::{self, Numbers},
    settle::{self, Standing},
};
use crate::{
    random,
    store::{
        StoreError,
        holds::{Hold, Settlement},
    },
    target::{Invocation, Names, Outcome, Target, TemplateUse},
};

/// A run that the tables say this node works on.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) hold: Hold,
    pub(super) max_attempts: i32,
    pub(super) known: Arc<Known>,
    /// For the run's only task; of a flow what is the same for all tasks.
    pub(super) invocation: Invocation,
    pub(super) run: Times,
    pub(super) slot: OwnedSemaphorePermit,
}

/// A run's own instants.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    /// The instant that it stands for.
    pub(super) stands_for: DateTime<Utc>,
    /// When its first attempt began.
    pub(super) started_at: DateTime<Utc>,
}

/// Lines that wait to be written, of one attempt.
const LINES: usize = 256;

/// Starts it. It ends by asking for what became of it to be written.
pub(super) fn spawn(core: &Arc<Core>, attempt: Attempt) {
    if attempt.known.is_flow() {
        return flow::spawn(core, attempt);
    }
    // Before the task starts: a cancel request must find it from now on.
    let stop = core.hold(attempt.hold);
    let core = core.clone();
    let tracker = core.attempts.clone();
    tracker.spawn(async move {
        let Attempt { hold, max_attempts, known, invocation, run, slot } = attempt;
        let start = core.clock.instant();
        let task = known.task(0);
        let tasks = json!({});
        let assignment = Assignment {
            known: &known,
            index: 0,
            invocation: &invocation,
            stands_for: run.stands_for,
            tasks: &tasks,
        };
        let outcome = perform(&core, assignment, &Numbers::new(hold.attempt), stop).await;
        let took = start.elapsed();
        drop(slot);
        core.slot_freed();

        let now = core.agreed_now();
        let why = core.let_go(&hold);
        let standing =
            Standing { attempt: hold.attempt, max_attempts, task, now, random: random::unit() };
        let Some(decision) = settle::settle(outcome, why, standing) else {
            core.forget(&hold);
            return;
        };
        let settlement = Settlement {
            hold,
            task: task.name.clone(),
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

/// What an attempt is to do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Assignment<'a> {
    pub(super) known: &'a Known,
    /// The task's place.
    pub(super) index: usize,
    pub(super) invocation: &'a Invocation,
    /// The instant that the run stands for.
    pub(super) stands_for: DateTime<Utc>,
    /// What templates call `tasks`.
    pub(super) tasks: &'a Value,
}

/// Carries an attempt out, and writes down its lines.
pub(super) async fn perform(
    core: &Core,
    assignment: Assignment<'_>,
    numbers: &Numbers,
    stop: CancellationToken,
) -> Outcome {
    let Assignment { known, index, invocation, .. } = assignment;
    let task = known.task(index);
    let filled_in = match known.templates(index) {
        TemplateUse::None => None,
        TemplateUse::Some { previous_fire } => {
            match fill_in(core, &stop, &task.target, assignment, previous_fire).await {
                Ok(target) => Some(target),
                Err(message) => return Outcome::Failed { message, output: Value::Null },
            }
        }
    };
    let target = filled_in.as_ref().unwrap_or(&task.target);
    let (lines, written) = mpsc::channel(LINES);
    let work = core.executor.execute(target, invocation, lines, stop);
    // A target that panics must not leave its run hanging.
    let work = AssertUnwindSafe(work).catch_unwind();
    let copy = logs::copy(&core.logs, numbers, invocation, written);
    let (outcome, ()) = tokio::join!(work, copy);
    outcome.unwrap_or_else(|_| Outcome::Failed {
        message: "the target broke down; this is a defect of Carillon, please report it".to_owned(),
        output: Value::Null,
    })
}

async fn fill_in(
    core: &Core,
    stop: &CancellationToken,
    target: &Target,
    assignment: Assignment<'_>,
    previous_fire: bool,
) -> Result<Target, String> {
    let at = assignment.stands_for;
    let previous_fire = match assignment.invocation.schedule_id.filter(|_| previous_fire) {
        Some(schedule) => {
            let found = stop.run_until_cancelled(fire_before(core, schedule, at)).await;
            found.unwrap_or(Ok(None)).map_err(|error| {
                tracing::error!("failed to look up the fire before: {error}");
                "could not look up previous_fire in the database".to_owned()
            })?
        }
        None => None,
    };
    let names = Names {
        invocation: assignment.invocation,
        scheduled_at: at,
        previous_fire: previous_fire.map(|at| at.utc()),
        tasks: assignment.tasks,
    };
    target.filled_in(&names).map_err(|error| error.to_string())
}

/// Asks until the database answers: that it is away is no fault of the run.
async fn fire_before(
    core: &Core,
    schedule: Uuid,
    at: DateTime<Utc>,
) -> Result<Option<Timestamp>, StoreError> {
    let mut pause = Duration::from_millis(50);
    loop {
        match core.store.fire_before(schedule, at.into()).await {
            Err(error) if error.is_transient() => core.clock.sleep(pause).await,
            answer => return answer,
        }
        pause = (pause * 2).min(Duration::from_secs(2));
    }
}

/// The trace that a run is: its key is the trace's id, its attempt the parent span.
pub(super) fn traceparent(hold: &Hold) -> String {
    format!("00-{}-{:016x}-01", hold.run_id.simple(), hold.attempt)
}
