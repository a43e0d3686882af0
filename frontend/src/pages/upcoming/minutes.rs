//! One hour by the minute, and the minutes in which several schedules start.

use std::collections::{BTreeMap, BTreeSet};

use leptos::prelude::*;

use super::counted_by;
use crate::{
    api,
    components::{AsyncView, heading, panel, silent_heading, table, when},
    data::use_load,
    model::{Forecast, Upcoming, UpcomingSchedule},
    pages::kit::{note, place_note},
    route::Route,
    state::{use_address, use_session, use_zone},
    time::{Moment, amount},
};

const MINUTE_MS: i64 = 60_000;

/// The fires of a minute.
struct Minute<'a> {
    at: Moment,
    fires: Vec<&'a Upcoming>,
}

impl Minute<'_> {
    /// Whether several schedules start in this minute.
    fn is_collision(&self) -> bool {
        let schedules: BTreeSet<&str> =
            self.fires.iter().map(|fire| fire.schedule.id.as_str()).collect();
        schedules.len() > 1
    }

    /// Whether this is the minute that the link names.
    fn is(&self, named: Option<Moment>) -> bool {
        let minute = |at: Moment| at.millis().div_euclid(MINUTE_MS);
        named.is_some_and(|named| minute(named) == minute(self.at))
    }
}

/// The hour from `at` on, with or without frequent schedules. The schedules of `minute` are listed in any case.
#[component]
pub(super) fn Minutes(at: Moment, minute: Option<Moment>, frequent: bool) -> impl IntoView {
    let (address, clock) = (use_address(), use_zone());
    let hour = use_load(move || {
        let by = counted_by(&clock.get().zone(None), Some(at), 1);
        Some(api::planning::upcoming(address.namespace(), Some(at), 1, frequent, by))
    });
    let content = view! {
        <AsyncView loading=hour.loading what="the hour">{hour.draw(move |hour| draw(hour, at, minute, frequent))}</AsyncView>
    };
    let begins = when(at, None);
    panel("The hour by the minute", begins, content.into_any())
}

fn draw(hour: &Forecast, at: Moment, named: Option<Moment>, frequent: bool) -> AnyView {
    let minutes = by_minute(&hour.fires);
    let listed = hour.fires.len();
    let total: i64 = hour.counted(frequent).iter().map(|hour| hour.fires).sum();
    let cut = (total > listed as i64).then(|| {
        let words = format!("The first {listed} of {total} starts are shown.");
        view! { <p class="muted">{words}</p> }.into_any()
    });
    let shown = minutes.iter().filter(|minute| minute.is_collision() || minute.is(named));
    let collisions: Vec<_> = shown.map(|minute| row(minute, minute.is(named))).collect();
    let list = if collisions.is_empty() {
        view! { <p class="muted">"No two schedules start in the same minute."</p> }.into_any()
    } else {
        let headings = vec![
            heading("Minute", ""),
            heading("Starts", "number"),
            heading("Schedules", ""),
            silent_heading("Actions"),
        ];
        table("Collisions", "table", headings, collisions.into_any())
    };
    let begin = hour.hours.first().map_or(at, |hour| hour.at);
    view! { {bars(&minutes, begin)}{cut}{list} }.into_any()
}

fn by_minute(fires: &[Upcoming]) -> Vec<Minute<'_>> {
    let mut minutes = BTreeMap::<i64, Vec<&Upcoming>>::new();
    for fire in fires {
        minutes.entry(fire.at.millis().div_euclid(MINUTE_MS)).or_default().push(fire);
    }
    minutes
        .into_values()
        .filter_map(|fires| {
            let first = fires.first()?;
            let at = first.at.later(-first.at.millis().rem_euclid(MINUTE_MS));
            Some(Minute { at, fires })
        })
        .collect()
}

/// A bar for each of the sixty minutes. The table below contains the same numbers.
fn bars(minutes: &[Minute<'_>], from: Moment) -> AnyView {
    let most = minutes.iter().map(|minute| minute.fires.len()).max().unwrap_or(1).max(1);
    let bar = |minute: &Minute<'_>| {
        let place = minute.at.since(from) / MINUTE_MS;
        let height = minute.fires.len() * 40 / most;
        let state = if minute.is_collision() { "retrying" } else { "running" };
        view! { <rect class="tally-part" data-state=state x=place * 10 + 1 y=40 - height width="8" height=height></rect> }
            .into_any()
    };
    let sum: usize = minutes.iter().map(|minute| minute.fires.len()).sum();
    let starts = amount(sum as i64, "start", "starts");
    let within = amount(minutes.len() as i64, "minute", "minutes");
    let name = format!("{starts} in {within}, {most} in the busiest");
    let bars: Vec<_> = minutes.iter().map(bar).collect();
    view! {
        <svg class="minute-bars" viewBox="0 0 600 40" preserveAspectRatio="none" role="img" aria-label=name>
            <rect class="tally-ground" y="39" width="600" height="1"></rect>{bars}
        </svg>
    }
    .into_any()
}

/// A schedule that starts in a minute.
struct Starter<'a> {
    schedule: &'a UpcomingSchedule,
    times: usize,
}

impl Starter<'_> {
    /// Whether the schedule is changed in its form, and not in the file of a module.
    fn is_by_hand(&self) -> bool {
        self.schedule.module.is_none()
    }
}

/// The schedules that start in a minute, by name. Schedules in two namespaces may have the same name.
fn starters<'a>(minute: &Minute<'a>) -> Vec<Starter<'a>> {
    let mut starters = BTreeMap::<(&str, &str), Starter<'a>>::new();
    for fire in &minute.fires {
        let schedule = &fire.schedule;
        let key = (schedule.name.as_str(), schedule.id.as_str());
        starters.entry(key).or_insert(Starter { schedule, times: 0 }).times += 1;
    }
    starters.into_values().collect()
}

fn row(minute: &Minute<'_>, is_named: bool) -> AnyView {
    let starters = starters(minute);
    let more = starters.len().saturating_sub(20);
    let link = |starter: &Starter<'_>| {
        let Starter { schedule, times } = starter;
        let href = Route::Schedule(schedule.id.clone()).path();
        let times = if *times > 1 { format!(" ×{times}") } else { String::new() };
        view! {
            <span class="collision">
                <a href=href>{schedule.name.clone()}</a>{place_note(&schedule.namespace)}{times}
            </span>
        }
        .into_any()
    };
    let links: Vec<_> = starters.iter().take(20).map(link).collect();
    let spread = (starters.len() > 1).then(|| spread(&starters));
    let more = (more > 0).then(|| format!(" and {more} more"));
    view! {
        <tr data-testid="collision-row" aria-current=is_named.then_some("true")>
            <td>{when(minute.at, None)}</td>
            <td class="number">{minute.fires.len()}</td>
            <td class="why-cell">{links}{more}</td>
            <td class="actions-cell">{spread}</td>
        </tr>
    }
    .into_any()
}

/// A link to the form of one of the schedules, which offers quieter minutes and `H`. What a module declares has no form:
/// if modules declare all of them, this says so.
fn spread(starters: &[Starter<'_>]) -> AnyView {
    let session = use_session();
    let may = |starter: &&Starter<'_>| session.edits_in(&starter.schedule.namespace);
    if let Some(starter) = starters.iter().rev().filter(may).find(|one| one.is_by_hand()) {
        let UpcomingSchedule { id, name, namespace, .. } = starter.schedule;
        let href = Route::EditSchedule(id.clone()).path_at(namespace);
        let label = format!("Spread: move {name} to a quieter minute");
        return view! { <a class="button" href=href aria-label=label>"Spread"</a> }.into_any();
    }
    match starters.iter().rev().find(may).and_then(|starter| starter.schedule.module.as_ref()) {
        Some(module) => note(format!("declared by {module}")),
        None => ().into_any(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_module_declares_is_not_moved_by_hand() {
        let schedule = |module: Option<&str>| UpcomingSchedule {
            id: "a".to_owned(),
            name: "nightly".to_owned(),
            namespace: "default".to_owned(),
            module: module.map(str::to_owned),
        };
        let (own, declared) = (schedule(None), schedule(Some("billing")));
        assert!(Starter { schedule: &own, times: 1 }.is_by_hand());
        assert!(!Starter { schedule: &declared, times: 1 }.is_by_hand());
    }

    #[test]
    fn a_link_names_a_minute_to_the_second_or_not() {
        let at = Moment::from_millis(600_000);
        let minute = Minute { at, fires: vec![] };
        assert!(minute.is(Some(at)) && minute.is(Some(at.later(59_999))));
        assert!(!minute.is(Some(at.later(MINUTE_MS))) && !minute.is(None));
    }
}
