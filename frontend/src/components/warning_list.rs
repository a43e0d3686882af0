//! The linter's warnings.

use leptos::prelude::*;

use super::{Glyph, icon};
use crate::model::{Warning, sentence};

/// A line for each warning, with its suggestion if there is one; empty without warnings.
pub(crate) fn warning_list<'a>(warnings: impl Iterator<Item = &'a Warning>) -> AnyView {
    let lines: Vec<AnyView> = warnings.map(line).collect();
    if lines.is_empty() {
        return ().into_any();
    }
    view! { <ul class="warnings" aria-label="Warnings">{lines}</ul> }.into_any()
}

fn line(warning: &Warning) -> AnyView {
    let test = warning.is_never().then_some("never-fires");
    let suggestion = warning.suggestion.clone().map(|text| {
        view! { " "<span class="suggestion">"Try "<code>{text}</code></span> }.into_any()
    });
    view! {
        <li data-testid=test data-code=warning.code.clone()>
            {icon(Glyph::Alert)}
            <span>{sentence(&warning.message)}{suggestion}</span>
        </li>
    }
    .into_any()
}
