//! A value filled by a request.
//!
//! What the request depends on is read inside `make`, so a change there asks again and aborts what was under way. To be told
//! to load again is another thing: a request that is under way may end, and one more follows it, so a page that is told
//! often still gets its answers. Old data stays while new data comes: a panel that refreshes does not blink. Going away
//! aborts.

use std::{marker::PhantomData, rc::Rc, sync::Arc};

use leptos::{prelude::*, task::spawn_local};
use serde::de::DeserializeOwned;
use serde_json::Value;
use web_sys::AbortController;

use super::{feed::when_free, session};
use crate::{
    api::{self, Ask, Request},
    components::Waiting,
    model::Failure,
    state::{Held, Hold, Press, Session, Throttle, use_hold, use_press, use_session},
};

/// What is loaded, as a `T`.
pub(crate) struct Load<T> {
    pub(crate) loading: Loading,
    value: PhantomData<fn() -> T>,
}

impl<T> Clone for Load<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Load<T> {}

impl<T: Send + Sync + 'static> Load<T> {
    /// The data as far as it is there; tracked.
    pub(crate) fn get(self) -> Option<Arc<T>> {
        self.loading.data.try_get().flatten()?.get()
    }

    /// Something of the data; tracked.
    pub(crate) fn with<U>(self, take: impl FnOnce(&T) -> U) -> Option<U> {
        self.get().map(|data| take(&data))
    }

    /// A part of the page made of the data, and made again when that changes.
    pub(crate) fn draw(self, view: impl Fn(&T) -> AnyView + Send + Sync + 'static) -> AnyView {
        view! { {move || self.get().map(|data| view(&data))} }.into_any()
    }
}

/// How loading stands, whatever is loaded, and the way to ask again.
#[derive(Clone, Copy)]
pub(crate) struct Loading {
    data: RwSignal<Option<Held>>,
    failure: RwSignal<Option<Failure>>,
    work: StoredValue<Work, LocalStorage>,
    throttle: Throttle,
    session: Session,
    calm: (Press, Hold),
}

struct Work {
    make: Rc<dyn Fn() -> Option<Request>>,
    read: fn(Value) -> Result<Held, Failure>,
    watcher: Option<Rc<dyn Watcher>>,
    /// What the data was read from: the same once more changes nothing.
    answer: Value,
    under_way: Option<AbortController>,
    /// Counts the requests: the answer to an older one is not wanted any more.
    turn: u32,
    /// Told to load again while a request was under way.
    is_stale: bool,
    /// Told to load again while a pointer is down or lists are held: one such request waits, however often it is told.
    is_held_back: bool,
}

/// Who wants to know about each request, as a list does.
pub(super) trait Watcher {
    fn begun(&self);
    /// With the data, if it was answered.
    fn ended(&self, data: Option<Held>);
}

impl From<Loading> for Waiting {
    fn from(loading: Loading) -> Self {
        Self {
            has_data: Signal::derive(move || loading.has_data()),
            failure: loading.failure.into(),
            retry: Callback::new(move |()| loading.reload()),
        }
    }
}

impl Loading {
    pub(crate) fn has_data(self) -> bool {
        self.data.with(Option::is_some)
    }

    pub(crate) fn failure(self) -> Option<Failure> {
        self.failure.get()
    }

    /// Asks again: now, or when the request that is under way has ended.
    pub(crate) fn reload(self) {
        let make = self.work.try_update_value(|work| {
            work.is_stale = work.under_way.is_some();
            (!work.is_stale).then(|| work.make.clone())
        });
        if let Some(request) = make.flatten().and_then(|make| untrack(|| make())) {
            self.start(request);
        }
    }

    /// Asks again soon: many calls within a second make one request.
    pub(crate) fn refresh(self) {
        let (press, hold) = self.calm;
        self.throttle.run(move || {
            let hold_back = |work: &mut Work| std::mem::replace(&mut work.is_held_back, true);
            if self.work.try_update_value(hold_back) == Some(false) {
                when_free(press, hold, move || {
                    let _gone = self.work.try_update_value(|work| work.is_held_back = false);
                    self.reload();
                });
            }
        });
    }

    fn start(self, request: Request) {
        let begun = self.work.try_update_value(|work| {
            work.abort();
            work.turn = work.turn.wrapping_add(1);
            work.is_stale = false;
            work.under_way = AbortController::new().ok();
            let signal = work.under_way.as_ref().map(AbortController::signal);
            (work.turn, signal, work.watcher.clone())
        });
        let Some((turn, signal, watcher)) = begun else { return };
        if let Some(watcher) = watcher {
            watcher.begun();
        }
        spawn_local(async move {
            let outcome = request.send(signal).await;
            self.end(turn, outcome);
        });
    }

    fn end(self, turn: u32, outcome: Result<Value, Failure>) {
        let ended = self.work.try_update_value(|work| {
            let is_wanted = work.turn == turn && work.under_way.take().is_some();
            is_wanted.then(|| (work.is_stale, work.watcher.clone()))
        });
        // Either the page has gone, or a newer request is under way.
        let Some(Some((is_stale, watcher))) = ended else { return };
        let data = match outcome.and_then(|answer| self.take(answer)) {
            Ok(data) => {
                self.failure.set(None);
                Some(data)
            }
            Err(failure) => {
                session::notice(self.session, &failure);
                self.failure.set(Some(failure));
                None
            }
        };
        if let Some(watcher) = watcher {
            watcher.ended(data);
        }
        if is_stale {
            self.refresh();
        }
    }

    fn take(self, answer: Value) -> Result<Held, Failure> {
        let (is_same, read) = self.work.with_value(|work| (work.answer == answer, work.read));
        if let Some(data) = self.data.get_untracked().filter(|_| is_same) {
            return Ok(data);
        }
        let data = read(answer.clone())?;
        self.work.update_value(|work| work.answer = answer);
        self.data.set(Some(data.clone()));
        Ok(data)
    }
}

impl Work {
    fn abort(&mut self) {
        if let Some(controller) = self.under_way.take() {
            controller.abort();
        }
    }
}

/// Loads what `make` asks for, now and whenever a signal that `make` read has changed. While it gives `None` there is
/// nothing to load.
pub(crate) fn use_load<T>(make: impl Fn() -> Option<Ask<T>> + 'static) -> Load<T>
where
    T: DeserializeOwned + Send + Sync + 'static,
{
    watched(make, None)
}

/// The same, for a watcher.
pub(super) fn watched<T>(
    make: impl Fn() -> Option<Ask<T>> + 'static,
    watcher: Option<Rc<dyn Watcher>>,
) -> Load<T>
where
    T: DeserializeOwned + Send + Sync + 'static,
{
    let make = Rc::new(move || make().map(|ask| ask.request));
    let read = |answer| api::read::<T>(answer).map(Arc::new).map(Held::new);
    Load { loading: begin(make, read, watcher), value: PhantomData }
}

fn begin(
    make: Rc<dyn Fn() -> Option<Request>>,
    read: fn(Value) -> Result<Held, Failure>,
    watcher: Option<Rc<dyn Watcher>>,
) -> Loading {
    let loading = Loading {
        data: RwSignal::new(None),
        failure: RwSignal::new(None),
        work: StoredValue::new_local(Work {
            make: make.clone(),
            read,
            watcher,
            answer: Value::Null,
            under_way: None,
            turn: 0,
            is_stale: false,
            is_held_back: false,
        }),
        throttle: Throttle::new(1_000),
        session: use_session(),
        calm: (use_press(), use_hold()),
    };
    Effect::new(move |_| {
        if let Some(request) = make() {
            loading.start(request);
        }
    });
    on_cleanup(move || {
        let _gone = loading.work.try_update_value(Work::abort);
    });
    loading
}
