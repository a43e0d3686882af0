//! Offers what was typed for a version of the schedule that a newer version has replaced since.

use std::collections::{BTreeMap, BTreeSet};

use leptos::prelude::*;

use super::{draft::Draft, guard::LEFT_OUT};
use crate::{
    components::{Look, button, live},
    state::{Draft as KeptDraft, EarlierDraft, earlier_draft},
};

/// Maximum number of fields that the note names.
const MAX_NAMED: usize = 8;

/// The note with the offer; empty if there is no such input, or if it is what the form already shows. Input for the
/// current version is more recent, so it takes precedence.
pub(super) fn offer(draft: Draft, kept: KeptDraft, id: &str, version: i64) -> AnyView {
    let (is_restored, shown) = untrack(|| (kept.is_restored(), draft.kept()));
    let Some(earlier) = earlier_draft(id, version).filter(|_| !is_restored) else {
        return ().into_any();
    };
    let differs = differing(&earlier.text, &shown);
    if differs.is_empty() {
        earlier.forget();
        return ().into_any();
    }
    let words = note(&earlier, version, &differs);
    let (is_offered, earlier) = (RwSignal::new(true), StoredValue::new(earlier));
    // The fields that the input brings back belong to the form, not to the button.
    let owner = StoredValue::new(Owner::current());
    let take = move || {
        earlier.with_value(|earlier| {
            let restore = || draft.restore(&earlier.text);
            match owner.get_value() {
                Some(owner) => owner.with(restore),
                None => restore(),
            }
            earlier.forget();
        });
        is_offered.set(false);
        kept.came_back();
    };
    let discard = move || {
        earlier.with_value(EarlierDraft::forget);
        is_offered.set(false);
    };
    live(move || {
        if !is_offered.get() {
            return ().into_any();
        }
        view! {
            <p class="pause-note form-note" role="status" data-testid="earlier-draft">
                <span>{words.clone()}</span>
                {button(Look::Plain, None, "Use what was typed", take)}
                {button(Look::Plain, None, "Discard it", discard)}
            </p>
        }
        .into_any()
    })
}

fn note(earlier: &EarlierDraft, version: i64, differs: &[String]) -> String {
    let (listed, rest) = differs.split_at(differs.len().min(MAX_NAMED));
    let more = match rest.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "You had typed changes to version {}, and version {version} has replaced it since. What the form had then would replace these fields of it: {}{more}. That also undoes what only version {version} has changed.",
        earlier.version,
        listed.join(", "),
    )
}

/// The names of the fields that differ between two drafts, in alphabetical order. A text that is no draft differs in
/// nothing.
fn differing(one: &str, other: &str) -> Vec<String> {
    let read = |text: &str| serde_json::from_str::<BTreeMap<String, String>>(text).ok();
    let (Some(one), Some(other)) = (read(one), read(other)) else { return vec![] };
    let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let value = |of: &BTreeMap<String, String>, name: &String| of.get(name).cloned();
    names
        .into_iter()
        .filter(|&name| name.as_str() != LEFT_OUT)
        .filter(|&name| {
            value(&one, name).unwrap_or_default() != value(&other, name).unwrap_or_default()
        })
        .map(|name| name.replace('_', " "))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::differing;

    #[test]
    fn the_fields_that_differ_are_named_and_empty_ones_are_like_missing_ones() {
        let one = r#"{ "left_out": "password", "name": "a", "max_fires": "3", "note": "", "zone": "UTC" }"#;
        let other = r#"{ "name": "b", "zone": "UTC", "tags": "x" }"#;
        assert_eq!(differing(one, other), ["max fires", "name", "tags"]);
        assert!(differing(one, one).is_empty());
        assert!(differing("{", other).is_empty());
    }
}
