//! Executes a run of several tasks for as long as this node holds the run.
//!
//! - `beginning`: starts an attempt at a task of the run
//! - `step_writes`: writes a step of the run according to the plan
//!
//! All instants of a run are in the agreed time of the nodes: the next node that holds the run
//! compares them with its own clock, and so does this node when a wrong clock is right again.

mod beginning;
mod step_writes;

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, resume_unwind},
    sync::Arc,
    time::{Duration, Instant},
};

use chrono::{DateTime, TimeDelta, Utc};
use entity::{run, task_run};
use futures::FutureExt;
use sea_orm::ActiveEnum;
use serde_json::{Map, Value};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::step_writes::let_go;
use super::{
    plan::{FlowFacts, FlowPlan, HaltReason, NextStep, plan},
    progress::{AttemptFacts, TaskProgress, gist, standing},
    results,
};
use crate::{
    engine::{
        core::{AttemptHandle, Core, StepOutcome, StopReason, lost_since},
        execution::{
            attempt::{self, Attempt, RunInstants},
            logs::LineNumbers,
        },
        places::{Claim, HeldPlace},
        signals::SignalKind,
    },
    model::definition::CompiledDefinition,
    store::{flows::EndedTask, holds::RunLease},
    target::{AttemptOutcome, Invocation, result_of},
};

/// Starts the run.
/// The conductor ends when the run has settled, is parked, or belongs to another node.
pub(in crate::engine) fn spawn(core: &Arc<Core>, attempt: Attempt) {
    // Register the run before its first task starts, because from now on a cancel request must find
    // it. Each task has a time limit of its own.
    let grip = core.hold(attempt.hold, None);
    let core = core.clone();
    let tracker = core.attempts.clone();
    tracker.spawn(async move {
        let hold = attempt.hold;
        let conductor = Conductor::new(core.clone(), attempt, grip.clone());
        // A bug here must not leave the run unfinished:
        // this node disowns it, and another node takes it over.
        if AssertUnwindSafe(conductor.conduct()).catch_unwind().await.is_err() {
            tracing::error!(run_id = %hold.run_id, "the run is released after a bug in Carillon");
        }
        if core.let_go(&grip).is_ok() {
            core.registry.forget(&hold);
        }
        core.slot_freed();
        core.run_settled();
        if core.backfills.has_any(std::iter::once(hold.run_id)) {
            core.signals.wake_backfill();
        }
    });
}

/// A task of the run, with its attempts and its result.
#[derive(Default)]
struct TaskAttempts {
    attempts: Vec<AttemptFacts>,
    result: Option<Map<String, Value>>,
    /// When any node may treat the attempt in progress
    /// as stuck; `None` if no attempt is in progress.
    limit: Option<Instant>,
}

/// An attempt that has ended but is not recorded yet.
struct EndedAttempt {
    /// The index of the attempt's task.
    index: usize,
    outcome: AttemptOutcome,
}

struct Conductor {
    core: Arc<Core>,
    hold: RunLease,
    known: Arc<CompiledDefinition>,
    /// The values that all tasks of the run share.
    told: Invocation,
    run: RunInstants,
    stands_for: DateTime<Utc>,
    deadline: Option<DateTime<Utc>>,
    begun: Instant,
    /// The handle that stops the run on this node.
    grip: AttemptHandle,
    /// Stops the tasks of the run, when the run is stopped or its time limit has passed.
    stop_tasks: CancellationToken,
    /// The claim under which the run's places are counted.
    claim: Claim,
    places: Vec<HeldPlace>,
    numbers: Arc<LineNumbers>,
    parts: Vec<TaskAttempts>,
    at_work: JoinSet<EndedAttempt>,
    /// Attempts that have ended and are not written to the tables yet.
    ended: Vec<EndedTask>,
}

/// The event that ended the conductor's wait.
enum ConductorEvent {
    Ended(EndedAttempt),
    /// Time has passed, or the run must stop: the conductor must plan again.
    Look,
    Place(HeldPlace),
}

impl Conductor {
    fn new(core: Arc<Core>, attempt: Attempt, grip: AttemptHandle) -> Self {
        let Attempt { hold, known, invocation, run, place, max_attempts: _ } = attempt;
        let limit = known.definition.timeout_ms.map(TimeDelta::milliseconds);
        let parts = known.definition.tasks.iter().map(|_| TaskAttempts::default()).collect();
        Self {
            deadline: limit.and_then(|limit| run.started_at.checked_add_signed(limit)),
            begun: core.clock.instant(),
            numbers: Arc::new(LineNumbers::new(hold.attempt)),
            stop_tasks: grip.stop.child_token(),
            claim: place.claim().clone(),
            places: vec![place],
            told: invocation,
            run,
            stands_for: run.stands_for,
            at_work: JoinSet::new(),
            ended: Vec::new(),
            core,
            hold,
            known,
            grip,
            parts,
        }
    }

    async fn conduct(mut self) {
        let Some(mut now) = self.read().await else { return };
        loop {
            if self.why() == Some(StopReason::Lost) {
                return self.abandon().await;
            }
            let (plan, since) = (self.plan(now), self.core.clock.instant());
            match self.write(&plan, now).await {
                StepOutcome::Done => {}
                StepOutcome::Lost => {
                    let run_id = self.hold.run_id;
                    tracing::warn!(%run_id, "the run was taken over; this node leaves it");
                    return self.abandon().await;
                }
                StepOutcome::Refused if self.strip() => continue,
                StepOutcome::Refused => return self.abandon().await,
            }
            let until = match plan.next {
                NextStep::Wait { until } => until,
                NextStep::StopTasks => {
                    self.stop_tasks.cancel();
                    None
                }
                NextStep::Park { .. } => {
                    return self.core.signals.wake_here(SignalKind::Dispatcher);
                }
                NextStep::Settle { state, .. } => return self.tell(state, now),
            };
            if !plan.begin.is_empty() && self.is_lost_since(since).await {
                return self.abandon().await;
            }
            for (index, attempt) in &plan.begin {
                self.begin(*index, *attempt);
            }
            self.give_back_places();
            let event = self.event(until, plan.held_back > 0 && self.may_grow()).await;
            now = self.core.agreed_now().await;
            match event {
                ConductorEvent::Ended(ended) => {
                    self.end(ended, now);
                    while let Some(joined) = self.at_work.try_join_next() {
                        let ended =
                            joined.unwrap_or_else(|error| resume_unwind(error.into_panic()));
                        self.end(ended, now);
                    }
                }
                ConductorEvent::Look => {}
                ConductorEvent::Place(place) => self.places.push(place),
            }
        }
    }

    /// Reads the history of the run.
    /// Returns when it was read, or `None` if the run must not continue on this node.
    async fn read(&mut self) -> Option<DateTime<Utc>> {
        let mut pause = Duration::from_millis(50);
        let rows = loop {
            match self.core.store.attempts_of(self.hold.run_id).await {
                Ok(rows) => break rows,
                Err(error) if !error.is_transient() => {
                    self.give_up(&error).await;
                    return None;
                }
                Err(error) => {
                    tracing::error!(run_id = %self.hold.run_id, %error, "failed to read its tasks");
                }
            }
            tokio::select! {
                () = self.grip.stop.cancelled() => return None,
                () = self.core.clock.sleep(pause) => {}
            }
            pause = (pause * 2).min(Duration::from_secs(5));
        };
        let now = self.core.agreed_now().await;
        let tasks = &self.known.definition.tasks;
        let places: HashMap<&str, usize> =
            tasks.iter().enumerate().map(|(index, task)| (&*task.name, index)).collect();
        for row in rows {
            let Some(&index) = places.get(&*row.task) else { continue };
            let mut attempted = AttemptFacts::of(row);
            if attempted.state == task_run::State::Running {
                attempted.state = task_run::State::Lost;
                attempted.finished_at = Some(now);
                self.ended.push(let_go(tasks[index].name.clone(), attempted.attempt, now));
            }
            let part = &mut self.parts[index];
            if attempted.state == task_run::State::Succeeded {
                part.result = attempted.output.as_ref().and_then(result_of).cloned();
            }
            part.attempts.push(attempted);
        }
        Some(now)
    }

    /// Why the run must stop on this node, if it must.
    fn why(&self) -> Option<StopReason> {
        self.core.registry.why(&self.grip)
    }

    async fn is_lost_since(&self, since: Instant) -> bool {
        let lost = lost_since(&self.core, since, std::slice::from_ref(&self.hold));
        tokio::select! {
            // The answer has precedence: a node that was not suspended gets it at once, and then
            // stops the run in an orderly way.
            biased;
            lost = lost => !lost.is_empty(),
            // While the database is unreachable, a run that must stop starts no task.
            () = self.grip.stop.cancelled() => true,
        }
    }

    fn standings(&self) -> Vec<TaskProgress> {
        let tasks = self.known.definition.tasks.iter().zip(&self.parts);
        tasks.map(|(task, part)| standing(task, self.hold.run_id, &part.attempts)).collect()
    }

    fn plan(&mut self, now: DateTime<Utc>) -> FlowPlan {
        let standings = self.standings();
        let halt = match self.why() {
            Some(StopReason::Cancelled) => Some(HaltReason::Cancelled),
            Some(StopReason::Released) => Some(HaltReason::Released),
            Some(StopReason::Lost) | None => self.core.is_closing().then_some(HaltReason::Released),
        };
        let mut situation = FlowFacts {
            definition: &self.known.definition,
            graph: &self.known.graph,
            standings: &standings,
            now,
            deadline: self.deadline,
            halt,
            room: usize::MAX,
        };
        // Take as many places as are useful and free. The run already holds at least one.
        let wanted = self.at_work.len() + plan(&situation).begin.len();
        while self.places.len() < wanted {
            let Ok(place) = self.core.place(&self.claim) else { break };
            self.places.push(place);
        }
        situation.room = self.places.len();
        plan(&situation)
    }

    /// Whether more places would let the run begin more tasks.
    fn may_grow(&self) -> bool {
        let most = usize::try_from(self.known.definition.max_parallel).unwrap_or(1);
        self.places.len() < most
    }

    async fn event(&mut self, until: Option<DateTime<Utc>>, wants_place: bool) -> ConductorEvent {
        let core = &self.core;
        let time = async {
            match until {
                Some(until) => core.sleep_until_agreed(until).await,
                None => std::future::pending().await,
            }
        };
        let is_stopped = self.grip.stop.is_cancelled();
        tokio::select! {
            biased;
            Some(joined) = self.at_work.join_next() => {
                ConductorEvent::Ended(joined.unwrap_or_else(|error| resume_unwind(error.into_panic())))
            }
            // A single stop is enough: the tasks then end on their own.
            () = self.grip.stop.cancelled(), if !is_stopped => ConductorEvent::Look,
            () = time => ConductorEvent::Look,
            place = core.places.wait(&self.claim, &core.clock), if wants_place && !is_stopped => {
                ConductorEvent::Place(place)
            }
        }
    }

    /// Records the outcome of an attempt, which the next step writes to the tables.
    fn end(&mut self, ended: EndedAttempt, now: DateTime<Utc>) {
        let EndedAttempt { index, outcome } = ended;
        let why = self.why();
        let late = self.stop_tasks.is_cancelled() && !self.grip.stop.is_cancelled();
        let (mut state, mut error, output) = judged(outcome, why, late);
        if state == task_run::State::Succeeded {
            self.parts[index].result = output.as_ref().and_then(result_of).cloned();
            let results: Vec<_> = self.parts.iter().map(|part| part.result.clone()).collect();
            if self.parts[index].result.is_some()
                && let Err(problem) = results::fits(&self.told.context, &results)
            {
                self.parts[index].result = None;
                (state, error) = (task_run::State::Failed, Some(problem));
            }
        }
        let part = &mut self.parts[index];
        part.limit = None;
        let Some(last) = part.attempts.last_mut() else { return };
        last.state = state;
        last.finished_at = Some(now);
        last.error.clone_from(&error);
        last.output = output.clone().map(gist);
        let (task, attempt) = (self.known.task(index).name.clone(), last.attempt);
        self.ended.push(EndedTask { task, attempt, state, error, output, at: now.into() });
    }

    /// Keeps one place for each task in progress, and at least one for the run.
    fn give_back_places(&mut self) {
        let needed = self.at_work.len().max(1);
        if self.places.len() > needed {
            self.places.truncate(needed);
            self.core.slot_freed();
        }
    }

    /// Stops the tasks on this node and writes nothing, because another node holds the run.
    async fn abandon(mut self) {
        self.stop_tasks.cancel();
        while self.at_work.join_next().await.is_some() {}
    }

    fn tell(&self, state: run::State, now: DateTime<Utc>) {
        let failed = matches!(state, run::State::Failed | run::State::TimedOut);
        let (state, metrics) = (state.to_value(), &self.core.metrics);
        let traced = attempt::traced(&self.told, self.run);
        metrics.traces().run(&traced, &state, now);
        metrics.execution(self.told.schedule_id, state, self.begun.elapsed(), failed);
    }
}

/// The outcome of an attempt.
/// `late` means that the run's time limit had passed when it was stopped.
fn judged(
    outcome: AttemptOutcome,
    why: Option<StopReason>,
    late: bool,
) -> (task_run::State, Option<String>, Option<Value>) {
    use task_run::State::{Cancelled, Failed, Lost, Succeeded, TimedOut};
    match outcome {
        AttemptOutcome::Succeeded { output } => (Succeeded, None, Some(output)),
        AttemptOutcome::Failed { message, output } => (Failed, Some(message), Some(output)),
        AttemptOutcome::TimedOut { message, output } => (TimedOut, Some(message), Some(output)),
        AttemptOutcome::Cancelled { output } if why == Some(StopReason::Released) => {
            (Lost, Some("the node shut down".to_owned()), Some(output))
        }
        AttemptOutcome::Cancelled { output } if late => {
            let error = "it was stopped: the time of the whole run was over".to_owned();
            (TimedOut, Some(error), Some(output))
        }
        AttemptOutcome::Cancelled { output } => (Cancelled, None, Some(output)),
    }
}
