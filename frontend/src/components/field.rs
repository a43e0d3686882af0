//! Form fields: a label, a control, a hint, and below it the error with the part of the value that is wrong.

use leptos::prelude::*;

use super::{
    picker::{Picker, Suggestions, use_picker},
    pointed,
    unread::{note_unread, unread_advice},
};
use crate::model::Failure;

/// One option of a fixed set: its value on the wire and its label.
pub(crate) type Choice = (&'static str, &'static str);

/// The current error of a field, if any.
pub(crate) type Wrong = Signal<Option<Failure>>;

/// A field under construction; `text`, `area` or `choice` builds it.
pub(crate) struct Field {
    id: String,
    label: Signal<String>,
    value: RwSignal<String>,
    error: Wrong,
    hint: &'static str,
    note: Signal<Option<&'static str>>,
    kind: Signal<&'static str>,
    autocomplete: &'static str,
    suggestions: Option<Suggestions>,
    is_code: bool,
    is_required: bool,
    is_first: bool,
    extra: AnyView,
}

impl Field {
    /// A field whose id is unique on the page.
    pub(crate) fn new(
        id: impl Into<String>,
        label: impl Into<String>,
        value: RwSignal<String>,
    ) -> Self {
        Self {
            id: id.into(),
            label: Signal::stored(label.into()),
            value,
            error: Signal::stored(None),
            hint: "",
            note: Signal::stored(None),
            kind: Signal::stored("text"),
            autocomplete: "off",
            suggestions: None,
            is_code: false,
            is_required: false,
            is_first: false,
            extra: ().into_any(),
        }
    }

    /// Gives the field a label that can change.
    pub(crate) fn labelled(self, label: Signal<String>) -> Self {
        Self { label, ..self }
    }

    pub(crate) fn error(self, error: Wrong) -> Self {
        Self { error, ..self }
    }

    pub(crate) fn hint(self, hint: &'static str) -> Self {
        Self { hint, ..self }
    }

    /// Shows a note below the hint while the signal is true.
    pub(crate) fn note_while(
        self,
        note: &'static str,
        is_due: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Self {
        Self { note: Signal::derive(move || is_due().then_some(note)), ..self }
    }

    /// Sets the input type: `number`, `password`, `datetime-local`, ...
    pub(crate) fn kind(self, kind: &'static str) -> Self {
        Self { kind: Signal::stored(kind), ..self }
    }

    /// Hides the field's text, as for a password, while the signal is true.
    pub(crate) fn hidden_while(self, is_hidden: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        let kind = Signal::derive(move || if is_hidden() { "password" } else { "text" });
        Self { kind, ..self }
    }

    pub(crate) fn autocomplete(self, autocomplete: &'static str) -> Self {
        Self { autocomplete, ..self }
    }

    /// Suggests what exists on the server; other text remains possible.
    pub(crate) fn picks(self, suggestions: Suggestions) -> Self {
        Self { suggestions: Some(suggestions), ..self }
    }

    /// Shows the field in a monospaced font.
    pub(crate) fn code(self) -> Self {
        Self { is_code: true, ..self }
    }

    pub(crate) fn required(self) -> Self {
        Self { is_required: true, ..self }
    }

    /// Gives the field the focus when its dialog opens.
    pub(crate) fn first(self) -> Self {
        Self { is_first: true, ..self }
    }

    /// Adds a button or a mark at the end of the line.
    pub(crate) fn extra(self, extra: AnyView) -> Self {
        Self { extra, ..self }
    }

    /// Builds a field of a single line.
    pub(crate) fn text(mut self) -> AnyView {
        let (unread, told, kind) = (RwSignal::new(false), self.error, self.kind);
        self.error = Signal::derive(move || match unread.get() {
            true => Some(Failure::of_field("", unread_advice(kind.get()))),
            false => told.get(),
        });
        let (id, value, error) = (self.id.clone(), self.value, self.error);
        let described = self.described_by();
        let picker = self.picker();
        // A password has no suggestions, and may not have the role of a field that does.
        let combobox = move || picker.filter(|_| kind.with(|kind| *kind != "password"));
        let control = view! {
            <div class="field-line">
                <input
                    id=id
                    role=move || combobox().map(|_| "combobox")
                    aria-autocomplete=move || combobox().map(|_| "list")
                    aria-expanded=move || combobox().map(|picker| picker.is_open().to_string())
                    aria-controls=move || combobox().map(Picker::list_id)
                    aria-activedescendant=move || combobox().and_then(Picker::active_id)
                    type=move || kind.get()
                    class:code=self.is_code
                    required=self.is_required
                    autofocus=self.is_first
                    autocomplete=self.autocomplete
                    autocapitalize="off"
                    spellcheck="false"
                    step=(kind.get_untracked() == "number").then_some("any")
                    aria-invalid=move || invalid(error)
                    aria-describedby=move || described.run(())
                    prop:value=move || value.get()
                    on:input:target=move |event| {
                        if unread.get_untracked() {
                            note_unread(unread, &event.target());
                        }
                        type_in(value, picker, event.target().value());
                    }
                    on:blur:target=move |event| note_unread(unread, &event.target())
                />
                {self.extra}
            </div>
        };
        let control = around(picker, control.into_any());
        frame(self.id, self.label, self.hint, self.note, error, value, control)
    }

    /// Builds a field of several lines.
    pub(crate) fn area(self, rows: i32) -> AnyView {
        let (id, value, error) = (self.id.clone(), self.value, self.error);
        let described = self.described_by();
        let picker = self.picker();
        let control = view! {
            <textarea
                id=id
                aria-autocomplete=picker.map(|_| "list")
                aria-haspopup=picker.map(|_| "listbox")
                aria-controls=move || picker.filter(|picker| picker.is_open()).map(Picker::list_id)
                aria-activedescendant=move || picker.and_then(Picker::active_id)
                class:code=self.is_code
                rows=rows
                autofocus=self.is_first
                spellcheck=if self.is_code { "false" } else { "true" }
                aria-invalid=move || invalid(error)
                aria-describedby=move || described.run(())
                prop:value=move || value.get()
                on:input:target=move |event| type_in(value, picker, event.target().value())
            ></textarea>
        };
        let control = around(picker, control.into_any());
        frame(self.id, self.label, self.hint, self.note, error, value, control)
    }

    /// Builds a choice of one of a few options.
    pub(crate) fn choice(self, choices: &[Choice]) -> AnyView {
        let (id, value, error) = (self.id.clone(), self.value, self.error);
        let described = self.described_by();
        let option = |(name, words): &Choice| {
            let (name, words) = (*name, *words);
            let is_chosen = move || value.with(|value| value == name);
            // The attribute has no effect once the user has chosen.
            view! { <option value=name prop:selected=move || is_chosen()>{words}</option> }
                .into_any()
        };
        let options: Vec<_> = choices.iter().map(option).collect();
        let control = view! {
            <select
                id=id
                autofocus=self.is_first
                aria-invalid=move || invalid(error)
                aria-describedby=move || described.run(())
                on:change:target=move |event| value.set(event.target().value())
            >{options}</select>
        };
        frame(self.id, self.label, self.hint, self.note, error, value, control.into_any())
    }

    fn picker(&self) -> Option<Picker> {
        let picker = |suggestions| use_picker(&self.id, self.value, suggestions, None);
        self.suggestions.map(picker)
    }

    /// The ids of the hint, the note and the error that describe the control.
    fn described_by(&self) -> Callback<(), Option<String>> {
        let hint = (!self.hint.is_empty()).then(|| format!("{}-hint", self.id));
        let (note, wrong) = (format!("{}-note", self.id), format!("{}-error", self.id));
        let (is_noted, error) = (self.note, self.error);
        Callback::new(move |()| {
            let note = is_noted.with(Option::is_some).then(|| note.clone());
            let wrong = error.with(Option::is_some).then(|| wrong.clone());
            let ids: Vec<String> = hint.clone().into_iter().chain(note).chain(wrong).collect();
            (!ids.is_empty()).then(|| ids.join(" "))
        })
    }
}

fn type_in(value: RwSignal<String>, picker: Option<Picker>, text: String) {
    value.set(text);
    if let Some(picker) = picker {
        picker.typed();
    }
}

/// The control, with its list of suggestions if it has one.
fn around(picker: Option<Picker>, control: AnyView) -> AnyView {
    match picker {
        Some(picker) => picker.around(control),
        None => control,
    }
}

fn invalid(error: Wrong) -> Option<&'static str> {
    error.with(Option::is_some).then_some("true")
}

/// The label above a control, and the hint, the note and the error below it. If the error has a position, the value is
/// repeated with that part marked.
fn frame(
    id: String,
    label: Signal<String>,
    hint: &'static str,
    note: Signal<Option<&'static str>>,
    error: Wrong,
    value: RwSignal<String>,
    control: AnyView,
) -> AnyView {
    let hint = (!hint.is_empty())
        .then(|| view! { <p class="hint" id=format!("{id}-hint")>{hint}</p> }.into_any());
    let note_id = format!("{id}-note");
    let noted = move || {
        let id = note_id.clone();
        note.get().map(|note| view! { <p class="field-note" id=id>{note}</p> }.into_any())
    };
    let wrong = move || {
        error.get().map(|failure| {
            let place =
                failure.position.map(|(start, end)| pointed(&value.get_untracked(), start, end));
            view! { {place}<p>{failure.message}</p> }.into_any()
        })
    };
    view! {
        <div class="field">
            <label for=id.clone()>{move || label.get()}</label>
            {control}
            {hint}
            {move || noted()}
            <div class="field-error" id=format!("{id}-error") aria-live="polite">{move || wrong()}</div>
        </div>
    }
    .into_any()
}
