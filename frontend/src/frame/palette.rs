//! The palette: Ctrl-K, a few letters, Enter. It opens pages, schedules and forms, opens a run by its id, and runs a
//! schedule. To pause or resume a schedule, it opens the schedule's page with the dialog.

use leptos::{
    ev::{self, KeyboardEvent},
    prelude::*,
};
use web_sys::Element;

use super::rail::PAGES;
use crate::{
    api,
    components::{Dialog, Glyph, icon, is_id, live, use_typing},
    data::{self, Actor, Load, use_actor, use_load},
    model::{FoundSchedule, Role, ScheduleState},
    route::Route,
    state::{Address, PICKED, Said, ranged_path, use_address, use_session},
};

const FOUND: i64 = 6;
const NOTHING: &str = "No page, action or schedule matches this text.";

/// The schedules that the server finds.
type Found = Load<Vec<FoundSchedule>>;

/// An object that can be created: the page with its form, and the lowest role that may.
struct New {
    words: &'static str,
    least: Role,
    route: Route,
    form: Form,
}

/// Where the form of a new object is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// On a page of its own.
    Page,
    /// In a dialog of the page with the list.
    Dialog,
    /// In such a dialog, of a page that shows one namespace.
    DialogOfOne,
}

const fn new(words: &'static str, least: Role, route: Route) -> New {
    New { words, least, route, form: Form::Page }
}

const fn new_in(form: Form, words: &'static str, least: Role, route: Route) -> New {
    New { words, least, route, form }
}

/// The objects that the palette creates.
const NEW: &[New] = &[
    new("New schedule", Role::Editor, Route::NewSchedule),
    new("New backfill", Role::Operator, Route::NewBackfill),
    new("New calendar", Role::Editor, Route::NewCalendar),
    new("New maintenance window", Role::Operator, Route::NewMaintenance),
    new("New workflow", Role::Editor, Route::NewWorkflow),
    new("New alert rule", Role::Editor, Route::NewAlertRule),
    new("New module from a file", Role::Editor, Route::DeployModule),
    new_in(Form::DialogOfOne, "New group", Role::Editor, Route::Groups),
    new_in(Form::Dialog, "New secret", Role::Admin, Route::Secrets),
    new_in(Form::Dialog, "New token", Role::Viewer, Route::Tokens),
    new_in(Form::Dialog, "New feed", Role::Viewer, Route::Feeds),
];

/// The action of a line of the palette.
#[derive(Clone, Debug, PartialEq)]
enum Act {
    Go(String),
    Run { id: String, name: String },
}

/// A line of the palette: an action and its words.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    words: String,
    hint: &'static str,
    act: Act,
}

/// The button in the header, and the palette.
#[component]
pub(super) fn Palette() -> impl IntoView {
    let open = RwSignal::new(false);
    let listener = window_event_listener(ev::keydown, move |event| {
        if (event.ctrl_key() || event.meta_key()) && event.key() == "k" {
            event.prevent_default();
            open.update(|open| *open = !*open);
        }
    });
    on_cleanup(move || listener.remove());
    view! {
        <button type="button" class="palette-button" on:click=move |_| open.set(true)>
            {icon(Glyph::Search)}<span>"Go to or do"</span><kbd>"Ctrl K"</kbd>
        </button>
        <Dialog open=open title="Go to or do">{content(open)}</Dialog>
    }
}

fn content(open: RwSignal<bool>) -> AnyView {
    let (address, actor) = (use_address(), use_actor());
    let text = RwSignal::new(String::new());
    let sought = RwSignal::new(String::new());
    let typing = use_typing(Callback::new(move |now| drop(sought.try_set(now))));
    let found = use_found(sought);
    let lines = use_lines(text, sought, found);
    // The text of the last answer, until something else is typed.
    let answered = RwSignal::new(None::<String>);
    Effect::new(move |_| {
        if !found.loading.is_asking() {
            answered.set(Some(sought.get_untracked()));
        }
    });
    let active = RwSignal::new(0_usize);
    Effect::new(move |_| {
        let id = format!("palette-{}", active.get());
        if let Some(line) = document().get_element_by_id(&id) {
            keep_in_sight(&line);
        }
    });
    let take = move |at: usize| {
        if let Some(line) = lines.with_untracked(|lines| lines.get(at).cloned()) {
            open.set(false);
            perform(line.act, address, actor);
        }
    };
    let key = move |event: KeyboardEvent| {
        let last = lines.with_untracked(Vec::len).saturating_sub(1);
        match event.key().as_str() {
            "ArrowDown" => active.update(|at| *at = (*at + 1).min(last)),
            "ArrowUp" => active.update(|at| *at = at.saturating_sub(1)),
            "Enter" => take(active.get_untracked()),
            _ => return,
        }
        event.prevent_default();
    };
    view! {
        <div class="palette">
            <input
                type="text"
                role="combobox"
                aria-label="A page, a schedule"
                aria-autocomplete="list"
                aria-expanded="true"
                aria-controls="palette-list"
                aria-activedescendant=move || {
                    let at = active.get();
                    lines.with(|lines| at < lines.len()).then(|| format!("palette-{at}"))
                }
                placeholder="A page, a schedule"
                autocomplete="off"
                spellcheck="false"
                autofocus
                on:keydown=key
                on:input:target=move |event| {
                    let now = event.target().value();
                    active.set(0);
                    answered.set(None);
                    text.set(now.clone());
                    typing.typed(now);
                }
            />
            {nothing(text, answered, found, lines)}
            {options(lines, active, take)}
        </div>
    }
    .into_any()
}

/// Scrolls the list so far that the whole line is seen.
fn keep_in_sight(line: &Element) {
    let Some(list) = line.parent_element() else { return };
    let (line, frame) = (line.get_bounding_client_rect(), list.get_bounding_client_rect());
    let above = frame.y() - line.y();
    let below = line.y() + line.height() - frame.y() - frame.height();
    let by = if above > 0.0 { -above.ceil() } else { below.ceil().max(0.0) };
    list.set_scroll_top(list.scroll_top() + by as i32);
}

/// The schedules whose names contain the text. `sought` is the text after a delay.
fn use_found(sought: RwSignal<String>) -> Found {
    let address = use_address();
    use_load(move || {
        let text = sought.get();
        let words = text.trim();
        let search = (!words.is_empty()).then(|| format!("name:{:?}", words))?;
        Some(api::found_schedules(address.namespace(), search, FOUND))
    })
}

/// Says that nothing matches the text, once the server has answered for this text; or why it could not search.
fn nothing(
    text: RwSignal<String>,
    answered: RwSignal<Option<String>>,
    found: Found,
    lines: Memo<Vec<Line>>,
) -> AnyView {
    let words = Memo::new(move |_| {
        let is_same = answered.with(|answered| text.with(|text| answered.as_ref() == Some(text)));
        let is_answered = is_same && !found.loading.is_asking();
        if !is_answered || lines.with(|lines| !lines.is_empty()) {
            return String::new();
        }
        found.loading.failure().map_or_else(|| NOTHING.to_owned(), |failure| failure.message)
    });
    view! { <p class="hint" role="status">{move || words.get()}</p> }.into_any()
}

/// The lines that match the text: pages at once, and schedules once the server has found them.
fn use_lines(text: RwSignal<String>, sought: RwSignal<String>, found: Found) -> Memo<Vec<Line>> {
    let (address, session) = (use_address(), use_session());
    Memo::new(move |_| {
        let words = text.get().trim().to_ascii_lowercase();
        let fits = |name: &str| name.to_ascii_lowercase().contains(&words);
        let page = |words: &str, route: &Route| Line {
            words: words.to_owned(),
            hint: "Go to",
            act: Act::Go(ranged_path(address, route)),
        };
        let pages = PAGES.iter().filter(|entry| fits(entry.words));
        let mut lines: Vec<Line> = pages.map(|entry| page(entry.words, &entry.route)).collect();
        let role = session.role();
        let may = |new: &&New| {
            let is_here = new.form != Form::DialogOfOne || !address.is_across();
            // A secret is one of the picked namespace, whatever the user may do elsewhere.
            let is_allowed = if new.route == Route::Secrets {
                session.administers_in(&session.picked())
            } else {
                role.is_some_and(|role| role >= new.least)
            };
            is_here && is_allowed
        };
        let new = NEW.iter().filter(may).filter(|new| fits(new.words));
        lines.extend(new.map(|new| Line {
            words: new.words.to_owned(),
            hint: "Create",
            act: Act::Go(form_of(new, address)),
        }));
        if is_id(&words) {
            lines.push(Line { hint: "Open the run", ..page(&words, &Route::Run(words.clone())) });
        }
        let is_fresh =
            !words.is_empty() && sought.with(|sought| sought.trim().to_ascii_lowercase() == words);
        let mut rows = found.with(Vec::clone).filter(|_| is_fresh).unwrap_or_default();
        // Until the answer is there, these are the schedules of an earlier text. Enter must not open one of them.
        rows.retain(|row| !words.is_ascii() || fits(&row.name));
        // Schedules in two namespaces may have the same name.
        let is_across = address.is_across();
        let named = |row: &FoundSchedule| match is_across {
            true => format!("{} in {}", row.name, row.namespace),
            false => row.name.clone(),
        };
        for row in &rows {
            lines.push(page(&named(row), &Route::Schedule(row.id.clone())));
        }
        for row in rows.iter().filter(|row| {
            row.state != ScheduleState::Finished && session.operates_in(&row.namespace)
        }) {
            let act = Act::Run { id: row.id.clone(), name: row.name.clone() };
            lines.push(Line { words: named(row), hint: "Run now", act });
            let Some((hint, asked)) = switch(row.state) else { continue };
            let path = Route::Schedule(row.id.clone()).narrowed(&[("do", asked)]);
            lines.push(Line { words: named(row), hint, act: Act::Go(path) });
        }
        lines
    })
}

/// The address of the form of a new object.
fn form_of(new: &New, address: Address) -> String {
    match new.form {
        Form::Page => ranged_path(address, &new.route),
        // The page stays as it is: its filters, and the namespace that it shows.
        Form::Dialog | Form::DialogOfOne if address.route().as_ref() == Some(&new.route) => {
            address.href(&[Route::CREATE, ("tab", "")])
        }
        // A page that shows one of several namespaces goes on to show the picked one.
        Form::Dialog | Form::DialogOfOne => {
            new.route.narrowed(&[Route::CREATE, (PICKED, &address.query(PICKED))])
        }
    }
}

/// The action that a schedule's page offers, pause or resume: its words, and its value in the address. `None` if the
/// schedule has no fires left.
fn switch(state: ScheduleState) -> Option<(&'static str, &'static str)> {
    match state {
        ScheduleState::Active => Some(("Pause", "pause")),
        ScheduleState::Paused => Some(("Resume", "resume")),
        ScheduleState::Exhausted | ScheduleState::Finished => None,
    }
}

/// The list of the lines; a click on one runs it.
fn options(
    lines: Memo<Vec<Line>>,
    active: RwSignal<usize>,
    take: impl Fn(usize) + Copy + Send + Sync + 'static,
) -> AnyView {
    live(move || {
        let option = |(at, line): (usize, &Line)| {
            view! {
                <li
                    role="option"
                    id=format!("palette-{at}")
                    aria-selected=move || (active.get() == at).to_string()
                    on:click=move |_| take(at)
                >
                    <span class="hint">{line.hint}</span>" "{line.words.clone()}
                </li>
            }
            .into_any()
        };
        let options: Vec<_> = lines.get().iter().enumerate().map(option).collect();
        view! { <ul class="palette-list" role="listbox" id="palette-list" aria-label="Search results">{options}</ul> }
            .into_any()
    })
}

fn perform(act: Act, address: Address, actor: Actor) {
    match act {
        Act::Go(path) => address.go(&path),
        Act::Run { id, name } => {
            let run = api::trigger_schedule(id, None, None, data::new_key());
            actor.send(run, move |outcome| match outcome {
                Ok(run) => {
                    let said = Said::new(format!("{name} runs now."));
                    actor.say(said.link("Open the run", Route::Run(run).path()));
                }
                Err(failure) => actor.complain(&failure),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_without_fires_is_not_offered_to_be_paused() {
        assert_eq!(switch(ScheduleState::Active), Some(("Pause", "pause")));
        assert_eq!(switch(ScheduleState::Paused), Some(("Resume", "resume")));
        assert_eq!(switch(ScheduleState::Exhausted), None);
        assert_eq!(switch(ScheduleState::Finished), None);
    }
}
