//! A run: its state, its facts, its attempts, and its log while it is written.
//!
//! - `facts`: where it came from and how it went
//! - `tasks`: where each task of a workflow stands
//! - `attempts`: every attempt at every task
//! - `log`: the log, live

mod attempts;
mod facts;
mod log;
mod tasks;

use leptos::prelude::*;

use crate::{
    api::{self},
    components::{AsyncView, Look, Mark, badge, button, json_view, panel},
    data,
    data::{Actor, Feed, Load, use_actor, use_feed, use_load},
    model::{RunDetail, RunState},
    route::Route,
    state::{Address, Session, use_address, use_session, use_title},
};

/// The run with this id.
#[component]
pub(crate) fn Run(id: String) -> impl IntoView {
    let tools = Tools { session: use_session(), actor: use_actor(), address: use_address() };
    let key = id.clone();
    let load: Load<RunDetail> = use_load(move || Some(api::run(key.clone())));
    let loading = load.loading;
    use_feed(
        Feed::runs(None, Some(id.clone())),
        move |_| loading.refresh(),
        move || loading.reload(),
    );
    let title = move || load.with(|run| run.row.title().to_owned());
    use_title(move || format!("Run of {}", title().unwrap_or_else(|| "…".to_owned())));
    view! {
        <AsyncView loading=loading what="the run">
            {load.draw(move |run| header(run, loading, tools))}
            <div class="run-grid">
                <div class="run-main">
                    {load.draw(tasks::tasks)}
                    {panel("Attempts", (), load.draw(attempts::attempts))}
                    <log::LogPanel id=id.clone() run=load/>
                </div>
                <div class="run-side">
                    {panel("Facts", (), load.draw(facts::facts))}
                    {panel("Context", (), load.draw(|run| json_view(&run.more.context, "Context of the run")))}
                    {load.draw(output)}
                </div>
            </div>
        </AsyncView>
    }
}

/// What the tasks gave back, if they did.
fn output(run: &RunDetail) -> AnyView {
    let output = run.more.output.as_ref();
    output.map_or_else(
        || ().into_any(),
        |output| panel("Output", (), json_view(output, "What the tasks gave back")),
    )
}

/// What acting on a run takes.
#[derive(Clone, Copy)]
struct Tools {
    session: Session,
    actor: Actor,
    address: Address,
}

fn header(run: &RunDetail, loading: data::Loading, tools: Tools) -> AnyView {
    let mark = Mark::Run(run.row.state);
    let name = run.row.title().to_owned();
    let title = match &run.row.schedule {
        Some(schedule) => {
            let href = Route::Schedule(schedule.id.clone()).path();
            view! { <a href=href>{name}</a> }.into_any()
        }
        None => name.into_any(),
    };
    let actions = tools.session.operates().then(|| {
        let action = if run.row.state.is_live() {
            button(Look::Danger, None, "Cancel run", cancel(run, loading, tools))
        } else {
            view! { {again(run, tools)}{button(Look::Plain, None, "Run again", retry(run, tools))} }
                .into_any()
        };
        view! { <div class="actions">{action}</div> }.into_any()
    });
    let error = run.row.error.clone().map(|error| {
        view! { <p class="run-error"><strong>"Error"</strong>" "{error}</p> }.into_any()
    });
    view! {
        <header class="page-head">
            <h1>"Run of "{title}</h1>
            <span role="status" data-testid="run-state" data-state=mark.state()>{badge(mark)}</span>
            {actions}
        </header>
        {error}
    }
    .into_any()
}

fn cancel(run: &RunDetail, loading: data::Loading, tools: Tools) -> impl Fn() + use<> {
    let id = run.row.id.clone();
    move || {
        let said = "Cancelling. The task is asked to stop, then stopped.".to_owned();
        tools.actor.act(api::cancel_run(id.clone()), said, move |_| loading.refresh());
    }
}

/// The button that does only what failed again: where there is something else, and something failed.
fn again(run: &RunDetail, tools: Tools) -> Option<AnyView> {
    let failed = match run.row.state {
        RunState::Failed | RunState::TimedOut | RunState::Cancelled => true,
        RunState::Succeeded | RunState::Queued | RunState::Running | RunState::Retrying => false,
    };
    let id = run.row.id.clone();
    let rerun = move || {
        let said = "A new run goes on from where this one failed.".to_owned();
        let go = move |next| tools.address.go(&Route::Run(next).path());
        tools.actor.act(api::rerun_from_failed(id.clone()), said, go);
    };
    (failed && run.more.tasks.len() > 1)
        .then(|| button(Look::Plain, None, "Rerun from the failure", rerun))
}

fn retry(run: &RunDetail, tools: Tools) -> impl Fn() + use<> {
    let id = run.row.id.clone();
    move || {
        let said = "A new run has begun.".to_owned();
        let go = move |next| tools.address.go(&Route::Run(next).path());
        tools.actor.act(api::retry_run(id.clone()), said, go);
    }
}
