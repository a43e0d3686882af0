//! A signal filled by a request.
//!
//! What the request depends on is read inside `make`, so a change there asks again and aborts what was under way. Old data
//! stays while new data comes: a panel that refreshes does not blink. Going away aborts too.

use std::future::Future;

use futures::future::{AbortHandle, abortable};
use leptos::{prelude::*, task::spawn_local};

use super::Failure;
use crate::state::{Throttle, use_session};

/// What is loaded, what went wrong, and the way to ask again.
#[derive(Debug)]
pub(crate) struct Load<T: Send + Sync + 'static> {
    pub(crate) data: RwSignal<Option<T>>,
    pub(crate) failure: RwSignal<Option<Failure>>,
    again: RwSignal<u32>,
    throttle: Throttle,
}

impl<T: Send + Sync + 'static> Clone for Load<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Send + Sync + 'static> Copy for Load<T> {}

impl<T: Send + Sync + 'static> Load<T> {
    /// Asks again at once.
    pub(crate) fn reload(&self) {
        self.again.update(|count| *count = count.wrapping_add(1));
    }

    /// Asks again soon: many calls within a second make one request.
    pub(crate) fn refresh(&self) {
        let load = *self;
        self.throttle.run(move || load.reload());
    }
}

/// Loads with the future that `make` gives, now and whenever a signal that `make` read has changed. While `make` gives
/// `None` there is nothing to load.
pub(crate) fn use_load<T, F>(make: impl Fn() -> Option<F> + 'static) -> Load<T>
where
    T: Send + Sync + 'static,
    F: Future<Output = Result<T, Failure>> + 'static,
{
    let load = Load {
        data: RwSignal::new(None),
        failure: RwSignal::new(None),
        again: RwSignal::new(0),
        throttle: Throttle::new(1_000),
    };
    let session = use_session();
    let under_way = StoredValue::new(None::<AbortHandle>);
    let abort = move || {
        if let Some(Some(handle)) = under_way.try_update_value(Option::take) {
            handle.abort();
        }
    };
    Effect::new(move |_| {
        load.again.track();
        abort();
        let Some(future) = make() else { return };
        let (future, handle) = abortable(future);
        under_way.set_value(Some(handle));
        spawn_local(async move {
            // An aborted request says nothing: either the page has gone or a newer one is under way.
            let Ok(outcome) = future.await else { return };
            match outcome {
                Ok(data) => {
                    let _gone = load.failure.try_set(None);
                    let _gone = load.data.try_set(Some(data));
                }
                Err(failure) => {
                    session.notice(&failure);
                    let _gone = load.failure.try_set(Some(failure));
                }
            }
        });
    });
    on_cleanup(abort);
    load
}
