//! The place where attempts are executed. They do nothing; the scenario decides when and how each
//! of them ends.
//!
//! The workshop stands for the outside world. Its records are not in any table, so the tables can
//! be compared with them.

use std::{
    cell::RefCell,
    sync::{Arc, OnceLock},
};

use carillon::{
    clock::Clock,
    target::{AttemptOutcome, Executor, Invocation, Policy},
};
use futures::future::BoxFuture;
use serde_json::json;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{plan::ONLY_TASK, scenario::Ending};

thread_local! {
    static WORKSHOP: RefCell<Workshop> = RefCell::default();
}

#[derive(Default)]
struct Workshop {
    seen: Vec<Execution>,
    open: Vec<Open>,
    /// The node that is executing at this moment, and the number of its life.
    at_work: (usize, u32),
}

/// An attempt as the outside world has recorded it.
#[derive(Clone, Debug)]
pub(crate) struct Execution {
    pub(crate) run: Uuid,
    pub(crate) task: String,
    pub(crate) attempt: i32,
    pub(crate) key: String,
    pub(crate) ended: Option<Ending>,
}

struct Open {
    execution: usize,
    place: (usize, u32),
    end: oneshot::Sender<Ending>,
}

/// The executor of all simulated nodes.
pub(crate) fn executor() -> Arc<Executor> {
    static EXECUTOR: OnceLock<Arc<Executor>> = OnceLock::new();
    let make = || {
        let executor = Executor::new(Policy::default(), Clock::system()).unwrap();
        Arc::new(executor.with_stand_in(begin))
    };
    EXECUTOR.get_or_init(make).clone()
}

/// Forgets all records, because a new seed begins on this thread.
pub(crate) fn clear() {
    WORKSHOP.take();
}

/// From here on, attempts that begin belong to this node in this life.
pub(crate) fn at_work(place: (usize, u32)) {
    WORKSHOP.with_borrow_mut(|shop| shop.at_work = place);
}

/// The executed attempts in order, without the first `known` ones.
pub(crate) fn seen_after(known: usize) -> Vec<Execution> {
    WORKSHOP.with_borrow(|shop| shop.seen[known..].to_vec())
}

/// The number of open attempts at a place.
pub(crate) fn open_at(place: (usize, u32)) -> usize {
    WORKSHOP.with_borrow(|shop| shop.open.iter().filter(|open| open.place == place).count())
}

/// The number of open attempts at a place that belong to runs of a single task.
pub(crate) fn alone_at(place: (usize, u32)) -> usize {
    WORKSHOP.with_borrow(|shop| {
        let is_alone = |open: &&Open| shop.seen[open.execution].task == ONLY_TASK;
        shop.open.iter().filter(|open| open.place == place).filter(is_alone).count()
    })
}

/// The places of all open attempts, in order.
pub(crate) fn open() -> Vec<(usize, u32)> {
    WORKSHOP.with_borrow(|shop| shop.open.iter().map(|open| open.place).collect())
}

/// Whether an attempt is in progress anywhere.
pub(crate) fn is_open(run: Uuid, task: &str, attempt: i32) -> bool {
    WORKSHOP.with_borrow(|shop| {
        let is_it = |open: &Open| {
            let Execution { run: at, task: of, attempt: number, .. } = &shop.seen[open.execution];
            (*at, of.as_str(), *number) == (run, task, attempt)
        };
        shop.open.iter().any(is_it)
    })
}

/// Ends the open attempt with that number; returns it.
pub(crate) fn end(number: usize, ending: Ending) -> Execution {
    WORKSHOP.with_borrow_mut(|shop| {
        let open = shop.open.remove(number);
        // The attempt's future may have been dropped already.
        let _ = open.end.send(ending);
        shop.seen[open.execution].ended = Some(ending);
        shop.seen[open.execution].clone()
    })
}

fn begin(invocation: &Invocation, stop: CancellationToken) -> BoxFuture<'static, AttemptOutcome> {
    let (end, ended) = oneshot::channel();
    let number = WORKSHOP.with_borrow_mut(|shop| {
        let execution = shop.seen.len();
        shop.seen.push(Execution {
            run: invocation.run_id,
            task: invocation.task.clone(),
            attempt: invocation.attempt,
            key: invocation.idempotency_key.clone(),
            ended: None,
        });
        shop.open.push(Open { execution, place: shop.at_work, end });
        execution
    });
    let bench = Bench(number);
    Box::pin(async move {
        let _left_when_dropped = bench;
        tokio::select! {
            biased;
            ending = ended => outcome(ending.unwrap_or(Ending::Stopped)),
            () = stop.cancelled() => {
                WORKSHOP.with_borrow_mut(|shop| {
                    shop.open.retain(|open| open.execution != number);
                    shop.seen[number].ended = Some(Ending::Stopped);
                });
                outcome(Ending::Stopped)
            }
        }
    })
}

/// A place at which an attempt is in progress, until the engine drops it.
struct Bench(usize);

impl Drop for Bench {
    fn drop(&mut self) {
        // The thread may be ending, and its workshop may be gone already.
        let _ = WORKSHOP.try_with(|shop| {
            shop.borrow_mut().open.retain(|open| open.execution != self.0);
        });
    }
}

fn outcome(ending: Ending) -> AttemptOutcome {
    let (output, message) = (json!({}), "so the scenario wants it".to_owned());
    match ending {
        Ending::Success => AttemptOutcome::Succeeded { output },
        Ending::Failure => AttemptOutcome::Failed { message, output },
        Ending::Timeout => AttemptOutcome::TimedOut { message, output },
        Ending::Stopped => AttemptOutcome::Cancelled { output },
    }
}
