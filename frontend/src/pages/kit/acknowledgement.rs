//! Acknowledging an alert or a problem.

use leptos::prelude::*;

use super::form::{Change, form, of};
use crate::{
    api::Ask,
    components::{Field, Look},
    time::Moment,
};

const HOUR_MS: i64 = 3_600_000;

/// The alert or problem to acknowledge.
pub(in crate::pages) struct Acknowledged {
    pub(in crate::pages) name: String,
    /// A description of the effect of the acknowledgement.
    pub(in crate::pages) effect: &'static str,
}

/// Asks for a note and an end. `ask` turns them into the change.
pub(in crate::pages) fn acknowledge_form(
    open: RwSignal<bool>,
    what: Acknowledged,
    ask: impl Fn(Option<String>, Option<Moment>) -> Ask<String> + 'static,
    done: impl Fn(String) + Clone + 'static,
) -> AnyView {
    let wrong = RwSignal::new(None);
    let (hours, note) = (RwSignal::new(String::new()), RwSignal::new(String::new()));
    let Acknowledged { name, effect } = what;
    let fields = view! {
        <p><strong>{name.clone()}</strong>" "{effect}</p>
        {Field::new("acknowledge-note", "Note", note).first().hint("For those who see it next: who sees to it, and how.").error(of(wrong, "note")).text()}
        {Field::new("acknowledge-until", "Until", hours).error(of(wrong, "until")).choice(&[
            ("", "It is over"), ("1", "An hour from now"), ("4", "4 hours from now"), ("12", "12 hours from now"),
            ("24", "A day from now"), ("168", "A week from now"),
        ])}
    };
    let plan = move |_| {
        let hours: Option<i64> = hours.get_untracked().parse().ok();
        let until = hours.map(|hours| Moment::now().later(hours * HOUR_MS));
        let note = Some(note.get_untracked().trim().to_owned()).filter(|note| !note.is_empty());
        Ok(Change { ask: ask(note, until), said: format!("{name} is acknowledged.") })
    };
    form(open, (Look::Primary, "Acknowledge"), wrong, fields.into_any(), plan, done)
}
