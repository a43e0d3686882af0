//! The length of a list, counted apart from its page.
//!
//! A page reads its own rows, but a count reads all that match. So the page comes first; the length of a list that does
//! not fit on it is requested once the page has been drawn. Until it is known, the last one stays.

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
        listing.drawn.track();
        untrack(|| (on_page() == Some(None)).then(|| count()))
    });
    Signal::derive(move || {
        let is_known = counted.loading.failure().is_none();
        on_page()?.or_else(|| counted.with(|total| *total).filter(|_| is_known))
    })
}
