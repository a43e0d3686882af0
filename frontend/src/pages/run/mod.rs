//! A run: its reasons to wait, its tasks and attempts over time, and its log while it is written.
//!
//! - `looking`: the selected task, attempt and line, in the address
//! - `header`: the run's name and state, and its actions
//! - `forecast`: how long the run has taken, compared with earlier runs
//! - `waiting`: the conditions that the run waits for
//! - `work`: the run's tasks and attempts as a chart over time, or as a graph
//! - `attempts`: every attempt at every task, with its outcome
//! - `log`: the log, live
//! - `facts`: its origin and course
//! - `earlier`: earlier runs, and how this one compares
//! - `comparison`: this run beside another one, with the differences marked

mod attempts;
pub(super) mod comparison;
pub(super) mod earlier;
mod facts;
mod forecast;
mod header;
mod log;
pub(super) mod looking;
mod waiting;
pub(super) mod work;

use leptos::prelude::*;

pub(super) use self::log::plain;
use self::looking::Looking;
use crate::{
    api,
    components::{AsyncView, is_id, json_view, live, panel},
    data::{Feed, Load, use_feed, use_load},
    model::RunDetail,
    pages::{NotFound, kit, parts},
    state::{use_address, use_title},
};

/// The page of the run with this id. A malformed id is not sent to the server.
#[component]
pub(crate) fn Run(id: String) -> impl IntoView {
    if is_id(&id) { view! { <Known id=id/> }.into_any() } else { view! { <NotFound/> }.into_any() }
}

#[component]
fn Known(id: String) -> impl IntoView {
    let address = use_address();
    let looking = Looking::new(address, id.clone());
    let key = id.clone();
    let load: Load<RunDetail> = use_load(move || Some(api::run(key.clone())));
    kit::settle(load, |run| &run.row.namespace);
    let loading = load.loading;
    use_feed(
        {
            let id = id.clone();
            move || Feed::runs(address.namespace(), None, Some(id.clone()))
        },
        move |_| loading.refresh(),
        move || loading.reload(),
    );
    let title = move || load.with(|run| run.row.title().to_owned());
    let others = earlier::use_others(load);
    let is_compared = Memo::new(move |_| !looking.compared().is_empty());
    let key = StoredValue::new(id.clone());
    let comparison = move || {
        live(move || match is_compared.get() {
            true => parts::run_comparison(key, load, others, looking).show("comparison"),
            false => ().into_any(),
        })
    };
    use_title(move || format!("Run of {}", title().unwrap_or_else(|| "…".to_owned())));
    view! {
        <AsyncView loading=loading what="the run">
            <header::Header run=load looking=looking/>
            {load.draw(forecast::forecast)}
            {load.draw(waiting::waiting)}
            {comparison()}
            <div class="run-grid">
                <div class="run-main">
                    <work::Work run=load looking=looking/>
                    {panel("Attempts", (), live(move || drawn(load, looking)))}
                    <log::LogPanel id=id.clone() run=load looking=looking/>
                </div>
                <div class="run-side">
                    {panel("Facts", (), load.draw(facts::facts))}
                    <earlier::Earlier run=load others=others/>
                    {panel("Context", (), load.draw(|run| json_view(&run.more.context, "Context of the run")))}
                    {live(move || output(load, looking))}
                </div>
            </div>
        </AsyncView>
    }
}

fn drawn(load: Load<RunDetail>, looking: Looking) -> AnyView {
    let chosen = looking.chosen();
    load.with(|run| attempts::attempts(run, &chosen)).unwrap_or_else(|| ().into_any())
}

/// The outputs of all tasks, or of the selected one.
fn output(load: Load<RunDetail>, looking: Looking) -> AnyView {
    let (task, _) = looking.chosen();
    let output = load.with(|run| {
        let own = run.more.tasks.iter().find(|known| known.name == task);
        own.map_or_else(|| run.more.output.clone(), |task| task.output.clone())
    });
    match output.flatten().filter(|output| !output.is_null()) {
        Some(output) => panel("Output", task, json_view(&output, "Output of the tasks")),
        None => ().into_any(),
    }
}
