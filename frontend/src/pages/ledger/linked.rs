//! The fire that a link names, as alerts and their messages do.

use leptos::prelude::*;

use crate::{
    api,
    data::{Load, use_load},
    model::LedgerRow,
    state::Address,
};

/// Loads the fire that the address names, and explains it. Alerts and their messages link to it. Once the explanation
/// is closed, the address names the ledger alone.
pub(super) fn use_linked(
    address: Address,
    open: RwSignal<bool>,
    meant: RwSignal<Option<LedgerRow>>,
) -> Load<Option<LedgerRow>> {
    let id = Memo::new(move |_| address.query("fire"));
    let linked = use_load(move || Some(api::fire(id.get())).filter(|_| !id.get().is_empty()));
    Effect::new(move |_| {
        if let Some(Some(fire)) = linked.get().map(|fire| Option::clone(&fire)) {
            meant.set(Some(fire));
            open.set(true);
        }
    });
    Effect::new(move |was: Option<bool>| {
        let is = open.get();
        if was == Some(true) && !is {
            address.replace(&address.with(&[("fire", "")]));
        }
        is
    });
    linked
}

pub(super) fn gone() -> AnyView {
    view! {
        <p class="panel-note" data-testid="fire-gone">
            "The fire of this link is no longer kept, or it is in a namespace that you may not see."
        </p>
    }
    .into_any()
}
