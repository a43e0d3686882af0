//! Executes one attempt at one task, from its start to the settlement that it requests.

use std::{collections::BTreeMap, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use chrono::{DateTime, Utc};
use entity::Timestamp;
use futures::FutureExt;
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    flow,
    logs::{self, LastLines, LineNumbers, LogLimits},
    settle::{self, AttemptContext},
};
use crate::{
    engine::{core::Core, places::HeldPlace},
    model::definition::CompiledDefinition,
    random,
    store::{
        StoreError,
        holds::{RunLease, Settlement},
        logs::NewChunk,
    },
    target::{AttemptOutcome, Invocation, Target, TemplateFailure, TemplateNames, TemplateUse},
    telemetry::{TracedAttempt, TracedRun},
    vault::{Mask, SecretNamespace},
};

/// A run that the tables have assigned to this node.
#[derive(Debug)]
pub(in crate::engine) struct Attempt {
    pub(in crate::engine) hold: RunLease,
    pub(in crate::engine) max_attempts: i32,
    pub(in crate::engine) known: Arc<CompiledDefinition>,
    /// The values that the task receives; in a flow, only those that all tasks share.
    pub(in crate::engine) invocation: Invocation,
    pub(in crate::engine) run: RunInstants,
    pub(in crate::engine) place: HeldPlace,
}

/// The instants of a run that do not depend on its attempts.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct RunInstants {
    /// The scheduled instant for which the run was started.
    pub(in crate::engine) stands_for: DateTime<Utc>,
    /// When the run's first attempt began.
    pub(in crate::engine) started_at: DateTime<Utc>,
    /// Whether a fire started the run.
    pub(in crate::engine) by_fire: bool,
}

/// Maximum number of an attempt's lines that wait to be written.
const LINES: usize = 256;

/// Starts an attempt. At its end, it requests that its outcome be written.
pub(in crate::engine) fn spawn(core: &Arc<Core>, attempt: Attempt) {
    if attempt.known.is_flow() {
        return flow::spawn(core, attempt);
    }
    // Register the attempt before the task starts: a cancel request must be able to find it.
    let (_, limit) = attempt.known.start(core.settings.heartbeat_expiry);
    let grip = core.hold(attempt.hold, Some(limit));
    let core = core.clone();
    let tracker = core.attempts.clone();
    tracker.spawn(async move {
        let Attempt { hold, max_attempts, known, invocation, run, place } = attempt;
        let start = core.clock.instant();
        let task = known.task(0);
        let tasks = json!({});
        let assignment = Assignment {
            known: &known,
            index: 0,
            invocation: &invocation,
            stands_for: run.stands_for,
            tasks: &tasks,
            limit: None,
        };
        let numbers = LineNumbers::new(hold.attempt);
        let (outcome, lines) = perform(&core, assignment, &numbers, grip.stop.clone()).await;
        let took = start.elapsed();
        drop(place);
        core.slot_freed();

        let now = core.agreed_now().await;
        let Ok(why) = core.let_go(&grip) else { return };
        let standing = AttemptContext {
            attempt: hold.attempt,
            max_attempts,
            task,
            now,
            random: random::unit(),
        };
        let Some(decision) = settle::settle(outcome, why, standing) else {
            core.registry.forget(&hold);
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
            lines,
            extra_attempts: decision.extra_attempts,
            at: now.into(),
            took,
            traced: Some(traced(&invocation, run)),
        };
        // Sending cannot fail, because the settler outlives every attempt.
        let _ = core.settlements.send(settlement).await;
    });
}

/// The task and the values with which an attempt executes it.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct Assignment<'a> {
    pub(in crate::engine) known: &'a CompiledDefinition,
    /// The task's index in the definition.
    pub(in crate::engine) index: usize,
    pub(in crate::engine) invocation: &'a Invocation,
    /// The scheduled instant for which the run was started.
    pub(in crate::engine) stands_for: DateTime<Utc>,
    /// The value of `tasks` in templates.
    pub(in crate::engine) tasks: &'a Value,
    /// How long the target may take before the attempt is given up; `None` if recovery ends it.
    pub(in crate::engine) limit: Option<Duration>,
}

/// Executes an attempt. Writes its log lines, except for the last ones of a single task, which it
/// returns.
pub(in crate::engine) async fn perform(
    core: &Core,
    assignment: Assignment<'_>,
    numbers: &LineNumbers,
    stop: CancellationToken,
) -> (AttemptOutcome, Option<NewChunk>) {
    let Assignment { known, index, invocation, .. } = assignment;
    let from = core.clock.now();
    let Carried { outcome, at_target, lines } =
        carry_out(core, assignment, numbers, stop).await.unwrap_or_else(Carried::nowhere);
    core.metrics.traces().attempt(&TracedAttempt {
        run: invocation.run_id,
        number: if known.is_flow() {
            flow_number(index, invocation.attempt)
        } else {
            number(invocation.attempt)
        },
        task: &invocation.task,
        attempt: invocation.attempt,
        target: known.task(index).target.kind(),
        at: (from, core.clock.now()),
        at_target,
        outcome: match &outcome {
            AttemptOutcome::Succeeded { .. } => "succeeded",
            AttemptOutcome::Failed { .. } => "failed",
            AttemptOutcome::TimedOut { .. } => "timed_out",
            AttemptOutcome::Cancelled { .. } => "cancelled",
        },
        status: status(&known.task(index).target, &outcome),
    });
    (outcome, lines)
}

/// The HTTP status of the target's response, if there was one.
fn status(target: &Target, outcome: &AttemptOutcome) -> Option<i64> {
    match (target, outcome) {
        (
            Target::Http(_),
            AttemptOutcome::Succeeded { output }
            | AttemptOutcome::Failed { output, .. }
            | AttemptOutcome::TimedOut { output, .. }
            | AttemptOutcome::Cancelled { output },
        ) => output.get("status")?.as_i64(),
        (Target::Command(_) | Target::Publish(_) | Target::Worker(_) | Target::Noop(_), _) => None,
    }
}

/// The result of an attempt that was executed.
struct Carried {
    outcome: AttemptOutcome,
    /// When the target started and stopped working, if the attempt reached it.
    at_target: Option<(DateTime<Utc>, DateTime<Utc>)>,
    /// The attempt's last log lines, which are not written yet.
    lines: Option<NewChunk>,
}

impl Carried {
    /// The result of an attempt that ended before it reached its target.
    fn nowhere(outcome: AttemptOutcome) -> Self {
        Self { outcome, at_target: None, lines: None }
    }
}

/// Executes the attempt. If it ends before it reaches its target, returns that outcome as an error.
async fn carry_out(
    core: &Core,
    assignment: Assignment<'_>,
    numbers: &LineNumbers,
    stop: CancellationToken,
) -> Result<Carried, AttemptOutcome> {
    let Assignment { known, index, invocation, .. } = assignment;
    let task = known.task(index);
    let vault = &core.settings.vault;
    let (whose, names) = (SecretNamespace::Run(invocation.run_id), known.secrets(index));
    let opening = vault.opened(&core.store, &core.clock, whose, names);
    let secrets = match stop.run_until_cancelled(opening).await {
        Some(Ok(secrets)) => secrets,
        Some(Err(error)) => {
            let message = format!("failed to {error}");
            return Err(AttemptOutcome::Failed { message, output: Value::Null });
        }
        None => return Err(AttemptOutcome::Cancelled { output: json!({}) }),
    };
    let mask = Mask::of(secrets.values());
    let filled_in = match known.templates(index) {
        TemplateUse::None => None,
        TemplateUse::Some { previous_fire } => {
            let needs = Needs { previous_fire, secrets: &secrets };
            // The error messages of templates contain no values.
            Some(Box::pin(fill_in(core, &stop, &task.target, assignment, needs)).await?)
        }
    };
    // The time spent on templates counts towards the time limit.
    let (target, left) = match filled_in {
        Some((target, took)) => {
            let timeout = invocation.timeout.saturating_sub(took);
            (Some(target), Some(Invocation { timeout, ..invocation.clone() }))
        }
        None => (None, None),
    };
    let target = target.as_ref().unwrap_or(&task.target);
    let invocation = left.as_ref().unwrap_or(invocation);
    let (lines, written) = mpsc::channel(LINES);
    let from = core.clock.now();
    let work = core.executor.execute(target, invocation, lines, stop);
    let work = core.cut_off.run_until_cancelled(work);
    let work =
        work.map(|outcome| outcome.unwrap_or(AttemptOutcome::Cancelled { output: json!({}) }));
    let work = within(core, assignment.limit, work);
    // A target that panics must not leave its run unfinished.
    let work = AssertUnwindSafe(work).catch_unwind();
    let limits = LogLimits {
        meter: core.cluster.meter(),
        store: &core.store,
        metrics: &core.metrics,
        agreed: &core.clock,
    };
    let last = if known.is_flow() { LastLines::AtOnce } else { LastLines::WithSettlement };
    let copy = logs::copy(&core.logs, numbers, invocation, &mask, limits, written, last);
    let ended = async {
        let outcome = work.await;
        (outcome, core.clock.now())
    };
    let ((outcome, to), lines) = tokio::join!(ended, copy);
    let outcome = outcome.unwrap_or_else(|_| AttemptOutcome::Failed {
        message: "the target panicked; this is a bug in Carillon, please report it".to_owned(),
        output: Value::Null,
    });
    Ok(Carried { outcome: shortened(mask.outcome(outcome)), at_target: Some((from, to)), lines })
}

/// Executes a target for at most `limit`. The database does not count: however long it is
/// unreachable before the attempt or when the attempt's lines are written, a target that has ended
/// in time keeps its outcome.
async fn within(
    core: &Core,
    limit: Option<Duration>,
    work: impl Future<Output = AttemptOutcome>,
) -> AttemptOutcome {
    let Some(limit) = limit else { return work.await };
    let outcome = core.clock.timeout(limit, work).await;
    outcome.unwrap_or_else(|_| AttemptOutcome::TimedOut {
        message: "it exceeded its timeout and its grace period".to_owned(),
        output: Value::Null,
    })
}

/// The size to which an error message is cut, and how much of that comes from its beginning.
/// The beginning says what failed, and the end says why.
const MAX_MESSAGE_BYTES: usize = 1_000;
const MAX_MESSAGE_HEAD: usize = 300;

/// Shortens a message. Masking must come first, because it would not recognise half a secret.
fn shortened(mut outcome: AttemptOutcome) -> AttemptOutcome {
    if let AttemptOutcome::Failed { message, .. } | AttemptOutcome::TimedOut { message, .. } =
        &mut outcome
        && message.len() > MAX_MESSAGE_BYTES
    {
        let head = message.floor_char_boundary(MAX_MESSAGE_HEAD);
        let tail = message.len() - (MAX_MESSAGE_BYTES - MAX_MESSAGE_HEAD);
        let tail = message.ceil_char_boundary(tail);
        message.replace_range(head..tail, " ... ");
    }
    outcome
}

/// The data that a target's templates need beyond the assignment itself.
#[derive(Clone, Copy)]
struct Needs<'a> {
    previous_fire: bool,
    secrets: &'a BTreeMap<String, SecretString>,
}

/// Fills in a target's templates. Returns the time that this took, without looking up the data.
async fn fill_in(
    core: &Core,
    stop: &CancellationToken,
    target: &Target,
    assignment: Assignment<'_>,
    needs: Needs<'_>,
) -> Result<(Target, Duration), AttemptOutcome> {
    let failed = |message| AttemptOutcome::Failed { message, output: Value::Null };
    let Needs { previous_fire, secrets } = needs;
    let at = assignment.stands_for;
    let previous_fire = match assignment.invocation.schedule_id.filter(|_| previous_fire) {
        Some(schedule) => {
            let found = stop.run_until_cancelled(fire_before(core, schedule, at)).await;
            found.unwrap_or(Ok(None)).map_err(|error| {
                tracing::error!(%error, "failed to look up the previous fire");
                failed("could not look up previous_fire in the database".to_owned())
            })?
        }
        None => None,
    };
    let names = TemplateNames {
        invocation: assignment.invocation,
        scheduled_at: at,
        previous_fire: previous_fire.map(|at| at.utc()),
        tasks: assignment.tasks,
        secrets,
    };
    let began = core.clock.instant();
    match stop.run_until_cancelled(core.executor.fill_in(target, &names)).await {
        Some(Ok(target)) => Ok((target, core.clock.instant().duration_since(began))),
        Some(Err(error @ TemplateFailure::TooLong(_))) => {
            Err(AttemptOutcome::TimedOut { message: error.to_string(), output: Value::Null })
        }
        Some(Err(error @ (TemplateFailure::Refused(_) | TemplateFailure::Defect))) => {
            Err(failed(error.to_string()))
        }
        None => Err(AttemptOutcome::Cancelled { output: json!({}) }),
    }
}

/// Finds the schedule's previous fire.
/// Retries until the database answers, because an outage is not the run's fault.
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

/// The trace context that a run of one task passes to its target.
pub(in crate::engine) fn traceparent(core: &Core, hold: &RunLease) -> String {
    core.metrics.traces().traceparent(hold.run_id, number(hold.attempt))
}

/// The number by which a trace tells the attempts of a run of one task apart.
fn number(attempt: i32) -> u64 {
    u64::from(attempt.unsigned_abs())
}

/// The number by which a trace tells the attempts of a run of several tasks apart.
pub(in crate::engine) fn flow_number(index: usize, attempt: i32) -> u64 {
    ((index as u64 + 1) << 32) | number(attempt)
}

/// The trace of a settled run.
pub(in crate::engine) fn traced(invocation: &Invocation, run: RunInstants) -> TracedRun {
    TracedRun {
        id: invocation.run_id,
        by_fire: run.by_fire,
        namespace: invocation.namespace.clone(),
        schedule: invocation.schedule_id.zip(invocation.schedule.clone()),
        stands_for: run.stands_for,
        started_at: run.started_at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_keeps_its_beginning_and_its_end() {
        let said = |message: &str| {
            let message = message.to_owned();
            let failed = shortened(AttemptOutcome::Failed { message, output: Value::Null });
            let AttemptOutcome::Failed { message, .. } = failed else { panic!("{failed:?}") };
            message
        };
        assert_eq!(said(&"x".repeat(1_000)).len(), 1_000);
        let long =
            said(&format!("exited with code 1: {} | no such table", "\u{20ac}".repeat(9_000)));
        assert!(long.starts_with("exited with code 1: \u{20ac}"), "{long}");
        assert!(long.ends_with(" | no such table") && long.contains(" ... "), "{long}");
        assert!(long.len() <= 1_005, "{}", long.len());
    }
}
