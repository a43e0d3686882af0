//! The last fires as a row of bars, oldest first: the recent history of a schedule at a glance.

use leptos::prelude::*;

use crate::components::Mark;

/// One past fire: its state and its tooltip.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PastFire {
    pub(crate) mark: Mark,
    pub(crate) title: String,
}

/// The bars. Screen readers hear the summary.
pub(crate) fn fire_history(fires: Vec<PastFire>) -> AnyView {
    let name = sum(&fires);
    let past = |past: PastFire| {
        view! { <span class="past-fire" data-state=past.mark.state() title=past.title></span> }
            .into_any()
    };
    view! {
        <div class="fire-history" role="img" aria-label=name>
            {fires.into_iter().map(past).collect::<Vec<_>>()}
        </div>
    }
    .into_any()
}

fn sum(fires: &[PastFire]) -> String {
    let mut counts: Vec<(&'static str, usize)> = Vec::new();
    for past in fires {
        let word = past.mark.word();
        match counts.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word, 1)),
        }
    }
    let parts: Vec<String> =
        counts.iter().map(|(word, count)| format!("{count} {}", word.to_lowercase())).collect();
    format!("The last {} fires: {}", fires.len(), parts.join(", "))
}
