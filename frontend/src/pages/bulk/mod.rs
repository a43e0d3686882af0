//! One order for many schedules: those that are chosen on this page, or all that the search finds.
//!
//! First the order is only counted, and one sees how many are meant and what would be refused. What is sent then names that
//! number: where another one is found meanwhile, nothing is done. An order that takes longer than one request is sent again
//! until nothing remains.
//!
//! - `dialog`: the count, the reason, the progress, the result

mod dialog;

use leptos::prelude::*;

use crate::{
    components::{Look, Selection, button, live},
    data::Loading,
};

/// What can be ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Pause,
    Resume,
    Run,
    Skip,
    Delete,
}

/// A value of a search names at most so many.
const NAMES: usize = 20;

/// Whom an order is for, as searches: names are searched for in portions.
fn searches(names: &[String]) -> Vec<String> {
    let quoted = |name: &String| format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""));
    names
        .chunks(NAMES)
        .map(|names| format!("schedule:{}", names.iter().map(quoted).collect::<Vec<_>>().join(",")))
        .collect()
}

/// What the bar is told: the names of what is chosen, the search, and how many it finds.
#[derive(Clone, Copy)]
pub(super) struct Subjects {
    pub(super) selection: Selection,
    pub(super) names: Signal<Vec<String>>,
    pub(super) search: Signal<String>,
    pub(super) total: Signal<Option<i64>>,
    pub(super) list: Loading,
}

/// The bar; nothing while nothing is chosen.
#[component]
pub(super) fn BulkBar(subjects: Subjects) -> impl IntoView {
    let Subjects { selection, search, total, .. } = subjects;
    let is_all = RwSignal::new(false);
    let kind = RwSignal::new(Kind::Pause);
    let open = RwSignal::new(false);
    Effect::new(move |_| {
        if selection.count() == 0 {
            is_all.set(false);
        }
    });
    let has_more = move || {
        // An order for all needs a search: "everything" is never meant by accident.
        let more = total.get().filter(|total| *total > selection.count() as i64);
        more.filter(|_| !search.get().is_empty())
    };
    let choose = move |chosen: Kind| {
        move || {
            kind.set(chosen);
            open.set(true);
        }
    };
    let bar = live(move || {
        let count = selection.count();
        if count == 0 {
            return ().into_any();
        }
        let words = match (is_all.get(), total.get()) {
            (true, Some(total)) => format!("All {total} that match"),
            _ => format!("{count} chosen"),
        };
        let more = has_more().filter(|_| !is_all.get()).map(|total| {
            let text = format!("Choose all {total} that match");
            view! {
                <button type="button" class="button button-quiet" on:click=move |_| is_all.set(true)>{text}</button>
            }
            .into_any()
        });
        view! {
            <div class="bulk-bar" role="region" aria-label="What to do with the chosen schedules">
                <strong role="status">{words}</strong>
                {more}
                <div class="actions">
                    {button(Look::Plain, None, "Run now", choose(Kind::Run))}
                    {button(Look::Plain, None, "Pause", choose(Kind::Pause))}
                    {button(Look::Plain, None, "Resume", choose(Kind::Resume))}
                    {button(Look::Plain, None, "Skip next", choose(Kind::Skip))}
                    {button(Look::Danger, None, "Delete", choose(Kind::Delete))}
                    {button(Look::Plain, None, "Choose none", move || selection.clear())}
                </div>
            </div>
        }
        .into_any()
    });
    let which = move || {
        if is_all.get_untracked() {
            vec![search.get_untracked()]
        } else {
            searches(&subjects.names.get_untracked())
        }
    };
    view! {
        {bar}
        {dialog::dialog(open, kind, Callback::new(move |()| which()), subjects)}
    }
}

#[cfg(test)]
mod tests {
    use super::searches;

    #[test]
    fn names_are_searched_for_in_portions_and_quoted() {
        let names: Vec<String> = (0..21).map(|at| format!("job {at}")).collect();
        let searches = searches(&names);
        assert_eq!(searches.len(), 2);
        assert_eq!(searches[1], "schedule:\"job 20\"");
        assert_eq!(super::searches(&["a\"b\\c".to_owned()]), ["schedule:\"a\\\"b\\\\c\""]);
    }
}
