//! What the pages of Plan, Build and Settings have in common.
//!
//! - `form`: a form in a dialog or on a page that acts and says so
//! - `asked`: a dialog about a row
//! - `once`: what is shown a single time, and passwords for others
//! - `restored`: the note above a form with what was typed before
//! - `places`: where rows lie
//! - `controls`: check boxes, tabs, hints

mod asked;
mod controls;
mod form;
mod once;
mod places;
mod restored;

pub(super) use asked::{Asked, use_asked};
pub(super) use controls::{check, days_choice, empty, none, note, switch, tabs};
pub(super) use form::{Change, Wrong, form, instant, number, of};
pub(super) use once::{copy_button, new_password, shown_once};
pub(super) use places::{place_cell, placed};
pub(super) use restored::restored;

use leptos::prelude::*;

use crate::{
    data::Load,
    model::Role,
    route::Scope,
    state::{use_address, use_session},
};

/// The namespace that one looks into, for a page of one: across all of them one is led to the one that one was in
/// last, and the header says so.
pub(super) fn use_namespace() -> Memo<String> {
    let (address, session) = (use_address(), use_session());
    let home = move || session.viewer().map(|viewer| viewer.home(address.remembered()));
    Effect::new(move |_| {
        if let (Some(Scope::All), Some(home)) = (address.scope(), home()) {
            address.complete(&Scope::One(home));
        }
    });
    Memo::new(move |_| {
        let namespace = address.namespace();
        if namespace.is_empty() { home().unwrap_or_default() } else { namespace }
    })
}

/// The page of one thing is of the namespace that it lies in: across all of them one is led there, so that what it offers
/// is what one may do there.
pub(super) fn settle<T: Send + Sync + 'static>(load: Load<T>, namespace: fn(&T) -> &str) {
    let address = use_address();
    Effect::new(move |_| {
        if address.is_across()
            && let Some(namespace) = load.with(|found| namespace(found).to_owned())
        {
            address.complete(&Scope::One(namespace));
        }
    });
}

/// Whether whoever is signed in administers where they look; tracked.
pub(super) fn administers() -> bool {
    use_session().role().is_some_and(Role::administers)
}
