//! Carries a run of several tasks out, for as long as this node holds it.
//!
//! - `beginning`: an attempt at one of its tasks, from what the run knows to the work

mod beginning;

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
use tokio::{
    sync::{OwnedSemaphorePermit, oneshot},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use super::{
    plan::{Halt, Next, Plan, Situation, plan},
    results,
    standing::{Attempted, Standing, gist, standing},
    steps::{Asked, Written},
};
use crate::{
    engine::{
        attempt::Attempt,
        core::{Core, StopReason},
        definition::Known,
        logs::Numbers,
        signals::Kind,
    },
    store::{
        flows::{Ended, Step, Turn},
        holds::Hold,
    },
    target::{Invocation, Outcome, result_of},
};

/// Starts it. It ends when the run has settled, waits for a node again, or is another's.
pub(in crate::engine) fn spawn(core: &Arc<Core>, attempt: Attempt) {
    // Before the first task starts: a cancel request must find the run from now on.
    let stop = core.hold(attempt.hold);
    let core = core.clone();
    let tracker = core.attempts.clone();
    tracker.spawn(async move {
        let hold = attempt.hold;
        let conductor = Conductor::new(core.clone(), attempt, stop);
        // A defect here must not leave the run hanging: it is disowned, and taken over.
        if AssertUnwindSafe(conductor.conduct()).catch_unwind().await.is_err() {
            tracing::error!(run = %hold.run_id, "the run is let go after a defect of Carillon");
        }
        core.let_go(&hold);
        core.forget(&hold);
        core.slot_freed();
        core.run_settled();
        if core.backfills.has_any(std::iter::once(hold.run_id)) {
            core.signals.wake_backfill();
        }
    });
}

/// A task of the run.
#[derive(Default)]
struct Part {
    attempts: Vec<Attempted>,
    result: Option<Map<String, Value>>,
    /// Of the attempt at work: when any node may take it for stuck.
    limit: Option<Instant>,
}

/// What ended of its own: a task's place, and how.
type Done = (usize, Outcome);

struct Conductor {
    core: Arc<Core>,
    hold: Hold,
    known: Arc<Known>,
    /// What is the same for all tasks of the run.
    told: Invocation,
    stands_for: DateTime<Utc>,
    deadline: Option<DateTime<Utc>>,
    begun: Instant,
    /// Stops the run here.
    stop: CancellationToken,
    /// Stops its tasks: when the run is stopped, and when its time is over.
    stop_tasks: CancellationToken,
    places: Vec<OwnedSemaphorePermit>,
    numbers: Arc<Numbers>,
    parts: Vec<Part>,
    at_work: JoinSet<Done>,
    /// Attempts that ended and are not written.
    ended: Vec<Ended>,
}

/// What the conductor waited for.
enum Event {
    Done(Done),
    /// Time passed, or the run is to stop: look again.
    Look,
    Place(OwnedSemaphorePermit),
}

impl Conductor {
    fn new(core: Arc<Core>, attempt: Attempt, stop: CancellationToken) -> Self {
        let Attempt { hold, known, invocation, run, slot, max_attempts: _ } = attempt;
        let limit = known.definition.timeout_ms.map(TimeDelta::milliseconds);
        let parts = known.definition.tasks.iter().map(|_| Part::default()).collect();
        Self {
            deadline: limit.and_then(|limit| run.started_at.checked_add_signed(limit)),
            begun: core.clock.instant(),
            numbers: Arc::new(Numbers::new(hold.attempt)),
            stop_tasks: stop.child_token(),
            places: vec![slot],
            told: invocation,
            stands_for: run.stands_for,
            at_work: JoinSet::new(),
            ended: Vec::new(),
            core,
            hold,
            known,
            stop,
            parts,
        }
    }

    async fn conduct(mut self) {
        if !self.read().await {
            return;
        }
        loop {
            if self.why() == Some(StopReason::Lost) {
                return self.abandon().await;
            }
            let plan = self.plan();
            match self.write(&plan).await {
                Written::Done => {}
                Written::Lost => {
                    tracing::warn!(run = %self.hold.run_id, "the run was taken over; it is left");
                    return self.abandon().await;
                }
                Written::Refused if self.strip() => continue,
                Written::Refused => return self.abandon().await,
            }
            let until = match plan.next {
                Next::Wait { until } => until,
                Next::StopTasks => {
                    self.stop_tasks.cancel();
                    None
                }
                Next::Park { .. } => return self.core.signals.wake_here(Kind::Dispatcher),
                Next::Settle { state, .. } => return self.tell(state),
            };
            for (index, attempt) in &plan.begin {
                self.begin(*index, *attempt);
            }
            self.give_back_places();
            match self.event(until, plan.held_back > 0 && self.may_grow()).await {
                Event::Done(done) => {
                    self.end(done);
                    while let Some(joined) = self.at_work.try_join_next() {
                        self.end(joined.unwrap_or_else(|error| resume_unwind(error.into_panic())));
                    }
                }
                Event::Look => {}
                Event::Place(place) => self.places.push(place),
            }
        }
    }

    /// Reads what was done of the run before. Whether it is still to go on here.
    async fn read(&mut self) -> bool {
        let mut pause = Duration::from_millis(50);
        let rows = loop {
            match self.core.store.attempts_of(self.hold.run_id).await {
                Ok(rows) => break rows,
                Err(error) => {
                    tracing::error!(run = %self.hold.run_id, "failed to read its tasks: {error}");
                }
            }
            tokio::select! {
                () = self.stop.cancelled() => return false,
                () = self.core.clock.sleep(pause) => {}
            }
            pause = (pause * 2).min(Duration::from_secs(5));
        };
        let tasks = &self.known.definition.tasks;
        let places: HashMap<&str, usize> =
            tasks.iter().enumerate().map(|(index, task)| (&*task.name, index)).collect();
        for row in rows {
            let Some(&index) = places.get(&*row.task) else { continue };
            let mut attempted = Attempted::of(row);
            if attempted.state == task_run::State::Running {
                // Of a hold that ended without a word.
                attempted.state = task_run::State::Lost;
                attempted.finished_at = Some(self.core.clock.now());
                self.ended.push(Ended {
                    task: tasks[index].name.clone(),
                    attempt: attempted.attempt,
                    state: attempted.state,
                    error: Some("the node that worked on it let go of the run".to_owned()),
                    output: None,
                    at: self.core.clock.now().into(),
                });
            }
            let part = &mut self.parts[index];
            if attempted.state == task_run::State::Succeeded {
                part.result = attempted.output.as_ref().and_then(result_of).cloned();
            }
            part.attempts.push(attempted);
        }
        true
    }

    /// Why it is to stop, if it is.
    fn why(&self) -> Option<StopReason> {
        self.core.why(&self.hold)
    }

    fn standings(&self) -> Vec<Standing> {
        let tasks = self.known.definition.tasks.iter().zip(&self.parts);
        tasks.map(|(task, part)| standing(task, self.hold.run_id, &part.attempts)).collect()
    }

    fn plan(&mut self) -> Plan {
        let standings = self.standings();
        let halt = match self.why() {
            Some(StopReason::Cancelled) => Some(Halt::Cancelled),
            Some(StopReason::Released) => Some(Halt::Released),
            Some(StopReason::Lost) | None => self.core.is_closing().then_some(Halt::Released),
        };
        let mut situation = Situation {
            definition: &self.known.definition,
            graph: &self.known.graph,
            standings: &standings,
            now: self.core.clock.now(),
            deadline: self.deadline,
            halt,
            room: usize::MAX,
        };
        // As many places as it could use and there are; one it has always.
        let wanted = self.at_work.len() + plan(&situation).begin.len();
        while self.places.len() < wanted {
            let Ok(place) = self.core.slots.clone().try_acquire_owned() else { break };
            self.places.push(place);
        }
        situation.room = self.places.len();
        plan(&situation)
    }

    /// Writes what ended and what the plan says, at once.
    async fn write(&mut self, plan: &Plan) -> Written {
        let name = |index: usize| self.known.task(index).name.clone();
        let step = Step {
            hold: self.hold,
            turn: self.turn(plan),
            ended: self.ended.clone(),
            begun: plan.begin.iter().map(|(index, attempt)| (name(*index), *attempt)).collect(),
            skipped: plan.skip.iter().map(|(index, why)| (name(*index), why.clone())).collect(),
            at: self.core.clock.now().into(),
        };
        let stays = matches!(step.turn, Turn::Held { .. });
        if stays && step.ended.is_empty() && step.begun.is_empty() && step.skipped.is_empty() {
            return Written::Done;
        }
        let (answer, answered) = oneshot::channel();
        let at = step.at.utc();
        // The writer lives longer than any run here.
        if self.core.steps.send(Asked { step, answer }).await.is_err() {
            return Written::Refused;
        }
        let written = answered.await.unwrap_or(Written::Refused);
        if written == Written::Done {
            for ended in self.ended.drain(..) {
                self.core.metrics.attempt(ended.state.to_value());
            }
            for (index, _) in &plan.skip {
                self.parts[*index].attempts.push(skipped(at));
            }
        }
        written
    }

    /// Takes from what is to be written the part that a database may refuse. Whether there was any.
    fn strip(&mut self) -> bool {
        let mut any = false;
        for ended in self.ended.iter_mut().filter(|ended| ended.output.is_some()) {
            any = true;
            ended.output = None;
            ended.error = Some("the database refuses to keep what came of it".to_owned());
            if ended.state == task_run::State::Succeeded {
                ended.state = task_run::State::Failed;
            }
            let tasks = self.known.definition.tasks.iter().zip(&mut self.parts);
            for (_, part) in tasks.filter(|(task, _)| task.name == ended.task) {
                part.result = None;
                if let Some(last) = part.attempts.last_mut() {
                    (last.state, last.output) = (ended.state, None);
                    last.error.clone_from(&ended.error);
                }
            }
        }
        any
    }

    fn turn(&self, plan: &Plan) -> Turn {
        match &plan.next {
            Next::Wait { .. } | Next::StopTasks => {
                let now = self.core.clock.instant();
                let left = self.parts.iter().filter_map(|part| part.limit);
                let left = left.map(|limit| limit.saturating_duration_since(now));
                let new = plan.begin.iter().map(|(index, _)| self.hard_limit(*index));
                Turn::Held { hard_limit: left.chain(new).max().unwrap_or_default() }
            }
            Next::Park { until } => {
                let failed = |part: &Part| {
                    let last = part.attempts.last()?;
                    last.error.clone().filter(|_| last.state != task_run::State::Skipped)
                };
                Turn::Parked { until: (*until).into(), error: self.parts.iter().find_map(failed) }
            }
            Next::Settle { state, error } => Turn::Settled { state: *state, error: error.clone() },
        }
    }

    /// Whether more places would let more tasks begin.
    fn may_grow(&self) -> bool {
        let most = usize::try_from(self.known.definition.max_parallel).unwrap_or(1);
        self.places.len() < most
    }

    async fn event(&mut self, until: Option<DateTime<Utc>>, wants_place: bool) -> Event {
        let clock = &self.core.clock;
        let time = async {
            match until {
                Some(until) => clock.sleep_until(until).await,
                None => std::future::pending().await,
            }
        };
        let is_stopped = self.stop.is_cancelled();
        let slots = self.core.slots.clone();
        tokio::select! {
            biased;
            Some(joined) = self.at_work.join_next() => {
                Event::Done(joined.unwrap_or_else(|error| resume_unwind(error.into_panic())))
            }
            // Once is enough: from then on the tasks end by themselves.
            () = self.stop.cancelled(), if !is_stopped => Event::Look,
            () = time => Event::Look,
            place = slots.acquire_owned(), if wants_place && !is_stopped => match place {
                Ok(place) => Event::Place(place),
                Err(_) => Event::Look,
            },
        }
    }

    /// Takes down how an attempt ended; the next step writes it.
    fn end(&mut self, (index, outcome): Done) {
        let why = self.why();
        let late = self.stop_tasks.is_cancelled() && !self.stop.is_cancelled();
        let (mut state, mut error, output) = judged(outcome, why, late);
        let now = self.core.clock.now();
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
        self.ended.push(Ended { task, attempt, state, error, output, at: now.into() });
    }

    /// Keeps a place for each task at work, and one in any case.
    fn give_back_places(&mut self) {
        let needed = self.at_work.len().max(1);
        if self.places.len() > needed {
            self.places.truncate(needed);
            self.core.slot_freed();
        }
    }

    /// The run is another's: what is at work here ends, and nothing is written.
    async fn abandon(mut self) {
        self.stop_tasks.cancel();
        while self.at_work.join_next().await.is_some() {}
    }

    fn tell(&self, state: run::State) {
        let failed = matches!(state, run::State::Failed | run::State::TimedOut);
        self.core.metrics.execution(state.to_value(), self.begun.elapsed(), failed);
    }
}

fn skipped(at: DateTime<Utc>) -> Attempted {
    Attempted {
        attempt: 1,
        state: task_run::State::Skipped,
        finished_at: Some(at),
        error: None,
        output: None,
    }
}

/// How an attempt ended. `late` when it was stopped because the time of the whole run was over.
fn judged(
    outcome: Outcome,
    why: Option<StopReason>,
    late: bool,
) -> (task_run::State, Option<String>, Option<Value>) {
    use task_run::State::{Cancelled, Failed, Lost, Succeeded, TimedOut};
    match outcome {
        Outcome::Succeeded { output } => (Succeeded, None, Some(output)),
        Outcome::Failed { message, output } => (Failed, Some(message), Some(output)),
        Outcome::TimedOut { message, output } => (TimedOut, Some(message), Some(output)),
        Outcome::Cancelled { output } if why == Some(StopReason::Released) => {
            (Lost, Some("the node shut down".to_owned()), Some(output))
        }
        Outcome::Cancelled { output } if late => {
            let error = "it was stopped: the time of the whole run was over".to_owned();
            (TimedOut, Some(error), Some(output))
        }
        Outcome::Cancelled { output } => (Cancelled, None, Some(output)),
    }
}
