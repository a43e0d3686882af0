//! What the pages of Plan, Build and Settings have in common.
//!
//! - `form`: a form in a dialog or on a page that acts and says so
//! - `asked`: a dialog about a row
//! - `once`: what is shown a single time, and passwords for others
//! - `controls`: check boxes, tabs, hints

mod asked;
mod controls;
mod form;
mod once;

pub(super) use asked::{Asked, use_asked};
pub(super) use controls::{check, days_choice, empty, none, note, switch, tabs};
pub(super) use form::{Change, Wrong, form, instant, of, number};
pub(super) use once::{copy_button, new_password, shown_once};

use leptos::prelude::*;

use crate::state::{SessionState, use_address, use_session};

/// The namespace that the address names.
pub(super) fn use_namespace() -> Memo<String> {
    let address = use_address();
    Memo::new(move |_| {
        let name = address.query("ns");
        if name.is_empty() { "default".to_owned() } else { name }
    })
}

/// Whether whoever is signed in administers; tracked.
pub(super) fn administers() -> bool {
    matches!(use_session().get(), SessionState::SignedIn { role, .. } if role.administers())
}
