//! Live lists held still. What comes meanwhile is counted, and shown when one lets go.

use leptos::prelude::*;

/// Whether everything that lives is held, and how much waits.
#[derive(Clone, Copy)]
pub(crate) struct Hold {
    held: RwSignal<bool>,
    waiting: RwSignal<usize>,
}

impl Hold {
    pub(crate) fn is_held(self) -> bool {
        self.held.get()
    }

    pub(crate) fn waiting(self) -> usize {
        self.waiting.get()
    }

    /// Holds, or lets go.
    pub(crate) fn turn(self) {
        self.held.update(|held| *held = !*held);
        self.waiting.set(0);
    }

    /// Lets go: another page begins with what there is.
    pub(crate) fn let_go(self) {
        if self.held.get_untracked() {
            self.turn();
        }
    }

    /// Something has come that is not shown yet.
    pub(crate) fn count(self) {
        if self.held.get_untracked() {
            self.waiting.update(|waiting| *waiting += 1);
        }
    }
}

pub(super) fn provide() {
    provide_context(Hold { held: RwSignal::new(false), waiting: RwSignal::new(0) });
}

pub(crate) fn use_hold() -> Hold {
    expect_context()
}
