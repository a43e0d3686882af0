//! A node: the engine's services, executed one round at a time.

use std::{
    future::{Future, poll_fn},
    pin::Pin,
    sync::Arc,
    task::Poll,
};

use carillon::{
    clock::ManualClock,
    engine::{EngineError, EngineSettings, Signals, Stepwise, StepwiseService, cluster::Cluster},
    store::Store,
    telemetry::Instruments,
};
use chrono::{DateTime, Utc};
use sea_orm::ConnectionTrait;

use super::{
    gate::{Gate, Round},
    workshop,
};

/// A machine, and the process on it if it is up.
pub(crate) struct Node {
    pub(crate) index: usize,
    pub(crate) clock: ManualClock,
    pub(crate) signals: Signals,
    pub(crate) store: Store,
    /// The store without faults.
    plain: Store,
    pub(crate) gate: Gate,
    pub(crate) settings: EngineSettings,
    pub(crate) frozen: bool,
    /// Whether the node may execute runs of several tasks.
    has_flows: bool,
    lives: u32,
    life: Option<Life>,
}

struct Life {
    stepwise: Stepwise,
    slots: Vec<Slot>,
}

/// A service and its state.
struct Slot {
    name: &'static str,
    at: At,
    round: Round,
    /// When the service's next round is due.
    due: DateTime<Utc>,
}

enum At {
    /// The service rests between two rounds.
    Rest(StepwiseService),
    /// The service is in the middle of a round: it waits at the gate, or it sleeps on the clock
    /// with this number.
    Middle(Middle, Option<u64>),
    /// The service is executing right now.
    Hands,
}

type Middle = Pin<Box<dyn Future<Output = (StepwiseService, Result<Option<String>, EngineError>)>>>;

/// The result of a round.
#[derive(Debug)]
pub(crate) enum Went {
    /// The round succeeded, with something to report or nothing.
    Well(Option<String>),
    /// The round failed.
    Ill(EngineError),
    /// The round waits, at the gate or on the clock.
    Waiting(&'static str),
    /// The process has ended.
    Crashed,
}

impl Node {
    pub(crate) fn new(
        index: usize,
        store: &Store,
        settings: &EngineSettings,
        clock: ManualClock,
        has_flows: bool,
    ) -> Self {
        let gate = Gate::default();
        let plain = store.clone();
        let store = store.clone().with_faults(gate.faults(store.dialect().backend()));
        let settings = EngineSettings { node_name: format!("node-{index}"), ..settings.clone() };
        let signals = Signals::default();
        Self {
            index,
            clock,
            signals,
            store,
            plain,
            gate,
            settings,
            frozen: false,
            has_flows,
            lives: 0,
            life: None,
        }
    }

    pub(crate) fn is_up(&self) -> bool {
        self.life.is_some()
    }

    /// Whether the service can proceed now.
    pub(crate) fn goes_on(&self) -> bool {
        self.is_up() && !self.frozen
    }

    /// The node's view of the other nodes and of its own clock; `None` if its process is down.
    pub(crate) fn cluster(&self) -> Option<Cluster> {
        self.life.as_ref().map(|life| life.stepwise.cluster())
    }

    /// The node's index and the number of its current life, which identify it in the workshop.
    pub(crate) fn place(&self) -> (usize, u32) {
        (self.index, self.lives)
    }

    /// Starts the node's process.
    pub(crate) async fn start(&mut self, cache: &Arc<timetable::Cache>) -> Result<(), EngineError> {
        self.gate.enter(&Round::whole());
        self.lives += 1;
        let (stepwise, steps) = Stepwise::join(
            self.settings.clone(),
            self.store.clone(),
            self.clock.clock(),
            workshop::executor(),
            cache.clone(),
            self.signals.clone(),
            Instruments::unread(self.clock.clock()),
        )
        .await?;
        let due = self.clock.now();
        let slot = |step: StepwiseService| {
            let (name, round) = (step.name(), Round::default());
            Slot { name, at: At::Rest(step), round, due }
        };
        self.life = Some(Life { stepwise, slots: steps.into_iter().map(slot).collect() });
        self.frozen = false;
        Ok(())
    }

    /// Ends the node's process at any point.
    pub(crate) async fn crash(&mut self) {
        self.frozen = false;
        let Some(Life { stepwise, slots }) = self.life.take() else { return };
        drop(slots);
        stepwise.abandon();
        until(|| stepwise.attempts() == 0).await;
    }

    /// Shuts the node's process down, if no service is in the middle of a round.
    pub(crate) async fn leave(&mut self) -> Option<Result<(), EngineError>> {
        let life = self.life.as_mut()?;
        if life.slots.iter().any(|slot| !matches!(slot.at, At::Rest(_))) {
            return None;
        }
        life.stepwise.release();
        // Results of attempts are written until none is left, because the end of one task may end
        // its run.
        for _ in 0..20 {
            self.quiet().await;
            for name in ["steps", "settler"] {
                let life = self.life.as_ref()?;
                let writer = life.slots.iter().position(|slot| slot.name == name)?;
                match self.go(writer).await {
                    Went::Well(_) => {}
                    Went::Ill(error) => return Some(Err(error)),
                    Went::Waiting(_) | Went::Crashed => return None,
                }
            }
            if self.life.as_ref()?.stepwise.attempts() == 0 {
                break;
            }
        }
        self.gate.enter(&Round::whole());
        let left = match &self.life {
            Some(life) => life.stepwise.leave().await,
            None => Ok(()),
        };
        self.crash().await;
        Some(left)
    }

    /// The number of the node's services.
    pub(crate) fn services(&self) -> usize {
        self.life.as_ref().map_or(0, |life| life.slots.len())
    }

    /// The service's name.
    pub(crate) fn name(&self, service: usize) -> &'static str {
        self.life.as_ref().map_or("down", |life| life.slots[service].name)
    }

    /// The services that can proceed now.
    pub(crate) fn due(&self) -> Vec<usize> {
        let Some(life) = self.life.as_ref().filter(|_| !self.frozen) else { return vec![] };
        let (now, sleepers) = (self.clock.now(), self.clock.sleepers());
        let is_due = |slot: &Slot| match &slot.at {
            At::Rest(_) => slot.due <= now,
            At::Middle(_, Some(number)) => !sleepers.contains(number),
            At::Middle(_, None) => true,
            At::Hands => false,
        };
        (0..life.slots.len()).filter(|&index| is_due(&life.slots[index])).collect()
    }

    /// Marks services that were woken as due.
    pub(crate) fn heed(&mut self) {
        let now = self.clock.now();
        let Some(life) = &mut self.life else { return };
        let woken = life.stepwise.woken();
        for slot in life.slots.iter_mut().filter(|slot| woken.contains(&slot.name)) {
            slot.due = now;
        }
    }

    /// When the next service wants to proceed, after now.
    pub(crate) fn next_due(&self) -> Option<DateTime<Utc>> {
        let life = self.life.as_ref().filter(|_| !self.frozen)?;
        let now = self.clock.now();
        let resting = life.slots.iter().filter(|slot| matches!(slot.at, At::Rest(_)));
        let due = resting.map(|slot| slot.due).chain(self.clock.next_wake());
        due.filter(|due| *due > now).min()
    }

    /// Continues a service: with a new round, or with the round that it is in.
    pub(crate) async fn go(&mut self, service: usize) -> Went {
        let place = self.place();
        let Some(life) = self.life.as_mut() else { return Went::Well(None) };
        let slot = &mut life.slots[service];
        let clock = self.clock.clone();
        let mut middle: Middle = match std::mem::replace(&mut slot.at, At::Hands) {
            At::Rest(mut step) => {
                slot.round = Round::of(slot.name);
                let now = clock.now();
                Box::pin(async move {
                    let went = step.once(now).await;
                    (step, went)
                })
            }
            At::Middle(middle, Some(number)) if clock.sleepers().contains(&number) => {
                slot.at = At::Middle(middle, Some(number));
                return Went::Waiting("is still asleep");
            }
            At::Middle(middle, _) => middle,
            At::Hands => unreachable!("a service is carried on by one at a time"),
        };
        workshop::at_work(place);
        self.gate.enter(&slot.round);
        slot.round.release();
        let halt = poll_fn(|context| {
            // A sleeper that appears during the round belongs to the round, because no other
            // service is executed at that time.
            let asleep_before = clock.sleepers();
            if let Poll::Ready((step, went)) = middle.as_mut().poll(context) {
                return Poll::Ready(Halt::Done(step, went));
            }
            if self.gate.take_crash() {
                return Poll::Ready(Halt::Crashed);
            }
            if slot.round.waits() {
                return Poll::Ready(Halt::Waits(None));
            }
            let mut sleepers = clock.sleepers().into_iter();
            match sleepers.find(|number| !asleep_before.contains(number)) {
                Some(number) => Poll::Ready(Halt::Waits(Some(number))),
                None => Poll::Pending,
            }
        })
        .await;
        let halt = match halt {
            Halt::Waits(Some(number)) => self.gone_on(&mut middle, number).await,
            Halt::Waits(None) | Halt::Done(..) | Halt::Crashed => halt,
        };
        let Some(slot) = self.life.as_mut().map(|life| &mut life.slots[service]) else {
            return Went::Crashed;
        };
        let went = match halt {
            Halt::Done(mut step, went) => {
                slot.due = step.next_round(clock.now());
                if went.is_err() {
                    // After a failure, the service's loop waits for a moment.
                    slot.due = clock.now() + chrono::TimeDelta::milliseconds(100);
                }
                slot.at = At::Rest(step);
                match went {
                    Ok(told) => Went::Well(told),
                    Err(error) => Went::Ill(error),
                }
            }
            Halt::Waits(asleep) => {
                slot.at = At::Middle(middle, asleep);
                Went::Waiting(if asleep.is_some() { "sleeps" } else { "waits at the gate" })
            }
            Halt::Crashed => {
                drop(middle);
                self.crash().await;
                return Went::Crashed;
            }
        };
        self.quiet().await;
        went
    }

    /// Continues a round of which one part sleeps, with that number. The other parts proceed to
    /// their end, because no round may stop with a transaction open.
    async fn gone_on(&self, middle: &mut Middle, number: u64) -> Halt {
        loop {
            let edges = self.gate.edges();
            let turn = async {
                // There is only one writing connection: once this returns, whoever held it before
                // has finished.
                drop(self.plain.begin().await.unwrap());
                yield_now().await;
            };
            tokio::select! {
                biased;
                (step, went) = middle.as_mut() => return Halt::Done(step, went),
                () = turn => {}
            }
            if self.gate.take_crash() {
                return Halt::Crashed;
            }
            if self.gate.edges() == edges {
                return Halt::Waits(Some(number));
            }
        }
    }

    /// Waits until every attempt on this node has begun or ended, and every run of several tasks
    /// waits: for an attempt, for the time, or for its step to be written.
    pub(crate) async fn quiet(&self) {
        let Some(life) = &self.life else { return };
        workshop::at_work(self.place());
        if !self.has_flows {
            until(|| life.stepwise.attempts() == workshop::open_at(self.place())).await;
            return;
        }
        let state = || (life.stepwise.attempts(), workshop::open_at(self.place()));
        let mut before = None;
        for _ in 0..1_000 {
            yield_now().await;
            if life.stepwise.attempts() == workshop::alone_at(self.place()) {
                // All attempts on this node belong to runs of a single task.
                return;
            }
            if life.stepwise.attempts() > 0 {
                // There is only one reading connection: once this returns, no earlier caller waits
                // for it.
                self.store.read().execute_unprepared("SELECT 1").await.unwrap();
                yield_now().await;
            }
            let now = state();
            if before == Some(now) {
                return;
            }
            before = Some(now);
        }
        panic!("the runs of a node never come to rest");
    }
}

enum Halt {
    Done(StepwiseService, Result<Option<String>, EngineError>),
    Waits(Option<u64>),
    Crashed,
}

/// Lets other tasks proceed until they all wait.
async fn yield_now() {
    for _ in 0..8 {
        tokio::task::yield_now().await;
    }
}

/// Lets other tasks proceed until `is_so` returns true.
async fn until(is_so: impl Fn() -> bool) {
    for _ in 0..100_000 {
        if is_so() {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("the attempts of a node never come to rest");
}
