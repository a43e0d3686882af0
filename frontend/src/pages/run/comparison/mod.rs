//! This run beside another one of its schedule: its facts, context, output and log, with the differences marked.
//!
//! The address names the other run, so a comparison can be sent to a colleague.
//!
//! - `pairs`: the facts of both runs, side by side (pure)
//! - `logs`: the beginnings of both logs

mod logs;
mod pairs;

use leptos::prelude::*;
use serde_json::Value;

use self::{
    logs::Logs,
    pairs::{Pair, pairs},
};
use super::{
    earlier::Others,
    looking::{LAST, Looking},
};
use crate::{
    api,
    components::{
        AsyncView, Mark, badge, diff_values, heading, is_id, live, panel, table, when_relative,
    },
    data::{Load, use_load},
    model::{RunDetail, RunRow},
    route::Route,
    state::{ZoneChoice, use_zone},
    time::{Moment, Wall, day_words, duration},
};

/// The placeholder for a context that the user may not see.
const MASK: &str = "***";

/// The panel with the comparison.
pub(in crate::pages) fn comparison(
    id: StoredValue<String>,
    run: Load<RunDetail>,
    others: Others,
    looking: Looking,
) -> AnyView {
    view! { <Comparison id=id.get_value() run=run others=others looking=looking/> }.into_any()
}

/// The panel; empty while the address names no other run.
#[component]
fn Comparison(id: String, run: Load<RunDetail>, others: Others, looking: Looking) -> impl IntoView {
    let asked = Memo::new(move |_| looking.compared());
    let is_open = Memo::new(move |_| !asked.with(String::is_empty));
    let other = Memo::new(move |_| match asked.get().as_str() {
        LAST => others.last_success(),
        other => is_id(other).then(|| other.to_owned()),
    });
    let id = StoredValue::new(id);
    let content = move || match other.get() {
        Some(other) => {
            view! { <Against own=id.get_value() other=other run=run looking=looking/> }.into_any()
        }
        None => nothing(asked, others),
    };
    live(move || {
        if is_open.get() {
            panel("Comparison", tools(id, asked, others, looking), live(content))
        } else {
            ().into_any()
        }
    })
}

fn nothing(asked: Memo<String>, others: Others) -> AnyView {
    let words = if asked.get() != LAST {
        "The address names no run to compare with. Choose one."
    } else if others.is_loading() {
        "Looking for the last success …"
    } else {
        "No earlier run of this schedule has succeeded. Choose another run to compare with."
    };
    view! { <p class="muted" role="status">{words}</p> }.into_any()
}

/// The choice of the other run, and the way back.
fn tools(
    id: StoredValue<String>,
    asked: Memo<String>,
    others: Others,
    looking: Looking,
) -> AnyView {
    let zone = use_zone();
    let option = move |value: String, words: String| {
        let is_chosen = {
            let value = value.clone();
            move || asked.with(|asked| *asked == value)
        };
        view! { <option value=value prop:selected=is_chosen>{words}</option> }.into_any()
    };
    let options = move || {
        let choice = zone.get();
        let rows = others.runs.get();
        let rows = rows.iter().flat_map(|page| &page.rows);
        let rows: Vec<_> = rows
            .filter(|row| id.with_value(|id| row.id != *id))
            .map(|row| (**row).clone())
            .collect();
        let asked = asked.get();
        let is_listed = asked == LAST || rows.iter().any(|row| row.id == asked);
        let unlisted = (!is_listed).then(|| option(asked, "Another run".to_owned()));
        let rows = rows.iter().map(|row| option(row.id.clone(), title(row, &choice)));
        view! {
            {option(LAST.to_owned(), "The last success before it".to_owned())}
            {unlisted}
            {rows.collect::<Vec<_>>()}
        }
        .into_any()
    };
    view! {
        <span class="panel-tools">
            <select aria-label="Compare with" on:change:target=move |event| looking.compare_with(&event.target().value())>
                {live(options)}
            </select>
            <a class="button" href=move || looking.comparison_with("")>"Close the comparison"</a>
        </span>
    }
    .into_any()
}

/// A run in the list of choices.
fn title(run: &RunRow, choice: &ZoneChoice) -> String {
    let at = clock(run.scheduled_at, &choice.zone(run.zone().as_deref()));
    let took = run.duration_ms.map(|millis| format!(", {}", duration(millis)));
    format!("{at}, {}{}", Mark::Run(run.state).word(), took.unwrap_or_default())
}

/// An instant in one line of text.
fn clock(at: Moment, zone: &str) -> String {
    let wall = Wall::read(at, zone).unwrap_or_default();
    format!("{} {}", day_words(&wall.date, Moment::now()), wall.time)
}

/// Both runs, once the other one has arrived.
#[component]
fn Against(own: String, other: String, run: Load<RunDetail>, looking: Looking) -> impl IntoView {
    let key = other.clone();
    let theirs: Load<RunDetail> = use_load(move || Some(api::run(key.clone())));
    let zone = use_zone();
    let facts = move || {
        let choice = zone.get();
        let both = run.with(|run| theirs.with(|theirs| facts(run, theirs, &choice)));
        both.flatten().unwrap_or_else(|| ().into_any())
    };
    // Once a live run has ended, its log is read again.
    let is_live = Memo::new(move |_| run.with(|run| run.row.state.is_live()) == Some(true));
    let logs = move || {
        let is_live = is_live.get();
        view! { <Logs own=own.clone() other=other.clone() is_live=is_live looking=looking/> }
            .into_any()
    };
    view! {
        <AsyncView loading=theirs.loading what="the other run">{live(facts)}</AsyncView>
        {live(logs)}
    }
}

fn facts(own: &RunDetail, other: &RunDetail, choice: &ZoneChoice) -> AnyView {
    let zone = choice.zone(own.row.zone().as_deref());
    let rows: Vec<_> = pairs(own, other, |at| clock(at, &zone)).iter().map(row).collect();
    let headings = vec![heading("What", ""), heading("The other run", ""), heading("This run", "")];
    let is_hidden = is_masked(&own.more.context) || is_masked(&other.more.context);
    let context = if is_hidden {
        view! { <p class="muted">"You may not see contexts."</p> }.into_any()
    } else {
        diff_values("Differences of the context", &other.more.context, &own.more.context)
    };
    let output = match (&other.more.output, &own.more.output) {
        // Who may not see contexts gets no outputs either, whether there are some or not.
        _ if is_hidden => view! { <p class="muted">"You may not see outputs."</p> }.into_any(),
        (None, None) => view! { <p class="muted">"There is no output."</p> }.into_any(),
        (other, own) => {
            let value = |output: &Option<Value>| output.clone().unwrap_or_default();
            diff_values("Differences of the output", &value(other), &value(own))
        }
    };
    view! {
        <p class="compared">
            <a href=Route::Run(other.row.id.clone()).path()>"The other run"</a>" "
            {badge(Mark::Run(other.row.state))}" "{when_relative(other.row.scheduled_at, other.row.zone())}
        </p>
        {table("Facts of both runs", "table", headings, rows.into_any())}
        <h3 class="compared-head">"Context"</h3>
        {context}
        <h3 class="compared-head">"Output"</h3>
        {output}
    }
    .into_any()
}

fn is_masked(context: &Value) -> bool {
    context.as_str() == Some(MASK)
}

fn row(pair: &Pair) -> AnyView {
    let side = |text: &Option<String>| text.clone().unwrap_or_else(|| "–".to_owned());
    let mark = pair.differs.then(|| {
        view! { <span class="differs" aria-hidden="true">"≠ "</span><span class="visually-hidden">"differs: "</span> }
            .into_any()
    });
    view! {
        <tr data-testid="compared-row" data-differs=pair.differs.then_some("")>
            <th scope="row">{mark}{pair.name.clone()}</th>
            <td class="break">{side(&pair.other)}</td>
            <td class="break">{side(&pair.own)}</td>
        </tr>
    }
    .into_any()
}
