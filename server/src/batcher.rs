//! Collects concurrent requests for one transaction.
//!
//! A transaction costs more than its writes. Requests that arrive while others are carried out
//! wait. The caller that has the turn carries out all waiting requests, again and again until there
//! are none. Each batch runs in its own task, so that a caller that leaves does not affect the
//! others.

use std::{
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;
use tokio::sync::{Mutex as Turn, oneshot};

/// Maximum number of requests in one batch.
const MAX: usize = 500;
/// Maximum size of the requests in one batch, unless it has only one.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Requests that wait to be carried out, and their callers, who wait for the answers.
#[derive(Debug)]
pub(crate) struct Batcher<T, A> {
    waiting: Mutex<Vec<Waiting<T, A>>>,
    /// The turn to carry out requests. There is only one: with two, each batch would be half as
    /// large.
    turn: Arc<Turn<()>>,
}

#[derive(Debug)]
struct Waiting<T, A> {
    request: T,
    bytes: usize,
    caller: oneshot::Sender<A>,
}

impl<T, A> Default for Batcher<T, A> {
    fn default() -> Self {
        Self { waiting: Mutex::default(), turn: Arc::default() }
    }
}

impl<T: Send + 'static, A: Send + 'static> Batcher<T, A> {
    /// Submits a request, which is carried out together with all that are waiting by then.
    /// `carry_out` returns their answers, in the order of the requests. `bytes` is the approximate
    /// size of the request. Returns `None` if `carry_out` panicked.
    pub(crate) async fn submit<F, B>(
        self: &Arc<Self>,
        request: T,
        bytes: usize,
        carry_out: F,
    ) -> Option<A>
    where
        F: Fn(Vec<T>) -> B + Send + Sync + 'static,
        B: Future<Output = Vec<A>> + Send,
    {
        let (caller, answered) = oneshot::channel();
        self.waiting().push(Waiting { request, bytes, caller });
        let turn = async {
            let turn = self.turn.clone().lock_owned().await;
            let batcher = self.clone();
            tokio::spawn(async move {
                // Requests that are made at the same instant, such as those of one storm, are in
                // the runtime's queue already: they come along in the first batch.
                tokio::task::yield_now().await;
                loop {
                    let (requests, callers) = batcher.take();
                    if requests.is_empty() {
                        break;
                    }
                    for (caller, answer) in callers.into_iter().zip(carry_out(requests).await) {
                        // A caller that has left gets no answer.
                        let _ = caller.send(answer);
                    }
                }
                drop(turn);
            });
        };
        // Another caller that has the turn may take this request before this caller gets a turn.
        let mut answered = pin!(answered);
        tokio::select! {
            biased;
            answer = &mut answered => return answer.ok(),
            () = turn => {}
        }
        answered.await.ok()
    }
}

impl<T, A> Batcher<T, A> {
    /// The waiting requests whose callers have not left, and these callers.
    fn take(&self) -> (Vec<T>, Vec<oneshot::Sender<A>>) {
        let mut waiting = self.waiting();
        waiting.retain(|one| !one.caller.is_closed());
        let mut bytes = 0_usize;
        let fits = |one: &&Waiting<T, A>| {
            let is_first = bytes == 0;
            bytes = bytes.saturating_add(one.bytes.max(1));
            is_first || bytes <= MAX_BYTES
        };
        let count = waiting.iter().take(MAX).take_while(fits).count();
        waiting.drain(..count).map(|one| (one.request, one.caller)).unzip()
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Waiting<T, A>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The approximate size of a value as JSON, in bytes.
pub(crate) fn json_size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(|value| 1 + json_size(value)).sum(),
        Value::Object(map) => map.iter().map(|(key, value)| key.len() + json_size(value)).sum(),
    }
}

#[cfg(test)]
mod tests {
    use futures::future::join_all;

    use super::*;

    fn put(batcher: &Batcher<usize, ()>, request: usize, bytes: usize) -> oneshot::Receiver<()> {
        let (caller, answered) = oneshot::channel();
        batcher.waiting().push(Waiting { request, bytes, caller });
        answered
    }

    #[test]
    fn a_batch_has_a_maximum_number_of_bytes() {
        let batcher = Batcher::default();
        let sizes = [MAX_BYTES / 2, MAX_BYTES / 2, 1, MAX_BYTES * 2, 0];
        let put = |(request, bytes)| put(&batcher, request, bytes);
        let _callers: Vec<_> = sizes.into_iter().enumerate().map(put).collect();
        let batches = [batcher.take().0, batcher.take().0, batcher.take().0, batcher.take().0];
        assert_eq!(batches, [vec![0, 1], vec![2], vec![3], vec![4]]);
    }

    #[test]
    fn all_that_wait_and_are_wanted_are_taken_once() {
        let batcher = Batcher::default();
        let mut callers: Vec<_> = (1..=4).map(|request| put(&batcher, request, 1)).collect();
        callers.remove(1);
        assert_eq!(batcher.take().0, [1, 3, 4], "the second caller has left");
        assert_eq!(batcher.take().0, Vec::<usize>::new());
    }

    #[test]
    fn a_batch_has_a_maximum_number_of_requests() {
        let batcher = Batcher::default();
        let _callers: Vec<_> = (0..MAX + 2).map(|request| put(&batcher, request, 1)).collect();
        assert_eq!(batcher.take().0.len(), MAX);
        assert_eq!(batcher.take().0, [MAX, MAX + 1], "in their order");
    }

    #[tokio::test]
    async fn every_caller_gets_the_answer_to_its_own_request() {
        let batcher = Arc::<Batcher<usize, (usize, usize)>>::default();
        let submit = |request| {
            batcher.submit(request, 1, |requests: Vec<usize>| async move {
                tokio::task::yield_now().await;
                let size = requests.len();
                requests.into_iter().map(|request| (request * 2, size)).collect()
            })
        };
        let answers = join_all((0..100).map(submit)).await;
        let (doubled, sizes): (Vec<_>, Vec<_>) = answers.into_iter().map(Option::unwrap).unzip();
        assert_eq!(doubled, (0..100).map(|request| request * 2).collect::<Vec<_>>());
        assert!(sizes.iter().any(|size| *size > 1), "none went together: {sizes:?}");
    }
}
