//! A search line: the same query as text and as chips.
//!
//! Typing searches and completes at once: first the names of fields, then their values. Each term is shown as a chip
//! below; clicking a chip removes the term. Views are queries with a name. An error that the server reports is shown
//! under the line, with the wrong part marked.
//!
//! - `terms`: the terms of a query, and how one is completed (pure)
//! - `split`: the terms that a page reads itself, apart from those for the server (pure)

mod split;
mod terms;

pub(crate) use split::{FieldTerm, SplitQuery, field_term, plain_words, split_query};
pub(super) use terms::complete;
pub(crate) use terms::{QueryField, has_term, toggled, typed_value};

use leptos::{
    ev::{KeyboardEvent, SubmitEvent},
    html,
    prelude::*,
};

use self::terms::{terms, without};
use super::{
    Field, Glyph, Look, Typing, Waiting, icon, icon_button, live, menu, pointed, use_typing,
};
use crate::model::Failure;

/// A query with a name.
pub(crate) type QueryView = (&'static str, &'static str);

/// The user's saved views of a page: each with its id, name and query.
#[derive(Clone, Copy)]
pub(crate) struct OwnViews {
    pub(crate) views: Signal<Vec<(String, String, String)>>,
    /// Saves a query under a name.
    pub(crate) save: Callback<(String, String)>,
    pub(crate) forget: Callback<String>,
}

/// The user's saved views, and a field that saves the current search. `line` is the search line.
fn own_views(
    own: OwnViews,
    value: Signal<String>,
    search: Callback<String>,
    line: NodeRef<html::Input>,
) -> AnyView {
    let name = RwSignal::new(String::new());
    let chips = live(move || {
        let chip = |(id, name, query): (String, String, String)| {
            let (sought, forgotten) = (query.clone(), format!("Remove the view {name}"));
            let is_shown = move || value.with(|value| *value == sought).to_string();
            let wanted = query.clone();
            let show = move |_| search.run(wanted.clone());
            view! {
                <span class="query-own">
                    <button type="button" class="query-view" aria-pressed=is_shown title=query on:click=show>{name}</button>
                    {icon_button(Glyph::Close, "Forget", forgotten, move || own.forget.run(id.clone()))}
                </span>
            }
            .into_any()
        };
        own.views.get().into_iter().map(chip).collect::<Vec<_>>().into_any()
    });
    let save = live(move || {
        let is_new = value.with(|value| !value.trim().is_empty())
            && own
                .views
                .with(|views| views.iter().all(|(.., query)| value.with(|value| value != query)));
        if !is_new {
            return ().into_any();
        }
        let keep = move |event: SubmitEvent| {
            event.prevent_default();
            let text = name.get_untracked().trim().to_owned();
            if !text.is_empty() {
                own.save.run((text, value.get_untracked()));
                name.set(String::new());
                // The form disappears once the view is there.
                if let Some(line) = line.get_untracked() {
                    let _hidden = line.focus();
                }
            }
        };
        let form = view! {
            <form class="menu-form" on:submit=keep novalidate>
                {Field::new("view-name", "Name of the view", name).text()}
                <button type="submit" class=Look::Plain.class()>"Keep"</button>
            </form>
        };
        menu("", view! { "Keep this view" }.into_any(), form.into_any())
    });
    view! { {chips}{save} }.into_any()
}

/// The terms of the search, each with a button that removes it.
fn chips(value: Signal<String>, search: Callback<String>) -> AnyView {
    live(move || {
        let text = value.get();
        let chip = |at: usize, term: &str| {
            let rest = without(&text, at);
            let name = format!("Remove {term}");
            let remove = move || search.run(rest.clone());
            view! { <span class="tag">{term.to_owned()}{icon_button(Glyph::Close, "Remove", name, remove)}</span> }
                .into_any()
        };
        let chips: Vec<_> =
            terms(&text).into_iter().enumerate().map(|(at, term)| chip(at, term)).collect();
        if chips.is_empty() {
            ().into_any()
        } else {
            view! { <div class="query-chips">{chips}</div> }.into_any()
        }
    })
}

/// The predefined views; the current one is shown as pressed.
fn view_buttons(
    views: &'static [QueryView],
    value: Signal<String>,
    search: Callback<String>,
) -> Vec<AnyView> {
    let view = move |(words, query): QueryView| {
        let is_shown = move || (value.get() == query).to_string();
        let show =
            move |_| search.run(if value.get_untracked() == query { "" } else { query }.to_owned());
        view! { <button type="button" class="query-view" aria-pressed=is_shown on:click=show title=query>{words}</button> }
            .into_any()
    };
    views.iter().copied().map(view).collect()
}

/// The completion of the last term. Completions are offered while the user types, and disappear once one is accepted.
#[derive(Clone, Copy)]
struct Completion {
    input: NodeRef<html::Input>,
    typed: RwSignal<Option<String>>,
    offers: Memo<Option<Vec<terms::Offer>>>,
    /// The completion that the arrow keys have reached.
    active: RwSignal<Option<usize>>,
    typing: Typing,
}

fn use_completion(
    fields: &'static [QueryField],
    known: Signal<Vec<(&'static str, Vec<String>)>>,
    search: Callback<String>,
) -> Completion {
    let typed = RwSignal::new(None::<String>);
    let offers = Memo::new(move |_| {
        let text = typed.get()?;
        Some(complete(&text, fields, &known.get())).filter(|offers| !offers.is_empty())
    });
    let (input, active) = (NodeRef::new(), RwSignal::new(None));
    Completion { input, typed, offers, active, typing: use_typing(search) }
}

impl Completion {
    fn type_in(self, text: String) {
        self.active.set(None);
        self.typed.set(Some(text.clone()));
        self.typing.typed(text);
    }

    fn accept(self, text: String) {
        self.active.set(None);
        if let Some(input) = self.input.get_untracked() {
            input.set_value(&text);
            let _hidden = input.focus();
        }
        self.typed.set(text.ends_with(':').then(|| text.clone()));
        self.typing.typed(text);
    }

    fn close(self) {
        self.active.set(None);
        self.typed.set(None);
    }

    fn press(self, event: &KeyboardEvent) {
        let Some(offers) = self.offers.get_untracked() else { return };
        let last = offers.len() - 1;
        match (event.key().as_str(), self.active.get_untracked()) {
            ("ArrowDown", at) => self.active.set(Some(at.map_or(0, |at| (at + 1).min(last)))),
            ("ArrowUp", at) => self.active.set(at.and_then(|at| at.checked_sub(1))),
            ("Enter" | "Tab", Some(at)) => {
                if let Some(offer) = offers.get(at) {
                    self.accept(offer.text.clone());
                }
            }
            ("Escape", _) => self.close(),
            // It filters while the user types, so there is nothing to send.
            ("Enter", None) => return self.close(),
            _ => return,
        }
        event.prevent_default();
    }

    /// The list of completions. Clicking one accepts it.
    fn list(self) -> AnyView {
        live(move || {
            let Some(offers) = self.offers.get() else { return ().into_any() };
            let option = |(at, offer): (usize, &terms::Offer)| {
                let text = offer.text.clone();
                let press = move |event: leptos::ev::MouseEvent| {
                    // The focus must stay in the field.
                    event.prevent_default();
                    self.accept(text.clone());
                };
                view! {
                    <li
                        role="option"
                        id=format!("query-offer-{at}")
                        aria-selected=move || (self.active.get() == Some(at)).to_string()
                        on:mousedown=press
                    >
                        <code>{offer.words.clone()}</code>" "<span class="hint">{offer.hint}</span>
                    </li>
                }
                .into_any()
            };
            let options: Vec<_> = offers.iter().enumerate().map(option).collect();
            view! { <ul class="query-offers" role="listbox" id="query-offers" aria-label="Completions">{options}</ul> }
                .into_any()
        })
    }
}

/// The error that the server reports for the search, with the wrong part marked.
fn search_error(refusal: Signal<Option<Failure>>, value: Signal<String>) -> AnyView {
    live(move || {
        let Some(failure) = refusal.get() else { return ().into_any() };
        let place = failure.position.map(|(start, end)| pointed(&value.get(), start, end));
        view! { {place}<p>{failure.message}</p> }.into_any()
    })
}

/// The line, its chips and its views.
#[component]
pub(crate) fn QueryBar(
    label: &'static str,
    placeholder: &'static str,
    /// The current search.
    #[prop(into)]
    value: Signal<String>,
    #[prop(into)] loading: Waiting,
    search: Callback<String>,
    fields: &'static [QueryField],
    views: &'static [QueryView],
    /// The user's saved views, with the callbacks to save this query and to delete a view.
    #[prop(optional)]
    own: Option<OwnViews>,
    /// The known values of fields whose values vary: tags, workflows.
    #[prop(into, optional)]
    known: Signal<Vec<(&'static str, Vec<String>)>>,
) -> impl IntoView {
    let completion = use_completion(fields, known, search);
    let search = Callback::new(move |text| completion.typing.chosen(text));
    let views = view_buttons(views, value, search);
    let refusal = Signal::derive(move || loading.failure.get().filter(Failure::is_of_search));
    view! {
        <search class="query-bar">
            <div class="query-line">
                <div class="search-field">
                    {icon(Glyph::Search)}
                    <input
                        type="search"
                        role="combobox"
                        aria-label=label
                        aria-autocomplete="list"
                        aria-expanded=move || completion.offers.with(Option::is_some).to_string()
                        aria-controls="query-offers"
                        aria-activedescendant=move || completion.active.get().map(|at| format!("query-offer-{at}"))
                        aria-invalid=move || refusal.get().is_some().then_some("true")
                        aria-describedby="search-error"
                        placeholder=placeholder
                        autocomplete="off"
                        autocapitalize="off"
                        spellcheck="false"
                        node_ref=completion.input
                        prop:value=move || value.get()
                        on:keydown=move |event| completion.press(&event)
                        on:blur=move |_| completion.close()
                        on:input:target=move |event| completion.type_in(event.target().value())
                    />
                    <kbd aria-hidden="true">"/"</kbd>
                    {completion.list()}
                </div>
                <div class="query-views" role="group" aria-label="Views">
                    {views}
                    {own.map(|own| own_views(own, value, search, completion.input))}
                </div>
            </div>
            {chips(value, search)}
            <div class="field-error" id="search-error" aria-live="polite">
                {search_error(refusal, value)}
            </div>
        </search>
    }
}
