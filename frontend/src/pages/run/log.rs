//! The log, line by line while it is written.
//!
//! At most `KEPT` lines are on the page: a run that logs without end must not eat the browser. While `Follow` is set the
//! last line stays in sight; scrolling up unsets it, as in any terminal.

use leptos::{html, prelude::*};

use crate::{
    api::use_log_feed,
    components::Panel,
    model::{Line, LogStream},
    state::use_zone,
    time::Wall,
};

const KEPT: usize = 5_000;

/// The panel with the log and its switch.
#[component]
pub(super) fn LogPanel(
    run: String,
    is_live: Signal<bool>,
    zone: Signal<Option<String>>,
) -> impl IntoView {
    let lines = RwSignal::new(Vec::<Line>::new());
    let dropped = RwSignal::new(0_usize);
    let follow = RwSignal::new(true);
    use_log_feed(
        run,
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
    let aside = move || {
        view! {
            <span class="log-tools">
                <span class="muted">{move || count_words(lines.with(Vec::len), dropped.get())}</span>
                <label class="check-label">
                    <input type="checkbox" prop:checked=follow on:change:target=move |event| follow.set(event.target().checked())/>
                    "Follow"
                </label>
            </span>
        }
    };
    view! {
        <Panel title="Log" aside=aside>
            <div class="log" role="log" aria-label="Log of the run" tabindex="0" node_ref=frame on:scroll=scrolled>
                <Show
                    when=move || lines.with(|lines| !lines.is_empty())
                    fallback=move || view! {
                        <p class="log-empty">{move || if is_live.get() { "Waiting for the first line …" } else { "It wrote nothing." }}</p>
                    }
                >
                    <For each=move || lines.get() key=|line| line.cursor.clone() let:line>
                        <LogLine line=line zone=zone/>
                    </For>
                </Show>
            </div>
        </Panel>
    }
}

#[component]
fn LogLine(line: Line, zone: Signal<Option<String>>) -> impl IntoView {
    let choice = use_zone();
    let stream = match line.stream {
        LogStream::Stdout => "stdout",
        LogStream::Stderr => "stderr",
        LogStream::System => "system",
    };
    let at = line.at;
    let time =
        move || Wall::read(at, &choice.get().zone(zone.get().as_deref())).map(|wall| wall.time);
    let title = format!("{} {}, attempt {}, {}", at.to_rfc3339(), line.task, line.attempt, stream);
    view! {
        <div class="log-line" data-stream=stream data-testid="log-line" title=title>
            <span class="log-time">{time}</span>
            <span class="log-text">{line.text}</span>
        </div>
    }
}

fn count_words(shown: usize, dropped: usize) -> String {
    match (shown, dropped) {
        (1, 0) => "1 line".to_owned(),
        (_, 0) => format!("{shown} lines"),
        _ => format!("the last {shown} of {} lines", shown + dropped),
    }
}
