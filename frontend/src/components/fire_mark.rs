//! The effect of a clock change on a fire.

use leptos::prelude::*;

use crate::model::FireKind;

/// The mark of a fire; empty for an ordinary one.
pub(crate) fn fire_mark(kind: FireKind) -> AnyView {
    let (words, title) = match kind {
        FireKind::Normal => return ().into_any(),
        FireKind::Shifted => (
            "shifted",
            "This local time does not exist: the clocks go forward. It fires right after the gap.",
        ),
        FireKind::FirstOfTwo => (
            "1st of 2",
            "This local time occurs twice: the clocks go back. This is the first time.",
        ),
        FireKind::SecondOfTwo => (
            "2nd of 2",
            "This local time occurs twice: the clocks go back. This is the second time.",
        ),
    };
    view! { <span class="fire-mark" title=title>{words}</span> }.into_any()
}
