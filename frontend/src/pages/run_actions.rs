//! The actions on a run in a list: open its log, run it again, cancel it.

use leptos::prelude::*;

use super::kit::{Asked, on_submit, use_asked};
use crate::{
    api,
    components::{Field, Glyph, Look, button, icon},
    data::{Actor, Loading, use_actor},
    model::RunRow,
    route::Route,
    state::{Said, Session, use_session},
};

/// The actions of a page with a list of runs.
#[derive(Clone, Copy)]
pub(super) struct RunActions {
    session: Session,
    actor: Actor,
    /// The list, which is reloaded after an action.
    list: Loading,
    cancels: Asked<RunRow>,
}

pub(super) fn use_run_actions(list: Loading) -> RunActions {
    RunActions { session: use_session(), actor: use_actor(), list, cancels: use_asked() }
}

impl RunActions {
    /// The buttons of a row. They never change places, and one that does not apply is dimmed. Otherwise a user could
    /// run a run again by mistake that settles just before the click.
    pub(super) fn buttons(self, run: &RunRow) -> AnyView {
        let title = run.title();
        let (href, name) =
            (Route::Run(run.id.clone()).path(), format!("Log of the run of {title}"));
        let log = view! {
            <a class="icon-button" href=href title="Log" aria-label=name>{icon(Glyph::List)}</a>
        };
        if !self.session.operates_in(&run.namespace) {
            return log.into_any();
        }
        let is_live = run.state.is_live();
        let (again, cancel) = (format!("Run {title} again"), format!("Cancel the run of {title}"));
        view! {
            {log}
            {dimmed(Glyph::Back, "Run again", again, is_live, self.again(run))}
            {dimmed(Glyph::Close, "Cancel", cancel, !is_live, self.cancels.ask(run))}
        }
        .into_any()
    }

    /// Returns a callback that runs the run again, and links to the new run.
    fn again(self, run: &RunRow) -> impl Fn() + use<> {
        let (id, title) = (run.id.clone(), run.title().to_owned());
        move || {
            let text = format!("{title} runs again.");
            self.actor.send(api::retry_run(id.clone()), move |outcome| match outcome {
                Ok(next) => {
                    let href = Route::Run(next).path();
                    self.actor.say(Said::new(text).link("Open the run", href));
                    self.list.reload();
                }
                Err(failure) => self.actor.complain(&failure),
            });
        }
    }

    /// The dialog, closed until a row's button opens it.
    pub(super) fn dialog(self) -> AnyView {
        self.cancels.dialog("Cancel run", move |run| {
            let (id, title) = (run.id.clone(), run.title().to_owned());
            let form = cancel_form(self.cancels.open, move || Some(id.clone()), self.list);
            view! { <p><strong>{title}</strong></p>{form} }.into_any()
        })
    }
}

/// A button that keeps its place while it cannot be pressed.
fn dimmed(
    glyph: Glyph,
    title: &'static str,
    name: String,
    is_dimmed: bool,
    action: impl Fn() + 'static,
) -> AnyView {
    view! {
        <button
            type="button"
            class="icon-button"
            title=title
            aria-label=name
            disabled=is_dimmed
            on:click=move |_| action()
        >{icon(glyph)}</button>
    }
    .into_any()
}

/// Asks for confirmation and a reason before a run is cancelled. `run` returns the run's id, and `shown` is reloaded.
pub(super) fn cancel_form(
    open: RwSignal<bool>,
    run: impl Fn() -> Option<String> + Clone + 'static,
    shown: Loading,
) -> AnyView {
    let actor = use_actor();
    let reason = RwSignal::new(String::new());
    let cancel = move || {
        let Some(id) = run() else { return };
        let reason = Some(reason.get_untracked()).filter(|reason| !reason.trim().is_empty());
        let said = "Cancelling. The task is asked to stop, then stopped.".to_owned();
        actor.act(api::cancel_run(id, reason), said, move |_| shown.reload());
        open.set(false);
    };
    let submit = on_submit(cancel.clone());
    view! {
        <form class="dialog-form" on:submit=submit>
            <p>"The running task is asked to stop, and is stopped if it does not. Work that it has already done is not undone."</p>
            {Field::new("cancel-reason", "Reason (optional)", reason).first().text()}
            <div class="dialog-foot">
                {button(Look::Danger, None, "Cancel this run", cancel)}
                {button(Look::Plain, None, "Keep it running", move || open.set(false))}
            </div>
        </form>
    }
    .into_any()
}
