//! The line above the log: search, filters, switches, copy and download.

use leptos::{ev::KeyboardEvent, prelude::*};

use super::{Kept, Search, lines::Log, sight::Sight};
use crate::{
    components::{Glyph, Look, button, checkbox, copy_text, icon_button, live, save_text},
    data::Load,
    model::{LogStream, RunDetail},
    pages::run::looking::Looking,
    state::use_notices,
};

/// The state on which the tools work.
#[derive(Clone, Copy)]
pub(super) struct Tools {
    pub(super) kept: Kept,
    pub(super) search: Search,
    pub(super) sight: Sight,
    pub(super) looking: Looking,
    pub(super) run: Load<RunDetail>,
}

/// The streams, by their names in the address.
const LEVELS: [(&str, &str); 4] =
    [("", "All lines"), ("stdout", "Output"), ("stderr", "Errors"), ("system", "Carillon's own")];

/// The stream that the address names.
pub(in crate::pages::run) fn stream(name: &str) -> Option<LogStream> {
    match name {
        "stdout" => Some(LogStream::Stdout),
        "stderr" => Some(LogStream::Stderr),
        "system" => Some(LogStream::System),
        _ => None,
    }
}

pub(super) fn tools(tools: Tools) -> AnyView {
    let Tools { kept, sight, looking, run, .. } = tools;
    let notices = use_notices();
    let copy = move || copy_text(kept.log.with_value(Log::text), notices, "The log is copied.");
    let save = move || {
        let name = untrack(|| run.with(|run| format!("{}.log", run.row.id)));
        let name = name.unwrap_or_else(|| "run.log".to_owned());
        save_text(&name, "text/plain", &kept.log.with_value(Log::text));
    };
    let level = move |(name, words): (&'static str, &'static str)| {
        view! { <option value=name prop:selected=move || looking.stream_name() == name>{words}</option> }
            .into_any()
    };
    view! {
        <div class="log-tools" role="group" aria-label="Tools of the log">
            {finder(tools)}
            <select aria-label="Which lines" on:change:target=move |event| looking.choose_stream(&event.target().value())>
                {Vec::from(LEVELS.map(level))}
            </select>
            {live(move || chosen(looking))}
            <span class="log-switches">
                {switch("Wrap", sight.wraps)}
                {switch("Follow", sight.follow)}
                {button(Look::Plain, None, "Copy", copy)}
                {button(Look::Plain, None, "Download", save)}
            </span>
        </div>
    }
    .into_any()
}

fn switch(words: &'static str, is_on: RwSignal<bool>) -> AnyView {
    checkbox(words, move || is_on.get(), move |on| is_on.set(on))
}

/// The task or attempt that filters the log, and a button that removes the filter.
fn chosen(looking: Looking) -> AnyView {
    let (task, attempt) = looking.chosen();
    if task.is_empty() {
        return ().into_any();
    }
    let words = attempt.map_or_else(|| task.clone(), |attempt| format!("{task} #{attempt}"));
    let all = move || looking.choose((String::new(), None));
    view! {
        <span class="tag" data-testid="log-chosen">{words}{icon_button(Glyph::Close, "All tasks", "Show all tasks".to_owned(), all)}</span>
    }
    .into_any()
}

fn finder(tools: Tools) -> AnyView {
    let Tools { kept, search, sight, .. } = tools;
    let step = move |ahead: bool| {
        let count = kept.log.with_value(Log::hits);
        if count == 0 {
            return;
        }
        let current = search.current.get_untracked();
        go(tools, if ahead { (current + 1) % count } else { (current + count - 1) % count });
    };
    let typed = move |text: String| {
        kept.change(|log| log.search(&text));
        search.query.set(text);
        let first = kept.log.with_value(|log| log.hit_from(sight.first()));
        go(tools, first);
    };
    let pressed = move |event: KeyboardEvent| match event.key().as_str() {
        "Enter" => {
            event.prevent_default();
            step(!event.shift_key());
        }
        "Escape" => typed(String::new()),
        _ => {}
    };
    let said = move || {
        if search.query.with(String::is_empty) {
            return String::new();
        }
        match kept.with(Log::hits) {
            0 => "none".to_owned(),
            count => format!("{} of {count}", (search.current.get() + 1).min(count)),
        }
    };
    view! {
        <search class="log-search">
            <input
                type="search"
                aria-label="Search the log"
                placeholder="Search the log"
                autocapitalize="off"
                spellcheck="false"
                prop:value=move || search.query.get()
                on:input:target=move |event| typed(event.target().value())
                on:keydown=pressed
            />
            <span class="log-found" role="status" data-testid="log-found">{move || said()}</span>
            {icon_button(Glyph::Up, "Previous", "Previous match".to_owned(), move || step(false))}
            {icon_button(Glyph::Down, "Next", "Next match".to_owned(), move || step(true))}
        </search>
    }
    .into_any()
}

/// Goes to the match with this number, and puts its line into the address.
fn go(tools: Tools, number: usize) {
    tools.search.current.set(number);
    let found = tools.kept.log.with_value(|log| {
        let place = log.hit(number)?.place;
        Some((place, log.line(place)?.0))
    });
    if let Some((place, line)) = found {
        tools.sight.show(place);
        tools.looking.link(line);
    }
}
