//! The workflow as YAML, beside the form.
//!
//! The server reads a typed text (`reader`), and then its content is put into the form. Changes in the form are
//! written into the text. A typed text stays unchanged, with its comments, until the user changes the form. A text
//! that cannot be read stays until it is corrected or discarded.

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
    /// The exact content of the text. The form cannot hold everything, such as an argument of two lines.
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
            fixed_name: StoredValue::new(fixed_name),
            lost: RwSignal::new(false),
        }
    }

    /// Sets the definition with which the form and the text begin.
    pub(super) fn begin(self, definition: Definition) {
        self.text.set(yaml::of(&definition));
        self.agree(definition);
    }

    /// Writes the form's content into the text, unless the text already has it or is still to be read. Tracks the
    /// form.
    pub(super) fn follow_form(self) {
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

    /// Discards the text, and writes the form's content.
    pub(super) fn give_up(self) {
        self.reading.set(Reading::Read);
        self.problems.set(vec![]);
        self.agreed.set_value(None);
        untrack(|| self.follow_form());
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
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::TextProblem;

    const TYPED: &str = "# Mine.\nmine:\n  tasks: []\n";

    fn read(name: &str) -> WorkflowReading {
        let task = json!({ "name": "a", "target": { "command": { "args": ["b\nc"] } } });
        let definition = json!({ "name": name, "tasks": [task] });
        WorkflowReading { definition: Some(definition), problems: vec![] }
    }

    fn problem() -> TextProblem {
        TextProblem {
            line: Some(2),
            column: Some(3),
            field: "max_parallel".to_owned(),
            value: "0".to_owned(),
            problem: "is out of range".to_owned(),
            help: "give 1 to 100".to_owned(),
        }
    }

    fn with_pane(check: impl FnOnce(Draft, TextPane)) {
        Owner::new().with(|| {
            let draft = Draft::new();
            let pane = TextPane::beside(draft, None);
            untrack(|| pane.follow_form());
            untrack(|| check(draft, pane));
        });
    }

    #[test]
    fn a_typed_text_stays_until_the_form_is_changed() {
        with_pane(|draft, pane| {
            assert!(pane.text().contains("task-1") && pane.typed_text().is_none());
            pane.type_text(TYPED.to_owned());
            assert!(pane.is_pending() && pane.waits_for(TYPED));
            assert_ne!(draft.name.get(), "mine");

            pane.answer(Ok(read("mine")));
            pane.follow_form();
            assert_eq!((pane.text().as_str(), draft.name.get().as_str()), (TYPED, "mine"));
            assert_eq!(pane.typed_text().as_deref(), Some(TYPED));
            assert!(!pane.waits_for(TYPED));

            draft.max_parallel.set("3".to_owned());
            pane.follow_form();
            assert!(pane.text().contains("max_parallel: 3"), "{}", pane.text());
            assert_eq!(pane.typed_text(), None);
        });
    }

    #[test]
    fn what_the_text_says_is_sent_and_not_what_the_form_makes_of_it() {
        with_pane(|draft, pane| {
            pane.type_text(TYPED.to_owned());
            pane.answer(Ok(read("mine")));
            let args = |pane: TextPane| json!(pane.definition().unwrap().tasks[0].target);
            assert_eq!(args(pane)["command"]["args"], json!(["b\nc"]));
            draft.timeout.set("60".to_owned());
            assert_eq!(args(pane)["command"]["args"], json!(["b", "c"]));
        });
    }

    #[test]
    fn a_text_that_cannot_be_read_is_not_written_over() {
        with_pane(|draft, pane| {
            pane.type_text("mine: [".to_owned());
            let problems = vec![TextProblem { field: String::new(), ..problem() }];
            pane.answer(Ok(WorkflowReading { definition: None, problems }));
            draft.name.set("form".to_owned());
            pane.follow_form();
            assert_eq!(pane.text(), "mine: [");
            let refusal = pane.refusal(false).unwrap();
            assert_eq!(refusal.field.as_deref(), Some("text"));
            let said = "The text cannot be read. Line 2, column 3: It is out of range.";
            assert!(refusal.message.starts_with(said), "{}", refusal.message);
            pane.give_up();
            assert!(pane.text().starts_with("form:"), "{}", pane.text());
            assert_eq!((pane.refusal(true), pane.typed_text()), (None, None));
        });
    }

    #[test]
    fn an_answer_about_an_older_text_is_not_waited_for() {
        with_pane(|_, pane| {
            pane.type_text("a".to_owned());
            pane.type_text("b".to_owned());
            assert!(!pane.waits_for("a") && pane.waits_for("b"));
        });
    }

    #[test]
    fn what_saving_would_refuse_is_told_where_the_text_is_shown() {
        with_pane(|draft, pane| {
            pane.type_text(TYPED.to_owned());
            pane.answer(Ok(WorkflowReading { problems: vec![problem()], ..read("mine") }));
            assert_eq!(draft.name.get(), "mine");
            let said = "Line 2, column 3: max_parallel, “0”: It is out of range. Give 1 to 100.";
            assert_eq!(pane.refusal(true).map(|failure| failure.message).as_deref(), Some(said));
            assert_eq!(pane.refusal(false), None);
        });
    }

    #[test]
    fn a_text_that_could_not_be_checked_is_read_again() {
        with_pane(|_, pane| {
            pane.type_text(TYPED.to_owned());
            pane.answer(Err(Failure::unreachable()));
            assert!(pane.refusal(false).is_some() && pane.pending_text().is_none());
            pane.retry();
            assert_eq!(pane.pending_text().as_deref(), Some(TYPED));
            pane.answer(Ok(read("mine")));
            pane.retry();
            assert_eq!((pane.pending_text(), pane.refusal(true)), (None, None));
        });
    }

    #[test]
    fn json_of_the_api_is_read_at_once() {
        with_pane(|draft, pane| {
            let json = "{ \"name\": \"json\", \"tasks\": [] }";
            pane.type_text(json.to_owned());
            assert_eq!((draft.name.get().as_str(), pane.reading()), ("json", Reading::Read));
            pane.type_text("{ \"é\": 1, \"nmae\": \"json\", \"tasks\": [] }".to_owned());
            assert_eq!(pane.reading(), Reading::Unreadable);
            assert_eq!(pane.problems()[0].place.map(|(line, _)| line), Some(1));
        });
        Owner::new().with(|| {
            let pane = TextPane::beside(Draft::new(), Some("kept".to_owned()));
            pane.type_text("{\n  \"name\": \"x\",\n  \"tasks\": []\n}".to_owned());
            let said = "Line 2, column 1: A workflow keeps its name, \"kept\".";
            assert_eq!(untrack(|| pane.problems())[0].sentence(), said);
        });
    }

    #[test]
    fn a_text_begins_with_what_the_form_was_made_from() {
        Owner::new().with(|| {
            let definition = serde_json::from_value::<Definition>(read("old").definition.unwrap());
            let definition = definition.unwrap();
            let pane = TextPane::beside(Draft::of(&definition), Some("old".to_owned()));
            pane.begin(definition.clone());
            untrack(|| pane.follow_form());
            assert_eq!(untrack(|| pane.text()), yaml::of(&definition));
            assert_eq!(untrack(|| pane.definition()), Ok(definition));
        });
    }
}
