//! One hour by the minute, and the minutes in which several schedules start.

use std::collections::BTreeMap;

use leptos::prelude::*;

use crate::{
    api,
    components::{AsyncView, heading, panel, silent_heading, table, when},
    data::use_load,
    model::{Forecast, Upcoming},
    route::Route,
    state::{use_address, use_session},
    time::Moment,
};

const MINUTE_MS: i64 = 60_000;

/// The fires of a minute.
struct Minute<'a> {
    at: Moment,
    fires: Vec<&'a Upcoming>,
}

/// The hour that begins at `at`.
#[component]
pub(super) fn Minutes(at: Moment) -> impl IntoView {
    let address = use_address();
    let hour = use_load(move || Some(api::planning::upcoming(address.namespace(), Some(at), 1)));
    let content = view! {
        <AsyncView loading=hour.loading what="the hour">{hour.draw(move |hour| draw(hour, at))}</AsyncView>
    };
    let begins = when(at, None);
    panel("The hour by the minute", begins, content.into_any())
}

fn draw(hour: &Forecast, at: Moment) -> AnyView {
    let minutes = by_minute(&hour.fires);
    let listed = hour.fires.len();
    let total: i64 = hour.hours.iter().map(|hour| hour.fires).sum();
    let cut = (total > listed as i64).then(|| {
        let words = format!("The first {listed} of {total} starts are shown.");
        view! { <p class="muted">{words}</p> }.into_any()
    });
    let collisions: Vec<_> =
        minutes.iter().filter(|minute| minute.fires.len() > 1).map(row).collect();
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
    view! { {bars(&minutes, at)}{cut}{list} }.into_any()
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

/// Sixty bars; the table below says the same in words.
fn bars(minutes: &[Minute<'_>], from: Moment) -> AnyView {
    let most = minutes.iter().map(|minute| minute.fires.len()).max().unwrap_or(1).max(1);
    let bar = |minute: &Minute<'_>| {
        let place = minute.at.since(from) / MINUTE_MS;
        let height = minute.fires.len() * 40 / most;
        let state = if minute.fires.len() > 1 { "retrying" } else { "running" };
        view! { <rect class="tally-part" data-state=state x=place * 10 + 1 y=40 - height width="8" height=height></rect> }
            .into_any()
    };
    let sum: usize = minutes.iter().map(|minute| minute.fires.len()).sum();
    let name = format!("{sum} starts in {} minutes, {most} in the busiest", minutes.len());
    let bars: Vec<_> = minutes.iter().map(bar).collect();
    view! {
        <svg class="minute-bars" viewBox="0 0 600 40" preserveAspectRatio="none" role="img" aria-label=name>
            <rect class="tally-ground" y="39" width="600" height="1"></rect>{bars}
        </svg>
    }
    .into_any()
}

fn row(minute: &Minute<'_>) -> AnyView {
    // Schedules in two namespaces may have the same name.
    let mut names = BTreeMap::<(&str, &str), usize>::new();
    for fire in &minute.fires {
        *names.entry((&fire.schedule.name, &fire.schedule.id)).or_default() += 1;
    }
    let more = names.len().saturating_sub(20);
    let link = |((name, id), times): (&(&str, &str), &usize)| {
        let href = Route::Schedule((*id).to_owned()).path();
        let times = if *times > 1 { format!(" ×{times}") } else { String::new() };
        view! { <span class="collision"><a href=href>{(*name).to_owned()}</a>{times}</span> }
            .into_any()
    };
    let links: Vec<_> = names.iter().take(20).map(link).collect();
    // The form of one of them offers quieter minutes, and `H`.
    let spread = names.keys().next_back().filter(|_| names.len() > 1 && use_session().edits());
    let spread = spread.map(|(name, id)| {
        let href = Route::EditSchedule((*id).to_owned()).path();
        let label = format!("Spread: move {name} to a quieter minute");
        view! { <a class="button" href=href aria-label=label>"Spread"</a> }.into_any()
    });
    let more = (more > 0).then(|| format!(" and {more} more"));
    view! {
        <tr data-testid="collision-row">
            <td>{when(minute.at, None)}</td>
            <td class="number">{minute.fires.len()}</td>
            <td class="why-cell">{links}{more}</td>
            <td class="actions-cell">{spread}</td>
        </tr>
    }
    .into_any()
}
