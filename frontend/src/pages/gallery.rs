//! Every shared component in all its states, for developers: `/gallery`, in development builds only.
//!
//! - `lists`: tables, query bars and bulk bars
//! - `drafts`: forms that keep what is typed
//! - `hold`: the button that holds lists still

mod drafts;
mod hold;
mod lists;

use leptos::prelude::*;
use serde_json::json;

use crate::{
    components::{
        AsyncView, Band, BarColumn, DagNode, Field, Fill, GanttBar, GanttRow, Glyph, Look, Mark,
        Sameness, SparkBar, Suggestions, TrendLayer, Waiting, When, badge, band_chart, button, dag,
        diff, diff_lines, empty, expressions, gantt, heading, heat_map, icon_button, meter, panel,
        peak_bars, sparkline, stacked_bars, table, trend, use_dag_view, use_drag,
    },
    model::{AlertKind, Code, Failure, NodeState, RunForecast, RunState, ScheduleState, Verdict},
    state::use_title,
    time::Moment,
};

const HOUR_MS: i64 = 3_600_000;

/// The page with all components.
#[component]
pub(crate) fn Gallery() -> impl IntoView {
    use_title(|| "Gallery".to_owned());
    view! {
        <header class="page-head"><h1>"Gallery"</h1></header>
        <div class="stack">
            {panel("Buttons", (), buttons())}
            {panel("States", (), states())}
            {panel("Times", (), times())}
            {panel("Fields", (), fields())}
            {panel("Loading", (), waiting(false, None, false))}
            {panel("Failed", (), waiting(false, Some(failure()), false))}
            {panel("Failed, with older data", (), waiting(true, Some(failure()), false))}
            {panel("Empty", (), waiting(true, None, true))}
            {panel("Plain table", (), rows())}
            {panel("Table", (), lists::full_table())}
            {panel("Table without rows", (), lists::empty_table())}
            {panel("Query bar", (), lists::plain_query())}
            {panel("Query bar with a search and kept views", (), lists::written_query())}
            {panel("Query bar whose search is refused", (), lists::refused_query())}
            {panel("Bulk bar for a page", (), lists::bulk_bar(false))}
            {panel("Bulk bar for all that match", (), lists::bulk_bar(true))}
            {panel("Hold", (), hold::hold_states())}
            {panel("List that is held", (), hold::held_list())}
            {panel("Form that keeps what is typed", (), drafts::kept_form())}
            {panel("Restored draft", (), drafts::restored_draft(&[]))}
            {panel("Restored draft without its credentials", (), drafts::restored_draft(&["password", "signing secret"]))}
            {panel("Sparklines", (), sparklines())}
            {panel("Trends", (), trends())}
            {panel("Meters", (), meters())}
            {panel("Stacked bars", (), bars(48))}
            {panel("Stacked bars without data", (), bars(0))}
            {panel("Bars of levels", (), levels())}
            {panel("Band chart with a gap", (), bands(true))}
            {panel("Band chart without data", (), bands(false))}
            {panel("Heat map", (), heat_map("Starts by weekday and hour", &week()))}
            {panel("Gantt", (), tasks())}
            {panel("Graph", (), graph(5))}
            {panel("Large graph with a minimap", (), graph(40))}
            {panel("Difference", (), diff(&json!({"cron": "0 2 * * *", "zone": "UTC"}), &json!({"cron": "0 3 * * *", "zone": "UTC"})))}
            {panel("Difference of lines, whose numbers may differ", (), log_lines())}
        </div>
    }
}

fn log_lines() -> AnyView {
    let lines = |last: &str| ["12:00:01 begins", "12:00:02 took 5 ms", last].map(str::to_owned);
    let (before, after) = (lines("12:00:03 done"), lines("12:00:09 failed"));
    diff_lines("Differences of the lines", &before, &after, Sameness::ButNumbers)
}

fn failure() -> Failure {
    Failure::new(Code::Unreachable, "The server does not answer.")
}

fn buttons() -> AnyView {
    view! {
        <div class="row-actions">
            {button(Look::Primary, None, "Primary", || ())}
            {button(Look::Plain, None, "Plain", || ())}
            {button(Look::Danger, None, "Danger", || ())}
            {icon_button(Glyph::Play, "Run now", "Run nightly now".to_owned(), || ())}
            <button type="button" class="button" disabled=true>"Disabled"</button>
        </div>
    }
    .into_any()
}

fn states() -> AnyView {
    use RunState as Run;
    let runs = [
        Run::Queued,
        Run::Running,
        Run::Retrying,
        Run::Succeeded,
        Run::Failed,
        Run::TimedOut,
        Run::Cancelled,
    ];
    let verdicts = [
        Verdict::Pending,
        Verdict::Started,
        Verdict::Skipped,
        Verdict::Missed,
        Verdict::Collapsed,
        Verdict::Abandoned,
    ];
    let marks = runs.map(Mark::Run).into_iter().chain(verdicts.map(Mark::Verdict)).chain([
        Mark::Schedule(ScheduleState::Active),
        Mark::Schedule(ScheduleState::Paused),
        Mark::Node(NodeState::Draining),
        Mark::Node(NodeState::Dead),
        Mark::Alert(AlertKind::Slow),
        Mark::Alert(AlertKind::ClockChange),
        Mark::Healthy(true),
        Mark::Healthy(false),
    ]);
    view! { <div class="row-actions">{marks.map(badge).collect::<Vec<_>>()}</div> }.into_any()
}

fn times() -> AnyView {
    let now = Moment::now();
    let zone = || Some("Europe/Berlin".to_owned());
    view! {
        <p>{When::new(now.later(5 * HOUR_MS)).zone(zone()).far().focusable().view()}</p>
        <p>{When::new(now.earlier(90_000)).far().view()}</p>
        <p>{When::new(now.later(HOUR_MS)).zone(zone()).suppressed(Some("holidays".to_owned())).view()}</p>
        <p>{expressions(&["30 2 * * 1-5".to_owned(), "@every 5m".to_owned()])}</p>
    }
    .into_any()
}

fn fields() -> AnyView {
    let text = |value: &str| RwSignal::new(value.to_owned());
    let wrong = Signal::derive(|| Some(Failure::of_field("name", "Type a name.")));
    let suggestions = |fill| Suggestions {
        fill,
        known: Signal::stored((1..12).map(|number| format!("known-{number}")).collect()),
        sought: RwSignal::new(None),
    };
    view! {
        <div class="field-grid">
            {Field::new("gallery-plain", "Name", text("nightly")).text()}
            {Field::new("gallery-hint", "Search", text("tag:billing")).code().hint("In the search language.").text()}
            {Field::new("gallery-wrong", "Wrong", text("")).required().error(wrong).text()}
            {Field::new("gallery-area", "Several lines", text("one\ntwo")).area(3)}
            {Field::new("gallery-whole", "One that exists", text("")).picks(suggestions(Fill::Whole)).text()}
            {Field::new("gallery-words", "Several that exist", text("known-1, ")).picks(suggestions(Fill::Words)).text()}
            {Field::new("gallery-template", "Text with secrets", text("key: {{")).picks(suggestions(Fill::Template)).area(3)}
        </div>
    }
    .into_any()
}

fn loading(has_data: bool, failure: Option<Failure>) -> Waiting {
    Waiting {
        has_data: Signal::stored(has_data),
        failure: Signal::stored(failure),
        retry: Callback::new(|()| ()),
    }
}

fn waiting(has_data: bool, failure: Option<Failure>, is_empty: bool) -> AnyView {
    let loading = loading(has_data, failure);
    view! {
        <AsyncView
            loading=loading
            what="the example"
            is_empty=Signal::stored(is_empty)
            empty=|| empty("Nothing here yet", "What will stand here appears by itself.", ())
        >
            <p>"The data."</p>
        </AsyncView>
    }
    .into_any()
}

fn rows() -> AnyView {
    let headings = vec![heading("Schedule", ""), heading("State", ""), heading("p95", "number")];
    let row = |(name, state, p95): (&'static str, RunState, &'static str)| {
        view! {
            <tr>
                <th scope="row" class="name-cell">{name}</th>
                <td>{badge(Mark::Run(state))}</td>
                <td class="number">{p95}</td>
            </tr>
        }
        .into_any()
    };
    let rows = [("nightly", RunState::Succeeded, "12 s"), ("hourly", RunState::Failed, "1 min")];
    table("Schedules", "table", headings, Vec::from(rows.map(row)).into_any())
}

fn trends() -> AnyView {
    let layer =
        |state, of: fn(i64) -> Option<i64>| TrendLayer { state, values: (0..30).map(of).collect() };
    let ended = layer("succeeded", |step| Some(step * 37 % 90));
    let failed = layer("failed", |step| (step % 7 == 0).then_some(step));
    let times = layer("queued", |step| (step % 5 != 0).then_some(step * 41 % 70));
    view! {
        {trend("Runs, of which some failed".to_owned(), &[ended, failed])}
        {trend("Durations, with gaps".to_owned(), &[times])}
        {trend("Nothing".to_owned(), &[])}
    }
    .into_any()
}

fn sparklines() -> AnyView {
    let bar = |index: i64| {
        let (state, word) =
            if index % 7 == 3 { ("failed", "Failed") } else { ("succeeded", "Succeeded") };
        SparkBar { state, word, value: Some(index * 37 % 90) }
    };
    let of = |count: i64| sparkline("Last runs", &(0..count).map(bar).collect::<Vec<_>>());
    view! { <div class="stack">{of(40)}{of(6)}{of(0)}</div> }.into_any()
}

fn meters() -> AnyView {
    let forecast = RunForecast {
        usual_ms: 600_000,
        p95_ms: 700_000,
        likely_end_at: None,
        next_fire_at: None,
        overlaps_next_fire: false,
    };
    let meters = [60_000, 500_000, 1_400_000].map(|elapsed| meter(elapsed, &forecast));
    view! { <div class="stack">{Vec::from(meters)}</div> }.into_any()
}

fn axis() -> Vec<String> {
    ["00:00", "06:00", "12:00", "18:00", "24:00"].map(str::to_owned).into()
}

fn bars(count: i64) -> AnyView {
    let parts = vec![("succeeded", "Succeeded"), ("failed", "Failed")];
    let column = |index: i64| BarColumn {
        name: format!("{index}:00"),
        href: None,
        counts: vec![index * 13 % 60, i64::from(index % 9 == 4)],
    };
    let columns = (0..count).map(column).collect();
    stacked_bars("Runs that ended", parts, columns, axis(), use_drag(), Callback::new(|_| ()))
}

fn levels() -> AnyView {
    let column = |index: i64| BarColumn {
        name: format!("{index}:00"),
        href: None,
        counts: vec![index * 7 % 12, index % 3],
    };
    let parts =
        vec![("queued", "Waiting for a node or a group"), ("retrying", "Waiting for a worker")];
    let columns = (0..24).map(column).collect();
    peak_bars("Waiting on average", parts, columns, axis(), use_drag(), Callback::new(|_| ()))
}

fn bands(has_data: bool) -> AnyView {
    let band = |index: i64| {
        let p50 = 20_000 + index * 311 % 9_000;
        let is_measured = has_data && !(10..14).contains(&index);
        Band {
            name: format!("{index}:00"),
            href: None,
            millis: is_measured.then_some([p50, p50 * 2, p50 * 3]),
        }
    };
    let bands = (0..24).map(band).collect();
    band_chart("Duration", bands, axis(), use_drag(), Callback::new(|_| ()))
}

fn week() -> [[i64; 24]; 7] {
    let mut week = [[0; 24]; 7];
    for (day, hours) in (0..).zip(&mut week) {
        for (hour, count) in (0..).zip(hours) {
            *count = (day * 5 + hour * 7) % 23;
        }
    }
    week
}

fn tasks() -> AnyView {
    let bar = |number, state, from, to| GanttBar {
        number,
        state,
        from,
        to,
        title: format!("Attempt {number}"),
    };
    let row = |name: &str, state, bars| GanttRow {
        name: name.to_owned(),
        note: String::new(),
        state,
        bars,
    };
    let rows = vec![
        row(
            "extract",
            "succeeded",
            vec![bar(1, "failed", 0, 4_000), bar(2, "succeeded", 9_000, 20_000)],
        ),
        row("load", "running", vec![bar(1, "running", 20_000, 31_000)]),
        row("report", "queued", vec![]),
    ];
    gantt("Tasks", rows, &(String::new(), None), Callback::new(|_| ()))
}

fn graph(count: usize) -> AnyView {
    let name = |index: usize| format!("task-{index}");
    let node = |index: usize| DagNode {
        name: name(index),
        state: if index == 1 { "failed" } else { "succeeded" },
        word: if index == 1 { "Failed" } else { "Succeeded" }.to_owned(),
        needs: if index == 0 { vec![] } else { vec![name((index - 1) / 2)] },
    };
    let nodes: Vec<DagNode> = (0..count).map(node).collect();
    dag(&nodes, "", Callback::new(|_| ()), use_dag_view())
}
