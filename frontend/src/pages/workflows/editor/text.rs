//! The workflow as text, in a tab of its own. What is typed here is taken into the form as soon as it can be read, and
//! what is changed in the form is written here; but a text that cannot be read stays until it is mended or given up.

use leptos::prelude::*;

use super::{
    definition::{Broken, Definition},
    draft::Draft,
};
use crate::{
    components::{Look, button, live, pointed},
    pages::kit::copy_button,
};

/// The text, and what is wrong with it.
#[derive(Clone, Copy)]
pub(super) struct TextPane {
    draft: Draft,
    text: RwSignal<String>,
    broken: RwSignal<Option<Broken>>,
    /// What the form held when the text was read or written last: while it still does, the text stays as it is typed.
    agreed: StoredValue<Option<Definition>>,
    /// The name that an existing workflow keeps.
    fixed_name: StoredValue<Option<String>>,
}

/// The text beside a form.
pub(super) fn use_text(draft: Draft, fixed_name: Option<String>) -> TextPane {
    let pane = TextPane::beside(draft, fixed_name);
    Effect::new(move |_| pane.follow_form());
    pane
}

impl TextPane {
    /// An empty text, which does not follow the form by itself.
    pub(super) fn beside(draft: Draft, fixed_name: Option<String>) -> Self {
        Self {
            draft,
            text: RwSignal::new(String::new()),
            broken: RwSignal::new(None),
            agreed: StoredValue::new(None),
            fixed_name: StoredValue::new(fixed_name),
        }
    }

    /// Writes what the form holds, unless the text says so already or is broken. Tracks the form.
    fn follow_form(self) {
        let Ok(held) = self.draft.definition() else { return };
        let is_broken = self.broken.with_untracked(Option::is_some);
        if is_broken || self.agreed.with_value(|agreed| agreed.as_ref() == Some(&held)) {
            return;
        }
        self.text.set(held.text());
        self.agreed.set_value(Some(held));
    }

    /// Takes what is typed.
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

    /// The text while it cannot be read; tracked.
    pub(super) fn broken_text(self) -> Option<String> {
        self.broken.with(Option::is_some).then(|| self.text.get())
    }

    /// Where it is broken, in a sentence; tracked.
    pub(super) fn wrong(self) -> Option<String> {
        self.broken.with(|broken| broken.as_ref().map(sentence))
    }

    /// Gives the broken text up, for what the form holds.
    pub(super) fn give_up(self) {
        self.broken.set(None);
        self.agreed.set_value(None);
        untrack(|| self.follow_form());
    }

    /// What stands in the tab; `problem` is what is wrong with a workflow that can be read.
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
                        "As the API takes it. What is left out is as usual. The form follows as soon as the text can be read."
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

/// The letter at a column, in bytes; the last one where the line ends before.
fn mark(line: &str, column: usize) -> (usize, usize) {
    let is_before = |(at, _): &(usize, char)| *at < column.max(1);
    let found = line.char_indices().take_while(is_before).last();
    found.map_or((0, 0), |(at, letter)| (at, at + letter.len_utf8()))
}

/// Where the text gives the workflow another name.
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
