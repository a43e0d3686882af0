//! Looks at the database that several share.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::Mutex as Turn;

use crate::engine::people::Moment;

/// What nobody goes by any more is swept out when there are so many, or twice as many as the last
/// time.
const FEW: usize = 64;

/// Looks by what is looked for, one at a time for each.
///
/// What one finds holds for a moment ([`Moment`]) for all who come: a program that asks much with
/// one token costs ten looks a second, not one for each request.
pub(in crate::web) struct Looks<V, E> {
    places: Mutex<Places<V, E>>,
}

struct Places<V, E> {
    by_key: HashMap<String, Place<V, E>>,
    sweep_at: usize,
}

/// What the last look found, and from when on. Whoever has the turn looks.
type Place<V, E> = Arc<Turn<Option<(Moment, Result<V, E>)>>>;

impl<V, E> Default for Looks<V, E> {
    fn default() -> Self {
        Self { places: Mutex::new(Places { by_key: HashMap::new(), sweep_at: FEW }) }
    }
}

impl<V: Clone, E: Clone> Looks<V, E> {
    /// What `look` finds, or what somebody else's look found a moment ago.
    pub(in crate::web) async fn share(
        &self,
        key: &str,
        look: impl Future<Output = Result<V, E>>,
    ) -> Result<V, E> {
        let place = self.place(key);
        let mut last = place.lock().await;
        if let Some((since, found)) = &*last
            && since.is_recent()
        {
            return found.clone();
        }
        let began = Moment::now();
        let found = look.await;
        // Who waited for a database that does not answer is told so, and does not wait again.
        let since = if found.is_ok() { began } else { Moment::now() };
        *last = Some((since, found.clone()));
        found
    }

    fn place(&self, key: &str) -> Place<V, E> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = places.by_key.get(key) {
            return place.clone();
        }
        if places.by_key.len() >= places.sweep_at {
            places.by_key.retain(|_, place| is_needed(place));
            places.sweep_at = FEW.max(2 * places.by_key.len());
        }
        let place = Place::default();
        places.by_key.insert(key.to_owned(), place.clone());
        place
    }
}

fn is_needed<V, E>(place: &Place<V, E>) -> bool {
    let is_recent =
        |last: &Option<(Moment, _)>| last.as_ref().is_some_and(|(at, _)| at.is_recent());
    // Whoever holds it may look.
    Arc::strong_count(place) > 1 || place.try_lock().is_ok_and(|last| is_recent(&last))
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, future::ready};

    use futures::FutureExt;
    use tokio::sync::oneshot;

    use super::*;

    type Found = Result<i32, Infallible>;

    async fn a_moment() {
        let began = Moment::now();
        while began.is_recent() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn what_was_found_holds_for_a_moment() {
        let looks = Looks::default();
        assert_eq!(looks.share("key", ready(Found::Ok(1))).await, Ok(1));
        assert_eq!(looks.share("other", ready(Ok(2))).await, Ok(2), "of another key");
        while looks.share("key", ready(Ok(3))).await == Ok(1) {
            tokio::task::yield_now().await;
        }
        assert_eq!(looks.share("key", ready(Ok(4))).await, Ok(3));
    }

    #[tokio::test]
    async fn who_comes_during_a_look_waits_for_it() {
        let looks = Looks::default();
        let (end, ended) = oneshot::channel();
        let mut first = Box::pin(looks.share("key", async { Found::Ok(ended.await.unwrap()) }));
        assert_eq!((&mut first).now_or_never(), None);
        let mut second = Box::pin(looks.share("key", ready(Ok(2))));
        assert_eq!((&mut second).now_or_never(), None);
        assert_eq!(looks.share("other", ready(Ok(4))).await, Ok(4), "another key waits for nobody");
        // What a look finds holds from its beginning.
        a_moment().await;
        end.send(1).unwrap();
        assert_eq!((first.await, second.await), (Ok(1), Ok(2)));
    }

    #[tokio::test]
    async fn who_waited_for_an_error_is_told_it() {
        let looks = Looks::default();
        let (end, ended) = oneshot::channel();
        let mut first = Box::pin(looks.share("key", async { Err::<i32, _>(ended.await.unwrap()) }));
        assert_eq!((&mut first).now_or_never(), None);
        let second = looks.share("key", ready(Ok(2)));
        a_moment().await;
        end.send("no database").unwrap();
        assert_eq!((first.await, second.await), (Err("no database"), Err("no database")));
    }

    #[tokio::test]
    async fn when_somebody_gives_up_the_next_looks() {
        let looks = Looks::default();
        let mut first = Box::pin(looks.share("key", std::future::pending()));
        assert_eq!((&mut first).now_or_never(), None);
        let mut second = Box::pin(looks.share("key", ready(Found::Ok(2))));
        assert_eq!((&mut second).now_or_never(), None);
        drop(first);
        assert_eq!(second.await, Ok(2));
    }

    #[tokio::test]
    async fn keys_that_nobody_asks_for_any_more_are_forgotten() {
        let looks = Looks::default();
        let count = || looks.places.lock().unwrap().by_key.len();
        for key in 0..FEW {
            looks.share(&key.to_string(), ready(Found::Ok(1))).await.unwrap();
        }
        a_moment().await;
        assert_eq!(count(), FEW);
        looks.share("another", ready(Ok(1))).await.unwrap();
        assert_eq!(count(), 1);
    }
}
