//! Looks at the database that several share.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::sync::Mutex as Turns;

/// Looks by what is looked for, one at a time for each.
///
/// Whoever comes while one is under way is told what the next one finds, which begins after they
/// came: so nobody is told what was so before they asked. A program that asks much at once with one
/// token costs one look in turn, not one for each request.
pub(in crate::web) struct Looks<V> {
    places: Mutex<HashMap<String, Arc<Place<V>>>>,
}

struct Place<V> {
    begun: AtomicU64,
    /// The number of the last look that ended, and what it found. Whoever has the lock looks.
    last: Turns<Option<(u64, V)>>,
}

impl<V> Default for Looks<V> {
    fn default() -> Self {
        Self { places: Mutex::default() }
    }
}

impl<V: Clone> Looks<V> {
    /// What `look` finds, or somebody else's look that began after this was called.
    pub(in crate::web) async fn share(&self, key: &str, look: impl Future<Output = V>) -> V {
        let place = self.place(key);
        let before = place.begun.load(Ordering::SeqCst);
        let mut last = place.last.lock().await;
        if let Some((number, found)) = &*last
            && *number > before
        {
            return found.clone();
        }
        let number = place.begun.fetch_add(1, Ordering::SeqCst) + 1;
        let found = look.await;
        *last = Some((number, found.clone()));
        found
    }

    fn place(&self, key: &str) -> Arc<Place<V>> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        // Of those that nobody uses nothing is kept.
        places.retain(|_, place| Arc::strong_count(place) > 1);
        let new = || Arc::new(Place { begun: AtomicU64::new(0), last: Turns::new(None) });
        places.entry(key.to_owned()).or_insert_with(new).clone()
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use futures::FutureExt;
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn who_comes_during_a_look_is_told_what_the_next_one_finds() {
        let looks = Looks::default();
        let (end, ended) = oneshot::channel();
        let mut first = Box::pin(looks.share("key", async { ended.await.unwrap() }));
        assert_eq!((&mut first).now_or_never(), None);
        let mut second = Box::pin(looks.share("key", ready(2)));
        let mut third = Box::pin(looks.share("key", ready(3)));
        assert_eq!((&mut second).now_or_never(), None);
        assert_eq!((&mut third).now_or_never(), None);
        assert_eq!(looks.share("other", ready(4)).await, 4, "another key waits for nobody");
        end.send(1).unwrap();
        assert_eq!((first.await, second.await, third.await), (1, 2, 2));
        assert_eq!(looks.share("key", ready(5)).await, 5, "what was found is not kept");
    }

    #[tokio::test]
    async fn when_somebody_gives_up_the_next_looks() {
        let looks = Looks::default();
        let mut first = Box::pin(looks.share("key", std::future::pending()));
        assert_eq!((&mut first).now_or_never(), None);
        let mut second = Box::pin(looks.share("key", ready(2)));
        assert_eq!((&mut second).now_or_never(), None);
        drop(first);
        assert_eq!(second.await, 2);
    }
}
