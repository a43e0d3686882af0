//! The dialogs of a schedule: run once with other values, pause with a reason, resume with a
//! choice, skip the next fires, rename, and delete after typing the name.

use leptos::prelude::*;

use super::{
    Action, Actions, Subject,
    effect::{self, CHOICES, Lines, OF_EACH, comes_to, pause_effect},
    form::{Plan, Then, form},
    note::note,
};
use crate::{
    api,
    components::{Field, Look, live},
    data::{self, Load, use_load},
    model::{CatchUp, Failure, ResumeEffect},
    pages::kit::{number, of},
    route::Route,
    state::{Said, use_zone},
    time::{Moment, Wall},
};

/// The content of an action's dialog.
pub(in crate::pages) fn content(actions: Actions, action: Action) -> AnyView {
    match action {
        Action::RunWith => run_with(actions),
        Action::Pause => pause(actions),
        Action::Resume => resume(actions),
        Action::Skip => skip(actions),
        Action::Note => note(actions),
        Action::Rename => rename(actions),
        Action::Delete => delete(actions),
    }
}

/// An optional instant in a field, on the browser's clock.
fn instant(field: &str, text: RwSignal<String>) -> Result<Option<Moment>, Failure> {
    let text = text.get_untracked();
    match Moment::parse_local(&text) {
        None if !text.is_empty() => Err(Failure::of_field(field, "This is not a date and time.")),
        at => Ok(at),
    }
}

/// Asks for the values in which this run should differ from the schedule.
fn run_with(actions: Actions) -> AnyView {
    let subject = actions.subject.get_value();
    let wrong = RwSignal::new(None);
    let context = RwSignal::new(String::new());
    let as_of = RwSignal::new(String::new());
    let plan = move |key| {
        let text = context.get_untracked();
        let text = if text.trim().is_empty() { "{}" } else { text.as_str() };
        let context = serde_json::from_str(text)
            .map_err(|why| Failure::of_field("context", format!("This is not JSON: {why}.")))?;
        let at = instant("asOf", as_of)?;
        Ok(Plan {
            change: api::trigger_schedule(subject.id.clone(), Some(context), at, key),
            said: Said::new(format!("{} runs now.", subject.name)),
            then: Then::LinkRun,
        })
    };
    let fields = view! {
        {Field::new("run-context", "Context (JSON)", context).code().first().error(of(wrong, "context"))
            .hint("Merged into the schedule's own context, key by key: {\"day\": \"2026-01-31\"}. Empty: as it is.").area(4)}
        {Field::new("run-as-of", "As of (optional, your time)", as_of).kind("datetime-local").error(of(wrong, "asOf"))
            .hint("The scheduled instant that the run gets.").text()}
    };
    form(actions, Action::RunWith, Look::Primary, "Run", wrong, plan, fields.into_any())
}

/// Asks for the reason of the pause, for its end, and for what becomes of its fires then.
fn pause(actions: Actions) -> AnyView {
    let subject = actions.subject.get_value();
    let (preview_id, preview_zone) = (subject.id.clone(), Some(subject.zone.clone()));
    let zone = use_zone();
    let wrong = RwSignal::new(None);
    let reason = RwSignal::new(String::new());
    let until = RwSignal::new(String::new());
    let missed = RwSignal::new("skip".to_owned());
    let (ended_id, ended_zone) = (subject.id.clone(), Some(subject.zone.clone()));
    let ended = use_load(move || {
        let end = Moment::parse_local(&until.get())?;
        Some(api::resume_preview(ended_id.clone(), Some(end), OF_EACH))
    });
    let has_end = Memo::new(move |_| Moment::parse_local(&until.get()).is_some());
    let at_the_end = live(move || {
        if !has_end.get() {
            return ().into_any();
        }
        let legend = "Fires that fell into the pause, at its end";
        choices("pause-missed", legend, missed, ended, ended_zone.clone(), None)
    });
    let plan = move |key| {
        let text = given_reason(reason)?;
        let end = instant("until", until)?;
        let missed = end.map(|_| chosen(missed));
        let then = missed.map_or("", effect::afterwards);
        let zone = untrack(|| zone.get()).zone(Some(&subject.zone));
        let said = match end.and_then(|end| Wall::read(end, &zone)) {
            Some(end) => format!("{} is paused. It resumes at {end}{then}.", subject.name),
            None => format!("{} is paused. Nothing fires until it is resumed.", subject.name),
        };
        let change = api::pause_schedule(subject.id.clone(), text, end, missed, key);
        let id = subject.id.clone();
        let said = Said::new(said).undo(move || {
            let back = api::resume_schedule(id.clone(), CatchUp::Latest, data::new_key());
            actions.actor.act(back, "It is active again.".to_owned(), move |_| actions.reload());
        });
        Ok(Plan { change, said, then: Then::Stay })
    };
    let fields = view! {
        <p>"Fires that become due during the pause are not started. Running runs continue."</p>
        {pause_effect(preview_id, preview_zone, until)}
        {Field::new("pause-reason", "Reason", reason).first().error(of(wrong, "reason"))
            .hint("Shown with the schedule, and kept in its history.").text()}
        {Field::new("pause-until", "Until (optional, your time)", until).kind("datetime-local")
            .error(of(wrong, "until")).text()}
        {at_the_end}
    };
    form(actions, Action::Pause, Look::Primary, "Pause", wrong, plan, fields.into_any())
}

/// Asks what to do with the fires that fell into the pause, and shows the effect of each choice.
fn resume(actions: Actions) -> AnyView {
    let subject = actions.subject.get_value();
    let wrong = RwSignal::new(None);
    let missed = RwSignal::new("skip".to_owned());
    let id = subject.id.clone();
    let preview = use_load(move || Some(api::resume_preview(id.clone(), None, OF_EACH)));
    let zone = Some(subject.zone.clone());
    let plan = move |key| {
        Ok(Plan {
            change: api::resume_schedule(subject.id.clone(), chosen(missed), key),
            said: Said::new(format!("{} is active again.", subject.name)),
            then: Then::Stay,
        })
    };
    let legend = "Fires that fell into the pause";
    let fields = choices("resume-missed", legend, missed, preview, zone, Some("skip"));
    form(actions, Action::Resume, Look::Primary, "Resume", wrong, plan, fields)
}

/// The chosen policy for the fires of a pause.
fn chosen(missed: RwSignal<String>) -> CatchUp {
    let choice = CHOICES.iter().find(|(name, ..)| missed.with_untracked(|missed| missed == name));
    choice.map_or(CatchUp::Skip, |(.., choice)| *choice)
}

/// The policies for the fires of a pause, each with its effect, as a group of radio buttons with this name and legend.
/// The policy named `first` gets the focus when the dialog opens.
fn choices(
    group: &'static str,
    legend: &'static str,
    missed: RwSignal<String>,
    preview: Load<ResumeEffect>,
    zone: Option<String>,
    first: Option<&'static str>,
) -> AnyView {
    let radio = move |(name, words, choice): (&'static str, &'static str, CatchUp)| {
        let (zone, rows_zone) = (zone.clone(), zone.clone());
        let lines = Lines::new(format!("{group}-{name}"));
        let counts = preview.draw(move |preview| {
            let found = preview.choices.iter().find(|known| known.missed == choice);
            found.map_or_else(|| ().into_any(), |found| comes_to(found, zone.clone()))
        });
        let fires = preview.draw(move |preview| {
            let found = preview.choices.iter().find(|known| known.missed == choice);
            let resumed = |found| effect::resumed(found, rows_zone.clone(), lines);
            found.map_or_else(|| ().into_any(), resumed)
        });
        view! {
            <label class="choice">
                <input
                    type="radio"
                    name=group
                    autofocus=first == Some(name)
                    prop:checked=move || missed.get() == name
                    on:change=move |_| missed.set(name.to_owned())
                />
                <span><strong>{words}</strong>{counts}</span>
            </label>
            {fires}
        }
        .into_any()
    };
    view! {
        <fieldset class="choices">
            <legend>{legend}</legend>
            {CHOICES.map(radio).into_iter().collect::<Vec<_>>()}
        </fieldset>
    }
    .into_any()
}

/// Asks how many of the next fires to skip.
fn skip(actions: Actions) -> AnyView {
    let subject = actions.subject.get_value();
    let wrong = RwSignal::new(None);
    let count = RwSignal::new("1".to_owned());
    let reason = RwSignal::new(String::new());
    let plan = move |key| {
        let number = number("count", count)?;
        let text = given_reason(reason)?;
        let fires = match number {
            1 => "next fire is".to_owned(),
            _ => format!("next {number} fires are"),
        };
        Ok(Plan {
            change: api::skip_next(subject.id.clone(), number, text, key),
            said: Said::new(format!("The {fires} skipped for {}.", subject.name)),
            then: Then::Stay,
        })
    };
    let fields = view! {
        {Field::new("skip-count", "How many of the next fires", count).kind("number").first()
            .error(of(wrong, "count")).text()}
        {Field::new("skip-reason", "Reason", reason).error(of(wrong, "reason"))
            .hint("Kept with each of them in the ledger.").text()}
    };
    form(actions, Action::Skip, Look::Primary, "Skip", wrong, plan, fields.into_any())
}

fn given_reason(reason: RwSignal<String>) -> Result<String, Failure> {
    let text = reason.get_untracked().trim().to_owned();
    if text.is_empty() {
        return Err(Failure::of_field(
            "reason",
            "Give a reason, so that others can understand it.",
        ));
    }
    Ok(text)
}

/// Asks for another name.
fn rename(actions: Actions) -> AnyView {
    let subject = actions.subject.get_value();
    let wrong = RwSignal::new(None);
    let name = RwSignal::new(subject.name.clone());
    let plan = move |_| {
        let Subject { id, name: before, version, .. } = subject.clone();
        let text = name.get_untracked().trim().to_owned();
        if text.is_empty() {
            return Err(Failure::of_field("name", "Give it a name."));
        }
        let said = Said::new(format!("{before} is now {text}."));
        let change = api::rename_schedule(id.clone(), version, text);
        let said = said.undo(move || {
            let back = api::rename_schedule(id.clone(), version + 1, before.clone());
            actions
                .actor
                .act(back, format!("{before} has its name back."), move |_| actions.reload());
        });
        Ok(Plan { change, said, then: Then::Stay })
    };
    let fields = view! {
        <p>"Its history, its address and the times of "<code>"H"</code>" stay. Searches and views that name it do not follow."</p>
        {Field::new("rename-name", "Name", name).first().error(of(wrong, "name")).text()}
    };
    form(actions, Action::Rename, Look::Primary, "Rename", wrong, plan, fields.into_any())
}

/// Asks for the schedule's name, to prevent accidental deletion.
fn delete(actions: Actions) -> AnyView {
    let subject = actions.subject.get_value();
    let name = subject.name.clone();
    let wrong = RwSignal::new(None);
    let typed = RwSignal::new(String::new());
    let id = subject.id.clone();
    let impact = use_load(move || Some(api::schedule_impact(id.clone())));
    let plan = move |key| {
        if typed.get_untracked().trim() != subject.name {
            return Err(Failure::of_field("name", "That is not its name."));
        }
        Ok(Plan {
            change: api::delete_schedule(subject.id.clone(), key),
            said: Said::new(format!("{} is deleted.", subject.name))
                .undo(undelete(actions, &subject)),
            then: Then::Go(Route::Schedules.path()),
        })
    };
    let fields = view! {
        <p role="status" data-testid="impact">
            "It stops firing, and its backfills stop. "{impact.draw(|impact| impact.words().into_any())}
        </p>
        <p>"It can be restored for 7 days. Type "<strong>{name}</strong>" to confirm."</p>
        {Field::new("delete-name", "Name of the schedule", typed).first().error(of(wrong, "name")).text()}
    };
    form(actions, Action::Delete, Look::Danger, "Delete", wrong, plan, fields.into_any())
}

fn undelete(actions: Actions, subject: &Subject) -> impl Fn() + use<> {
    let (id, name) = (subject.id.clone(), subject.name.clone());
    move || {
        let back = api::undelete_schedule(id.clone(), None, data::new_key());
        actions.actor.act(back, format!("{name} is back."), move |_| actions.reload());
    }
}
