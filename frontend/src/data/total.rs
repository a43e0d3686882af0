//! The length of a list, counted apart from its page.
//!
//! A page only reads its own rows, but a count reads all matches. So the page comes first. If the list does not fit
//! on the page, its length is requested once the page has been drawn. Until the new length is known, the last one
//! stays visible.

use leptos::prelude::*;

use super::{Listing, use_load};
use crate::{api::Ask, model::Row};

/// The length of a list, if it is known; tracked. `count` requests it.
pub(crate) fn use_total<T: Row>(
    listing: Listing<T>,
    count: impl Fn() -> Ask<i64> + 'static,
) -> Signal<Option<i64>> {
    let on_page = move || listing.load.with(|page| page.total);
    let counted = use_load(move || {
        let _answers = listing.drawn();
        untrack(|| (on_page() == Some(None)).then(|| count()))
    });
    Signal::derive(move || {
        let is_known = counted.loading.failure().is_none();
        on_page()?.or_else(|| counted.with(|total| *total).filter(|_| is_known))
    })
}
