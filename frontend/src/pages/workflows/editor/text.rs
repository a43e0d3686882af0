//! The workflow as text, in its own tab. Text that is typed here updates the form as soon as it can be parsed, and
//! changes in the form are written here. But text that cannot be parsed stays until it is corrected or discarded.

use leptos::prelude::*;

use super::{
    definition::{Broken, Definition},
    draft::Draft,
};
use crate::{
    components::{Look, button, live, pointed},
    pages::kit::copy_button,
};

/// The text, and its error.
#[derive(Clone, Copy)]
pub(super) struct TextPane {
    draft: Draft,
    text: RwSignal<String>,
    broken: RwSignal<Option<Broken>>,
    /// The content of the form when the text was last parsed or written: while the form still has it, the text stays
    /// as typed.
    agreed: StoredValue<Option<Definition>>,
    /// The name of an existing workflow, which cannot change.
    fixed_name: StoredValue<Option<String>>,
}

/// The text beside a form.
pub(super) fn use_text(draft: Draft, fixed_name: Option<String>) -> TextPane {
    let pane = TextPane::beside(draft, fixed_name);
    Effect::new(move |_| pane.follow_form());
    pane
}

impl TextPane {
    /// An empty text, which does not yet follow the form.
    pub(super) fn beside(draft: Draft, fixed_name: Option<String>) -> Self {
        Self {
            draft,
            text: RwSignal::new(String::new()),
            broken: RwSignal::new(None),
            agreed: StoredValue::new(None),
            fixed_name: StoredValue::new(fixed_name),
        }
    }

    /// Writes the form's content, unless the text already has it or cannot be parsed. Tracks the form.
    fn follow_form(self) {
        let Ok(held) = self.draft.definition() else { return };
        let is_broken = self.broken.with_untracked(Option::is_some);
        if is_broken || self.agreed.with_value(|agreed| agreed.as_ref() == Some(&held)) {
            return;
        }
        self.text.set(held.text());
        self.agreed.set_value(Some(held));
    }

    /// Handles typed text.
    pub(super) fn type_text(self, text: String) {
        let read = Definition::read(&text).and_then(|read| match self.fixed_name.get_value() {
            Some(name) if read.name != name => Err(other_name(&text, &name)),
            Some(_) | None => Ok(read),
        });
        self.text.set(text);
        match read {
            Ok(read) => {
                self.broken.set(None);
                self.draft.apply(&read);
                self.agreed.set_value(untrack(|| self.draft.definition()).ok());
            }
            Err(wrong) => self.broken.set(Some(wrong)),
        }
    }

    /// The text while it cannot be parsed; tracked.
    pub(super) fn broken_text(self) -> Option<String> {
        self.broken.with(Option::is_some).then(|| self.text.get())
    }

    /// The error in the text, as a sentence; tracked.
    pub(super) fn wrong(self) -> Option<String> {
        self.broken.with(|broken| broken.as_ref().map(sentence))
    }

    /// Discards the broken text, and writes the form's content.
    pub(super) fn give_up(self) {
        self.broken.set(None);
        self.agreed.set_value(None);
        untrack(|| self.follow_form());
    }

    /// The content of the tab; `problem` is the error in a workflow that can be parsed.
    pub(super) fn view(self, problem: Signal<Option<String>>) -> AnyView {
        let wrong = move || {
            let broken = self.broken.get();
            let said = match &broken {
                Some(broken) => Some(sentence(broken)),
                None => problem.get(),
            };
            let Some(said) = said else { return ().into_any() };
            let place = broken.and_then(|broken| {
                let line = self.text.with_untracked(|text| line_of(text, broken.line));
                let line = line.filter(|line| !line.is_empty())?;
                let (start, end) = mark(&line, broken.column);
                Some(pointed(&line, start, end))
            });
            view! { {place}<p>{said}</p> }.into_any()
        };
        let is_wrong = move || {
            (self.broken.with(Option::is_some) || problem.get().is_some()).then_some("true")
        };
        let give_up = live(move || {
            if self.broken.with(Option::is_none) {
                return ().into_any();
            }
            button(Look::Plain, None, "Give up the text", move || self.give_up())
        });
        let copy = live(move || copy_button("Copy", self.text.get()));
        view! {
            <section class="panel editor-text">
                <div class="field">
                    <label for="workflow-text">"Workflow (JSON)"</label>
                    <textarea
                        id="workflow-text"
                        class="code"
                        rows="28"
                        wrap="off"
                        spellcheck="false"
                        aria-invalid=is_wrong
                        aria-describedby="workflow-text-hint workflow-text-error"
                        prop:value=move || self.text.get()
                        on:input:target=move |event| self.type_text(event.target().value())
                    ></textarea>
                    <p class="hint" id="workflow-text-hint">
                        "In the shape that the API accepts. Omitted values are defaults. The form follows as soon as the text can be parsed."
                    </p>
                    <div class="field-error" id="workflow-text-error" aria-live="polite">{move || wrong()}</div>
                </div>
                <div class="actions">{copy}{give_up}</div>
            </section>
        }
        .into_any()
    }
}

fn sentence(broken: &Broken) -> String {
    format!("Line {}, column {}: {}.", broken.line, broken.column, broken.message)
}

fn line_of(text: &str, line: usize) -> Option<String> {
    text.lines().nth(line.checked_sub(1)?).map(str::to_owned)
}

/// The byte range of the character at a column; the last character if the line is shorter.
fn mark(line: &str, column: usize) -> (usize, usize) {
    let is_before = |(at, _): &(usize, char)| *at < column.max(1);
    let found = line.char_indices().take_while(is_before).last();
    found.map_or((0, 0), |(at, letter)| (at, at + letter.len_utf8()))
}

/// The error if the text gives the workflow another name.
fn other_name(text: &str, name: &str) -> Broken {
    let found = text.lines().position(|line| line.trim_start().starts_with("\"name\""));
    Broken {
        line: found.map_or(1, |index| index + 1),
        column: 1,
        message: format!("a workflow keeps its name, {name:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_letter_at_a_column_is_marked() {
        assert_eq!(mark("abc", 2), (1, 2));
        assert_eq!(mark("aé", 2), (1, 3));
        assert_eq!(mark("abc", 9), (2, 3));
        assert_eq!(mark("", 1), (0, 0));
    }

    #[test]
    fn another_name_is_found_in_its_line() {
        let wrong = other_name("{\n  \"name\": \"x\"\n}", "y");
        assert_eq!(wrong.line, 2);
        assert_eq!(sentence(&wrong), "Line 2, column 1: a workflow keeps its name, \"y\".");
    }

    #[test]
    fn a_broken_text_is_not_written_over_and_a_mended_one_is_taken() {
        Owner::new().with(|| {
            let draft = Draft::new();
            let pane = TextPane::beside(draft, None);
            let text = || pane.text.get_untracked();
            untrack(|| pane.follow_form());
            assert!(text().contains("task-1"));

            pane.type_text("{ \"name\": \"mine\",".to_owned());
            draft.name.set("form".to_owned());
            untrack(|| pane.follow_form());
            assert_eq!(text(), "{ \"name\": \"mine\",");
            assert!(untrack(|| pane.wrong()).is_some_and(|wrong| wrong.starts_with("Line 1")));

            let mended = "{ \"name\": \"mine\", \"tasks\": [] }";
            pane.type_text(mended.to_owned());
            untrack(|| pane.follow_form());
            assert_eq!((text().as_str(), draft.name.get_untracked().as_str()), (mended, "mine"));

            pane.type_text("{".to_owned());
            pane.give_up();
            assert!(text().contains("\"mine\""));
            assert_eq!(untrack(|| pane.wrong()), None);
        });
    }
}
