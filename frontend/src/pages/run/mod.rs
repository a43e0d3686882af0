//! A run: its state, its facts, its attempts, and its log while it is written.
//!
//! - `facts`: where it came from and how it went
//! - `attempts`: every attempt at every task
//! - `log`: the log, live

mod attempts;
mod facts;
mod log;

use leptos::prelude::*;

use crate::{
    api::{self, Actor, Feed, Load, use_actor, use_feed, use_load},
    components::{AsyncView, Look, Mark, badge, button, json_view, panel},
    model::RunDetail,
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
                    {panel("Attempts", (), load.draw(attempts::attempts))}
                    <log::LogPanel id=id.clone() run=load/>
                </div>
                <div class="run-side">
                    {panel("Facts", (), load.draw(facts::facts))}
                    {panel("Context", (), load.draw(|run| json_view(&run.more.context, "Context of the run")))}
                </div>
            </div>
        </AsyncView>
    }
}

/// What acting on a run takes.
#[derive(Clone, Copy)]
struct Tools {
    session: Session,
    actor: Actor,
    address: Address,
}

fn header(run: &RunDetail, loading: api::Loading, tools: Tools) -> AnyView {
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
            button(Look::Plain, None, "Run again", retry(run, tools))
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

fn cancel(run: &RunDetail, loading: api::Loading, tools: Tools) -> impl Fn() + use<> {
    let id = run.row.id.clone();
    move || {
        let said = "Cancelling. The task is asked to stop, then stopped.".to_owned();
        tools.actor.act(api::cancel_run(id.clone()), said, move |_| loading.refresh());
    }
}

fn retry(run: &RunDetail, tools: Tools) -> impl Fn() + use<> {
    let id = run.row.id.clone();
    move || {
        let said = "A new run has begun.".to_owned();
        let go = move |next| tools.address.go(&Route::Run(next).path());
        tools.actor.act(api::retry_run(id.clone()), said, go);
    }
}
