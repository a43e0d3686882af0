//! A choice that the server keeps for the user, and the browser for the time before the server has answered.
//!
//! What the user chooses takes effect at once, and is then sent. The server's answer replaces only what the browser
//! remembers, never what was chosen since the page was opened. This module does not know the server: `data` sends.

use leptos::prelude::*;

/// Where the value of a choice comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// From the browser or the server.
    Remembered,
    /// From the user; the server does not know it yet.
    Unsent,
    /// From the user; the server has answered.
    Sent,
}

/// The choice, to read and to change.
#[derive(Clone, Copy)]
pub(crate) struct Personal<T> {
    value: RwSignal<T>,
    origin: RwSignal<Origin>,
    /// Keeps the value in the browser.
    remember: fn(T),
}

impl<T: Copy + PartialEq + Send + Sync + 'static> Personal<T> {
    /// A choice with the value that the browser remembers.
    pub(super) fn new(remembered: T, remember: fn(T)) -> Self {
        Self {
            value: RwSignal::new(remembered),
            origin: RwSignal::new(Origin::Remembered),
            remember,
        }
    }

    /// The value; tracked.
    pub(crate) fn get(self) -> T {
        self.value.get()
    }

    /// Takes a value that the user has chosen.
    pub(crate) fn choose(self, value: T) {
        self.set(value);
        self.origin.set(Origin::Unsent);
    }

    /// Takes the value that the server keeps, unless the user has chosen one here.
    pub(crate) fn adopt(self, kept: T) {
        let is_open = self.origin.get_untracked() == Origin::Remembered;
        if is_open && self.value.get_untracked() != kept {
            self.set(kept);
        }
    }

    /// The value, if the server does not know it yet; tracked.
    pub(crate) fn unsent(self) -> Option<T> {
        (self.origin.get() == Origin::Unsent).then(|| self.value.get())
    }

    /// Notes that a value was sent. If the user has chosen another one since, that one is still to be sent.
    pub(crate) fn sent(self, sent: T) {
        if self.value.get_untracked() == sent {
            self.origin.set(Origin::Sent);
        }
    }

    /// Notes that the user has signed out: what was sent is no choice of the next user. What was chosen but not sent
    /// stays, so that it is not lost if the session ended by itself.
    pub(crate) fn leave(self) {
        if self.origin.get_untracked() == Origin::Sent {
            self.origin.set(Origin::Remembered);
        }
    }

    fn set(self, value: T) {
        (self.remember)(value);
        self.value.set(value);
    }
}
