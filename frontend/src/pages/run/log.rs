//! The log, line by line while it is written.
//!
//! At most `KEPT` lines are on the page: a run that logs without end must not eat the browser. While `Follow` is set the
//! last line stays in sight; scrolling up unsets it, as in any terminal.

use leptos::{html, prelude::*};

use crate::{
    components::{keyed, live, panel},
    data::{Feed, Load, use_feed},
    model::{LogEvent, LogStream, RunDetail},
    state::use_zone,
    time::Wall,
};

const KEPT: usize = 5_000;

/// The panel with the log and its switch.
#[component]
pub(super) fn LogPanel(id: String, run: Load<RunDetail>) -> impl IntoView {
    let lines = RwSignal::new(Vec::<LogEvent>::new());
    let dropped = RwSignal::new(0_usize);
    let follow = RwSignal::new(true);
    use_feed(
        Feed::log(id),
        move |batch| {
            lines.update(|lines| {
                lines.extend(batch);
                let surplus = lines.len().saturating_sub(KEPT);
                lines.drain(..surplus);
                dropped.update(|dropped| *dropped += surplus);
            });
        },
        // From its first line on again.
        move || lines.set(Vec::new()),
    );
    let frame = NodeRef::<html::Div>::new();
    Effect::new(move |_| {
        let count = lines.with(Vec::len);
        if let Some(frame) = frame.get().filter(|_| follow.get() && count > 0) {
            request_animation_frame(move || frame.set_scroll_top(frame.scroll_height()));
        }
    });
    let scrolled = move |_| {
        if let Some(frame) = frame.get_untracked() {
            let below = frame.scroll_height() - frame.scroll_top() - frame.client_height();
            follow.set(below < 24);
        }
    };
    let zone = Memo::new(move |_| run.with(|run| run.row.zone()).flatten());
    let keys = move || {
        lines.with(|lines| lines.iter().map(|line| line.cursor.clone()).collect::<Vec<_>>())
    };
    let line = move |cursor: String| {
        // The newest are at the end, and it is them that are drawn.
        let found =
            lines.with_untracked(|lines| lines.iter().rfind(|line| line.cursor == cursor).cloned());
        found.map_or_else(|| ().into_any(), |found| log_line(found, zone))
    };
    let is_empty = Memo::new(move |_| lines.with(Vec::is_empty));
    let content = live(move || {
        if !is_empty.get() {
            return keyed(keys, line);
        }
        let is_live = run.with(|run| run.row.state.is_live()) == Some(true);
        let words = if is_live { "Waiting for the first line …" } else { "It wrote nothing." };
        view! { <p class="log-empty">{words}</p> }.into_any()
    });
    let aside = view! {
        <span class="log-tools">
            <span class="muted">{move || count_words(lines.with(Vec::len), dropped.get())}</span>
            <label class="check-label">
                <input type="checkbox" prop:checked=move || follow.get() on:change:target=move |event| follow.set(event.target().checked())/>
                "Follow"
            </label>
        </span>
    };
    let log = view! {
        <div class="log" role="log" aria-label="Log of the run" tabindex="0" node_ref=frame on:scroll=scrolled>{content}</div>
    };
    panel("Log", aside, log)
}

fn log_line(event: LogEvent, zone: Memo<Option<String>>) -> AnyView {
    let (choice, line) = (use_zone(), event.line);
    let stream = match line.stream {
        LogStream::Stdout => "stdout",
        LogStream::Stderr => "stderr",
        LogStream::System => "system",
    };
    let at = line.at;
    let time = move || {
        let zone = choice.get().zone(zone.get().as_deref());
        Wall::read(at, &zone).map(|wall| wall.time).unwrap_or_default()
    };
    let title = format!("{} {}, attempt {}, {stream}", at.to_rfc3339(), line.task, line.attempt);
    view! {
        <div class="log-line" data-stream=stream data-testid="log-line" title=title>
            <span class="log-time">{move || time()}</span>
            <span class="log-text">{line.text}</span>
        </div>
    }
    .into_any()
}

fn count_words(shown: usize, dropped: usize) -> String {
    match (shown, dropped) {
        (1, 0) => "1 line".to_owned(),
        (_, 0) => format!("{shown} lines"),
        _ => format!("the last {shown} of {} lines", shown + dropped),
    }
}
