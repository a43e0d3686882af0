//! Limits how many names are looked up at once for one namespace.
//!
//! The system's name resolution keeps a thread until it has an answer or gives up, which may take
//! half a minute, and an attempt that times out does not cut it short. Without a limit, a namespace
//! whose names no server answers for would occupy all blocking threads of the runtime, and other
//! namespaces could neither look their names up nor have their templates rendered.

use std::{io, net::SocketAddr, sync::Arc};

use futures::future::BoxFuture;
use tokio::task::futures::TaskLocalFuture;
use uuid::Uuid;

use crate::bulkhead::Bulkhead;

/// Maximum number of concurrent lookups of one resolver: for all namespaces, and for each.
const MAX_AT_ONCE: usize = 128;
const MAX_OF_NAMESPACE: usize = 32;

tokio::task_local! {
    /// The namespace whose attempt this task carries out.
    static NAMESPACE: Uuid;
}

/// Looks a name up: addresses with port 0.
pub(super) type Lookup =
    dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync;

/// Does `work` for a namespace: what it looks up counts towards the limit of the namespace.
pub(in crate::target) fn for_namespace<F: Future>(
    namespace: Uuid,
    work: F,
) -> TaskLocalFuture<Uuid, F> {
    NAMESPACE.scope(namespace, work)
}

/// Starts a task that does `work` for the namespace of the current task, if that has one.
#[cfg(feature = "sqs")]
pub(in crate::target) fn spawn_for_same<F>(work: F)
where
    F: Future<Output = ()> + Send + 'static,
{
    match namespace() {
        Some(namespace) => tokio::spawn(for_namespace(namespace, work)),
        None => tokio::spawn(work),
    };
}

/// The namespace whose attempt the current task carries out.
pub(in crate::target) fn namespace() -> Option<Uuid> {
    NAMESPACE.try_with(|namespace| *namespace).ok()
}

/// The places for lookups.
pub(super) fn places() -> Bulkhead<Uuid> {
    Bulkhead::new(MAX_AT_ONCE, MAX_OF_NAMESPACE)
}

/// A lookup that is limited for each namespace; without one, it is not limited.
pub(super) fn limited(places: Bulkhead<Uuid>, lookup: Arc<Lookup>) -> Arc<Lookup> {
    let places = Arc::new(places);
    Arc::new(move |name: String| -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
        let holder = namespace();
        let (places, lookup) = (Arc::clone(&places), Arc::clone(&lookup));
        Box::pin(async move {
            let place = match holder {
                Some(holder) => Some(places.enter(holder).await),
                None => None,
            };
            // A task of its own, because the lookup occupies its thread until it ends, even if the
            // caller is gone.
            let found = tokio::spawn(async move {
                let _place = place;
                lookup(name).await
            });
            found.await.map_err(io::Error::other)?
        })
    })
}

#[cfg(test)]
mod tests {
    use std::{future::pending, time::Duration};

    use futures::FutureExt;

    use super::*;
    use crate::clock::Clock;

    #[tokio::test]
    async fn names_that_nobody_answers_for_delay_no_other_namespace() {
        let answer = |name: String| -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
            Box::pin(async move { if name == "hangs.test" { pending().await } else { Ok(vec![]) } })
        };
        let lookup = limited(Bulkhead::new(3, 2), Arc::new(answer));
        let ask = |namespace: u128, name: &str| {
            let (lookup, name) = (Arc::clone(&lookup), name.to_owned());
            for_namespace(Uuid::from_u128(namespace), async move { lookup(name).await })
        };
        for _ in 0..3 {
            // The caller gives up, and the lookup continues.
            assert!(ask(1, "hangs.test").now_or_never().is_none());
        }
        assert!(ask(2, "quick.test").await.is_ok());
        let (clock, short) = (Clock::system(), Duration::from_millis(20));
        assert!(clock.timeout(short, ask(1, "quick.test")).await.is_err(), "it has its two places");
        assert!(lookup("quick.test".to_owned()).await.is_ok(), "for no namespace");
    }
}
