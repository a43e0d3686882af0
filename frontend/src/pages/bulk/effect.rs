//! The effect of a bulk action on fires, before it is performed: for the first schedules that each search finds.

use std::sync::Arc;

use leptos::prelude::*;

use crate::{
    api::{self, ScheduleQuery},
    components::{When, live, when},
    data::use_load,
    model::{
        CatchUp, FoundPausedSchedule, Page, Place, PreviewFire, ResumeChoice, ScheduleRow,
        SearchPauseEffect,
    },
    pages::actions::effect::{CHOICES, OF_EACH, comes_to, first_rows, resumed_fire},
    time::{Moment, amount, grouped},
};

/// Number of schedules whose fires are listed for a pause.
const PAUSED: usize = 20;
/// Number of schedules whose fires are listed for a resume. It is lower, because each takes a request.
const RESUMED: usize = 5;
/// Number of schedules whose watchdogs are named for a pause.
const NAMED: usize = 10;
/// Number of fires that are listed for each of these schedules.
const FIRES: i64 = 3;

/// The fires that would fall into a pause from now until the typed instant.
pub(super) fn paused(namespace: &str, searches: Vec<String>, until: RwSignal<String>) -> AnyView {
    let part = |search: String| {
        let namespace = namespace.to_owned();
        let effect = use_load(move || {
            let end = Moment::parse_local(&until.get());
            Some(api::pause_preview_of_search(namespace.clone(), search.clone(), end))
        });
        let (words, schedules) = (effect.draw(fall_into_it), effect.draw(would_not_fire));
        let alarms = effect.draw(alarms);
        view! { <p class="hint" role="status">{words}</p>{schedules}{alarms} }.into_any()
    };
    let parts: Vec<_> = searches.into_iter().map(part).collect();
    view! { <div data-testid="bulk-effect">{parts}</div> }.into_any()
}

/// The number of fires that would fall into the pause.
fn fall_into_it(effect: &SearchPauseEffect) -> AnyView {
    let of = if effect.has_more { "of the first" } else { "of" };
    let fires = amount(effect.fires, "fire", "fires");
    let count = i64::try_from(effect.schedules.len()).unwrap_or(i64::MAX);
    let schedules = amount(count, "schedule", "schedules");
    let words = format!("{fires} {of} {schedules} would fall into it until ");
    view! { {words}{when(effect.until, None)} }.into_any()
}

fn would_not_fire(effect: &SearchPauseEffect) -> AnyView {
    let due: Vec<_> = effect.schedules.iter().filter(|found| found.fires > 0).collect();
    let lines: Vec<_> = due.iter().take(PAUSED).map(|found| paused_schedule(found)).collect();
    let rest = (due.len() > PAUSED).then(|| {
        let count = i64::try_from(due.len() - PAUSED).unwrap_or(i64::MAX);
        let words = format!("and {}", amount(count, "more schedule", "more schedules"));
        view! { <li class="muted">{words}</li> }.into_any()
    });
    view! { <ul class="sample">{lines}{rest}</ul> }.into_any()
}

/// Names the schedules whose watchdogs will raise alarms, because nothing calls them during the pause.
fn alarms(effect: &SearchPauseEffect) -> AnyView {
    let silent = effect.schedules.iter().filter(|found| found.fires > 0);
    let silent = silent.filter(|found| found.schedule.ping.is_some());
    let names: Vec<&str> = silent.map(|found| found.schedule.name.as_str()).collect();
    match alarm_words(&names) {
        Some(words) => view! { <p class="field-note">{words}</p> }.into_any(),
        None => ().into_any(),
    }
}

/// The sentence about the watchdogs of these schedules; `None` if there are none.
fn alarm_words(names: &[&str]) -> Option<String> {
    let (listed, rest) = names.split_at(names.len().min(NAMED));
    let end = "during the pause, and will raise";
    match (listed, rest.len()) {
        ([], _) => None,
        ([only], _) => Some(format!(
            "The watchdog of {only} is not called {end} an alarm: pause its check there as well."
        )),
        (listed, more) => {
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let listed = listed.join(", ");
            Some(format!(
                "The watchdogs of {listed}{more} are not called {end} alarms: pause their checks there as well."
            ))
        }
    }
}

fn paused_schedule(found: &FoundPausedSchedule) -> AnyView {
    let zone = Some(found.schedule.timing.zone.clone());
    let fire = |fire: &PreviewFire| {
        let at = When::new(fire.at).zone(zone.clone()).suppressed(fire.suppressed_by.clone());
        view! { " "{at.view()} }.into_any()
    };
    let fires: Vec<_> = found.sample.iter().map(fire).collect();
    let more = more(found.fires, fires.len());
    view! { <li><strong>{found.schedule.name.clone()}</strong>":"{fires}{more}</li> }.into_any()
}

/// The text ` and 4 more`, if there are more than are listed.
fn more(total: i64, listed: usize) -> Option<String> {
    let left = total - i64::try_from(listed).unwrap_or(i64::MAX);
    (left > 0).then(|| format!(" and {} more", grouped(left)))
}

/// The choice of a policy for the fires of pauses that end at the typed instant, and its effect on the first schedules.
/// Empty while there is no such instant.
pub(super) fn ended(
    namespace: String,
    searches: Vec<String>,
    until: RwSignal<String>,
    missed: RwSignal<CatchUp>,
) -> AnyView {
    let end = Memo::new(move |_| Moment::parse_local(&until.get()));
    live(move || {
        let Some(end) = end.get() else { return ().into_any() };
        let part = |search: &String| {
            let query =
                ScheduleQuery { search: Some(search.clone()), ..paused_of(&namespace, search) };
            let first = use_load(move || Some(api::schedules(query.clone(), RESUMED)));
            let lines = first.draw(move |page| first_schedules(page, Some(end), missed));
            view! { <ul class="sample">{lines}</ul> }.into_any()
        };
        let parts: Vec<_> = searches.iter().map(part).collect();
        view! { {choice("Fires that fell into the pauses, at their end", None, missed)}{parts} }
            .into_any()
    })
}

/// The choice of a policy for the fires that fell into the pauses, and its effect.
pub(super) fn resumed(
    namespace: &str,
    searches: Vec<String>,
    missed: RwSignal<CatchUp>,
) -> AnyView {
    let part = |search: String| {
        let query = paused_of(namespace, &search);
        let listed = query.clone();
        let paused = use_load(move || Some(api::schedules(listed.clone(), RESUMED)));
        // A page knows the length of its list only if it contains the whole list.
        let total = use_load(move || {
            let is_cut = paused.with(|page| page.total.is_none()).unwrap_or_default();
            is_cut.then(|| api::schedule_count(query.clone()))
        });
        let lines = paused.draw(move |page| first_schedules(page, None, missed));
        let rest = total.draw(|total| more_paused(*total));
        view! { <ul class="sample">{lines}{rest}</ul> }.into_any()
    };
    let parts: Vec<_> = searches.into_iter().map(part).collect();
    view! {
        {choice("Fires that fell into their pauses", Some(CatchUp::Skip), missed)}
        <div data-testid="bulk-effect">{parts}</div>
    }
    .into_any()
}

/// The policies for the fires of pauses. `first` gets the focus when the dialog opens.
fn choice(legend: &'static str, first: Option<CatchUp>, missed: RwSignal<CatchUp>) -> AnyView {
    let radio = move |(_, words, choice): (&'static str, &'static str, CatchUp)| {
        view! {
            <label class="choice">
                <input
                    type="radio"
                    name="bulk-missed"
                    autofocus=first == Some(choice)
                    prop:checked=move || missed.get() == choice
                    on:change=move |_| missed.set(choice)
                />
                <strong>{words}</strong>
            </label>
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

/// A query for the schedules of a search that are paused.
pub(super) fn paused_of(namespace: &str, search: &str) -> ScheduleQuery {
    ScheduleQuery {
        namespace: namespace.to_owned(),
        search: Some(format!("{search} state:paused").trim().to_owned()),
        favourites: false,
        sort: None,
        place: Place::First,
    }
}

fn first_schedules(
    page: &Page<ScheduleRow>,
    end: Option<Moment>,
    missed: RwSignal<CatchUp>,
) -> AnyView {
    let line = |row: &Arc<ScheduleRow>| resumed_schedule(row, end, missed);
    page.rows.iter().map(line).collect::<Vec<_>>().into_any()
}

/// The last line, if more schedules are paused than are listed.
fn more_paused(total: i64) -> AnyView {
    let line = more(total, RESUMED).map(|words| {
        let words = format!("{words} that are paused");
        view! { <li class="muted">{words}</li> }
    });
    view! { {line} }.into_any()
}

/// The effect of the chosen policy on a schedule that is resumed now, or whose pause ends automatically.
fn resumed_schedule(row: &ScheduleRow, end: Option<Moment>, missed: RwSignal<CatchUp>) -> AnyView {
    let (id, zone) = (row.id.clone(), Some(row.timing.zone.clone()));
    let preview = use_load(move || Some(api::resume_preview(id.clone(), end, OF_EACH)));
    let chosen = move |draw: fn(&ResumeChoice, Option<String>) -> AnyView| {
        let zone = zone.clone();
        preview.draw(move |preview| {
            let found = preview.choices.iter().find(|known| known.missed == missed.get());
            found.map_or_else(|| ().into_any(), |found| draw(found, zone.clone()))
        })
    };
    let (words, fires) = (chosen(comes_to), chosen(chosen_fires));
    view! {
        <li>
            <span role="status"><strong>{row.name.clone()}</strong>" "{words}</span>
            {fires}
        </li>
    }
    .into_any()
}

fn chosen_fires(choice: &ResumeChoice, zone: Option<String>) -> AnyView {
    let rows = first_rows(choice.missed, &choice.rows.nodes, FIRES);
    let fires: Vec<_> = rows.into_iter().map(|fire| resumed_fire(fire, zone.clone())).collect();
    let more = more(choice.row_count, fires.len())
        .map(|words| view! { <li class="muted">{words}</li> }.into_any());
    view! { <ul class="sample choice-fires">{fires}{more}</ul> }.into_any()
}

#[cfg(test)]
mod tests {
    use super::{alarm_words, more};

    #[test]
    fn the_watchdogs_that_a_pause_silences_are_named() {
        assert_eq!(alarm_words(&[]), None);
        assert!(alarm_words(&["a"]).unwrap().starts_with("The watchdog of a is not called"));
        assert!(alarm_words(&["a", "b"]).unwrap().starts_with("The watchdogs of a, b are not"));
        let many = alarm_words(&["x"; 12]).unwrap();
        assert!(many.contains("x, x and 2 more are not called"), "{many}");
    }

    #[test]
    fn a_list_that_is_whole_says_nothing_of_more() {
        assert_eq!(more(3, 3), None);
        assert_eq!(more(7, 3).as_deref(), Some(" and 4 more"));
    }
}
