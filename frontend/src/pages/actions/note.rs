//! The note of a schedule. Operators own it: it may be changed even where a module declares the schedule.

use leptos::prelude::*;

use super::{
    Action, Actions,
    form::{Plan, Then, form},
};
use crate::{
    api,
    components::{Field, Look},
    pages::kit::of,
    state::Said,
};

/// Asks for the text of the note.
pub(super) fn note(actions: Actions) -> AnyView {
    let subject = actions.subject.get_value();
    let wrong = RwSignal::new(None);
    let text = RwSignal::new(subject.note.clone());
    let plan = move |key| {
        let text = text.get_untracked().trim().to_owned();
        let said = match text.is_empty() {
            true => format!("{} has no note now.", subject.name),
            false => format!("The note of {} is changed.", subject.name),
        };
        let change = api::annotate_schedule(subject.id.clone(), text, key);
        Ok(Plan { change, said: Said::new(said), then: Then::Stay })
    };
    let fields = view! {
        {Field::new("schedule-note", "Note", text).first().error(of(wrong, "note"))
            .hint("What others should know when this fails or is late. A module that is deployed does not change it. Empty: no note.")
            .area(4)}
    };
    form(actions, Action::Note, Look::Primary, "Save", wrong, plan, fields.into_any())
}
