//! Shared parts of the pages of Plan, Build and Settings.
//!
//! - `form`: a form, in a dialog or on a page, that sends a change and shows its outcome
//! - `asked`: a dialog about a row
//! - `once`: values that are shown only once, and passwords for other users
//! - `kept`: the fields of a form, kept until they are sent
//! - `restored`: the note above a form whose earlier input was restored
//! - `picked`: the namespace of a page that shows only one
//! - `places`: the namespace of a row
//! - `acknowledgement`: acknowledging an alert or a problem
//! - `controls`: check boxes, tabs, hints
//! - `new_dialog`: a link to the dialog that creates an object
//! - `name_field`: the field that narrows a list to names with a text
//! - `in_use`: what stands in the way of a deletion
//! - `secrets_key`: what to set on a server that has no key for secrets
//! - `sessions`: the forms that end sessions
//! - `versions`: pages of the versions of a definition

mod acknowledgement;
mod asked;
mod controls;
mod form;
mod in_use;
mod kept;
mod name_field;
mod new_dialog;
mod once;
mod picked;
mod places;
mod restored;
mod secrets_key;
mod sessions;
mod versions;

pub(super) use acknowledgement::{Acknowledged, acknowledge_form};
pub(super) use asked::{Asked, use_asked};
pub(super) use controls::{check, cut_note, days_choice, empty, none, note, switch, tabs};
pub(super) use form::{
    Change, Wrong, form, form_view, general_error, instant, kept_form, number, of, on_submit,
    refuse,
};
pub(super) use in_use::in_use;
pub(super) use kept::{KeptFields, KeptForm};
pub(super) use name_field::{name_field, named_with};
pub(super) use new_dialog::open_if_asked;
pub(super) use once::{copy_button, new_password, shown_once};
pub(super) use picked::{picker, use_picked};
pub(super) use places::{place_cell, place_note, placed};
pub(super) use restored::restored;
pub(super) use secrets_key::{no_secrets_key, use_known_secrets_key, use_secrets_key};
pub(super) use sessions::{end_session_form, end_sessions_form};
pub(super) use versions::{use_first_version, version_pager};

use leptos::prelude::*;

use crate::{
    data::Load,
    model::Role,
    route::Scope,
    state::{use_address, use_session},
};

/// The current namespace, for a page of one namespace. From the view of all namespaces, the user is
/// redirected to the last visited one, which the header then shows.
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

/// Opens the page of an object in the object's namespace. From the view of all namespaces, the user
/// is redirected to that namespace, so that the page offers the actions that the user's role there
/// allows.
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

/// Whether the signed-in user is an administrator of the current namespace; tracked.
pub(super) fn administers() -> bool {
    use_session().role().is_some_and(Role::administers)
}
