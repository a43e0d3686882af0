//! Bulk actions on schedules: on those selected on this page, or on all that the search finds.
//!
//! First the action is only counted: the user sees how many schedules match and what would be refused. The action is
//! then sent with that number. If another number matches by then, nothing is done. An action that takes longer than
//! one request is sent again until nothing remains.
//!
//! - `dialog`: the count, the reason, the progress, the result

mod dialog;

use leptos::prelude::*;

use crate::{
    components::{Look, Selection, button, live},
    data::Loading,
};

/// The bulk actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Pause,
    Resume,
    Run,
    Skip,
    Delete,
}

/// Maximum number of names in one value of a search.
const NAMES: usize = 20;

/// The searches that find these schedules: names are searched for in portions.
fn searches(names: &[String]) -> Vec<String> {
    let quoted = |name: &String| format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""));
    names
        .chunks(NAMES)
        .map(|names| format!("schedule:{}", names.iter().map(quoted).collect::<Vec<_>>().join(",")))
        .collect()
}

/// The input of the bar: the names of the selected schedules, the search, and how many it finds.
#[derive(Clone, Copy)]
pub(super) struct Subjects {
    pub(super) selection: Selection,
    pub(super) names: Signal<Vec<String>>,
    pub(super) search: Signal<String>,
    pub(super) total: Signal<Option<i64>>,
    pub(super) list: Loading,
}

/// The bar; empty while nothing is selected.
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
        // An action on all needs a search, so that one cannot change everything by accident.
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
            let text = format!("Select all {total} that match");
            view! {
                <button type="button" class="button button-quiet" on:click=move |_| is_all.set(true)>{text}</button>
            }
            .into_any()
        });
        view! {
            <div class="bulk-bar" role="region" aria-label="Actions for the selected schedules">
                <strong role="status">{words}</strong>
                {more}
                <div class="actions">
                    {button(Look::Plain, None, "Run now", choose(Kind::Run))}
                    {button(Look::Plain, None, "Pause", choose(Kind::Pause))}
                    {button(Look::Plain, None, "Resume", choose(Kind::Resume))}
                    {button(Look::Plain, None, "Skip next", choose(Kind::Skip))}
                    {button(Look::Danger, None, "Delete", choose(Kind::Delete))}
                    {button(Look::Plain, None, "Select none", move || selection.clear())}
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
