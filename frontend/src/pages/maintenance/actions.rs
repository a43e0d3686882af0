//! The actions on a window: change, cancel.

use leptos::prelude::*;

use super::{
    super::kit::{Asked, Change, Wrong, form, of, use_asked},
    fires_of, missed_words,
};
use crate::{
    api,
    components::{Field, Look, button},
    data::Loading,
    model::{Failure, MaintenanceState, MaintenanceWindow},
    route::Route,
    state::use_session,
    time::amount,
};

/// The actions on the windows of a page.
#[derive(Clone, Copy)]
pub(super) struct Actions {
    cancel: Asked<MaintenanceWindow>,
    loading: Loading,
}

pub(super) fn use_actions(loading: Loading) -> Actions {
    Actions { cancel: use_asked(), loading }
}

impl Actions {
    /// The buttons of one window.
    pub(super) fn of(self, window: &MaintenanceWindow) -> AnyView {
        let fires = fires_of(window).map(|href| view! { <a class="button" href=href>"Fires"</a> });
        let changes =
            (window.is_open() && use_session().operates_in(&window.namespace)).then(|| {
                // A window of a module is changed in the module's file.
                let change = window.module.is_none().then(|| {
                    let edit = Route::EditMaintenance(window.id.clone());
                    let href = edit.path_at(&window.namespace);
                    view! { <a class="button" href=href>"Change"</a> }
                });
                view! {
                    {change}
                    {button(Look::Danger, None, "Cancel", self.cancel.ask(window))}
                }
                .into_any()
            });
        view! { <div class="row-actions">{fires}{changes}</div> }.into_any()
    }

    /// The dialog, closed until a window is to be cancelled.
    pub(super) fn dialogs(self) -> AnyView {
        self.cancel.dialog("Cancel maintenance", move |window| {
            let wrong: Wrong = RwSignal::new(None);
            let reason = RwSignal::new(String::new());
            let (id, title) = (window.id.clone(), window.title.clone());
            let fields = view! {
                <p><strong>{title.clone()}</strong>{effect(&window)}</p>
                {Field::new("cancel-reason", "Reason", reason).required().first().error(of(wrong, "reason"))
                    .hint("Kept with the window, and in the audit log.").text()}
            };
            let plan = move |key| {
                let text = reason.get_untracked().trim().to_owned();
                if text.is_empty() {
                    let words = "Give a reason, so that others can understand it.";
                    return Err(Failure::of_field("reason", words));
                }
                let ask = api::maintenance::cancel(id.clone(), text, key);
                Ok(Change { ask, said: format!("{title} is cancelled.") })
            };
            let look = (Look::Danger, "Cancel maintenance");
            let done = move |_| self.loading.reload();
            form(self.cancel.open, look, wrong, fields.into_any(), plan, done)
        })
    }
}

/// What cancelling a window does, after its title.
fn effect(window: &MaintenanceWindow) -> String {
    if window.state != MaintenanceState::Active {
        return " will not begin: its schedules fire as usual.".to_owned();
    }
    let count = amount(window.schedule_count, "schedule fires", "schedules fire");
    let missed = missed_words(window.missed).to_lowercase();
    format!(" ends now: {count} again. The fires that fell into it so far: {missed}.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{model::CatchUp, time::Moment};

    #[test]
    fn cancelling_says_what_becomes_of_the_schedules_and_their_fires() {
        let at = Moment::from_millis(0);
        let window = MaintenanceWindow {
            id: "w".into(),
            namespace: "default".into(),
            title: "Move".into(),
            ticket: None,
            search: None,
            starts_at: at,
            ends_at: at.later(3_600_000),
            missed: CatchUp::Latest,
            state: MaintenanceState::Planned,
            planned_by: "ada".into(),
            planned_at: at,
            cancelled_by: None,
            cancelled_at: None,
            cancel_reason: None,
            module: None,
            schedule_count: 2,
        };
        assert!(effect(&window).contains("will not begin"));
        let active = MaintenanceWindow { state: MaintenanceState::Active, ..window };
        let words = effect(&active);
        assert!(words.contains("2 schedules fire again"), "{words}");
        assert!(words.ends_with("start the latest once."), "{words}");
    }
}
