//! The workflow as YAML, beside the form.
//!
//! The server reads a typed text (`reader`), and then its content is put into the form. Changes in the form are
//! written into the text. A typed text stays unchanged, with its comments, until the user changes the form. A text
//! that cannot be read stays until it is corrected or discarded.
//!
//! The code that writes and reads texts is loaded with the text's tab. Until then there is no text but a restored one,
//! which waits for it; the functions that the form itself calls only set signals.

use leptos::prelude::*;

use super::{
    definition::Definition,
    draft::Draft,
    placed_problem::{PlacedProblem, other_name},
    yaml,
};
use crate::model::{Failure, WorkflowReading};

/// The state of the reading of the text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Reading {
    /// The form has the content of the text.
    Read,
    /// The server has not read it yet.
    Pending,
    Unreadable,
    /// The server could not be reached.
    Unanswered(Failure),
}

/// The content on which the form and the text last agreed.
struct Agreed {
    /// The content of the form. As long as the form has this content, the text stays unchanged.
    form: Result<Definition, Failure>,
    /// The exact content of the text. The form cannot hold everything, such as spaces around a tag.
    said: Option<Definition>,
}

/// The text, and the state of its reading. A copy contains the same handles.
#[derive(Clone, Copy)]
pub(super) struct TextPane {
    draft: Draft,
    text: RwSignal<String>,
    reading: RwSignal<Reading>,
    /// The problems of the last text that was read. They stay visible while a newer text is read.
    problems: RwSignal<Vec<PlacedProblem>>,
    /// Whether the user typed the text, so that it does not come from the form.
    is_typed: RwSignal<bool>,
    agreed: StoredValue<Option<Agreed>>,
    /// The definition with which the form and the text begin, until the text has begun.
    begun: StoredValue<Option<Definition>>,
    /// Counts how often the form has asked to read the text now.
    checks: RwSignal<u32>,
    /// Counts how often the text was discarded.
    discards: RwSignal<u32>,
    /// The name of an existing workflow, which cannot change.
    fixed_name: StoredValue<Option<String>>,
    /// Whether a draft was restored without its text, which could not be parsed.
    lost: RwSignal<bool>,
}

impl TextPane {
    /// An empty text, which does not yet follow the form.
    pub(super) fn beside(draft: Draft, fixed_name: Option<String>) -> Self {
        Self {
            draft,
            text: RwSignal::new(String::new()),
            reading: RwSignal::new(Reading::Read),
            problems: RwSignal::new(vec![]),
            is_typed: RwSignal::new(false),
            agreed: StoredValue::new(None),
            begun: StoredValue::new(None),
            checks: RwSignal::new(0),
            discards: RwSignal::new(0),
            fixed_name: StoredValue::new(fixed_name),
            lost: RwSignal::new(false),
        }
    }

    /// Sets the definition with which the form and the text begin.
    pub(super) fn begin(self, definition: Definition) {
        self.begun.set_value(Some(definition));
    }

    /// Begins the text, with the definition from which the form was made. A restored text is read.
    pub(super) fn start(self) {
        self.agree_at_begin();
        let restored = untrack(|| self.pending_text());
        if let Some(text) = restored {
            self.type_text(text);
        }
    }

    fn agree_at_begin(self) {
        let begun = self.begun.try_update_value(Option::take).flatten();
        let Some(definition) = begun else { return };
        // The form may have been changed since.
        let form = Owner::new().with(|| untrack(|| Draft::of(&definition).definition()));
        if !self.is_typed.get_untracked() {
            self.text.set(yaml::of(&definition));
        }
        self.agreed.set_value(Some(Agreed { form, said: Some(definition) }));
    }

    /// Writes the form's content into the text, unless the text already has it or is still to be read. Tracks the
    /// form.
    pub(super) fn follow_form(self) {
        self.discards.track();
        let held = self.draft.definition();
        let is_read = self.reading.with_untracked(|reading| *reading == Reading::Read);
        let is_same = self
            .agreed
            .with_value(|agreed| agreed.as_ref().is_some_and(|agreed| agreed.form == held));
        // The form marks a field that cannot be parsed.
        let Ok(definition) = &held else { return };
        if !is_read || is_same {
            return;
        }
        self.text.set(yaml::of(definition));
        self.is_typed.set(false);
        self.problems.set(vec![]);
        self.agreed.set_value(Some(Agreed { form: held, said: None }));
    }

    /// Puts back a text that an earlier visit typed. It waits until its tab reads it.
    pub(super) fn restore(self, text: String) {
        self.text.set(text);
        self.is_typed.set(true);
        self.lost.set(false);
        self.reading.set(Reading::Pending);
    }

    /// Handles typed text. JSON in the shape of the API is parsed at once; the server reads everything else.
    pub(super) fn type_text(self, text: String) {
        let read = Definition::read_json(&text);
        let read = read.map(|read| {
            read.map_err(|broken| PlacedProblem::of_json(&text, &broken)).and_then(
                |read| match self.fixed_name.get_value() {
                    Some(name) if read.name != name => Err(other_name(&text, &name)),
                    Some(_) | None => Ok(read),
                },
            )
        });
        self.text.set(text);
        self.is_typed.set(true);
        self.lost.set(false);
        match read {
            None => self.reading.set(Reading::Pending),
            Some(Ok(read)) => self.accept(read, vec![]),
            Some(Err(problem)) => self.refuse(vec![problem]),
        }
    }

    /// Handles the server's answer about the text.
    pub(super) fn answer(self, outcome: Result<WorkflowReading, Failure>) {
        let WorkflowReading { definition, problems } = match outcome {
            Ok(reading) => reading,
            Err(failure) => return self.reading.set(Reading::Unanswered(failure)),
        };
        let problems = problems.into_iter().map(PlacedProblem::from).collect();
        match definition.map(serde_json::from_value::<Definition>) {
            Some(Ok(definition)) => self.accept(definition, problems),
            Some(Err(wrong)) => {
                self.reading.set(Reading::Unanswered(Failure::unreadable(wrong)));
            }
            None => self.refuse(problems),
        }
    }

    /// Marks the text as lost, until another one is typed.
    pub(super) fn set_lost(self) {
        self.lost.set(true);
    }

    /// Whether a draft was restored without its text; tracked.
    pub(super) fn is_lost(self) -> bool {
        self.lost.get()
    }

    fn accept(self, definition: Definition, problems: Vec<PlacedProblem>) {
        self.draft.apply(&definition);
        self.agree(definition);
        self.problems.set(problems);
        self.reading.set(Reading::Read);
    }

    fn refuse(self, problems: Vec<PlacedProblem>) {
        self.problems.set(problems);
        self.reading.set(Reading::Unreadable);
    }

    fn agree(self, said: Definition) {
        let form = untrack(|| self.draft.definition());
        self.agreed.set_value(Some(Agreed { form, said: Some(said) }));
    }

    /// The definition to send: the exact content of the text, unless the form was changed since; tracked.
    ///
    /// # Errors
    /// The first field of the form that cannot be parsed, by its name in the API.
    pub(super) fn definition(self) -> Result<Definition, Failure> {
        self.agree_at_begin();
        let held = self.draft.definition();
        let said = self.agreed.with_value(|agreed| {
            let agreed = agreed.as_ref().filter(|agreed| agreed.form == held);
            agreed.and_then(|agreed| agreed.said.clone())
        });
        said.map_or(held, Ok)
    }

    /// The reason for which the text prevents saving; tracked. If the text can be read and `is_shown` says that the
    /// form is visible, the form shows the problems instead.
    pub(super) fn refusal(self, is_shown: bool) -> Option<Failure> {
        let first = self.problems.with(|problems| problems.first().map(PlacedProblem::sentence));
        match self.reading.get() {
            Reading::Pending => None,
            Reading::Read => {
                first.filter(|_| is_shown).map(|first| Failure::of_field("text", first))
            }
            Reading::Unreadable => {
                let message = format!("The text cannot be read. {}", first.unwrap_or_default());
                Some(Failure::of_field("text", message))
            }
            Reading::Unanswered(failure) => {
                let message = format!("The text could not be checked. {}", failure.message);
                Some(Failure { field: Some("text".to_owned()), message, ..failure })
            }
        }
    }

    /// Discards the text. The form's content is written in its place.
    pub(super) fn give_up(self) {
        self.reading.set(Reading::Read);
        self.problems.set(vec![]);
        self.agreed.set_value(None);
        self.discards.update(|discards| *discards = discards.wrapping_add(1));
    }

    /// Asks to read the text now, if it was not read or could not be read.
    pub(super) fn check_now(self) {
        self.retry();
        self.checks.update(|checks| *checks = checks.wrapping_add(1));
    }

    /// Follows the requests to read the text now.
    pub(super) fn track_checks(self) {
        self.checks.track();
    }

    /// Lets the server read a text again that it could not read because it was unreachable.
    pub(super) fn retry(self) {
        if self.reading.with_untracked(|reading| matches!(reading, Reading::Unanswered(_))) {
            self.reading.set(Reading::Pending);
        }
    }

    /// The text that must still be read; tracked.
    pub(super) fn pending_text(self) -> Option<String> {
        self.is_pending().then(|| self.text.get())
    }

    /// Whether the pane still waits for the answer about `sent`; false if the page was left.
    pub(super) fn waits_for(self, sent: &str) -> bool {
        self.reading.try_with_untracked(|reading| *reading == Reading::Pending) == Some(true)
            && self.text.try_with_untracked(|text| text == sent) == Some(true)
    }

    pub(super) fn is_pending(self) -> bool {
        self.reading.with(|reading| *reading == Reading::Pending)
    }

    pub(super) fn reading(self) -> Reading {
        self.reading.get()
    }

    pub(super) fn problems(self) -> Vec<PlacedProblem> {
        self.problems.get()
    }

    pub(super) fn text(self) -> String {
        self.text.get()
    }

    /// The text if the user typed it, because the form alone could not restore it; tracked.
    pub(super) fn typed_text(self) -> Option<String> {
        self.is_typed.get().then(|| self.text.get())
    }
}

#[cfg(test)]
mod tests;
