//! Injects errors, delays and the deaths of processes between a node and its database.
//!
//! A gate knows the current round. It delays a round, or ends its node, only while the round has no
//! other transaction open. On SQLite, an open transaction would block all others; and on no
//! database could the outcome of the other transaction be decided.

use std::sync::{Arc, Mutex, MutexGuard};

use carillon::store::{FaultPoint, Faults, StoreError};
use futures::future::BoxFuture;
use sea_orm::{ConnAcquireErr, DbBackend, DbErr, Statement};
use tokio::sync::Notify;

use super::scenario::Strike;

/// The gate of one node.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    strike: Option<(u32, Strike)>,
    broken: Option<(u32, bool)>,
    crashed: bool,
    /// The number of edges reached.
    edges: u64,
    round: Round,
    /// The faults that occurred since the last query.
    struck: Vec<String>,
}

/// A round of a service, as the gate knows it.
#[derive(Clone, Default)]
pub(crate) struct Round(Arc<Mutex<RoundState>>, Arc<Notify>);

#[derive(Default)]
struct RoundState {
    /// The number of transactions that the round has begun. Those rolled back still count, so some
    /// rounds are spared faults that must not occur beside another transaction.
    open: u32,
    waits: bool,
    /// Whether the round belongs to an operator's request: such a round cannot be continued later.
    is_whole: bool,
    /// Whether other rounds wait for this one: while a node begins a new life, none of its other
    /// rounds proceeds.
    is_waited_for: bool,
}

impl Gate {
    /// The gate's hooks in a store.
    pub(crate) fn faults(&self, backend: DbBackend) -> Faults {
        let (edges, statements) = (self.clone(), self.clone());
        Faults::new(move |edge| edges.at(edge), move || statements.statement(backend))
    }

    /// Makes `strike` happen after `edges` more edges.
    pub(crate) fn strike(&self, edges: u32, strike: Strike) {
        self.locked().strike = Some((edges, strike));
    }

    /// Makes one statement fail after `statements` more statements.
    pub(crate) fn break_statement(&self, statements: u32, may_pass: bool) {
        self.locked().broken = Some((statements, may_pass));
    }

    /// Begins `round`.
    pub(crate) fn enter(&self, round: &Round) {
        let mut state = self.locked();
        state.round = round.clone();
        state.round.locked().open = 0;
    }

    /// Ends all faults.
    pub(crate) fn calm(&self) {
        let mut state = self.locked();
        (state.strike, state.broken) = (None, None);
    }

    /// The number of edges reached so far.
    pub(crate) fn edges(&self) -> u64 {
        self.locked().edges
    }

    /// Whether the node's process has ended. This query resets the answer.
    pub(crate) fn take_crash(&self) -> bool {
        std::mem::take(&mut self.locked().crashed)
    }

    /// The faults that occurred since the last query.
    pub(crate) fn take_struck(&self) -> Vec<String> {
        std::mem::take(&mut self.locked().struck)
    }

    fn at(&self, edge: FaultPoint) -> BoxFuture<'static, Result<(), StoreError>> {
        let mut state = self.locked();
        state.edges += 1;
        let round = state.round.clone();
        let others = {
            let mut round = round.locked();
            match edge {
                FaultPoint::Begin => round.open,
                FaultPoint::Commit => round.open.saturating_sub(1),
                FaultPoint::Committed => {
                    round.open = round.open.saturating_sub(1);
                    round.open
                }
            }
        };
        let is_whole = round.locked().is_whole;
        let fits = |strike| match strike {
            Strike::Error(_) => true,
            Strike::Crash => others == 0 && !is_whole,
            Strike::Pause => {
                others == 0
                    && !is_whole
                    && edge != FaultPoint::Commit
                    && !round.locked().is_waited_for
            }
        };
        let due = match &mut state.strike {
            Some((0, strike)) if fits(*strike) => Some(*strike),
            Some((0, _)) | None => None,
            Some((edges, _)) => {
                *edges -= 1;
                None
            }
        };
        if let Some(strike) = due {
            state.strike = None;
            state.struck.push(format!("{strike:?} at {edge:?}"));
        }
        match due {
            Some(Strike::Crash) => {
                state.crashed = true;
                return Box::pin(std::future::pending());
            }
            Some(Strike::Error(may_pass)) => {
                let error = failure(may_pass);
                return Box::pin(async move { Err(error) });
            }
            Some(Strike::Pause) => round.locked().waits = true,
            None => {}
        }
        let begins = edge == FaultPoint::Begin;
        Box::pin(async move {
            round.ready().await;
            if begins {
                round.locked().open += 1;
            }
            Ok(())
        })
    }

    fn statement(&self, backend: DbBackend) -> Option<Statement> {
        let mut state = self.locked();
        let (statements, may_pass) = state.broken.as_mut()?;
        if *statements > 0 {
            *statements -= 1;
            return None;
        }
        let may_pass = *may_pass;
        state.broken = None;
        state.struck.push("a statement fails".to_owned());
        // The store tells from the driver's message whether the error is transient.
        let table = if may_pass { "locked" } else { "broken" };
        Some(Statement::from_string(backend, format!("SELECT 1 FROM this_table_is_{table}")))
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }
}

impl Round {
    /// Creates a round for a request whose operator waits for the answer.
    pub(crate) fn whole() -> Self {
        let state = RoundState { is_whole: true, ..RoundState::default() };
        Self(Arc::new(Mutex::new(state)), Arc::default())
    }

    /// Creates a round of that service.
    pub(crate) fn of(service: &str) -> Self {
        let state = RoundState { is_waited_for: service == "pulse", ..RoundState::default() };
        Self(Arc::new(Mutex::new(state)), Arc::default())
    }

    /// Whether the round waits to be continued.
    pub(crate) fn waits(&self) -> bool {
        self.locked().waits
    }

    /// Continues the round.
    pub(crate) fn release(&self) {
        self.locked().waits = false;
        self.1.notify_waiters();
    }

    async fn ready(&self) {
        loop {
            let released = self.1.notified();
            if !self.waits() {
                return;
            }
            released.await;
        }
    }

    fn locked(&self) -> MutexGuard<'_, RoundState> {
        self.0.lock().unwrap()
    }
}

fn failure(may_pass: bool) -> StoreError {
    StoreError::Database(if may_pass {
        DbErr::ConnectionAcquire(ConnAcquireErr::Timeout)
    } else {
        DbErr::Custom("this is a simulation".to_owned())
    })
}
