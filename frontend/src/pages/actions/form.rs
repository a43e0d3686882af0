//! A form in a dialog. It sends the change, closes, and shows a notice. If the change fails, the form stays open and
//! shows the error.

use leptos::{ev::SubmitEvent, prelude::*};

use super::{Action, Actions};
use crate::{
    api::Ask,
    components::Look,
    data::use_once,
    model::Failure,
    pages::kit::{Wrong, form_view, refuse},
    route::Route,
    state::Said,
};

/// The effect of a form: the change, the notice after it, and what follows.
pub(super) struct Plan {
    pub(super) change: Ask<String>,
    pub(super) said: Said,
    pub(super) then: Then,
}

/// What follows a change.
pub(super) enum Then {
    Stay,
    /// Another page is opened.
    Go(String),
    /// The notice has a link to the run that the change has created.
    LinkRun,
}

/// The fields, the error that belongs to no field, and the buttons. `plan` reads the fields, or returns the first
/// error.
pub(super) fn form(
    actions: Actions,
    kind: Action,
    look: Look,
    label: &'static str,
    wrong: Wrong,
    plan: impl Fn(String) -> Result<Plan, Failure> + 'static,
    fields: AnyView,
) -> AnyView {
    let plan: Box<dyn Fn(String) -> Result<Plan, Failure>> = Box::new(plan);
    let open = actions.open(kind);
    let busy = RwSignal::new(false);
    let once = use_once();
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        if busy.get_untracked() {
            return;
        }
        wrong.set(None);
        let Plan { change, said, then } = match plan(once.key()) {
            Ok(plan) => plan,
            Err(failure) => return wrong.set(Some(failure)),
        };
        busy.set(true);
        actions.actor.send(change, move |outcome| {
            let _closed = busy.try_set(false);
            once.heard(&outcome);
            match outcome {
                Ok(id) => {
                    let has_left = open.try_set(false).is_some();
                    let said = match &then {
                        Then::LinkRun => said.link("Open the run", Route::Run(id).path()),
                        Then::Stay | Then::Go(_) => said,
                    };
                    actions.actor.say(said);
                    actions.reload();
                    if let (Then::Go(to), false) = (then, has_left) {
                        actions.address.go(&to);
                    }
                }
                Err(failure) => refuse(wrong, actions.actor, failure),
            }
        });
    };
    form_view(open, look, label, wrong, busy, fields, submit)
}
