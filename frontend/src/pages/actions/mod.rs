//! The actions on a schedule: run, pause, resume, skip the next fires, delete. Every page with schedules uses them.
//!
//! The dialogs exist once per page. A button determines which dialog opens, and for which schedule. The code of what is
//! in them is loaded when the first one opens.
//!
//! - `form`: a form in a dialog
//! - `effect`: the exact fires that a pause suppresses, and their outcomes
//! - `dialogs`: run once with other values, pause, resume, skip, rename, delete
//! - `note`: the note that operators keep about a schedule

pub(super) mod dialogs;
pub(super) mod effect;
mod form;
mod note;

use leptos::prelude::*;

use crate::{
    api,
    data::{self, Actor, Loading, use_actor},
    model::ScheduleRow,
    pages::{deferred, parts},
    route::Route,
    state::{Address, Said, use_address},
};

/// The schedule that an action applies to.
#[derive(Clone, Debug, Default, PartialEq)]
struct Subject {
    id: String,
    name: String,
    zone: String,
    note: String,
    version: i64,
}

impl From<&ScheduleRow> for Subject {
    fn from(row: &ScheduleRow) -> Self {
        Self {
            id: row.id.clone(),
            name: row.name.clone(),
            zone: row.timing.zone.clone(),
            note: row.note.clone(),
            version: row.version,
        }
    }
}

/// The actions that have a dialog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    RunWith,
    Pause,
    Resume,
    Skip,
    Note,
    Rename,
    Delete,
}

/// The dialogs, by their titles.
const DIALOGS: [(Action, &str); 7] = [
    (Action::RunWith, "Run with other values"),
    (Action::Pause, "Pause schedule"),
    (Action::Resume, "Resume schedule"),
    (Action::Skip, "Skip the next fires"),
    (Action::Note, "Note of the schedule"),
    (Action::Rename, "Rename schedule"),
    (Action::Delete, "Delete schedule"),
];

/// The actions of a page.
#[derive(Clone, Copy)]
pub(super) struct Actions {
    subject: StoredValue<Subject>,
    run_with: RwSignal<bool>,
    pause: RwSignal<bool>,
    resume: RwSignal<bool>,
    skip: RwSignal<bool>,
    note: RwSignal<bool>,
    rename: RwSignal<bool>,
    delete: RwSignal<bool>,
    actor: Actor,
    address: Address,
    /// The data that is reloaded after an action.
    shown: StoredValue<Vec<Loading>>,
}

pub(super) fn use_actions(shown: Vec<Loading>) -> Actions {
    Actions {
        subject: StoredValue::new(Subject::default()),
        run_with: RwSignal::new(false),
        pause: RwSignal::new(false),
        resume: RwSignal::new(false),
        skip: RwSignal::new(false),
        note: RwSignal::new(false),
        rename: RwSignal::new(false),
        delete: RwSignal::new(false),
        actor: use_actor(),
        address: use_address(),
        shown: StoredValue::new(shown),
    }
}

impl Actions {
    /// Returns a callback that opens the dialog of an action on a schedule.
    pub(super) fn ask(self, action: Action, row: &ScheduleRow) -> impl Fn() + use<> {
        let subject = Subject::from(row);
        move || {
            self.subject.set_value(subject.clone());
            self.open(action).set(true);
        }
    }

    /// Returns a callback that opens the dialog for pausing a schedule, for a page that has no row of it.
    pub(super) fn ask_pause(self, id: String, name: String, zone: String) -> impl Fn() + use<> {
        let subject = Subject { id, name, zone, ..Subject::default() };
        move || {
            self.subject.set_value(subject.clone());
            self.open(Action::Pause).set(true);
        }
    }

    /// The dialogs, closed until an action is chosen.
    pub(super) fn dialogs(self) -> AnyView {
        let dialog = |(action, title)| {
            let content = move || parts::schedule_action(self, action);
            deferred::dialog(self.open(action), title, content)
        };
        DIALOGS.map(dialog).into_any()
    }

    /// Returns a callback that runs a schedule at once, without a dialog.
    pub(super) fn run(self, row: &ScheduleRow) -> impl Fn() + use<> {
        let Subject { id, name, .. } = Subject::from(row);
        move || {
            let run = api::trigger_schedule(id.clone(), None, None, data::new_key());
            let text = format!("{name} runs now.");
            self.actor.send(run, move |outcome| match outcome {
                Ok(run) => {
                    self.actor.say(Said::new(text).link("Open the run", Route::Run(run).path()));
                    self.reload();
                }
                Err(failure) => self.actor.complain(&failure),
            });
        }
    }

    fn open(self, action: Action) -> RwSignal<bool> {
        match action {
            Action::RunWith => self.run_with,
            Action::Pause => self.pause,
            Action::Resume => self.resume,
            Action::Skip => self.skip,
            Action::Note => self.note,
            Action::Rename => self.rename,
            Action::Delete => self.delete,
        }
    }

    /// Reloads the data of the page, which an action has changed.
    pub(super) fn reload(self) {
        for loading in self.shown.try_get_value().unwrap_or_default() {
            loading.reload();
        }
    }
}
