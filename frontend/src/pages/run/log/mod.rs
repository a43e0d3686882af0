//! The log, line by line while it is written.
//!
//! All lines are kept, but only those in view are drawn, so a log of any length costs the page the same. While
//! `Follow` is set, the last line stays in view; scrolling up unsets it, as in a terminal. The number of a line is a
//! link to the line.
//!
//! - `lines`: the lines, the visible ones, the matches (pure)
//! - `ansi`: the colours that programs write (pure)
//! - `segments`: cuts a line into pieces of one style (pure)
//! - `sight`: the part of the log that is in view
//! - `tools`: the search, the filters and the switches above the log

mod ansi;
mod lines;
mod segments;
mod sight;
mod tools;

use leptos::prelude::*;

pub(in crate::pages) use self::ansi::plain;
pub(super) use self::tools::stream;
use self::{
    lines::{Filter, Log},
    segments::{Segment, segments},
    sight::{Sight, use_sight},
    tools::{Tools, tools},
};
use super::looking::Looking;
use crate::{
    components::{keyed, live, panel},
    data::{Feed, Load, use_ending_feed},
    model::{LogStream, RunDetail},
    state::{Zone, use_zone},
    time::Wall,
};

/// Shown in place of the log to a user who may not see payloads.
const NOT_PERMITTED: &str = "The log needs the right to see payloads. An administrator of the namespace grants it \
                             under People and roles.";

/// The lines, and a signal that changes with them.
#[derive(Clone, Copy)]
struct Kept {
    log: StoredValue<Log, LocalStorage>,
    version: RwSignal<u32>,
}

impl Kept {
    /// Takes a value from the log; tracked.
    fn with<T>(self, take: impl FnOnce(&Log) -> T) -> T {
        self.version.track();
        self.log.with_value(take)
    }

    fn change(self, change: impl FnOnce(&mut Log)) {
        self.log.update_value(change);
        self.version.update(|version| *version = version.wrapping_add(1));
    }
}

/// Whether more of the log is expected.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arrival {
    /// There may be more lines.
    Expected,
    /// The server does not send the log: the caller may not see payloads, or the server has no capacity.
    Refused,
    /// The run is over and all lines have arrived.
    Complete,
}

/// The search text, and the number of the current match.
#[derive(Clone, Copy)]
struct Search {
    query: RwSignal<String>,
    current: RwSignal<usize>,
}

/// The panel with the log and its tools.
#[component]
pub(super) fn LogPanel(id: String, run: Load<RunDetail>, looking: Looking) -> impl IntoView {
    let kept = Kept { log: StoredValue::new_local(Log::default()), version: RwSignal::new(0) };
    let arrival = RwSignal::new(Arrival::Expected);
    use_ending_feed(
        move || Feed::log(id.clone()),
        move |batch| {
            // A feed that the server had refused now works.
            if arrival.get_untracked() == Arrival::Refused {
                arrival.set(Arrival::Expected);
            }
            kept.change(|log| log.push(batch));
        },
        // After a gap, the feed starts again from the first line.
        move || {
            arrival.set(Arrival::Refused);
            kept.change(Log::clear);
        },
        move || arrival.set(Arrival::Complete),
    );
    let search = Search { query: RwSignal::new(String::new()), current: RwSignal::new(0) };
    // The address also says at which line one looks, which filters nothing.
    let filter = Memo::new(move |_| {
        let (task, attempt) = looking.chosen();
        Filter { task, attempt, stream: looking.stream() }
    });
    Effect::new(move |_| {
        kept.change(|log| log.narrow(filter.get()));
        // The matches have other numbers now, also in lines that stay.
        if search.query.with_untracked(|query| !query.is_empty()) {
            search.current.set(0);
        }
    });
    let sight = use_sight(kept);
    go_to_linked(kept, sight, looking);
    let zone = Memo::new(move |_| run.with(|run| run.row.zone()).flatten());
    let draw = LineDrawing { kept, search, looking, choice: use_zone(), zone };
    let is_empty = Memo::new(move |_| kept.with(Log::shown) == 0);
    let content = live(move || {
        if !is_empty.get() {
            return keyed(move || sight.numbers(), move |number| draw.line(&number));
        }
        let is_live = run.with(|run| run.row.state.is_live()) == Some(true);
        let is_hidden = run.with(|run| run.more.hides_payloads()) == Some(true);
        let words = match (kept.with(Log::count), arrival.get(), is_live) {
            (0, Arrival::Refused, _) if is_hidden => NOT_PERMITTED,
            (0, Arrival::Complete, _) => "It wrote nothing.",
            (0, Arrival::Refused, true) => "No output has arrived; trying again …",
            (0, Arrival::Refused, false) => "The log cannot be read at present.",
            (0, Arrival::Expected, true) => "It has written nothing yet. Waiting for output …",
            (0, Arrival::Expected, false) => "Loading the log …",
            _ => "No line matches the filter.",
        };
        view! { <p class="log-empty">{words}</p> }.into_any()
    });
    let aside = view! { <span class="muted">{move || kept.with(count_words)}</span> };
    let body = view! {
        {tools(Tools { kept, search, sight, looking, run })}
        <div
            class="log"
            role="log"
            aria-label="Log of the run"
            tabindex="0"
            data-wrap=move || sight.wraps.get().then_some("")
            data-mixed=move || kept.with(Log::is_mixed).then_some("")
            node_ref=sight.frame
            on:scroll=move |_| sight.scrolled()
        >
            {probe(sight)}
            <div class="log-canvas" style:height=move || sight.height()>
                <div class="log-window" style:transform=move || sight.shift()>{content}</div>
            </div>
        </div>
    };
    panel("Log", aside, body)
}

/// An invisible line for measuring how many characters fit into a row.
fn probe(sight: Sight) -> AnyView {
    view! {
        <div class="log-line log-probe" aria-hidden="true">
            <span class="log-number"></span>
            <span class="log-time"></span>
            <span class="log-label"></span>
            <span class="log-text" node_ref=sight.cell><span node_ref=sight.letters>"MMMMMMMMMMMMMMMMMMMM"</span></span>
        </div>
    }
    .into_any()
}

/// Scrolls to the line that the address names, once it has arrived.
fn go_to_linked(kept: Kept, sight: Sight, looking: Looking) {
    let linked = untrack(|| looking.line());
    let there = StoredValue::new(linked.is_none());
    if linked.is_some() {
        sight.follow.set(false);
    }
    Effect::new(move |_| {
        let place = linked.and_then(|number| kept.with(|log| log.place_of(number)));
        if let Some(place) = place.filter(|_| !there.get_value()) {
            there.set_value(true);
            request_animation_frame(move || sight.reveal(place));
        }
    });
}

/// The values that are needed to draw a line.
#[derive(Clone, Copy)]
struct LineDrawing {
    kept: Kept,
    search: Search,
    looking: Looking,
    choice: Zone,
    zone: Memo<Option<String>>,
}

impl LineDrawing {
    fn line(self, number: &str) -> AnyView {
        let Ok(number) = number.parse::<usize>() else { return ().into_any() };
        let found = self.kept.log.with_value(|log| {
            let (_, line) = log.line(log.place_of(number)?)?;
            Some((line.at, stream_name(line.stream), line.task.clone(), line.attempt))
        });
        let Some((at, stream, task, attempt)) = found else { return ().into_any() };
        let zone = self.zone;
        let time = move || {
            let zone = self.choice.get().zone(zone.get().as_deref());
            Wall::read(at, &zone).map(|wall| wall.time).unwrap_or_default()
        };
        let title = format!("{} {task}, attempt {attempt}, {stream}", at.to_rfc3339());
        let looking = self.looking;
        let is_linked = move || (looking.line() == Some(number)).then_some("");
        let link = move |event: leptos::ev::MouseEvent| {
            event.prevent_default();
            looking.link(number);
        };
        view! {
            <div class="log-line" data-stream=stream data-testid="log-line" data-linked=is_linked title=title>
                <a class="log-number" href=move || looking.address_of(number) tabindex="-1" aria-label=format!("Link to line {number}") on:click=link>
                    {number}
                </a>
                <span class="log-time">{move || time()}</span>
                <span class="log-label">{format!("{task} #{attempt}")}</span>
                <span class="log-text">{live(move || self.text(number))}</span>
            </div>
        }
        .into_any()
    }

    /// The text of the line, with its matches marked.
    fn text(self, number: usize) -> AnyView {
        let current = self.search.current.get();
        // The line is redrawn when the search changes, but not when further lines arrive.
        self.search.query.track();
        self.kept.log.with_value(|log| {
            let Some(place) = log.place_of(number) else { return ().into_any() };
            let Some((_, line)) = log.line(place) else { return ().into_any() };
            let hits = log.hits_at(place);
            if hits.is_empty() && line.strokes.is_empty() {
                return line.text.clone().into_any();
            }
            let pieces = segments(&line.text, &line.strokes, &hits);
            pieces.into_iter().map(|piece| drawn(piece, current)).collect::<Vec<_>>().into_any()
        })
    }
}

fn drawn(piece: Segment<'_>, current: usize) -> AnyView {
    let text = piece.text.to_owned();
    match piece.hit {
        Some(hit) => {
            let is_current = (hit == current).then_some("");
            view! { <mark class=piece.class data-current=is_current>{text}</mark> }.into_any()
        }
        None if piece.class.is_empty() => text.into_any(),
        None => view! { <span class=piece.class>{text}</span> }.into_any(),
    }
}

fn stream_name(stream: LogStream) -> &'static str {
    match stream {
        LogStream::Stdout => "stdout",
        LogStream::Stderr => "stderr",
        LogStream::System => "system",
    }
}

fn count_words(log: &Log) -> String {
    match (log.shown(), log.count()) {
        (1, 1) => "1 line".to_owned(),
        (shown, count) if shown == count => format!("{count} lines"),
        (shown, count) => format!("{shown} of {count} lines"),
    }
}
