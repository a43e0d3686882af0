//! The linter's words.

use leptos::prelude::*;

use crate::{
    api::sentence,
    components::{Glyph, Icon},
    model::Warning,
};

/// One line each, with what to write instead where there is something.
#[component]
pub(crate) fn WarningList(#[prop(into)] warnings: Signal<Vec<Warning>>) -> impl IntoView {
    view! {
        <Show when=move || warnings.with(|warnings| !warnings.is_empty())>
            <ul class="warnings" aria-label="Warnings">
                {move || {
                    warnings.get().into_iter().map(|warning| {
                        let test = warning.is_never().then_some("never-fires");
                        let suggestion = warning.suggestion.map(|text| view! {
                            " "<span class="suggestion">"Try "<code>{text}</code></span>
                        });
                        view! {
                            <li data-testid=test data-code=warning.code>
                                <Icon glyph=Glyph::Alert/>
                                <span>{sentence(&warning.message)}{suggestion}</span>
                            </li>
                        }
                    })
                    .collect_view()
                }}
            </ul>
        </Show>
    }
}
