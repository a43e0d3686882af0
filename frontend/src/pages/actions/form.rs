//! A form in a dialog. It sends the change, closes, and shows a notice. If the change fails, the form stays open and
//! shows the error.

use leptos::{ev::SubmitEvent, prelude::*};

use super::{Action, Actions};
use crate::{
    api::Ask,
    components::Look,
    data::use_once,
    model::Failure,
    pages::kit::{Wrong, form_view},
    state::Said,
};

/// The effect of a form: the change, the notice after it, and the page to open afterwards.
pub(super) struct Plan {
    pub(super) change: Ask<String>,
    pub(super) said: Said,
    pub(super) then: Option<String>,
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
            busy.set(false);
            once.heard(&outcome);
            match outcome {
                Ok(_) => {
                    open.set(false);
                    actions.actor.say(said);
                    actions.reload();
                    if let Some(to) = then {
                        actions.address.go(&to);
                    }
                }
                Err(failure) => wrong.set(Some(failure)),
            }
        });
    };
    form_view(open, look, label, wrong, busy, fields, submit)
}
