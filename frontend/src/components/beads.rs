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
pub(crate) fn beads(beads: Vec<Bead>) -> AnyView {
    let name = sum(&beads);
    let bead = |bead: Bead| {
        view! { <span class="bead" data-state=bead.mark.state() title=bead.title></span> }
            .into_any()
    };
    view! {
        <div class="beads" role="img" aria-label=name>
            {beads.into_iter().map(bead).collect::<Vec<_>>()}
        </div>
    }
    .into_any()
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
