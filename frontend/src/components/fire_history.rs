//! The last fires as a string of fire_history, oldest first: the pulse of a schedule at a glance.

use leptos::prelude::*;

use crate::components::Mark;

/// One past: its state and what it says when pointed at.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PastFire {
    pub(crate) mark: Mark,
    pub(crate) title: String,
}

/// The string. Screen readers hear the sum.
pub(crate) fn fire_history(fire_history: Vec<PastFire>) -> AnyView {
    let name = sum(&fire_history);
    let past = |past: PastFire| {
        view! { <span class="past" data-state=past.mark.state() title=past.title></span> }
            .into_any()
    };
    view! {
        <div class="fire_history" role="img" aria-label=name>
            {fire_history.into_iter().map(past).collect::<Vec<_>>()}
        </div>
    }
    .into_any()
}

fn sum(fire_history: &[PastFire]) -> String {
    let mut counts: Vec<(&'static str, usize)> = Vec::new();
    for past in fire_history {
        let word = past.mark.word();
        match counts.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word, 1)),
        }
    }
    let parts: Vec<String> =
        counts.iter().map(|(word, count)| format!("{count} {}", word.to_lowercase())).collect();
    format!("The last {} fires: {}", fire_history.len(), parts.join(", "))
}
