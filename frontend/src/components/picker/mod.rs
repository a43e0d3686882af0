//! A list below a text field of what exists on the server and fits what is being typed.
//!
//! It is the combobox of the ARIA practices: the focus stays in the field, the arrow keys go through the list, Enter
//! takes the active suggestion, Esc closes the list. Text that is in no list remains possible. What the list contains
//! is loaded when the field is first used, so a form costs nothing for fields that the user does not touch.
//!
//! - `fill`: which part of the text a suggestion replaces, and which ones fit (pure)
//! - `control`: the element that is typed into, with its cursor
//! - `filter`: a field that filters a page

mod control;
mod fill;
mod filter;

pub(crate) use fill::Fill;
pub(crate) use filter::filter_field;

use leptos::{
    ev::{KeyboardEvent, MouseEvent},
    prelude::*,
};
use wasm_bindgen::JsCast;
use web_sys::Element;

use self::{
    control::Control,
    fill::{Offer, Offers, offers, sought, units_at},
};
use super::{Typing, live, use_typing};

/// What a field suggests.
#[derive(Clone, Copy)]
pub(crate) struct Suggestions {
    pub(crate) fill: Fill,
    /// The names that exist.
    pub(crate) known: Signal<Vec<String>>,
    /// What is looked for, for a source that asks the server; `None` until the field is used.
    pub(crate) sought: RwSignal<Option<String>>,
}

/// Where and how an open list was opened.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Opened {
    /// The cursor's position in the text, in bytes.
    cursor: usize,
    /// Whether the user asked for the list; otherwise they typed.
    is_asked: bool,
}

/// The list of one field.
#[derive(Clone, Copy)]
pub(super) struct Picker {
    id: StoredValue<String>,
    value: RwSignal<String>,
    suggestions: Suggestions,
    opened: RwSignal<Option<Opened>>,
    offers: Memo<Offers>,
    /// The suggestion that the arrow keys have reached.
    active: RwSignal<Option<usize>>,
    typing: Typing,
    /// Is told the text once a suggestion is taken.
    taken: Option<Callback<String>>,
}

/// The list for the control with this id.
pub(super) fn use_picker(
    id: &str,
    value: RwSignal<String>,
    suggestions: Suggestions,
    taken: Option<Callback<String>>,
) -> Picker {
    let opened = RwSignal::new(None::<Opened>);
    let offers = Memo::new(move |_| {
        let Some(Opened { cursor, is_asked }) = opened.get() else { return Offers::default() };
        let fill = suggestions.fill;
        suggestions
            .known
            .with(|known| value.with(|text| offers(fill, text, cursor, known, is_asked)))
    });
    let typing = use_typing(Callback::new(move |text: String| {
        let _gone = suggestions.sought.try_set(Some(text));
    }));
    Picker {
        id: StoredValue::new(id.to_owned()),
        value,
        suggestions,
        opened,
        offers,
        active: RwSignal::new(None),
        typing,
        taken,
    }
}

impl Picker {
    /// Whether suggestions are shown; tracked.
    pub(super) fn is_open(self) -> bool {
        self.offers.with(|offers| !offers.shown.is_empty())
    }

    /// The id of the list.
    pub(super) fn list_id(self) -> String {
        self.id.with_value(|id| format!("{id}-offers"))
    }

    /// The id of the active suggestion; tracked.
    pub(super) fn active_id(self) -> Option<String> {
        let count = self.offers.with(|offers| offers.shown.len());
        self.active.get().filter(|at| *at < count).map(|at| self.option_id(at))
    }

    fn option_id(self, at: usize) -> String {
        self.id.with_value(|id| format!("{id}-offer-{at}"))
    }

    fn control(self) -> Option<Control> {
        self.id.with_value(|id| Control::with_id(id))
    }

    /// Call it when the text was typed.
    pub(super) fn typed(self) {
        self.open(false);
    }

    fn open(self, is_asked: bool) {
        let text = self.value.get_untracked();
        let cursor = self.control().map_or(text.len(), |control| control.cursor(&text));
        self.active.set(None);
        self.opened.set(Some(Opened { cursor, is_asked }));
        if let Some(sought) = sought(self.suggestions.fill, &text, cursor) {
            self.typing.typed(sought);
        }
    }

    fn close(self) {
        self.opened.set(None);
    }

    /// Loads what can be suggested, as soon as the field has the focus.
    fn wake(self) {
        if self.suggestions.sought.with_untracked(Option::is_none) {
            self.suggestions.sought.set(Some(String::new()));
        }
    }

    /// A click into the control opens the list.
    fn click(self, event: &MouseEvent) {
        let target = event.target().and_then(|target| target.dyn_into::<Element>().ok());
        let is_own = |target: Element| self.id.with_value(|id| target.id() == *id);
        if target.is_some_and(is_own) {
            self.open(true);
        }
    }

    fn press(self, event: &KeyboardEvent) {
        if event.is_composing() {
            return;
        }
        let Offers { shown, .. } = self.offers.get_untracked();
        let active = self.active.get_untracked().filter(|at| *at < shown.len());
        match (event.key().as_str(), active) {
            // In a text of several lines the arrow keys move the cursor, unless there is a list.
            ("ArrowDown", _) if shown.is_empty() => {
                if self.control().is_none_or(|control| control.is_area()) {
                    return;
                }
                self.open(true);
            }
            (_, _) if shown.is_empty() => return,
            ("ArrowDown", at) => {
                self.active.set(Some(at.map_or(0, |at| (at + 1).min(shown.len() - 1))));
            }
            ("ArrowUp", at) => self.active.set(at.and_then(|at| at.checked_sub(1))),
            ("Enter", Some(at)) => self.take(&shown, at),
            // The browser goes on with what it does: it sends the form, applies the filter, or breaks the line.
            ("Enter", None) => return self.close(),
            ("Tab", Some(at)) => {
                // The focus moves to the next field.
                self.take(&shown, at);
                return;
            }
            ("Escape", _) => {
                // What is around it, such as a menu, stays open.
                event.stop_propagation();
                self.close();
            }
            _ => return,
        }
        event.prevent_default();
    }

    fn take(self, shown: &[Offer], at: usize) {
        let Some(Offer { words, text, cursor, .. }) = shown.get(at).cloned() else { return };
        self.value.set(text.clone());
        if let Some(control) = self.control() {
            control.put(&text, units_at(&text, cursor));
        }
        self.active.set(None);
        // The name of a field of the search is followed by its value.
        let is_begun = matches!(self.suggestions.fill, Fill::Search(_)) && words.ends_with(':');
        self.opened.set(is_begun.then_some(Opened { cursor, is_asked: false }));
        if let Some(taken) = self.taken {
            taken.run(text);
        }
    }

    /// The control, with its list below it.
    pub(super) fn around(self, control: AnyView) -> AnyView {
        view! {
            <div
                class="picker"
                on:focusin=move |_| self.wake()
                on:focusout=move |_| self.close()
                on:click=move |event| self.click(&event)
                on:keydown=move |event| self.press(&event)
            >
                {control}
                {self.list()}
            </div>
        }
        .into_any()
    }

    fn list(self) -> AnyView {
        live(move || {
            let Offers { shown, further } = self.offers.get();
            if shown.is_empty() {
                return ().into_any();
            }
            let all = StoredValue::new(shown.clone());
            let option = |(at, offer): (usize, Offer)| {
                let press = move |event: MouseEvent| {
                    // Keep the focus in the field.
                    event.prevent_default();
                    self.take(&all.get_value(), at);
                };
                view! {
                    <li
                        role="option"
                        id=self.option_id(at)
                        aria-selected=move || (self.active.get() == Some(at)).to_string()
                        on:mousedown=press
                    >
                        {offer.words}" "<span class="hint">{offer.hint}</span>
                    </li>
                }
                .into_any()
            };
            let options: Vec<_> = shown.into_iter().enumerate().map(option).collect();
            let more = (further > 0).then(|| {
                view! { <p class="hint">{format!("Type to find {further} more.")}</p> }.into_any()
            });
            view! {
                <div class="picker-list">
                    <ul role="listbox" id=self.list_id() aria-label="Suggestions">{options}</ul>
                    {more}
                </div>
            }
            .into_any()
        })
    }
}
