//! What outlives a page, as contexts: one newtype each, given by `provide` and taken with its `use_...()`.
//!
//! - `session`: who is signed in
//! - `clock`: the tick that relative times follow
//! - `zone`: whose clock times are shown on
//! - `theme`: light, dark, or the system's
//! - `notices`: what just happened, said once and read aloud
//! - `memory`: the browser's storage
//! - `rows`: a list that events merge into
//! - `throttle`: many calls, one deed
//! - `title`: the document's title

mod clock;
mod memory;
mod notices;
mod rows;
mod session;
mod theme;
mod throttle;
mod title;
mod zone;

pub(crate) use clock::use_now;
pub(crate) use notices::{Notice, use_notices};
pub(crate) use rows::Rows;
pub(crate) use session::{SessionState, use_session};
pub(crate) use theme::{Theme, use_theme};
pub(crate) use throttle::Throttle;
pub(crate) use title::use_title;
pub(crate) use zone::{ZoneChoice, use_zone};

use leptos::prelude::*;

use crate::api::Socket;

/// The socket that all subscriptions share.
#[derive(Clone, Copy)]
struct SharedSocket(StoredValue<Socket, LocalStorage>);

/// Gives every context. Called once, by the app.
pub(crate) fn provide() {
    clock::provide();
    zone::provide();
    theme::provide();
    notices::provide();
    session::provide();
    provide_context(SharedSocket(StoredValue::new_local(Socket::new())));
}

pub(crate) fn use_socket() -> Socket {
    expect_context::<SharedSocket>().0.get_value()
}
