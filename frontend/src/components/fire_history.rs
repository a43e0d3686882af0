//! The last fires as a row of bars, oldest first: the recent history of a schedule at a glance.

use leptos::{ev::MouseEvent, prelude::*};
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use super::{
    Mark,
    shapes::{HEIGHT, column, outlines, slots, view_box},
};

/// The bars, by the states of the fires. Screen readers hear the summary. `title` returns the tooltip of the fire at
/// a place, for the bar under the pointer. Without fires, the space of the bars stays empty.
pub(crate) fn fire_history(
    fires: &[Mark],
    title: impl Fn(usize) -> Option<String> + 'static,
) -> AnyView {
    if fires.is_empty() {
        return view! { <div class="fire-history"></div> }.into_any();
    }
    let bars: Vec<_> = fires.iter().map(|mark| (mark.state(), HEIGHT)).collect();
    let slots = slots(fires.len());
    let point: Box<dyn FnMut(MouseEvent)> = Box::new(move |event| {
        let row = event.current_target().and_then(|row| row.dyn_into::<HtmlElement>().ok());
        let Some(row) = row else { return };
        let at = column(event.offset_x(), row.offset_width(), slots);
        let _unchanged = match at.and_then(|at| title(at)) {
            Some(title) => row.set_attribute("title", &title),
            None => row.remove_attribute("title"),
        };
    });
    view! {
        <div class="fire-history" role="img" aria-label=sum(fires) on:mousemove=point>
            <svg viewBox=view_box(fires.len()) preserveAspectRatio="none" aria-hidden="true">
                {outlines(&bars, 0)}
            </svg>
        </div>
    }
    .into_any()
}

fn sum(fires: &[Mark]) -> String {
    let mut counts: Vec<(&'static str, usize)> = Vec::new();
    for mark in fires {
        let word = mark.word();
        match counts.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word, 1)),
        }
    }
    let parts: Vec<String> = counts
        .iter()
        .map(|(word, count)| format!("{count} {}", word.to_ascii_lowercase()))
        .collect();
    format!("The last {} fires: {}", fires.len(), parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{RunState, Verdict};

    #[test]
    fn the_summary_counts_the_fires_by_their_word() {
        let succeeded = Mark::Run(RunState::Succeeded);
        let fires = [succeeded, Mark::Verdict(Verdict::Missed), succeeded];
        assert_eq!(sum(&fires), "The last 3 fires: 2 succeeded, 1 missed");
    }
}
