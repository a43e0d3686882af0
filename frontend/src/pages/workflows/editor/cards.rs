//! The tasks, one card each. The card of the selected task shows its fields, the others a summary.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use super::{
    draft::{Draft, Need, TaskDraft},
    errors::Errors,
    picture::{kind_word, shown},
};
use crate::{
    components::{Field, Glyph, focus_first, icon, icon_button, keyed, live},
    pages::{
        kit::check,
        task_form::{Place, kinds, limits, target_fields},
    },
};

/// All cards, and the button that adds one.
pub(super) fn cards(draft: Draft, errors: Errors) -> AnyView {
    let keys =
        move || draft.tasks.with(|tasks| tasks.iter().map(|task| task.key.to_string()).collect());
    let card = move |key: String| {
        let task = key.parse().ok().and_then(|key| untrack(|| draft.task(key)));
        task.map_or_else(|| ().into_any(), |task| card(draft, errors, task))
    };
    let add = move |_| {
        draft.add();
        focus_name(draft);
    };
    view! {
        <div class="task-cards">
            {keyed(keys, card)}
            <button type="button" class="button" on:click=add>{icon(Glyph::Plus)}"Add task"</button>
        </div>
    }
    .into_any()
}

/// Scrolls to the card of a task, once the card is drawn.
pub(super) fn show(key: u32) {
    request_animation_frame(move || {
        if let Some(field) = element(&format!("t{key}-head")) {
            field.scroll_into_view();
            let _hidden = field.focus();
        }
    });
}

fn focus_name(draft: Draft) {
    let Some(key) = draft.chosen.get_untracked() else { return };
    request_animation_frame(move || {
        if let Some(field) = element(&format!("t{key}-name")) {
            let _hidden = field.focus();
        }
    });
}

fn element(id: &str) -> Option<HtmlElement> {
    document().get_element_by_id(id)?.dyn_into().ok()
}

fn card(draft: Draft, errors: Errors, task: TaskDraft) -> AnyView {
    let key = task.key;
    let is_open = Memo::new(move |_| draft.chosen.get() == Some(key));
    let toggle = move |_| {
        let now = draft.chosen.get_untracked();
        draft.chosen.set(if now == Some(key) { None } else { Some(key) });
    };
    let name = Memo::new(move |_| shown(&task.name()).to_owned());
    let mark = live(move || {
        if !errors.has(key) {
            return ().into_any();
        }
        view! { <span class="task-wrong">{icon(Glyph::Alert)}"Needs mending"</span> }.into_any()
    });
    let body = move || {
        if is_open.get() {
            view! { <div class="task-body" id=format!("t{key}-body")>{fields(draft, errors, task)}</div> }
                .into_any()
        } else {
            ().into_any()
        }
    };
    view! {
        <section class="panel task-card" data-testid="task-card" aria-label=move || format!("Task {}", name.get())>
            <header class="task-card-head">
                <button
                    type="button"
                    id=format!("t{key}-head")
                    class="task-toggle"
                    aria-expanded=move || is_open.get().to_string()
                    on:click=toggle
                >
                    <strong>{move || name.get()}</strong>
                    <span class="task-summary">{move || summary(draft, task)}</span>
                    {mark}
                </button>
                <div class="task-actions">{live(move || actions(draft, key, &name.get()))}</div>
            </header>
            {live(body)}
        </section>
    }
    .into_any()
}

/// The task's kind and the tasks that it waits for, in one line; tracked.
fn summary(draft: Draft, task: TaskDraft) -> String {
    let kind = task.fields.kind.with(|kind| kind_word(kind));
    let nodes = draft.nodes();
    let needs = nodes.into_iter().find(|node| node.key == task.key).map(|node| node.needs);
    match needs.filter(|needs| !needs.is_empty()) {
        Some(needs) => format!("{kind}, after {}", needs.join(", ")),
        None => kind.to_owned(),
    }
}

fn actions(draft: Draft, key: u32, name: &str) -> AnyView {
    let button = |glyph, title: &'static str, action: fn(Draft, u32)| {
        icon_button(glyph, title, format!("{title}: {name}"), move || action(draft, key))
    };
    view! {
        {button(Glyph::Up, "Move up", |draft, key| shift(draft, key, false))}
        {button(Glyph::Down, "Move down", |draft, key| shift(draft, key, true))}
        {button(Glyph::Layers, "Duplicate", |draft, key| {
            draft.duplicate(key);
            focus_name(draft);
        })}
        {button(Glyph::Trash, "Remove", remove)}
    }
    .into_any()
}

/// Moves a task. Its card loses the focus when it moves, so its button gets it back.
fn shift(draft: Draft, key: u32, is_down: bool) {
    draft.shift(key, is_down);
    let title = if is_down { "Move down" } else { "Move up" };
    focus_first(vec![format!("#t{key}-head ~ .task-actions [title='{title}']")]);
}

/// Removes a task. The focus moves to the task beside it, or else to the button that adds one.
fn remove(draft: Draft, key: u32) {
    let beside = draft.tasks.with_untracked(|tasks| {
        let place = tasks.iter().position(|task| task.key == key)?;
        let beside = tasks.get(place + 1).or_else(|| tasks.get(place.checked_sub(1)?))?;
        Some(format!("#t{}-head", beside.key))
    });
    draft.remove(key);
    focus_first(beside.into_iter().chain([".task-cards > button".to_owned()]).collect());
}

fn fields(draft: Draft, errors: Errors, task: TaskDraft) -> AnyView {
    let key = task.key;
    let place = Place::new(format!("t{key}-"), errors.of_task(key));
    view! {
        {place.field("name", "Task name", task.fields.name, "name").required().text()}
        {needs(draft, task, place)}
        {kinds(task.fields, place, &[])}
        {target_fields(task.fields, place)}
        {limits(task.fields, place)}
    }
    .into_any()
}

/// A check box for each other task that this task may need. Once it needs one, also the condition.
fn needs(draft: Draft, task: TaskDraft, place: Place) -> AnyView {
    let wrong = place.errors.of(&["needs"]);
    // The boxes are only redrawn when names change, so a ticked box keeps the focus.
    let names = Memo::new(move |_| {
        let nodes = draft.nodes().into_iter();
        nodes.map(|node| (node.key, node.name)).collect::<Vec<_>>()
    });
    let unknown =
        Memo::new(move |_| names.with(|names| task.needs.with(|needs| unknown(needs, names))));
    let boxes = live(move || {
        let (names, unknown) = (names.get(), unknown.get());
        let others = names.into_iter().filter(|(key, _)| *key != task.key);
        let tasks: Vec<AnyView> =
            others.map(|(key, name)| need_box(task, place, Need::Task(key), name, "")).collect();
        let unknown: Vec<AnyView> = unknown
            .into_iter()
            .map(|name| need_box(task, place, Need::Unknown(name.clone()), name, ", no such task"))
            .collect();
        if tasks.is_empty() && unknown.is_empty() {
            return view! { <p class="hint">"There is no other task yet."</p> }.into_any();
        }
        view! { <div class="switch-set">{tasks}{unknown}</div> }.into_any()
    });
    let has_needs = Memo::new(move |_| task.needs.with(|needs| !needs.is_empty()));
    let conditions = live(move || {
        if !has_needs.get() {
            return ().into_any();
        }
        Field::new(place.id("when"), "Starts if", task.when)
            .error(place.errors.of(&["when"]))
            .choice(&[
                ("success", "All of them have succeeded"),
                ("failure", "One of them failed"),
                ("always", "They have ended, with any result"),
            ])
    });
    let message = move || wrong.get().map(|failure| view! { <p>{failure.message}</p> }.into_any());
    view! {
        <fieldset class="field needs" aria-describedby=place.id("needs-error")>
            <legend>"Waits for"</legend>
            {boxes}
            <div class="field-error" id=place.id("needs-error") aria-live="polite">{move || message()}</div>
        </fieldset>
        <div class="field-grid">
            {conditions}
            {check(place.id("allow-failure"), "The run may succeed even if this task fails", task.allow_failure, "")}
        </div>
    }
    .into_any()
}

/// The names among the needs that match no task.
fn unknown(needs: &[Need], names: &[(u32, String)]) -> Vec<String> {
    let name = |need: &Need| match need {
        Need::Unknown(name) => Some(name.clone()),
        Need::Task(_) => None,
    };
    let is_stranger = |name: &String| !names.iter().any(|(_, known)| known == name);
    needs.iter().filter_map(name).filter(is_stranger).collect()
}

fn need_box(task: TaskDraft, place: Place, need: Need, name: String, note: &str) -> AnyView {
    let wrong = place.errors.of(&["needs"]);
    let by_name = Need::Unknown(name.clone());
    let (known, same_name) = (need.clone(), by_name.clone());
    let is_in =
        move || task.needs.with(|needs| needs.contains(&known) || needs.contains(&same_name));
    let flip = move |is_on: bool| {
        task.needs.update(|needs| {
            needs.retain(|other| *other != need && *other != by_name);
            if is_on {
                needs.push(need.clone());
            }
        });
    };
    // Only a selected box can be an error.
    let is_wrong = {
        let is_in = is_in.clone();
        move || (wrong.with(Option::is_some) && is_in()).then_some("true")
    };
    let words = shown(&name).to_owned();
    view! {
        <label class="switch-member">
            <input
                type="checkbox"
                aria-invalid=is_wrong
                prop:checked=is_in
                on:change:target=move |event| flip(event.target().checked())
            />
            <span>{format!("{words}{note}")}</span>
        </label>
    }
    .into_any()
}
