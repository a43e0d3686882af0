//! Problems, by schedule and error, with their actions.
//!
//! Acknowledged problems are hidden until the user asks for them. They then show the person who
//! acknowledged them, and the note.

use std::cmp::Reverse;

use leptos::prelude::*;

use crate::{
    api,
    components::{Look, button, live, when, when_relative},
    data::{Actor, Load, Loading, use_actor},
    model::{ProblemKind, WorkProblem},
    pages::{
        actions::{Actions, use_actions},
        kit::{Acknowledged, Asked, acknowledge_form, place_note, use_asked},
        ledger::LOST_FIRES,
        run::plain,
    },
    route::Route,
    state::{Said, Session, use_session},
};

/// Number of problems that are shown at first.
const SHOWN: usize = 8;

/// The state that the actions on a problem need.
#[derive(Clone, Copy)]
struct Tools {
    session: Session,
    actor: Actor,
    loading: Loading,
    acknowledge: Asked<WorkProblem>,
    /// Whether acknowledged problems are shown as well.
    shows_acknowledged: RwSignal<bool>,
    of_schedule: Actions,
    shows_all: RwSignal<bool>,
}

#[component]
pub(super) fn Problems(
    problems: Load<Vec<WorkProblem>>,
    /// The text that is shown if there are no problems.
    none: &'static str,
) -> impl IntoView {
    let tools = Tools {
        session: use_session(),
        actor: use_actor(),
        loading: problems.loading,
        acknowledge: use_asked(),
        shows_acknowledged: RwSignal::new(false),
        of_schedule: use_actions(vec![problems.loading]),
        shows_all: RwSignal::new(false),
    };
    view! {
        {live(move || problems.with(|problems| list(problems, none, tools)).unwrap_or_else(|| ().into_any()))}
        {tools.of_schedule.dialogs()}
        {tools.acknowledge.dialog("Acknowledge problem", move |problem| seen(&problem, tools))}
    }
}

fn list(problems: &[WorkProblem], none: &'static str, tools: Tools) -> AnyView {
    let is_acknowledged = |problem: &&WorkProblem| problem.acknowledgement.is_some();
    let acknowledged = problems.iter().filter(is_acknowledged).count();
    let shows = tools.shows_acknowledged.get();
    let mut shown: Vec<&WorkProblem> =
        problems.iter().filter(|problem| shows || !is_acknowledged(problem)).collect();
    // Open problems come first, and unacknowledged ones before the others; then the latest to
    // begin. The time of the last failure is not used: two ongoing problems would change places
    // under the pointer.
    shown.sort_by_key(|problem| {
        (!problem.is_open, is_acknowledged(problem), Reverse(problem.since))
    });
    let note = (acknowledged > 0).then(|| {
        let verb = if acknowledged == 1 { "is" } else { "are" };
        let words = format!("{acknowledged} {verb} acknowledged. ");
        let action = if shows { "Fold away" } else { "Show" };
        let turn = move || tools.shows_acknowledged.update(|shows| *shows = !*shows);
        view! { <p class="muted hidden-note">{words}{button(Look::Plain, None, action, turn)}</p> }
            .into_any()
    });
    if shown.is_empty() {
        return view! { <p class="empty">{none_but(none, acknowledged)}</p>{note} }.into_any();
    }
    let more = shown.len().saturating_sub(SHOWN);
    let all = tools.shows_all.get();
    let count = if all { shown.len() } else { SHOWN };
    let items: Vec<_> = shown.into_iter().take(count).map(|problem| item(problem, tools)).collect();
    let more = (more > 0 && !all).then(|| {
        view! {
            <button type="button" class="button button-quiet" on:click=move |_| tools.shows_all.set(true)>
                {format!("{more} more")}
            </button>
        }
        .into_any()
    });
    view! { <ul class="problems">{items}</ul>{more}{note} }.into_any()
}

/// The text that is shown if there are no problems, or only acknowledged ones.
fn none_but(none: &'static str, acknowledged: usize) -> &'static str {
    if acknowledged == 0 { none } else { "Someone sees to all of them." }
}

fn item(problem: &WorkProblem, tools: Tools) -> AnyView {
    let zone = Some(problem.schedule.timing.zone.clone());
    let (state, words) = match problem.kind {
        ProblemKind::Failing => ("failed", times(problem.count, "failure", "failures")),
        ProblemKind::LosingFires => ("missed", times(problem.count, "lost fire", "lost fires")),
        ProblemKind::SkippingFires => ("missed", skipped(problem)),
    };
    let state = if problem.is_open { state } else { "queued" };
    let over = (!problem.is_open).then_some(", over");
    let why = problem.error.as_deref().map(plain).unwrap_or_else(|| {
        problem.reason.map_or("no message", |reason| reason.name_and_words().1).to_owned()
    });
    let href = Route::Schedule(problem.schedule.id.clone()).path();
    view! {
        <li class="problem" data-testid="problem" data-state=state>
            <div class="problem-head">
                <span class="badge" data-state=state>{words}{over}</span>
                <a href=href>{problem.schedule.name.clone()}{place_note(&problem.schedule.namespace)}</a>
                <span class="muted">"since "{when_relative(problem.since, zone.clone())}", last "{when_relative(problem.last, zone)}</span>
            </div>
            <p class="problem-why">{why}</p>
            {seen_by(problem)}
            <div class="problem-actions">{actions(problem, tools)}</div>
        </li>
    }
    .into_any()
}

fn times(count: i64, one: &str, more: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {more}") }
}

/// How many fires were skipped, and of how many, if that is known.
fn skipped(problem: &WorkProblem) -> String {
    match problem.expected {
        Some(expected) => format!("skipped {} of {expected} fires", problem.count),
        None => format!("skipped {}", times(problem.count, "fire", "fires")),
    }
}

fn actions(problem: &WorkProblem, tools: Tools) -> AnyView {
    let operates = tools.session.operates_in(&problem.schedule.namespace);
    let name = problem.schedule.name.clone();
    let log = problem.last_run.as_ref().map(|run| {
        let label = format!("Log of the last run of {name}");
        view! { <a class="button" href=Route::Run(run.id.clone()).path() aria-label=label>"Log"</a> }.into_any()
    });
    let fires = match problem.kind {
        ProblemKind::Failing => None,
        ProblemKind::LosingFires => Some((LOST_FIRES, "lost")),
        ProblemKind::SkippingFires => Some(("verdict:skipped", "skipped")),
    };
    let ledger = fires.map(|(verdict, word)| {
        let query = format!("{verdict} schedule:\"{name}\"");
        // A schedule has a problem for each reason.
        let reason = problem.reason.map_or("", |reason| reason.name_and_words().0);
        let terms = [("reason", reason), ("q", &*query)];
        let label = format!("Which fires of {name} were {word}");
        let href = Route::Ledger.narrowed(&terms);
        view! { <a class="button" href=href aria-label=label>"Which"</a> }.into_any()
    });
    let rerun =
        problem.last_run.as_ref().filter(|run| operates && !run.state.is_live()).map(|run| {
            let (id, said) = (run.id.clone(), format!("{name} runs again."));
            let again = move || {
                let (said, loading) = (said.clone(), tools.loading);
                tools.actor.send(api::retry_run(id.clone()), move |outcome| match outcome {
                    Ok(next) => {
                        let href = Route::Run(next).path();
                        tools.actor.say(Said::new(said).link("Open it", href));
                        loading.reload();
                    }
                    Err(failure) => tools.actor.complain(&failure),
                });
            };
            labelled("Rerun", format!("Rerun {name}"), again)
        });
    let pause = (operates && problem.schedule.pause.is_none()).then(|| {
        let (id, zone) = (problem.schedule.id.clone(), problem.schedule.timing.zone.clone());
        let ask = tools.of_schedule.ask_pause(id, name.clone(), zone);
        labelled("Pause", format!("Pause {name}"), ask)
    });
    let see = operates.then(|| acknowledgement(problem, tools));
    view! { {log}{ledger}{rerun}{pause}{see} }.into_any()
}

/// Who acknowledged a problem, when, until when, and their note.
fn seen_by(problem: &WorkProblem) -> Option<AnyView> {
    let seen = problem.acknowledgement.as_ref()?;
    let until = seen.until.map(|until| view! { ", until "{when(until, None)} });
    let note = seen.note.as_ref().map(|note| format!(": {note}"));
    let line = view! {
        <p class="muted" data-testid="acknowledged">
            {format!("Acknowledged by {} ", seen.by)}{when_relative(seen.at, None)}{until}{note}
        </p>
    };
    Some(line.into_any())
}

/// The button that acknowledges a problem, or withdraws the acknowledgement.
fn acknowledgement(problem: &WorkProblem, tools: Tools) -> AnyView {
    let name = problem.schedule.name.clone();
    if problem.acknowledgement.is_none() {
        return labelled(
            "Acknowledge",
            format!("Acknowledge {name}"),
            tools.acknowledge.ask(problem),
        );
    }
    let (schedule, id) = (problem.schedule.id.clone(), problem.id.clone());
    let said = format!("The problem of {name} is open again.");
    let take_back = move || {
        let (change, loading) =
            (api::alerts::unacknowledge_problem(schedule.clone(), id.clone()), tools.loading);
        tools.actor.act(change, said.clone(), move |_| loading.reload());
    };
    labelled("Take back", format!("Take back that {name} is acknowledged"), take_back)
}

/// Asks for the note and the end of an acknowledgement.
fn seen(problem: &WorkProblem, tools: Tools) -> AnyView {
    let what = Acknowledged {
        name: problem.schedule.name.clone(),
        effect: "is folded away for everyone until then. When it is over and the same happens again, it is a new \
                 problem.",
    };
    let (schedule, id) = (problem.schedule.id.clone(), problem.id.clone());
    let ask = move |note, until| {
        api::alerts::acknowledge_problem(schedule.clone(), id.clone(), note, until)
    };
    acknowledge_form(tools.acknowledge.open, what, ask, move |_| tools.loading.reload())
}

/// A button whose accessible name includes the object that it acts on.
fn labelled(words: &'static str, label: String, action: impl Fn() + 'static) -> AnyView {
    view! {
        <button type="button" class="button" aria-label=label.clone() title=label on:click=move |_| action()>{words}</button>
    }
    .into_any()
}
