//! Run once with other values, pause with a reason, resume with a choice, delete with the name typed out.

use leptos::prelude::*;

use super::{
    Action, Actions,
    form::{Plan, form, of},
};
use crate::{
    api::{self},
    components::{Dialog, Field, Look},
    model::{CatchUp, Failure},
    route::Route,
    state::use_zone,
    time::{Moment, Wall},
};

impl Actions {
    /// The dialogs, closed until one is asked for.
    pub(in crate::pages) fn dialogs(self) -> AnyView {
        view! {
            <Dialog open=self.run_with title="Run with other values">{run_with(self)}</Dialog>
            <Dialog open=self.pause title="Pause schedule">{pause(self)}</Dialog>
            <Dialog open=self.resume title="Resume schedule">{resume(self)}</Dialog>
            <Dialog open=self.delete title="Delete schedule">{delete(self)}</Dialog>
        }
        .into_any()
    }
}

/// An optional instant on the browser's clock.
fn instant(field: &str, text: RwSignal<String>) -> Result<Option<Moment>, Failure> {
    let text = text.get_untracked();
    match Moment::parse_local(&text) {
        None if !text.is_empty() => Err(Failure::of_field(field, "This is not a date and time.")),
        at => Ok(at),
    }
}

/// Asks for what this one run gets otherwise than its schedule says.
fn run_with(actions: Actions) -> AnyView {
    let subject = actions.subject.get_value();
    let wrong = RwSignal::new(None);
    let context = RwSignal::new("{}".to_owned());
    let as_of = RwSignal::new(String::new());
    let plan = move |key| {
        let context = serde_json::from_str(&context.get_untracked())
            .map_err(|why| Failure::of_field("context", format!("This is not JSON: {why}.")))?;
        let at = instant("asOf", as_of)?;
        Ok(Plan {
            change: api::trigger_schedule(subject.id.clone(), Some(context), at, key),
            said: format!("{} runs now.", subject.name),
            then: None,
        })
    };
    let fields = view! {
        {Field::new("run-context", "Context (JSON)", context).code().first().error(of(wrong, "context"))
            .hint("Laid over the schedule's own, key by key.").area(4)}
        {Field::new("run-as-of", "As of (optional, your time)", as_of).kind("datetime-local").error(of(wrong, "asOf"))
            .hint("The instant that the run is told it stands for.").text()}
    };
    form(actions, Action::RunWith, (Look::Primary, "Run"), wrong, plan, fields.into_any())
}

/// Asks why, and until when.
fn pause(actions: Actions) -> AnyView {
    let subject = actions.subject.get_value();
    let zone = use_zone();
    let wrong = RwSignal::new(None);
    let reason = RwSignal::new(String::new());
    let until = RwSignal::new(String::new());
    let plan = move |key| {
        let text = reason.get_untracked().trim().to_owned();
        if text.is_empty() {
            return Err(Failure::of_field("reason", "Say why, for whoever finds it paused."));
        }
        let end = instant("until", until)?;
        let zone = untrack(|| zone.get()).zone(Some(&subject.zone));
        let said = match end.and_then(|end| Wall::read(end, &zone)) {
            Some(end) => format!("{} is paused. It goes on at {end}.", subject.name),
            None => format!("{} is paused. Nothing fires until it is resumed.", subject.name),
        };
        let change = api::pause_schedule(subject.id.clone(), text, end, key);
        Ok(Plan { change, said, then: None })
    };
    let fields = view! {
        <p>"Fires that fall due meanwhile are not started. Runs that are under way go on."</p>
        {Field::new("pause-reason", "Reason", reason).first().error(of(wrong, "reason"))
            .hint("Shown wherever the schedule is, and kept in its history.").text()}
        {Field::new("pause-until", "Until (optional, your time)", until).kind("datetime-local")
            .error(of(wrong, "until")).text()}
    };
    form(actions, Action::Pause, (Look::Primary, "Pause"), wrong, plan, fields.into_any())
}

/// Asks what becomes of the fires that fell into the pause.
fn resume(actions: Actions) -> AnyView {
    let subject = actions.subject.get_value();
    let wrong = RwSignal::new(None);
    let missed = RwSignal::new("skip".to_owned());
    let plan = move |key| {
        let choice = match missed.get_untracked().as_str() {
            "latest" => CatchUp::Latest,
            "all" => CatchUp::All,
            _ => CatchUp::Skip,
        };
        Ok(Plan {
            change: api::resume_schedule(subject.id.clone(), choice, key),
            said: format!("{} is active again.", subject.name),
            then: None,
        })
    };
    let fields = Field::new("resume-missed", "Fires that fell into the pause", missed)
        .first()
        .error(of(wrong, "missed"))
        .choice(&[
            ("skip", "Leave them out"),
            ("latest", "Start the latest once"),
            ("all", "Start all, as its catch-up limits allow"),
        ]);
    form(actions, Action::Resume, (Look::Primary, "Resume"), wrong, plan, fields)
}

/// Asks for the name, so that nobody deletes by habit.
fn delete(actions: Actions) -> AnyView {
    let subject = actions.subject.get_value();
    let name = subject.name.clone();
    let wrong = RwSignal::new(None);
    let typed = RwSignal::new(String::new());
    let plan = move |key| {
        if typed.get_untracked().trim() != subject.name {
            return Err(Failure::of_field("name", "That is not its name."));
        }
        Ok(Plan {
            change: api::delete_schedule(subject.id.clone(), key),
            said: format!("{} is deleted.", subject.name),
            then: Some(Route::Schedules.path()),
        })
    };
    let fields = view! {
        <p>"Nothing fires any more; its ledger and runs stay until their time is up. Type "<strong>{name}</strong>" to confirm."</p>
        {Field::new("delete-name", "Name of the schedule", typed).first().error(of(wrong, "name")).text()}
    };
    form(actions, Action::Delete, (Look::Danger, "Delete"), wrong, plan, fields.into_any())
}
