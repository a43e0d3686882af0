//! The last fires as a string of beads, oldest first: the pulse of a schedule at a glance.

use leptos::prelude::*;

use crate::components::Mark;

/// One bead: its state and what it says when pointed at.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bead {
    pub(crate) mark: Mark,
    pub(crate) title: String,
}

/// The string. Screen readers hear the sum.
#[component]
pub(crate) fn Beads(#[prop(into)] beads: Signal<Vec<Bead>>) -> impl IntoView {
    view! {
        <div class="beads" role="img" aria-label=move || beads.with(|beads| sum(beads))>
            {move || {
                beads.get().into_iter().map(|bead| view! {
                    <span class="bead" data-state=bead.mark.state() title=bead.title></span>
                })
                .collect_view()
            }}
        </div>
    }
}

fn sum(beads: &[Bead]) -> String {
    let mut counts: Vec<(&'static str, usize)> = Vec::new();
    for bead in beads {
        let word = bead.mark.word();
        match counts.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word, 1)),
        }
    }
    let parts: Vec<String> =
        counts.iter().map(|(word, count)| format!("{count} {}", word.to_lowercase())).collect();
    format!("The last {} fires: {}", beads.len(), parts.join(", "))
}
