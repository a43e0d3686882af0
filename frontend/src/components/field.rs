//! Form fields: a label, a control, a hint, and the error under it with the place it means.

use leptos::prelude::*;

use crate::{api::Failure, components::Pointed};

/// One of a fixed set: its value on the wire and its words.
pub(super) type Choice = (&'static str, &'static str);

/// The ids of hint and error that describe a control.
fn described_by(
    id: String,
    hint: &'static str,
    error: Signal<Option<Failure>>,
) -> impl Fn() -> Option<String> {
    let hint = (!hint.is_empty()).then(|| format!("{id}-hint"));
    let wrong = format!("{id}-error");
    move || {
        let wrong = error.with(Option::is_some).then_some(wrong.as_str());
        let ids: Vec<&str> = hint.as_deref().into_iter().chain(wrong).collect();
        (!ids.is_empty()).then(|| ids.join(" "))
    }
}

fn is_invalid(error: Signal<Option<Failure>>) -> impl Fn() -> Option<&'static str> {
    move || error.with(Option::is_some).then_some("true")
}

/// What is wrong with a field, below it; with a position the value is repeated and the place marked.
#[component]
fn FieldError(
    id: String,
    #[prop(into)] error: Signal<Option<Failure>>,
    #[prop(into)] value: Signal<String>,
) -> impl IntoView {
    view! {
        <div class="field-error" id=format!("{id}-error") aria-live="polite">
            {move || {
                error.get().map(|failure| {
                    let place = failure.position.map(|(start, end)| view! {
                        <Pointed value=value.get_untracked() start=start end=end/>
                    });
                    view! { {place}<p>{failure.message}</p> }
                })
            }}
        </div>
    }
}

/// A single line.
#[component]
pub(crate) fn TextField(
    /// Unique on the page.
    #[prop(into)]
    id: String,
    #[prop(into)] label: String,
    value: RwSignal<String>,
    #[prop(into, optional)] error: Signal<Option<Failure>>,
    #[prop(optional)] hint: &'static str,
    /// `text`, `number`, `password`, `datetime-local`, ...
    #[prop(default = "text")]
    kind: &'static str,
    /// Shown in the fixed-width face, without the browser's help with spelling.
    #[prop(optional)]
    is_code: bool,
    #[prop(optional)] is_required: bool,
    #[prop(optional)] placeholder: &'static str,
    #[prop(optional)] autocomplete: Option<&'static str>,
    /// The id of a `datalist`.
    #[prop(optional)]
    list: Option<&'static str>,
    /// A button or a mark at the end of the line.
    #[prop(optional)]
    children: Option<Children>,
) -> impl IntoView {
    view! {
        <div class="field">
            <label for=id.clone()>{label}</label>
            <div class="field-line">
                <input
                    id=id.clone()
                    type=kind
                    class:code=is_code
                    placeholder=placeholder
                    required=is_required
                    autocomplete=autocomplete.unwrap_or("off")
                    autocapitalize="off"
                    spellcheck="false"
                    list=list
                    step=(kind == "number").then_some("any")
                    aria-invalid=is_invalid(error)
                    aria-describedby=described_by(id.clone(), hint, error)
                    bind:value=value
                />
                {children.map(|children| children())}
            </div>
            {(!hint.is_empty()).then(|| view! { <p class="hint" id=format!("{id}-hint")>{hint}</p> })}
            <FieldError id=id error=error value=value/>
        </div>
    }
}

/// Several lines.
#[component]
pub(crate) fn AreaField(
    #[prop(into)] id: String,
    #[prop(into)] label: String,
    value: RwSignal<String>,
    #[prop(into, optional)] error: Signal<Option<Failure>>,
    #[prop(optional)] hint: &'static str,
    #[prop(default = 3)] rows: u32,
    #[prop(optional)] is_code: bool,
    #[prop(optional)] is_required: bool,
) -> impl IntoView {
    view! {
        <div class="field">
            <label for=id.clone()>{label}</label>
            <textarea
                id=id.clone()
                class:code=is_code
                rows=rows
                required=is_required
                spellcheck=if is_code { "false" } else { "true" }
                aria-invalid=is_invalid(error)
                aria-describedby=described_by(id.clone(), hint, error)
                prop:value=move || value.get()
                on:input:target=move |event| value.set(event.target().value())
            ></textarea>
            {(!hint.is_empty()).then(|| view! { <p class="hint" id=format!("{id}-hint")>{hint}</p> })}
            <FieldError id=id error=error value=value/>
        </div>
    }
}

/// One of a few.
#[component]
pub(crate) fn ChoiceField(
    #[prop(into)] id: String,
    #[prop(into)] label: String,
    value: RwSignal<String>,
    #[prop(into)] choices: Signal<Vec<Choice>>,
    #[prop(into, optional)] error: Signal<Option<Failure>>,
    #[prop(optional)] hint: &'static str,
) -> impl IntoView {
    view! {
        <div class="field">
            <label for=id.clone()>{label}</label>
            <select
                id=id.clone()
                aria-invalid=is_invalid(error)
                aria-describedby=described_by(id.clone(), hint, error)
                on:change:target=move |event| value.set(event.target().value())
            >
                {move || choices.get().into_iter().map(|(name, words)| view! {
                    <option value=name selected=move || value.with(|value| value == name)>{words}</option>
                }).collect_view()}
            </select>
            {(!hint.is_empty()).then(|| view! { <p class="hint" id=format!("{id}-hint")>{hint}</p> })}
            <FieldError id=id error=error value=value/>
        </div>
    }
}
