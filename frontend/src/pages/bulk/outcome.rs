//! What an action matches, and what became of it.

use leptos::prelude::*;

use super::Kind;
use crate::{
    model::{ManyOutcome, Match},
    time::amount,
};

/// The consequences of deleting schedules.
const DELETED: &str = "They stop firing, and their backfills stop. Live runs continue to their end, and the history \
    is kept until retention removes it. Each can be restored for 7 days.";

/// The matches of an action before it is performed.
pub(super) fn counted(kind: Kind, outcome: &ManyOutcome) -> AnyView {
    if outcome.too_many {
        let words = "The search matches more than 10,000. Narrow it.";
        return view! { <p class="form-error">{words}</p> }.into_any();
    }
    let names: Vec<&str> = outcome.sample.iter().map(Match::title).collect();
    let rest = outcome.matched - i64::try_from(names.len()).unwrap_or(0);
    let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    view! {
        <p role="status">
            {kind.words().0}" "<strong>{kind.count_words(outcome.matched)}</strong>": "
            {names.join(", ")}{rest}"."{would_be_refused(outcome)}
        </p>
        {(kind == Kind::Delete).then(|| view! { <p>{DELETED}</p> })}
        {refusals("Would be refused", outcome)}
    }
    .into_any()
}

/// For how many of the matches the action would be refused; empty if for none.
fn would_be_refused(outcome: &ManyOutcome) -> String {
    if outcome.refused == 0 {
        return String::new();
    }
    let refused = amount(outcome.refused, "would be refused", "would be refused");
    format!(" {refused}.")
}

/// The outcome of an action of which something was refused.
pub(super) fn over_words(kind: Kind, outcome: &ManyOutcome) -> String {
    let refused = amount(outcome.refused, "was refused", "were refused");
    format!("{}, {refused}.", kind.done_words(outcome.done))
}

/// The first refusals, if there are any, as a list with this label.
pub(super) fn refusals(label: &'static str, outcome: &ManyOutcome) -> AnyView {
    let line = |text: &String| view! { <li>{text.clone()}</li> }.into_any();
    let texts: Vec<_> = outcome.refusals.iter().map(|refusal| &refusal.message).take(10).collect();
    if texts.is_empty() {
        return ().into_any();
    }
    let lines: Vec<_> = texts.into_iter().map(line).collect();
    view! { <ul class="refusals" aria-label=label>{lines}</ul> }.into_any()
}
