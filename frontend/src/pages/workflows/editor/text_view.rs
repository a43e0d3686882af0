//! The tab with the text: line numbers, errors at their lines, and a note about comments.
//!
//! Tab and Shift+Tab leave the text, as everywhere, because users who only have a keyboard must be able to leave it.
//! Instead, a new line gets the indent of the line before it.
//!
//! This code is loaded when the tab is first opened, or when an earlier visit has left a text.

use js_sys::{Function, Reflect};
use leptos::{ev::KeyboardEvent, prelude::*};
use wasm_bindgen::{JsCast, JsValue};
use web_sys::HtmlTextAreaElement;

use super::{
    Editor,
    comments::has_comment,
    placed_problem::PlacedProblem,
    reader::{Reader, use_reader},
    text::{Reading, TextPane},
};
use crate::{
    components::{Look, button, live, pointed},
    pages::kit::copy_button,
};

const ID: &str = "workflow-text";
/// The height of an empty text, in lines.
const ROWS: usize = 24;

/// The content of the tab. From now on the text follows the form, and the server reads what is typed.
pub(in crate::pages) fn tab(editor: Editor) -> AnyView {
    let Editor { pane, errors, purpose, .. } = editor;
    pane.start();
    Effect::new(move |_| pane.follow_form());
    let reader = use_reader(pane, purpose.workflow_id());
    text_view(pane, reader, Signal::derive(move || errors.graph()))
}

/// `graph` is the error in the graph of a text that can be read.
fn text_view(pane: TextPane, reader: Reader, graph: Signal<Option<String>>) -> AnyView {
    let problems = Memo::new(move |_| shown(pane, graph.get()));
    let is_wrong = move || {
        let is_unanswered = matches!(pane.reading(), Reading::Unanswered(_));
        (is_unanswered || problems.with(|problems| !problems.is_empty())).then_some("true")
    };
    let state = move || match pane.reading() {
        Reading::Read => "read",
        Reading::Pending => "pending",
        Reading::Unreadable => "unreadable",
        Reading::Unanswered(_) => "unanswered",
    };
    let wrong = live(move || {
        let lines: Vec<_> = problems.get().iter().map(|problem| line(pane, problem)).collect();
        view! { {lines}{unanswered(pane, reader)} }.into_any()
    });
    let has_comments = Memo::new(move |_| has_comment(&pane.text()));
    let comments = live(move || {
        if !has_comments.get() {
            return ().into_any();
        }
        view! { <p class="hint" data-testid="comments-hint">"Comments are not stored."</p> }
            .into_any()
    });
    let rows = Memo::new(move |_| (lines_of(&pane.text()) + 1).max(ROWS));
    view! {
        <section class="panel editor-text" data-reading=state>
            <div class="field">
                <label for=ID>"Workflow (YAML)"</label>
                <div class="numbered">
                    <pre class="line-numbers code" aria-hidden="true">{numbers(pane, problems)}</pre>
                    <textarea
                        id=ID
                        class="code"
                        rows=move || rows.get().to_string()
                        wrap="off"
                        autocapitalize="off"
                        spellcheck="false"
                        aria-invalid=is_wrong
                        aria-describedby="workflow-text-hint workflow-text-error"
                        prop:value=move || pane.text()
                        on:input:target=move |event| pane.type_text(event.target().value())
                        on:keydown=move |event: KeyboardEvent| continue_line(&event)
                    ></textarea>
                </div>
                <p class="hint" id="workflow-text-hint">
                    "What belongs under workflows: in a module file, in YAML or JSON. Omitted values are defaults. The form follows as soon as the text can be read."
                </p>
                {comments}
                <div class="field-error" id="workflow-text-error" aria-live="polite">{wrong}</div>
            </div>
            <div class="actions">{live(move || copy_button("Copy", pane.text()))}{give_up(pane)}</div>
        </section>
    }
    .into_any()
}

/// The problems to show: those that the server found, or else the error in the graph, which the server would also
/// refuse.
fn shown(pane: TextPane, graph: Option<String>) -> Vec<PlacedProblem> {
    let found = pane.problems();
    if !found.is_empty() || pane.reading() != Reading::Read {
        return found;
    }
    graph.into_iter().map(|message| PlacedProblem { place: None, message }).collect()
}

/// A problem: its line with the position marked, and a button that leads there.
fn line(pane: TextPane, problem: &PlacedProblem) -> AnyView {
    let Some((number, column)) = problem.place else {
        return view! { <p>{problem.message.clone()}</p> }.into_any();
    };
    let text = untrack(|| pane.text());
    let marked = text.lines().nth(number.saturating_sub(1)).filter(|line| !line.trim().is_empty());
    let marked = marked.map(|line| {
        let (start, end) = mark(line, column);
        pointed(line, start, end)
    });
    let go = move |_| go_to(&untrack(|| pane.text()), number);
    view! {
        <div>
            {marked}
            <p>
                <button type="button" class="line-link" on:click=go>{problem.words_of_place()}</button>
                {format!(": {}", problem.message)}
            </p>
        </div>
    }
    .into_any()
}

fn unanswered(pane: TextPane, reader: Reader) -> AnyView {
    let Reading::Unanswered(failure) = pane.reading() else { return ().into_any() };
    view! {
        <p>{format!("The text could not be checked. {} {}", failure.message, failure.advice())}</p>
        {button(Look::Plain, None, "Check again", move || reader.check_now())}
    }
    .into_any()
}

fn give_up(pane: TextPane) -> AnyView {
    live(move || match pane.reading() {
        Reading::Read | Reading::Pending => ().into_any(),
        Reading::Unreadable | Reading::Unanswered(_) => {
            button(Look::Plain, None, "Give up the text", move || pane.give_up())
        }
    })
}

/// The numbers of the lines; those with an error are marked.
fn numbers(pane: TextPane, problems: Memo<Vec<PlacedProblem>>) -> AnyView {
    let count = Memo::new(move |_| lines_of(&pane.text()));
    let wrong = Memo::new(move |_| {
        let lines = |problem: &PlacedProblem| problem.place.map(|(line, _)| line);
        problems.with(|problems| problems.iter().filter_map(lines).collect::<Vec<_>>())
    });
    live(move || {
        let wrong = wrong.get();
        let mut parts: Vec<AnyView> = Vec::new();
        let mut plain = String::new();
        for line in 1..=count.get() {
            let number = format!("{line}\n");
            if wrong.contains(&line) {
                parts.push(std::mem::take(&mut plain).into_any());
                parts.push(view! { <mark>{number}</mark> }.into_any());
            } else {
                plain.push_str(&number);
            }
        }
        parts.push(plain.into_any());
        parts.into_any()
    })
}

fn lines_of(text: &str) -> usize {
    text.matches('\n').count() + 1
}

/// The byte range of the character at a column; the last character if the line is shorter.
fn mark(line: &str, column: usize) -> (usize, usize) {
    let found = line.char_indices().take(column.max(1)).last();
    found.map_or((0, 0), |(at, letter)| (at, at + letter.len_utf8()))
}

/// Selects a line of the text.
fn go_to(text: &str, line: usize) {
    let area = document().get_element_by_id(ID);
    let Some(area) = area.and_then(|area| area.dyn_into::<HtmlTextAreaElement>().ok()) else {
        return;
    };
    let (start, end) = range_of(text, line);
    let _hidden = area.focus();
    let _gone = area.set_selection_range(start, end);
}

/// The range of a line in UTF-16 units, in which browsers count.
fn range_of(text: &str, line: usize) -> (u32, u32) {
    let units = |text: &str| text.encode_utf16().count() as u32;
    let before = text.split('\n').take(line.saturating_sub(1));
    let start: u32 = before.map(|line| units(line) + 1).sum();
    let length = text.split('\n').nth(line.saturating_sub(1)).map_or(0, units);
    (start, start + length)
}

/// Begins a new line with the indent of the line before it.
fn continue_line(event: &KeyboardEvent) {
    let is_combined = event.ctrl_key() || event.meta_key() || event.alt_key() || event.shift_key();
    if event.key() != "Enter" || is_combined || event.is_composing() {
        return;
    }
    let area = event.target().and_then(|area| area.dyn_into::<HtmlTextAreaElement>().ok());
    let Some((area, caret)) = area.and_then(|area| {
        let caret = area.selection_start().ok().flatten()?;
        Some((area, caret))
    }) else {
        return;
    };
    let before: Vec<u16> = area.value().encode_utf16().take(caret as usize).collect();
    let added = format!("\n{}", indent_after(&String::from_utf16_lossy(&before)));
    if insert(&added).unwrap_or_default() {
        event.prevent_default();
    }
}

/// Inserts a text at the caret so that the browser can undo it; returns whether that worked.
fn insert(text: &str) -> Result<bool, JsValue> {
    let document = document();
    let command: Function = Reflect::get(&document, &"execCommand".into())?.dyn_into()?;
    let done = command.call3(&document, &"insertText".into(), &JsValue::FALSE, &text.into())?;
    Ok(done.is_truthy())
}

/// The indent of a line that begins after this text. A line after a key that opens an object is indented further.
fn indent_after(before: &str) -> String {
    let line = before.rsplit('\n').next().unwrap_or_default();
    let own = line.len() - line.trim_start_matches(' ').len();
    let opens = line.trim_end().ends_with(':');
    // After a dash, the further keys of an item are aligned with its first key.
    let behind_dash = if line.trim_start().starts_with("- ") { 2 } else { 0 };
    " ".repeat(own + behind_dash + if opens { 2 } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_letter_at_a_column_is_marked() {
        assert_eq!(mark("abc", 2), (1, 2));
        assert_eq!(mark("éa", 2), (2, 3));
        assert_eq!(mark("aé", 9), (1, 3));
        assert_eq!(mark("", 1), (0, 0));
    }

    #[test]
    fn a_line_is_found_among_letters_of_any_length() {
        let text = "a😀\nbé\n\nc";
        assert_eq!(
            [1, 2, 3, 4, 9].map(|line| range_of(text, line)),
            [(0, 3), (4, 6), (7, 7), (8, 9), (10, 10),]
        );
        assert_eq!((lines_of(text), lines_of("")), (4, 1));
    }

    #[test]
    fn a_new_line_begins_where_the_one_before_it_does() {
        for (before, indent) in [
            ("", 0),
            ("a: 1", 0),
            ("a:", 2),
            ("a:\n  tasks:", 4),
            ("  - name: b", 4),
            ("  - target:", 6),
            ("  - b\n    c: 1", 4),
            ("x: 'a:\n", 0),
        ] {
            assert_eq!(indent_after(before).len(), indent, "{before}");
        }
    }
}
