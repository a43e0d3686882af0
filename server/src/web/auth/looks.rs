//! Looks at the database that several share.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::Mutex as Turn;

use crate::{access::Moment, clock::Clock};

/// What nobody goes by any more is swept out when there are so many, or twice as many as the last
/// time.
const FEW: usize = 64;

/// Looks by what is looked for, one at a time for each.
///
/// What one finds holds for a moment ([`Moment`]) for all who come: a program that asks much with
/// one token costs ten looks a second, not one for each request. Where a look takes longer than that,
/// those who come meanwhile share the next one.
pub(in crate::web) struct Looks<V, E> {
    clock: Clock,
    places: Mutex<Places<V, E>>,
}

struct Places<V, E> {
    by_key: HashMap<String, Place<V, E>>,
    sweep_at: usize,
}

/// What the last look found. Whoever has the turn looks.
type Place<V, E> = Arc<Turn<Option<Last<V, E>>>>;

struct Last<V, E> {
    /// When it began; that of an error, when it was there.
    at: Moment,
    found: Result<V, E>,
}

impl<V: Clone, E: Clone> Looks<V, E> {
    pub(in crate::web) fn new(clock: Clock) -> Self {
        let places = Places { by_key: HashMap::new(), sweep_at: FEW };
        Self { clock, places: Mutex::new(places) }
    }

    /// What `look` finds, or what somebody else's look has found a moment ago.
    pub(in crate::web) async fn share(
        &self,
        key: &str,
        look: impl Future<Output = Result<V, E>>,
    ) -> Result<V, E> {
        let came = Moment::of(&self.clock);
        let place = self.place(key);
        let mut last = place.lock().await;
        if let Some(last) = &*last
            && (last.at.is_since(came) || last.holds(&self.clock))
        {
            return last.found.clone();
        }
        let began = Moment::of(&self.clock);
        let found = look.await;
        // Who waited for a database that does not answer is told so, and does not wait again.
        let at = if found.is_ok() { began } else { Moment::of(&self.clock) };
        *last = Some(Last { at, found: found.clone() });
        found
    }

    fn place(&self, key: &str) -> Place<V, E> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = places.by_key.get(key) {
            return place.clone();
        }
        if places.by_key.len() >= places.sweep_at {
            places.by_key.retain(|_, place| self.is_needed(place));
            places.sweep_at = FEW.max(2 * places.by_key.len());
        }
        let place = Place::default();
        places.by_key.insert(key.to_owned(), place.clone());
        place
    }

    fn is_needed(&self, place: &Place<V, E>) -> bool {
        let holds =
            |last: &Option<Last<_, _>>| last.as_ref().is_some_and(|last| last.holds(&self.clock));
        // Whoever has it may look.
        Arc::strong_count(place) > 1 || place.try_lock().is_ok_and(|last| holds(&last))
    }
}

impl<V, E> Last<V, E> {
    /// Whether it counts for whoever comes now. An error is for those who waited for it.
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

    fn looks() -> (Looks<i32, &'static str>, ManualClock) {
        let clock = ManualClock::new(DateTime::UNIX_EPOCH);
        (Looks::new(clock.clock()), clock)
    }

    #[tokio::test]
    async fn what_was_found_holds_for_a_moment() {
        let (looks, clock) = looks();
        assert_eq!(looks.share("key", ready(Ok(1))).await, Ok(1));
        assert_eq!(looks.share("key", ready(Ok(2))).await, Ok(1));
        assert_eq!(looks.share("other", ready(Ok(3))).await, Ok(3), "of another key");
        clock.pass(LONG);
        assert_eq!(looks.share("key", ready(Ok(4))).await, Ok(4));
    }

    #[tokio::test]
    async fn who_comes_during_a_look_is_told_what_it_finds() {
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
    async fn who_comes_during_a_long_look_shares_the_next() {
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
    async fn keys_that_nobody_asks_for_any_more_are_forgotten() {
        let (looks, clock) = looks();
        let count = || looks.places.lock().unwrap().by_key.len();
        for key in 0..FEW {
            looks.share(&key.to_string(), ready(Ok(1))).await.unwrap();
        }
        clock.pass(LONG);
        assert_eq!(count(), FEW);
        looks.share("another", ready(Ok(1))).await.unwrap();
        assert_eq!(count(), 1);
    }
}
