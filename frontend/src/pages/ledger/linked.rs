//! The fire that a link names, as alerts and their messages do.

use leptos::prelude::*;

use crate::{
    api,
    components::live,
    data::{Load, use_load},
    model::{Code, LedgerRow},
    state::Address,
};

/// Loads the fire that the address names, and explains it. Alerts and their messages link to it. Once the explanation
/// is closed, the address names the ledger alone.
pub(super) fn use_linked(
    address: Address,
    open: RwSignal<bool>,
    meant: RwSignal<Option<LedgerRow>>,
) -> Load<LedgerRow> {
    let id = Memo::new(move |_| address.query("fire"));
    let linked = use_load(move || Some(api::fire(id.get())).filter(|_| !id.get().is_empty()));
    Effect::new(move |_| {
        if let Some(fire) = linked.get() {
            meant.set(Some(LedgerRow::clone(&fire)));
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

/// Says that the fire of the link is not found, if so.
pub(super) fn gone(linked: Load<LedgerRow>) -> AnyView {
    live(move || {
        let failure = linked.loading.failure();
        if !failure.is_some_and(|f| matches!(f.code, Code::NotFound | Code::BadUserInput)) {
            return ().into_any();
        }
        view! {
            <p class="panel-note" data-testid="fire-gone">
                "The fire of this link is no longer kept, or it is in a namespace that you may not see."
            </p>
        }
        .into_any()
    })
}
