//! The latest runs, live.

use leptos::prelude::*;

use crate::{
    api::Load,
    components::{AsyncView, RunTable},
    model::{Page, RunRow},
    state::Rows,
};

/// A table that fills itself.
#[component]
pub(super) fn Activity(load: Load<Page<RunRow>>, rows: Rows<RunRow>) -> impl IntoView {
    view! {
        <AsyncView
            load=load
            what="runs"
            is_empty=Signal::derive(move || rows.is_empty())
            empty=|| view! {
                <p class="empty-title">"Nothing has run yet"</p>
                <p>"Runs appear here by themselves when a schedule fires."</p>
            }
            let:_page
        >
            <RunTable rows=rows caption="Latest runs"/>
        </AsyncView>
    }
}
