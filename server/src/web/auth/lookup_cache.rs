//! Lookups in the database that several requests share.

use crate::{
    access::LookupMoment,
    clock::Clock,
    single_flight::{SingleFlight, Slot},
};

/// Up to this many entries are kept without checking whether they are in use.
const FEW: usize = 64;

/// A short-lived, single-flight lookup cache.
///
/// A result is valid for a moment ([`LookupMoment`]) for all callers, so that a program that sends
/// many requests with one token causes ten lookups a second, not one per request. If a lookup takes
/// longer than that, callers that arrive meanwhile share the next one.
pub(in crate::web) struct LookupCache<V, E> {
    clock: Clock,
    slots: SingleFlight<String, LastResult<V, E>>,
}

/// The last result.
struct LastResult<V, E> {
    /// When the lookup began, or, for an error, when the lookup ended.
    at: LookupMoment,
    found: Result<V, E>,
}

impl<V: Clone, E: Clone> LookupCache<V, E> {
    pub(in crate::web) fn new(clock: Clock) -> Self {
        Self { clock, slots: SingleFlight::new(FEW) }
    }

    /// The result of `look`, or of another lookup a moment ago.
    pub(in crate::web) async fn share(
        &self,
        key: &str,
        look: impl Future<Output = Result<V, E>>,
    ) -> Result<V, E> {
        let came = LookupMoment::of(&self.clock);
        let slot: Slot<LastResult<V, E>> = self.slots.slot(key, |last| last.holds(&self.clock));
        let mut last = slot.lock().await;
        if let Some(last) = &*last
            && (last.at.is_since(came) || last.holds(&self.clock))
        {
            return last.found.clone();
        }
        let began = LookupMoment::of(&self.clock);
        let found = look.await;
        // Callers that waited for a database that does not answer get this error, instead of
        // waiting again.
        let at = if found.is_ok() { began } else { LookupMoment::of(&self.clock) };
        *last = Some(LastResult { at, found: found.clone() });
        found
    }
}

impl<V, E> LastResult<V, E> {
    /// Whether the result is valid for new callers. An error is only valid for callers that waited
    /// for it.
    fn holds(&self, clock: &Clock) -> bool {
        self.found.is_ok() && self.at.is_recent(clock)
    }
}

#[cfg(test)]
mod tests {
    use std::{future::ready, time::Duration};

    use chrono::DateTime;
    use futures::FutureExt;
    use tokio::sync::oneshot;

    use super::*;
    use crate::clock::ManualClock;

    const LONG: Duration = Duration::from_secs(1);

    type Found = Result<i32, &'static str>;

    fn looks() -> (LookupCache<i32, &'static str>, ManualClock) {
        let clock = ManualClock::new(DateTime::UNIX_EPOCH);
        (LookupCache::new(clock.clock()), clock)
    }

    #[tokio::test]
    async fn a_lookup_is_valid_for_a_moment() {
        let (looks, clock) = looks();
        assert_eq!(looks.share("key", ready(Ok(1))).await, Ok(1));
        assert_eq!(looks.share("key", ready(Ok(2))).await, Ok(1));
        assert_eq!(looks.share("other", ready(Ok(3))).await, Ok(3), "of another key");
        clock.pass(LONG);
        assert_eq!(looks.share("key", ready(Ok(4))).await, Ok(4));
    }

    #[tokio::test]
    async fn requests_during_a_lookup_share_its_result() {
        let (looks, _clock) = looks();
        let (end, ended) = oneshot::channel();
        let mut first = Box::pin(looks.share("key", async { ended.await.unwrap() }));
        assert_eq!((&mut first).now_or_never(), None);
        let mut second = Box::pin(looks.share("key", ready(Ok(2))));
        assert_eq!((&mut second).now_or_never(), None);
        assert_eq!(looks.share("other", ready(Ok(4))).await, Ok(4), "another key waits for nobody");
        end.send(Found::Ok(1)).unwrap();
        assert_eq!((first.await, second.await), (Ok(1), Ok(1)));
    }

    #[tokio::test]
    async fn requests_during_a_long_lookup_share_the_next() {
        let (looks, clock) = looks();
        let (end, ended) = oneshot::channel();
        let mut first = Box::pin(looks.share("key", async { ended.await.unwrap() }));
        assert_eq!((&mut first).now_or_never(), None);
        clock.pass(Duration::from_millis(1));
        let (end_next, ended_next) = oneshot::channel();
        let mut second = Box::pin(looks.share("key", async { ended_next.await.unwrap() }));
        let mut third = Box::pin(looks.share("key", ready(Ok(3))));
        assert_eq!((&mut second).now_or_never(), None);
        assert_eq!((&mut third).now_or_never(), None);
        clock.pass(LONG);
        end.send(Found::Ok(1)).unwrap();
        assert_eq!(first.await, Ok(1));
        assert_eq!((&mut second).now_or_never(), None, "what the first found is too old");
        clock.pass(LONG);
        end_next.send(Found::Ok(2)).unwrap();
        assert_eq!((second.await, third.await), (Ok(2), Ok(2)));
    }

    #[tokio::test]
    async fn an_error_is_for_those_who_waited_for_it() {
        let (looks, clock) = looks();
        let (end, ended) = oneshot::channel();
        let mut first = Box::pin(looks.share("key", async { ended.await.unwrap() }));
        assert_eq!((&mut first).now_or_never(), None);
        let mut second = Box::pin(looks.share("key", ready(Ok(2))));
        assert_eq!((&mut second).now_or_never(), None);
        clock.pass(LONG);
        end.send(Found::Err("no database")).unwrap();
        assert_eq!((first.await, second.await), (Err("no database"), Err("no database")));
        clock.pass(Duration::from_millis(1));
        assert_eq!(looks.share("key", ready(Ok(3))).await, Ok(3));
    }

    #[tokio::test]
    async fn when_somebody_gives_up_the_next_looks() {
        let (looks, _clock) = looks();
        let mut first = Box::pin(looks.share("key", std::future::pending()));
        assert_eq!((&mut first).now_or_never(), None);
        let mut second = Box::pin(looks.share("key", ready(Ok(2))));
        assert_eq!((&mut second).now_or_never(), None);
        drop(first);
        assert_eq!(second.await, Ok(2));
    }

    #[tokio::test]
    async fn keys_that_are_no_longer_requested_are_forgotten() {
        let (looks, clock) = looks();
        let count = || looks.slots.len();
        for key in 0..FEW {
            looks.share(&key.to_string(), ready(Ok(1))).await.unwrap();
        }
        clock.pass(LONG);
        assert_eq!(count(), FEW);
        looks.share("another", ready(Ok(1))).await.unwrap();
        assert_eq!(count(), 1);
    }
}
