//! The effect of the timing, while the user types it.

use std::time::Duration;

use leptos::{leptos_dom::helpers::TimeoutHandle, prelude::*};

use super::{crowd, draft::Draft, fixes::fixes, plan::TimingPlan};
use crate::{
    api::{self},
    components::live,
    data::{Load, use_load},
    model::{Candidate, DefinitionEffect, Preview},
    pages::schedule::{definition_effect, fire_table},
    state::use_address,
};

const PAUSE: Duration = Duration::from_millis(250);
const SHOWN: i64 = 8;

/// The server's answer about the timing, and the inputs of the other questions about it.
#[derive(Clone, Copy)]
pub(super) struct Answers {
    pub(super) preview: Load<Preview>,
    /// The timing and the calendars that the answers are about.
    settled: RwSignal<Option<(TimingPlan, Vec<String>)>>,
    /// The existing workflow that the schedule runs: its runs show how long the new ones will take.
    workflow: RwSignal<Option<String>>,
    /// The id of the schedule that the form changes.
    edited: StoredValue<Option<String>>,
}

/// Queries the server a moment after the last key; an outdated answer is dropped.
pub(super) fn use_preview(draft: Draft, schedule: Option<String>) -> Answers {
    let address = use_address();
    let settled = RwSignal::new(None::<(TimingPlan, Vec<String>)>);
    let timer = StoredValue::new(None::<TimeoutHandle>);
    let stop = move || {
        if let Some(Some(timer)) = timer.try_update_value(Option::take) {
            timer.clear();
        }
    };
    let workflow = RwSignal::new(None::<String>);
    Effect::new(move |_| {
        let (timing, chosen) = ((draft.timing(), draft.calendars()), draft.chosen_workflow());
        stop();
        // The first query does not wait for a pause in the typing.
        if settled.with_untracked(Option::is_none) {
            workflow.set(chosen);
            return settled.set(Some(timing));
        }
        let settle = move || {
            if workflow.with_untracked(|known| *known != chosen) {
                workflow.set(chosen);
            }
            if settled.with_untracked(|known| known.as_ref() != Some(&timing)) {
                settled.set(Some(timing));
            }
        };
        timer.set_value(set_timeout_with_handle(settle, PAUSE).ok());
    });
    on_cleanup(stop);
    let edited = StoredValue::new(schedule.clone());
    let preview = use_load(move || {
        let (timing, calendars) = settled.get()?;
        Some(api::preview(timing.into(), calendars, address.namespace(), schedule.clone(), SHOWN))
    });
    Answers { preview, settled, workflow, edited }
}

/// The panel with description, warnings and the next fires. `effect` shows the effect of an edit.
pub(super) fn panel(answers: Answers, draft: Draft, effect: Option<AnyView>) -> AnyView {
    let answer = answers.preview;
    let per_year = move || answer.with(|preview| preview.fires_per_year).flatten().map(yearly);
    let failure = move || {
        answer.loading.failure().map(|failure| {
            view! { <p class="form-error">{failure.message.clone()}" "{failure.advice()}</p> }
                .into_any()
        })
    };
    let words = move || answer.with(words).unwrap_or_default();
    let fires = live(move || {
        let zone = draft.zone.get();
        answer.with(|preview| fires(preview, &zone)).unwrap_or_else(|| ().into_any())
    });
    view! {
        <section class="panel preview" aria-labelledby="preview-title" data-testid="preview">
            <header class="panel-head">
                <h2 id="preview-title">"Preview"</h2>
                <span class="muted">{move || per_year()}</span>
            </header>
            <div role="status">
                <p class="preview-description" data-testid="preview-description">{move || words()}</p>
                {move || failure()}
            </div>
            <div data-testid="preview-warnings">{answer.draw(move |preview| fixes(&preview.warnings, draft))}</div>
            <div data-testid="preview-crowd">{busy_minutes(answers, draft)}</div>
            <div role="status" data-testid="preview-effect">{effect}</div>
            {fires}
        </section>
    }
    .into_any()
}

/// How busy the minutes of the timing are. Each workflow has a part of its own, so that what is known of one is not shown
/// for another, nor while a name is typed that no workflow has.
fn busy_minutes(answers: Answers, draft: Draft) -> AnyView {
    let Answers { settled, workflow, edited, .. } = answers;
    let address = use_address();
    // Nothing is asked while the name of a workflow is typed.
    let asked = Memo::new(move |_| {
        let workflow = workflow.get();
        (workflow == draft.chosen_workflow()).then_some(workflow)
    });
    live(move || {
        let Some(workflow) = asked.get() else { return ().into_any() };
        let candidate: Load<Candidate> = use_load(move || {
            let (timing, _) = settled.get()?;
            let namespace = address.namespace();
            Some(api::candidate(timing.into(), namespace, edited.get_value(), workflow.clone()))
        });
        live(move || {
            // After a failure, the last answer may be about another timing.
            let is_known = candidate.loading.failure().is_none();
            let line = candidate.get().filter(|_| is_known);
            line.map_or_else(|| ().into_any(), |candidate| crowd::line(&candidate, draft))
        })
    })
}

/// The effect of an edit of this schedule. The errors of an unreadable timing are shown at its fields instead.
pub(super) fn effect(id: String, answers: Answers, draft: Draft) -> AnyView {
    let effect = use_load(move || {
        let (timing, calendars) = answers.settled.get()?;
        Some(api::definition_effect(id.clone(), timing.into(), calendars))
    });
    effect.draw(move |effect: &DefinitionEffect| {
        if effect.problem.is_some() {
            return ().into_any();
        }
        let zone = draft.zone.get_untracked();
        definition_effect(effect, Some(zone.trim().to_owned()).filter(|zone| !zone.is_empty()))
    })
}

fn words(preview: &Preview) -> String {
    match (&preview.problem, &preview.description) {
        (Some(_), _) => "This timing cannot be read yet.".to_owned(),
        (None, description) => description.clone().unwrap_or_default(),
    }
}

fn fires(preview: &Preview, zone: &str) -> AnyView {
    if !preview.fires.is_empty() {
        return fire_table(&preview.fires, zone.trim(), "Preview of the next fires");
    }
    let words = if preview.problem.is_some() { "No fires to show." } else { "It never fires." };
    view! { <p class="empty">{words}</p> }.into_any()
}

fn yearly(count: i64) -> String {
    match count {
        1 => "once in the next 365 days".to_owned(),
        _ => format!("{count} times in the next 365 days"),
    }
}
