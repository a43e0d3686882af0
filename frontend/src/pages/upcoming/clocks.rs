//! The clock changes of the coming year, zone by zone, with the affected schedules and their fires.

use std::collections::BTreeSet;

use leptos::prelude::*;

use super::super::kit::{empty, note};
use crate::{
    api,
    components::{AsyncView, expressions, heading, live, panel, table},
    data::use_load,
    model::{
        FireKind, GapPolicy, OverlapHourPolicy, Page, PreviewFire, ScheduleName, ZoneSchedule,
    },
    route::Route,
    state::use_address,
    time::{Moment, Wall, clock_changes, distance},
};

const HOUR_MS: i64 = 3_600_000;
/// Maximum number of zones, because each takes two requests per year.
const MOST_ZONES: usize = 8;
const MOST_CHANGES: usize = 3;

/// A change of a zone's clock, forward or back.
#[derive(Clone, Debug, PartialEq)]
struct Change {
    zone: String,
    at: Moment,
    before: Wall,
    after: Wall,
}

/// The report of the clock changes.
#[component]
pub(super) fn Clocks() -> impl IntoView {
    let address = use_address();
    let names =
        use_load(move || Some(api::planning::schedule_names(address.namespace(), None, None)));
    let changes = Memo::new(move |_| names.with(changes).unwrap_or_default());
    let is_empty = Signal::derive(move || changes.with(Vec::is_empty));
    let report = move || {
        let one = |change: Change| view! { <OneChange change=change/> }.into_any();
        changes.get().into_iter().map(one).collect::<Vec<_>>().into_any()
    };
    view! {
        <AsyncView
            loading=names.loading
            what="the clock changes"
            is_empty=is_empty
            empty=|| empty("No clock changes in the next year", "The zones of your schedules keep their offset, or there is no schedule yet.")
        >
            <div class="stack">{live(report)}</div>
        </AsyncView>
        {live(move || match names.with(left_out).flatten() {
            Some(words) => view! { <p class="muted">{words}</p> }.into_any(),
            None => ().into_any(),
        })}
    }
}

fn zones(page: &Page<ScheduleName>) -> BTreeSet<&str> {
    page.rows.iter().map(|row| row.timing.zone.as_str()).collect()
}

/// Says which zones the report does not examine; nothing if it examines all.
fn left_out(page: &Page<ScheduleName>) -> Option<String> {
    let is_whole = page.next.is_none() && zones(page).len() <= MOST_ZONES;
    let listed = page.rows.len();
    (!is_whole).then(|| {
        format!(
            "Only the zones of the first {listed} schedules are examined, {MOST_ZONES} at most."
        )
    })
}

/// The changes in the zones of these schedules, soonest first.
fn changes(page: &Page<ScheduleName>) -> Vec<Change> {
    let mut all: Vec<Change> = zones(page).into_iter().take(MOST_ZONES).flat_map(of_zone).collect();
    all.sort_by_key(|change| change.at);
    all
}

/// The changes of one zone.
fn of_zone(zone: &str) -> Vec<Change> {
    let change = |at: Moment| {
        let (before, after) = (Wall::read(at.later(-60_000), zone)?, Wall::read(at, zone)?);
        Some(Change { zone: zone.to_owned(), at, before, after })
    };
    clock_changes(zone, Moment::now(), MOST_CHANGES).into_iter().filter_map(change).collect()
}

/// One change, and the schedules that it affects.
#[component]
fn OneChange(change: Change) -> impl IntoView {
    let address = use_address();
    let (zone, at) = (change.zone.clone(), change.at);
    let schedules = use_load(move || {
        let search = format!("zone:\"{zone}\"");
        Some(api::planning::zone_fires(address.namespace(), search, at.later(-3 * HOUR_MS)))
    });
    let in_days = distance(at.since(Moment::now()));
    let minute = |wall: &Wall| wall.time.get(..5).unwrap_or_default().to_owned();
    let words = format!(
        "{}: after {} comes {} ({} becomes {}).",
        change.after.date,
        minute(&change.before),
        minute(&change.after),
        change.before.offset,
        change.after.offset,
    );
    let is_gap = change.after.time > change.before.time;
    let draw = move |schedules: &Vec<ZoneSchedule>| touched(schedules, at, is_gap);
    let content = view! {
        <p class="lede">{words}</p>
        <AsyncView loading=schedules.loading what="the schedules of the zone">{schedules.draw(draw)}</AsyncView>
    };
    let title = if is_gap { "The clock goes forward" } else { "The clock goes back" };
    let aside = format!("{}, {in_days}", change.zone);
    panel(title, aside, content.into_any())
}

fn touched(schedules: &[ZoneSchedule], at: Moment, is_gap: bool) -> AnyView {
    let near = |fire: &&PreviewFire| {
        let far = fire.at.since(at);
        fire.kind != FireKind::Normal && (-3 * HOUR_MS..3 * HOUR_MS).contains(&far)
    };
    let rows: Vec<_> = schedules
        .iter()
        .filter_map(|schedule| {
            let fires: Vec<&PreviewFire> = schedule.next_fires.iter().filter(near).collect();
            (!fires.is_empty()).then(|| row(schedule, &fires, is_gap))
        })
        .collect();
    if rows.is_empty() {
        let words = if is_gap {
            "No schedule of this zone fires in the skipped hour, or its policy is to skip it."
        } else {
            "No schedule of this zone fires in the repeated hour."
        };
        return view! { <p class="muted">{words}</p> }.into_any();
    }
    let headings =
        vec![heading("Schedule", ""), heading("Fires", ""), heading("By its policy", "")];
    table("Affected schedules", "table", headings, rows.into_any())
}

fn row(schedule: &ZoneSchedule, fires: &[&PreviewFire], is_gap: bool) -> AnyView {
    let href = Route::Schedule(schedule.id.clone()).path();
    let fire = |fire: &&PreviewFire| {
        let time = fire.local.get(11..16).unwrap_or_default();
        let words = match fire.kind {
            FireKind::Normal => "as usual",
            FireKind::Shifted => "shifted to the end of the gap",
            FireKind::FirstOfTwo => "the first time",
            FireKind::SecondOfTwo => "the second time",
        };
        note(format!("{time} {} {words}", fire.offset))
    };
    let policy = if is_gap {
        match schedule.timing.gap {
            GapPolicy::Shift => "fires right after the gap",
            GapPolicy::Skip => "skips it",
        }
    } else {
        match schedule.timing.overlap {
            OverlapHourPolicy::First => "fires the first time",
            OverlapHourPolicy::Last => "fires the second time",
            OverlapHourPolicy::Both => "fires both times: twice",
        }
    };
    let fires: Vec<_> = fires.iter().take(4).map(fire).collect();
    view! {
        <tr data-testid="clock-row">
            <th scope="row" class="name-cell"><a href=href>{schedule.name.clone()}</a>{expressions(&schedule.timing.expressions)}</th>
            <td>{fires}</td>
            <td>{policy}</td>
        </tr>
    }
    .into_any()
}
