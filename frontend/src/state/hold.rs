//! Holds live lists still. Changes that arrive meanwhile are counted, and shown when the lists are
//! released.

use leptos::prelude::*;

/// Whether live lists are held, and how many changes wait.
#[derive(Clone, Copy)]
pub(crate) struct Hold {
    held: RwSignal<bool>,
    waiting: RwSignal<usize>,
}

impl Hold {
    /// Lists that are not held.
    pub(crate) fn new() -> Self {
        Self { held: RwSignal::new(false), waiting: RwSignal::new(0) }
    }

    pub(crate) fn is_held(self) -> bool {
        self.held.get()
    }

    pub(crate) fn waiting(self) -> usize {
        self.waiting.get()
    }

    /// Holds the lists, or releases them.
    pub(crate) fn turn(self) {
        self.held.update(|held| *held = !*held);
        self.waiting.set(0);
    }

    /// Releases the lists, because a new page starts with current data.
    pub(crate) fn let_go(self) {
        if self.held.get_untracked() {
            self.turn();
        }
    }

    /// Counts a change that is not shown yet.
    pub(crate) fn count(self) {
        if self.held.get_untracked() {
            self.waiting.update(|waiting| *waiting += 1);
        }
    }
}

pub(super) fn provide() {
    provide_context(Hold::new());
}

pub(crate) fn use_hold() -> Hold {
    expect_context()
}
