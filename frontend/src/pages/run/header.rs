//! The run's name and state, and its actions. Buttons never change places: a button that cannot be pressed now is
//! dimmed.

use leptos::prelude::*;

use super::{
    log::plain,
    looking::{LAST, Looking},
};
use crate::{
    api::{self, Ask},
    components::{Dialog, Mark, badge, live},
    data::{Actor, Load, use_actor},
    model::{RunDetail, RunState},
    pages::run_actions::cancel_form,
    route::{Route, Scope},
    state::{Said, Session, use_session},
};

/// The state that the actions on a run need.
#[derive(Clone, Copy)]
struct Tools {
    session: Session,
    actor: Actor,
    looking: Looking,
    run: Load<RunDetail>,
    /// Whether the cancel dialog is open.
    cancels: RwSignal<bool>,
    /// The runs that were started from this page, latest first.
    made: RwSignal<Vec<String>>,
}

#[component]
pub(super) fn Header(run: Load<RunDetail>, looking: Looking) -> impl IntoView {
    let tools = Tools {
        session: use_session(),
        actor: use_actor(),
        looking,
        run,
        cancels: RwSignal::new(false),
        made: RwSignal::new(Vec::new()),
    };
    view! {
        {run.draw(move |run| head(run, tools))}
        {live(move || made(tools))}
        <Dialog open=tools.cancels title="Cancel run">
            {cancel_form(
                tools.cancels,
                move || untrack(|| tools.run.with(|run| run.row.id.clone())),
                tools.run.loading,
            )}
        </Dialog>
    }
}

fn head(run: &RunDetail, tools: Tools) -> AnyView {
    let mark = Mark::Run(run.row.state);
    let name = run.row.title().to_owned();
    let is_deleted = run.more.owner.as_ref().is_some_and(|owner| owner.deleted_at.is_some());
    let title = match &run.row.schedule {
        // A deleted schedule has no page: it is in the list of those that can be restored.
        Some(_) if is_deleted => {
            let scope = Scope::One(run.row.namespace.clone());
            let href = Route::Schedules.narrowed_in(&scope, &[("deleted", "yes")]);
            view! { {name}" "<a class="cell-note" href=href>"deleted"</a> }.into_any()
        }
        Some(schedule) => {
            let href = Route::Schedule(schedule.id.clone()).path();
            view! { <a href=href>{name}</a> }.into_any()
        }
        None => name.into_any(),
    };
    let compare = run.row.schedule.is_some().then(|| {
        let href = move || tools.looking.comparison_with(LAST);
        view! { <a class="button" href=href>"Compare with the last success"</a> }.into_any()
    });
    let actions = tools.session.operates().then(|| actions(run, tools));
    let error = run.row.error.as_deref().map(plain).map(|error| {
        view! { <p class="run-error"><strong>"Error"</strong>" "{error}</p> }.into_any()
    });
    view! {
        <header class="page-head">
            <h1>"Run of "{title}</h1>
            <span role="status" data-testid="run-state" data-state=mark.state()>{badge(mark)}</span>
            <div class="actions">{compare}{actions}</div>
        </header>
        {error}
    }
    .into_any()
}

fn actions(run: &RunDetail, tools: Tools) -> AnyView {
    let is_live = run.row.state.is_live();
    let failed = match run.row.state {
        RunState::Failed | RunState::TimedOut | RunState::Cancelled => true,
        RunState::Succeeded | RunState::Queued | RunState::Running | RunState::Retrying => false,
    };
    let id = run.row.id.clone();
    let rerun = move || {
        make(
            api::rerun_from_failed(id.clone()),
            "A new run continues from where it failed.",
            tools,
        );
    };
    let id = run.row.id.clone();
    let again = move || make(api::retry_run(id.clone()), "A new run has started.", tools);
    let rerun = (run.more.tasks.len() > 1)
        .then(|| dimmed("button", "Rerun from the failure", !failed, rerun));
    view! {
        {rerun}
        {dimmed("button", "Run again", is_live, again)}
        {dimmed("button button-danger", "Cancel run", !is_live, move || tools.cancels.set(true))}
    }
    .into_any()
}

/// Starts another run. The user stays on this page, which gets links to the new runs.
fn make(change: Ask<String>, said: &'static str, tools: Tools) {
    tools.actor.send(change, move |outcome| match outcome {
        Ok(next) => {
            let href = Route::Run(next.clone()).path();
            tools.actor.say(Said::new(said).link("Open it", href));
            // The page may have been left in the meantime.
            let _gone = tools.made.try_update(|made| made.insert(0, next));
        }
        Err(failure) => tools.actor.complain(&failure),
    });
}

/// A button that keeps its place while it cannot be pressed.
fn dimmed(
    class: &'static str,
    words: &'static str,
    is_dimmed: bool,
    action: impl Fn() + 'static,
) -> AnyView {
    view! {
        <button type="button" class=class disabled=is_dimmed on:click=move |_| action()>{words}</button>
    }
    .into_any()
}

/// The runs that were started from this page.
fn made(tools: Tools) -> AnyView {
    let made = tools.made.get();
    if made.is_empty() {
        return ().into_any();
    }
    let count = made.len();
    let link = |(index, id): (usize, String)| {
        let words =
            if index == 0 { "the new run".to_owned() } else { format!("run {}", count - index) };
        view! { <li><a href=Route::Run(id).path()>{words}</a></li> }.into_any()
    };
    let links: Vec<_> = made.into_iter().enumerate().map(link).collect();
    view! {
        <div class="made-note" role="status" data-testid="new-run">
            <span>"It runs again:"</span><ul>{links}</ul>
        </div>
    }
    .into_any()
}
