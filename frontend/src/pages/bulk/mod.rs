//! Bulk actions on schedules or on runs: on the selected ones of this page, or on all that the search finds.
//!
//! At first the action only counts: the user sees the number of matches, which of them would be refused, and for some
//! actions the effect on fires. The action is then sent with the counted number; if another number matches by then,
//! nothing is done. An action that takes longer than one request may is sent again until nothing remains.
//!
//! The code of the dialog is loaded when the dialog first opens.
//!
//! - `dialog`: the count, the reason, the progress, the result
//! - `portions`: sends an action; `outcome`: shows what it matches, and what became of it; `words`: the words for it
//! - `effect`: the effect on fires
//! - `undo`: undoes an action
//! - `change`: the fields of a bulk edit

mod change;
pub(super) mod dialog;
mod effect;
mod outcome;
mod portions;
mod undo;
mod words;

use leptos::prelude::*;

use crate::{
    components::{Look, Selection, button, live},
    data::{Actor, Loading, use_actor},
    model::Failure,
    pages::{deferred, parts},
    route::Route,
    state::{Address, use_address, use_session},
};

/// The bulk actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Pause,
    Resume,
    Run,
    Skip,
    Edit,
    Delete,
    /// Cancels runs.
    Cancel,
    /// Retries runs.
    Retry,
}

impl Kind {
    pub(super) const OF_SCHEDULES: &'static [Self] =
        &[Self::Run, Self::Pause, Self::Resume, Self::Skip, Self::Edit, Self::Delete];
    pub(super) const OF_RUNS: &'static [Self] = &[Self::Retry, Self::Cancel];

    /// The button for the action in the bar.
    fn button(self) -> (Look, &'static str) {
        match self {
            Self::Run => (Look::Plain, "Run now"),
            Self::Pause => (Look::Plain, "Pause"),
            Self::Resume => (Look::Plain, "Resume"),
            Self::Skip => (Look::Plain, "Skip next"),
            Self::Edit => (Look::Plain, "Edit"),
            Self::Delete => (Look::Danger, "Delete"),
            Self::Cancel => (Look::Danger, "Cancel runs"),
            Self::Retry => (Look::Plain, "Run again"),
        }
    }
}

/// Maximum number of values in one term of a search.
const VALUES: usize = 20;
/// Maximum length of a portion, in bytes. The server accepts 1,000, and a preview adds a term.
const LENGTH: usize = 900;

/// The searches that find these schedules by their names, in portions.
pub(super) fn by_name(names: &[String]) -> Vec<String> {
    let quoted = |name: &String| format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""));
    portions("schedule", &names.iter().map(quoted).collect::<Vec<_>>())
}

/// The searches that find these runs.
pub(super) fn by_id(ids: &[String]) -> Vec<String> {
    portions("id", ids)
}

fn portions(field: &str, values: &[String]) -> Vec<String> {
    let mut portions: Vec<String> = Vec::new();
    let mut count = 0;
    for value in values {
        if let Some(portion) = portions.last_mut()
            && count < VALUES
            && portion.len() + value.len() < LENGTH
        {
            portion.push(',');
            portion.push_str(value);
            count += 1;
        } else {
            portions.push(format!("{field}:{value}"));
            count = 1;
        }
    }
    portions
}

/// The input of the bar.
#[derive(Clone, Copy)]
pub(super) struct Subjects {
    /// Names the bar, for screen readers.
    pub(super) label: &'static str,
    /// The actions that are offered.
    pub(super) kinds: &'static [Kind],
    pub(super) selection: Selection,
    /// The searches that find the selected objects.
    pub(super) chosen: Signal<Vec<String>>,
    /// The search of the list, and whether it finds more than is selected.
    pub(super) search: Signal<String>,
    pub(super) has_more: Signal<bool>,
    /// The number of matches of that search, if the list counts them.
    pub(super) total: Signal<Option<i64>>,
    pub(super) list: Loading,
}

/// The bar; empty while nothing is selected.
#[component]
pub(super) fn BulkBar(subjects: Subjects) -> impl IntoView {
    let Subjects { label, kinds, selection, search, total, .. } = subjects;
    let is_all = RwSignal::new(false);
    let kind = RwSignal::new(Kind::Pause);
    let open = RwSignal::new(false);
    let session = use_session();
    let (address, actor) = (use_address(), use_actor());
    let edits = Memo::new(move |_| session.edits());
    Effect::new(move |_| {
        if selection.count() == 0 {
            is_all.set(false);
        }
    });
    // When the search changes, "all" no longer means the same objects.
    Effect::new(move |before: Option<String>| {
        let search = search.get();
        if before.is_some_and(|before| before != search) {
            is_all.set(false);
        }
        search
    });
    // An action on all matches requires a search, so that no one changes everything by accident.
    let has_more = move || subjects.has_more.get() && !search.get().trim().is_empty();
    let choose = move |chosen: Kind| {
        move || {
            kind.set(chosen);
            open.set(true);
        }
    };
    let which = Callback::new(move |()| {
        if is_all.get_untracked() {
            vec![search.get_untracked()]
        } else {
            subjects.chosen.get_untracked()
        }
    });
    let bar = live(move || {
        let count = selection.count();
        if count == 0 {
            return ().into_any();
        }
        let all = total.get().map_or_else(|| "all".to_owned(), |total| format!("all {total}"));
        let words = if is_all.get() {
            format!("{} that match", all.replacen('a', "A", 1))
        } else {
            format!("{count} chosen")
        };
        let more = (has_more() && !is_all.get()).then(|| {
            let text = format!("Select {all} that match");
            view! {
                <button type="button" class="button button-quiet" on:click=move |_| is_all.set(true)>{text}</button>
            }
            .into_any()
        });
        let action = |kind: Kind| {
            let (look, words) = kind.button();
            button(look, None, words, choose(kind))
        };
        let edits = edits.get();
        let is_offered = |kind: &Kind| edits || !matches!(kind, Kind::Edit | Kind::Delete);
        let actions: Vec<_> = kinds.iter().copied().filter(is_offered).map(action).collect();
        let maintenance = kinds.contains(&Kind::Pause).then(|| {
            let plan = move || plan_maintenance(&which.run(()), address, actor);
            button(Look::Plain, None, "Plan maintenance", plan)
        });
        view! {
            <div class="bulk-bar" role="region" aria-label=label>
                <strong role="status">{words}</strong>
                {more}
                <div class="actions">
                    {actions}
                    {maintenance}
                    {button(Look::Plain, None, "Select none", move || selection.clear())}
                </div>
            </div>
        }
        .into_any()
    });
    let content = move || parts::bulk_action(open, kind.get_untracked(), which, subjects);
    view! {
        {bar}
        {deferred::dialog(open, "Bulk action", content)}
    }
}

/// Opens the form of a maintenance window for the schedules of these searches. A window has only one search.
fn plan_maintenance(searches: &[String], address: Address, actor: Actor) {
    match searches {
        [search] => address.go(&Route::NewMaintenance.narrowed(&[("search", search)])),
        _ => {
            let words = "A maintenance window has one search, which names at most 20 schedules. \
                Choose fewer of them, or search for what they have in common and select all that match.";
            actor.complain(&Failure::of_field("search", words));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, LENGTH, by_id, by_name};

    #[test]
    fn names_are_searched_for_in_portions_and_quoted() {
        let names: Vec<String> = (0..21).map(|at| format!("job {at}")).collect();
        let searches = by_name(&names);
        assert_eq!(searches.len(), 2);
        assert_eq!(searches[1], "schedule:\"job 20\"");
        assert_eq!(by_name(&["a\"b\\c".to_owned()]), ["schedule:\"a\\\"b\\\\c\""]);
    }

    #[test]
    fn long_names_are_searched_for_in_smaller_portions() {
        let names: Vec<String> = (10..30).map(|at| format!("{at}{}", "x".repeat(45))).collect();
        let searches = by_name(&names);
        assert_eq!(searches.len(), 2);
        assert!(searches.iter().all(|search| search.len() <= LENGTH));
        let whole = searches.join(" ");
        assert!(names.iter().all(|name| whole.contains(&format!("\"{name}\""))));
    }

    #[test]
    fn what_was_done_is_said_of_one_and_of_several() {
        assert_eq!(Kind::Delete.done_words(1), "1 schedule is deleted");
        assert_eq!(Kind::Cancel.done_words(3), "3 runs are asked to stop");
        assert_eq!(Kind::Skip.done_words(1), "1 schedule is told to skip its next fire");
        assert_eq!(Kind::Skip.done_words(2), "2 schedules are told to skip their next fire");
    }

    #[test]
    fn runs_are_searched_for_by_their_ids() {
        assert_eq!(by_id(&["a1".to_owned(), "b2".to_owned()]), ["id:a1,b2"]);
        assert!(by_id(&[]).is_empty());
    }
}
