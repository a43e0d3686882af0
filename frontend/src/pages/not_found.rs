//! The page for an unknown address.

use leptos::prelude::*;

use crate::{route::Route, state::use_title};

/// The page for an unknown address.
#[component]
pub(crate) fn NotFound() -> impl IntoView {
    use_title(|| "Not found".to_owned());
    view! {
        <div class="page-narrow not-found">
            <h1>"Nothing rings here"</h1>
            <p>"There is no page at this address. It may be misspelt, or its subject may have been deleted."</p>
            <p class="actions">
                <a class="button" href=Route::Overview.path()>"Overview"</a>
                <a class="button" href=Route::Schedules.path()>"Schedules"</a>
            </p>
        </div>
    }
}
