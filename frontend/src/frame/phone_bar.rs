//! The pages on a phone: those that a user needs away from a desk. The others are behind "More".

use leptos::prelude::*;

use super::rail::{PAGES, groups, link};
use crate::{
    components::{Glyph, icon, menu},
    route::Route,
};

/// The bar at the bottom.
#[component]
pub(crate) fn PhoneBar() -> impl IntoView {
    let is_first = |route: &Route| {
        matches!(route, Route::Overview | Route::Schedules | Route::Runs | Route::Alerts)
    };
    let first: Vec<_> = PAGES.iter().filter(|page| is_first(&page.route)).map(link).collect();
    let more = view! { {icon(Glyph::Menu)}<span>"More"</span> };
    view! {
        <nav class="phone-bar" aria-label="Pages">
            <ul>{first}</ul>
            {menu("", more.into_any(), groups().into_any())}
        </nav>
    }
}
