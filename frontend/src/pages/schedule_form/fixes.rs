//! The linter's warnings about the typed timing, each with a fix that one click applies.

use leptos::prelude::*;

use super::draft::Draft;
use crate::{
    components::{Choice, Glyph, icon},
    model::{Warning, sentence},
};

const GAPS: [Choice; 2] = [("shift", "Fire right after the gap"), ("skip", "Leave it out")];
const TWICE: [Choice; 3] =
    [("first", "The first time"), ("last", "In the second pass"), ("both", "Both times")];

/// A line for each warning; empty without warnings.
pub(super) fn fixes(warnings: &[Warning], draft: Draft) -> AnyView {
    if warnings.is_empty() {
        return ().into_any();
    }
    let lines: Vec<_> = warnings.iter().map(|warning| line(warning, draft)).collect();
    view! { <ul class="warnings" aria-label="Warnings">{lines}</ul> }.into_any()
}

fn line(warning: &Warning, draft: Draft) -> AnyView {
    let test = warning.is_never().then_some("never-fires");
    let fix = match warning.code.to_ascii_lowercase().as_str() {
        "dst_gap" | "wildcard_misses_gap" => {
            choices("When the clock skips the time", &GAPS, draft.gap)
        }
        "dst_overlap" | "wildcard_repeats" | "skips_repeated_hour" => {
            choices("When the time occurs twice", &TWICE, draft.overlap_hour)
        }
        _ => ().into_any(),
    };
    view! {
        <li data-testid=test data-code=warning.code.clone()>
            {icon(Glyph::Alert)}
            <span>{sentence(&warning.message)}{rewrite(warning, draft)}{fix}</span>
        </li>
    }
    .into_any()
}

/// The suggested replacement, applied to the expression that the warning is about.
fn rewrite(warning: &Warning, draft: Draft) -> AnyView {
    let Some(text) = warning.suggestion.clone() else { return ().into_any() };
    let index =
        warning.field.split_once('[').and_then(|(_, rest)| rest.trim_end_matches(']').parse().ok());
    let Some(index) = index.filter(|_| warning.field.contains("expressions")) else {
        return view! { " "<span class="suggestion">"Try "<code>{text}</code></span> }.into_any();
    };
    let shown = text.clone();
    let write = move |_| {
        let expression =
            draft.expressions.with_untracked(|all: &Vec<(String, RwSignal<String>)>| {
                all.get::<usize>(index).map(|(_, expression)| *expression)
            });
        if let Some(expression) = expression {
            expression.set(text.clone());
        }
    };
    view! { " "<button type="button" class="query-view" on:click=write>"Use "<code>{shown}</code></button> }
        .into_any()
}

fn choices(name: &'static str, all: &'static [Choice], field: RwSignal<String>) -> AnyView {
    let choice = move |(value, words): &Choice| {
        let (value, words) = (*value, *words);
        let is_chosen = move || field.with(|now| now == value).to_string();
        view! {
            <button type="button" class="query-view" aria-pressed=is_chosen on:click=move |_| field.set(value.to_owned())>
                {words}
            </button>
        }
        .into_any()
    };
    let all: Vec<_> = all.iter().map(choice).collect();
    view! { <span class="query-views" role="group" aria-label=name>{all}</span> }.into_any()
}
