//! The actions on a backfill: pause, resume, cancel. The cancel dialog first lists the instants
//! that would not run.

use leptos::prelude::*;

use super::super::kit::{Asked, Change, form, use_asked};
use crate::{
    api,
    components::{Field, Look, button},
    data::{Actor, Loading, use_actor},
    model::{Backfill, BackfillState},
    state::use_session,
    time::amount,
};

/// The actions on the backfills of a page.
#[derive(Clone, Copy)]
pub(super) struct Actions {
    cancel: Asked<Backfill>,
    actor: Actor,
    loading: Loading,
}

pub(super) fn use_actions(loading: Loading) -> Actions {
    Actions { cancel: use_asked(), actor: use_actor(), loading }
}

impl Actions {
    /// The buttons of one backfill.
    pub(super) fn of(self, backfill: &Backfill) -> AnyView {
        if !use_session().operates_in(&backfill.namespace) {
            return ().into_any();
        }
        let id = backfill.id.clone();
        let turn = match backfill.state {
            BackfillState::Running => button(Look::Plain, None, "Pause", move || {
                let said = "Paused: live runs continue, no others start.".to_owned();
                self.act(api::planning::pause_backfill(id.clone()), said);
            }),
            BackfillState::Paused => button(Look::Plain, None, "Resume", move || {
                self.act(api::planning::resume_backfill(id.clone()), "It continues.".to_owned());
            }),
            BackfillState::Cancelled | BackfillState::Completed => return ().into_any(),
        };
        let cancel = button(Look::Danger, None, "Cancel", self.cancel.ask(backfill));
        view! { <div class="row-actions">{turn}{cancel}</div> }.into_any()
    }

    fn act(self, ask: api::Ask<String>, said: String) {
        self.actor.act(ask, said, move |_| self.loading.reload());
    }

    pub(super) fn dialogs(self) -> AnyView {
        self.cancel.dialog("Cancel backfill", move |backfill| {
            let wrong = RwSignal::new(None);
            let reason = RwSignal::new(String::new());
            let (id, progress) = (backfill.id.clone(), backfill.progress);
            let fields = view! {
                <p>{format!(
                    "{} will not run, and {} to stop. It cannot be resumed.",
                    amount(progress.pending, "instant", "instants"),
                    amount(progress.running, "live run is asked", "live runs are asked"),
                )}</p>
                {Field::new("cancel-reason", "Reason (optional)", reason).first().text()}
            };
            let plan = move |_| {
                let reason = Some(reason.get_untracked()).filter(|text| !text.trim().is_empty());
                let ask = api::planning::cancel_backfill(id.clone(), reason);
                Ok(Change { ask, said: "The backfill is cancelled.".to_owned() })
            };
            let look = (Look::Danger, "Cancel backfill");
            form(
                self.cancel.open,
                look,
                wrong,
                fields.into_any(),
                plan,
                super::reload(self.loading),
            )
        })
    }
}
