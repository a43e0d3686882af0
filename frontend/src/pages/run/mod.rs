//! A run: its state, its facts, its attempts, and its log while it is written.
//!
//! - `facts`: where it came from and how it went
//! - `attempts`: every attempt at every task
//! - `log`: the log, live

mod attempts;
mod facts;
mod log;

use leptos::{prelude::*, task::spawn_local};
use leptos_router::{NavigateOptions, hooks::use_navigate};

use crate::{
    api::{self, Load, use_load, use_run_feed},
    components::{AsyncView, Badge, JsonView, Mark, Panel},
    model::{RunDetail, RunState},
    route::{Route, use_id},
    state::{use_notices, use_session, use_title},
};

/// The run of the address.
#[component]
pub(crate) fn Run() -> impl IntoView {
    let id = use_id();
    move || view! { <Page id=id.get()/> }
}

#[component]
fn Page(id: String) -> impl IntoView {
    let key = StoredValue::new(id.clone());
    let load: Load<RunDetail> = use_load(move || Some(api::run(key.get_value())));
    use_run_feed(None, Some(id.clone()), move |_| load.refresh(), move || load.reload());
    let title = Memo::new(move |_| load.data.with(|data| data.as_ref().map(|run| run.row.title())));
    use_title(move || format!("Run of {}", title.get().unwrap_or_else(|| "…".to_owned())));
    view! {
        <AsyncView load=load what="the run" let:run>
            <Header run=run changed=move || load.refresh()/>
            {move || run.with(|run| run.row.error.clone()).map(|error| view! {
                <p class="run-error"><strong>"Error"</strong>" "{error}</p>
            })}
            <div class="run-grid">
                <div class="run-main">
                    <Panel title="Attempts">
                        <attempts::Attempts run=run/>
                    </Panel>
                    <log::LogPanel run=key.get_value()
                        is_live=Signal::derive(move || run.with(|run| run.row.state.is_live()))
                        zone=Signal::derive(move || run.with(|run| run.row.zone()))
                    />
                </div>
                <div class="run-side">
                    <Panel title="Facts"><facts::Facts run=run/></Panel>
                    <Panel title="Context">
                        {move || view! { <JsonView value=run.with(|run| run.context.clone()) label="Context of the run"/> }}
                    </Panel>
                </div>
            </div>
        </AsyncView>
    }
}

#[component]
fn Header(
    run: Signal<RunDetail>,
    changed: impl Fn() + Copy + Send + Sync + 'static,
) -> impl IntoView {
    let state = Memo::new(move |_| run.with(|run| run.row.state));
    let title = move || run.with(|run| run.row.title());
    let schedule = move || run.with(|run| run.row.schedule.clone());
    view! {
        <header class="page-head">
            <h1>"Run of "{move || match schedule() {
                Some(schedule) => view! { <a href=Route::Schedule(schedule.id).path()>{schedule.name}</a> }.into_any(),
                None => title().into_any(),
            }}</h1>
            <span role="status"><Badge mark=Signal::derive(move || Mark::Run(state.get())) test="run-state"/></span>
            <Actions run=run state=state changed=changed/>
        </header>
    }
}

#[component]
fn Actions(
    run: Signal<RunDetail>,
    state: Memo<RunState>,
    changed: impl Fn() + Copy + Send + Sync + 'static,
) -> impl IntoView {
    let session = use_session();
    let notices = use_notices();
    let navigate = StoredValue::new(use_navigate());
    let id = move || run.with_untracked(|run| run.row.id.clone());
    let cancel = move |_| {
        let id = id();
        spawn_local(async move {
            match api::cancel_run(id, None).await {
                Ok(()) => {
                    notices.done("Cancelling. The task is asked to stop, then stopped.");
                    changed();
                }
                Err(failure) => notices.failed(&failure),
            }
        });
    };
    let retry = move |_| {
        let id = id();
        spawn_local(async move {
            match api::retry_run(id).await {
                Ok(next) => {
                    notices.done("A new run has begun.");
                    navigate.with_value(|navigate| {
                        navigate(&Route::Run(next).path(), NavigateOptions::default());
                    });
                }
                Err(failure) => notices.failed(&failure),
            }
        });
    };
    view! {
        <Show when=move || session.operates()>
            <div class="actions">
                {move || if state.get().is_live() {
                    view! { <button type="button" class="button button-danger" on:click=cancel>"Cancel run"</button> }.into_any()
                } else {
                    view! { <button type="button" class="button" on:click=retry>"Run again"</button> }.into_any()
                }}
            </div>
        </Show>
    }
}
