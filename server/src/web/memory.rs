//! The last answer of the database, kept so that probes respond at once whatever the database does.
//!
//! Only one query is in progress at a time. A request waits briefly for its answer and then takes
//! the last one. If the database does not answer a query within a few seconds, or returns an error,
//! it counts as silent since the start of that query, until it answers again. This is logged like
//! the failure of a service; the loss of the database itself is logged as an error of the store.

use std::{
    fmt,
    future::Future,
    sync::Arc,
    time::{Duration, Instant},
};

use chrono::{DateTime, Utc};
use tokio::sync::watch;

use crate::clock::Clock;

/// How long an answer counts as new, unless the query is too expensive for that.
const FRESH: Duration = Duration::from_millis(100);
/// How long a request waits for a new answer before it takes the last one.
const PATIENCE: Duration = Duration::from_millis(500);
/// If a query has no answer for this long, the database does not answer.
const SILENCE: Duration = Duration::from_secs(3);
/// Timeout of a query.
const LIMIT: Duration = Duration::from_secs(30);

/// The last answer to one query. Cheap to clone; clones share it.
#[derive(Debug)]
pub(super) struct LastAnswer<T> {
    /// A description of the query, for the log.
    question: &'static str,
    clock: Clock,
    /// How long an answer counts as new.
    fresh: Duration,
    state: Arc<watch::Sender<ProbeState<T>>>,
}

#[derive(Debug)]
struct ProbeState<T> {
    last: Option<(T, Instant)>,
    /// The query in progress, with its start.
    asked: Option<ProbeStart>,
    /// The start of the first query that failed since the last successful one.
    failing: Option<DateTime<Utc>>,
}

#[derive(Clone, Copy, Debug)]
struct ProbeStart {
    at: DateTime<Utc>,
    instant: Instant,
}

/// The instant since which the database has not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Silent {
    pub(super) since: DateTime<Utc>,
}

impl<T> Clone for LastAnswer<T> {
    fn clone(&self) -> Self {
        Self { clock: self.clock.clone(), state: self.state.clone(), ..*self }
    }
}

impl<T: Clone + Send + Sync + 'static> LastAnswer<T> {
    pub(super) fn new(question: &'static str, clock: Clock) -> Self {
        let state = ProbeState { last: None, asked: None, failing: None };
        Self { question, clock, fresh: FRESH, state: Arc::new(watch::Sender::new(state)) }
    }

    /// Lets an answer count as new for this long, for an expensive query.
    pub(super) fn fresh_for(self, fresh: Duration) -> Self {
        Self { fresh, ..self }
    }

    /// Whether nothing is known yet, and it is too early to say that the database does not answer.
    pub(super) fn is_waiting(&self) -> bool {
        let state = self.state.borrow();
        let is_early = |asked: &ProbeStart| self.waits(asked) < SILENCE;
        state.failing.is_none() && state.last.is_none() && state.asked.iter().all(is_early)
    }

    /// The current answer: a new one if it comes soon, or else the last one.
    pub(super) async fn answer<F, E>(&self, ask: impl FnOnce() -> F) -> Result<T, Silent>
    where
        F: Future<Output = Result<T, E>> + Send + 'static,
        E: fmt::Display + Send + 'static,
    {
        if let Some(fresh) = self.fresh() {
            return Ok(fresh);
        }
        let mut state = self.state.subscribe();
        if self.begin() {
            tokio::spawn(self.clone().ask(ask()));
        }
        let answered = state.wait_for(|state| state.asked.is_none());
        // After the timeout, the last answer counts.
        let _ = self.clock.timeout(PATIENCE, answered).await;
        self.known()
    }

    /// Whether the database was silent when it was last queried, and since when.
    pub(super) fn silence(&self) -> Option<Silent> {
        self.known().err().filter(|_| {
            let state = self.state.borrow();
            state.failing.is_some() || state.asked.is_some()
        })
    }

    fn fresh(&self) -> Option<T> {
        let state = self.state.borrow();
        let now = self.clock.instant();
        let (last, at) = state.last.as_ref()?;
        let is_fresh = state.failing.is_none() && now.duration_since(*at) < self.fresh;
        is_fresh.then(|| last.clone())
    }

    /// Whether a new query is needed. If so, it is recorded as started.
    fn begin(&self) -> bool {
        let asked = ProbeStart { at: self.clock.now(), instant: self.clock.instant() };
        let begin = |state: &mut ProbeState<T>| {
            let begins = state.asked.is_none();
            state.asked.get_or_insert(asked);
            begins
        };
        self.state.send_if_modified(begin)
    }

    async fn ask<F, E>(self, question: F)
    where
        F: Future<Output = Result<T, E>> + Send + 'static,
        E: fmt::Display + Send + 'static,
    {
        let clock = self.clock.clone();
        // The query runs in a separate task, so that a panic counts as a failed answer.
        let answer = tokio::spawn(async move {
            let answer = clock.timeout(LIMIT, question).await;
            answer.map_err(|_| "no answer in time".to_owned())?.map_err(|error| error.to_string())
        });
        let answer = answer.await.unwrap_or_else(|error| Err(error.to_string()));
        self.state.send_modify(|state| {
            let asked = state.asked.take();
            match answer {
                Ok(answer) => {
                    if state.failing.take().is_some() {
                        tracing::info!(question = self.question, "the database answers again");
                    }
                    state.last = Some((answer, self.clock.instant()));
                }
                Err(error) => {
                    if state.failing.is_none() {
                        let question = self.question;
                        tracing::warn!(
                            question, %error,
                            "probes are answered from memory until the database answers"
                        );
                        state.failing =
                            Some(asked.map_or_else(|| self.clock.now(), |asked| asked.at));
                    }
                }
            }
        });
    }

    /// How long a query has been waiting for its answer.
    fn waits(&self, asked: &ProbeStart) -> Duration {
        self.clock.instant().duration_since(asked.instant)
    }

    fn known(&self) -> Result<T, Silent> {
        let state = self.state.borrow();
        if let Some(since) = state.failing {
            return Err(Silent { since });
        }
        match (&state.last, &state.asked) {
            (_, Some(asked)) if self.waits(asked) >= SILENCE => Err(Silent { since: asked.at }),
            (Some((last, _)), _) => Ok(last.clone()),
            (None, asked) => {
                Err(Silent { since: asked.map_or_else(|| self.clock.now(), |asked| asked.at) })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::{pending, ready},
        sync::atomic::{AtomicUsize, Ordering},
    };

    use super::*;
    use crate::clock::ManualClock;

    fn memory() -> (LastAnswer<u32>, ManualClock) {
        let clock = ManualClock::new(DateTime::from_timestamp(1_000, 0).unwrap());
        (LastAnswer::new("test", clock.clock()), clock)
    }

    /// Advances the clock until a request has waited long enough.
    async fn hurried<T>(clock: &ManualClock, request: impl Future<Output = T>) -> T {
        let mut request = std::pin::pin!(request);
        loop {
            tokio::select! {
                biased;
                answer = &mut request => return answer,
                () = tokio::task::yield_now() => clock.pass(Duration::from_millis(50)),
            }
        }
    }

    #[tokio::test]
    async fn a_database_that_hangs_is_answered_for_from_memory_and_then_called_silent() {
        let (memory, clock) = memory();
        assert_eq!(memory.answer(|| ready(Ok::<_, String>(7))).await, Ok(7));
        assert_eq!(memory.silence(), None);
        clock.pass(FRESH);
        let since = clock.now();
        let hang = || pending::<Result<u32, String>>();
        assert_eq!(hurried(&clock, memory.answer(hang)).await, Ok(7), "the last answer");
        clock.pass(SILENCE);
        assert_eq!(hurried(&clock, memory.answer(hang)).await, Err(Silent { since }));
        assert_eq!(memory.silence(), Some(Silent { since }));
    }

    #[tokio::test]
    async fn an_error_is_silence_until_the_next_good_answer() {
        let (memory, clock) = memory();
        let since = clock.now();
        let refused = || ready(Err::<u32, _>("refused"));
        assert_eq!(memory.answer(refused).await, Err(Silent { since }));
        clock.pass(Duration::from_secs(60));
        assert_eq!(memory.answer(refused).await, Err(Silent { since }), "since the first");
        assert_eq!(memory.answer(|| ready(Ok::<_, String>(1))).await, Ok(1));
    }

    #[tokio::test]
    async fn an_expensive_query_is_asked_less_often_and_waited_for_as_shortly() {
        let (memory, clock) = memory();
        let memory = memory.fresh_for(Duration::from_secs(10));
        let hang = || pending::<Result<u32, String>>();
        assert!(hurried(&clock, memory.answer(hang)).await.is_err() && memory.is_waiting());
        clock.pass(SILENCE);
        assert!(!memory.is_waiting(), "by now it is silent");

        let (memory, clock) = self::memory();
        let memory = memory.fresh_for(Duration::from_secs(10));
        assert_eq!(memory.answer(|| ready(Ok::<_, String>(7))).await, Ok(7));
        clock.pass(Duration::from_secs(9));
        assert_eq!(memory.answer(|| ready(Ok::<_, String>(8))).await, Ok(7));
        clock.pass(Duration::from_secs(1));
        assert_eq!(memory.answer(|| ready(Ok::<_, String>(9))).await, Ok(9));
        clock.pass(Duration::from_secs(10));
        let before = clock.now();
        assert_eq!(hurried(&clock, memory.answer(hang)).await, Ok(9), "the last answer");
        assert!(clock.now() - before < chrono::TimeDelta::seconds(1));
    }

    #[tokio::test]
    async fn many_requests_ask_once() {
        let (memory, _clock) = memory();
        let asked = Arc::new(AtomicUsize::new(0));
        let ask = || {
            let asked = asked.clone();
            memory.answer(move || async move {
                tokio::task::yield_now().await;
                Ok::<_, String>(u32::try_from(asked.fetch_add(1, Ordering::Relaxed)).unwrap())
            })
        };
        let answers = futures::future::join_all((0..100).map(|_| ask())).await;
        assert!(answers.iter().all(|answer| *answer == Ok(0)), "{answers:?}");
    }
}
