//! A value that a request fills.
//!
//! `make` reads the request's inputs. When one of them changes, a new request is sent and the running one is aborted.
//! It is also aborted when there is nothing to ask any more, so that its answer is not taken for that of a later one.
//! A reload is different: it lets a running request finish and sends one more after it, so a page that often reloads
//! still gets its answers. Old data stays on the screen while new data loads, so a panel that reloads does not
//! flicker. Leaving the page aborts the request.
//!
//! Events and timers `refresh`: that waits while lists are held. What the user has done is followed by a `reload`, which
//! does not: an action must not seem to have had no effect.

use std::{marker::PhantomData, rc::Rc, sync::Arc};

use leptos::{prelude::*, task::spawn_local};
use serde::de::DeserializeOwned;
use serde_json::Value;
use web_sys::AbortController;

use super::{feed::when_free, session};
use crate::{
    api::{self, Answer, Ask, Request},
    components::Waiting,
    model::Failure,
    state::{Held, Hold, Press, Session, Showing, Throttle, use_hold, use_press, use_session},
};

/// A request whose answer is deserialized as a `T`.
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
    /// The data once it has arrived; tracked.
    pub(crate) fn get(self) -> Option<Arc<T>> {
        self.loading.data.try_get().flatten()?.get()
    }

    /// Takes a value from the data; tracked.
    pub(crate) fn with<U>(self, take: impl FnOnce(&T) -> U) -> Option<U> {
        self.get().map(|data| take(&data))
    }

    /// A part of the page that is drawn from the data, and redrawn when the data changes.
    pub(crate) fn draw(self, view: impl Fn(&T) -> AnyView + Send + Sync + 'static) -> AnyView {
        view! { {move || self.get().map(|data| view(&data))} }.into_any()
    }
}

/// The loading state of some data, and a way to reload the data.
#[derive(Clone, Copy)]
pub(crate) struct Loading {
    data: RwSignal<Option<Held>>,
    failure: RwSignal<Option<Failure>>,
    is_asking: RwSignal<bool>,
    work: StoredValue<Work, LocalStorage>,
    throttle: Throttle,
    session: Session,
    calm: (Press, Hold),
}

struct Work {
    make: Rc<dyn Fn() -> Option<Request>>,
    read: fn(Value) -> Result<Held, Failure>,
    watcher: Option<Rc<dyn Watcher>>,
    /// The answer that the data comes from. An equal answer changes nothing, so it is not deserialized.
    answer: Option<Answer>,
    under_way: Option<AbortController>,
    /// The number of the latest request. The answer to an older request is ignored.
    turn: u32,
    /// The reload that was requested while a request was running.
    stale: Stale,
    /// Whether a reload was requested while a pointer was pressed or lists were held. Only one reload waits, however
    /// often it is requested.
    is_held_back: bool,
}

/// A reload that follows the running request, by its cause. The later cause is the stronger one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stale {
    No,
    /// An event or a timer.
    ByItself,
    /// The user.
    ByUser,
}

/// A listener for the beginning and end of each request, for lists.
pub(super) trait Watcher {
    fn begun(&self);
    /// Called when the request has ended, with the data if it succeeded.
    fn ended(&self, data: Option<Held>, showing: Showing);
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

    /// Whether a request is running, so that the data or the failure may be about an earlier one; tracked.
    pub(crate) fn is_asking(self) -> bool {
        self.is_asking.get()
    }

    /// Reloads the data because of what the user has done: now, or once the running request has ended.
    pub(crate) fn reload(self) {
        self.ask_again(Stale::ByUser);
    }

    fn ask_again(self, cause: Stale) {
        let make = self.work.try_update_value(|work| {
            let is_free = work.under_way.is_none();
            if !is_free {
                work.stale = work.stale.max(cause);
            }
            is_free.then(|| work.make.clone())
        });
        if let Some(request) = make.flatten().and_then(|make| untrack(|| make())) {
            self.start(request, Showing::OnBeat);
        }
    }

    /// Reloads the data soon, because of an event or a timer: all calls within a second cause one request, which waits
    /// while lists are held.
    pub(crate) fn refresh(self) {
        let (press, hold) = self.calm;
        self.throttle.run(move || {
            let hold_back = |work: &mut Work| std::mem::replace(&mut work.is_held_back, true);
            if self.work.try_update_value(hold_back) == Some(false) {
                when_free(press, hold, move || {
                    let _gone = self.work.try_update_value(|work| work.is_held_back = false);
                    self.ask_again(Stale::ByItself);
                });
            }
        });
    }

    fn start(self, request: Request, showing: Showing) {
        let begun = self.work.try_update_value(|work| {
            work.abort();
            work.turn = work.turn.wrapping_add(1);
            work.stale = Stale::No;
            work.under_way = AbortController::new().ok();
            let signal = work.under_way.as_ref().map(AbortController::signal);
            (work.turn, signal, work.watcher.clone())
        });
        let Some((turn, signal, watcher)) = begun else { return };
        self.set_asking(true);
        if let Some(watcher) = watcher {
            watcher.begun();
        }
        spawn_local(async move {
            let outcome = request.send(signal).await;
            self.end(turn, outcome, showing);
        });
    }

    /// Asks nothing: neither the answer to the running request nor the last failure is about what is asked next.
    fn stop(self) {
        let _gone = self.work.try_update_value(|work| {
            work.abort();
            work.stale = Stale::No;
        });
        self.set_asking(false);
        if self.failure.with_untracked(Option::is_some) {
            self.failure.set(None);
        }
    }

    fn set_asking(self, is_asking: bool) {
        if self.is_asking.get_untracked() != is_asking {
            self.is_asking.set(is_asking);
        }
    }

    fn end(self, turn: u32, outcome: Result<Answer, Failure>, showing: Showing) {
        let ended = self.work.try_update_value(|work| {
            let is_wanted = work.turn == turn && work.under_way.take().is_some();
            is_wanted.then(|| (work.stale, work.watcher.clone()))
        });
        // Without a state, the page has been left. If the turn differs, a newer request is running.
        let Some(Some((stale, watcher))) = ended else { return };
        let data = match outcome.and_then(|answer| self.take(answer)) {
            Ok(data) => {
                if self.failure.with_untracked(Option::is_some) {
                    self.failure.set(None);
                }
                Some(data)
            }
            Err(failure) => {
                session::notice(self.session, &failure);
                self.failure.set(Some(failure));
                None
            }
        };
        self.set_asking(false);
        if let Some(watcher) = watcher {
            watcher.ended(data, showing);
        }
        match stale {
            Stale::No => {}
            Stale::ByItself => self.refresh(),
            Stale::ByUser => self.reload(),
        }
    }

    fn take(self, answer: Answer) -> Result<Held, Failure> {
        let known = |work: &Work| (work.answer.as_ref() == Some(&answer), work.read);
        let (is_same, read) = self.work.with_value(known);
        if let Some(data) = self.data.get_untracked().filter(|_| is_same) {
            return Ok(data);
        }
        let data = answer.value().and_then(read)?;
        self.work.update_value(|work| work.answer = Some(answer));
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

/// Loads the request that `make` returns, now and whenever a signal that `make` has read changes. While it returns
/// `None`, there is nothing to load.
pub(crate) fn use_load<T>(make: impl Fn() -> Option<Ask<T>> + 'static) -> Load<T>
where
    T: DeserializeOwned + Send + Sync + 'static,
{
    watched(make, None)
}

/// Loads like `use_load`, and notifies a watcher.
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
        is_asking: RwSignal::new(false),
        work: StoredValue::new_local(Work {
            make: make.clone(),
            read,
            watcher,
            answer: None,
            under_way: None,
            turn: 0,
            stale: Stale::No,
            is_held_back: false,
        }),
        throttle: Throttle::new(1_000),
        session: use_session(),
        calm: (use_press(), use_hold()),
    };
    Effect::new(move |_| match make() {
        Some(request) => loading.start(request, Showing::Now),
        None => loading.stop(),
    });
    on_cleanup(move || {
        let _gone = loading.work.try_update_value(Work::abort);
    });
    loading
}
