//! What suppresses fires on which days, as bands under the counts: the calendars that schedules use, with their
//! windows, the maintenance that is planned or active, and the pauses.

use leptos::prelude::*;

use super::{
    cover::{Cover, by_calendar, by_instants, by_pause},
    together,
};
use crate::{
    api::{self, ScheduleQuery},
    components::{AsyncView, live, panel, when},
    data::use_load,
    model::{
        Calendar, CalendarMode, MaintenanceState, MaintenanceWindow, Page, Place, ScheduleRow,
        Weekday,
    },
    pages::{actions::effect::afterwards, kit::place_note},
    route::Route,
    state::{use_address, use_zone},
    time::{Day, Moment, amount, day_words},
};

/// The maximum number of calendars that are looked at.
const MAX_CALENDARS: usize = 200;
/// The maximum number of pauses that are shown.
const MAX_PAUSES: usize = 10;
/// The maximum number of maintenance windows that are shown.
const MAX_WINDOWS: usize = 20;

/// One calendar, maintenance window or pause.
struct Band {
    name: String,
    href: String,
    namespace: String,
    note: AnyView,
    /// The state whose colour it has.
    state: &'static str,
    covers: Vec<Cover>,
}

/// Whether there are more calendars, windows and pauses than those that are shown.
struct Others {
    calendars: bool,
    windows: bool,
    pauses: bool,
}

impl Others {
    /// Links to all of them.
    fn links(&self) -> AnyView {
        let link = |href: String, words: &'static str| view! { " "<a href=href>{words}</a> };
        let calendars = self.calendars.then(|| link(Route::Calendars.path(), "All calendars"));
        let windows = self.windows.then(|| link(Route::Maintenance.path(), "All maintenance"));
        let paused = Route::Schedules.narrowed(&[("q", "state:paused")]);
        let pauses = self.pauses.then(|| link(paused, "All paused schedules"));
        view! { {calendars}{windows}{pauses} }.into_any()
    }
}

/// The bands of these days.
#[component]
pub(super) fn Bands(days: Signal<Vec<Day>>) -> impl IntoView {
    let (address, clock) = (use_address(), use_zone());
    let calendars = use_load(move || {
        Some(api::planning::calendars(address.namespace(), None, Place::First, MAX_CALENDARS))
    });
    let windows = use_load(move || {
        let states = vec![MaintenanceState::Planned, MaintenanceState::Active];
        let namespace = address.namespace();
        Some(api::maintenance::windows(namespace, states, Place::First, MAX_WINDOWS))
    });
    let paused = use_load(move || {
        let query = ScheduleQuery {
            namespace: address.namespace(),
            search: Some("state:paused".to_owned()),
            favourites: false,
            sort: None,
            place: Place::First,
        };
        Some(api::schedules(query, MAX_PAUSES))
    });
    let content = move || match (calendars.get(), windows.get(), paused.get()) {
        (Some(calendars), Some(windows), Some(paused)) => {
            let zone = clock.get().zone(None);
            let days = days.get();
            let mut bands = of_calendars(&calendars, &days);
            bands.extend(of_windows(&windows, &days, &zone));
            bands.extend(of_pauses(&paused, &days, &zone));
            bands.retain(|band| band.covers.iter().any(|cover| *cover != Cover::Nothing));
            let others = Others {
                calendars: calendars.next.is_some(),
                windows: windows.next.is_some(),
                pauses: paused.next.is_some(),
            };
            draw(bands, &days, &others)
        }
        _ => ().into_any(),
    };
    let waiting = together(vec![calendars.loading, windows.loading, paused.loading]);
    let content = view! {
        <AsyncView loading=waiting what="calendars, maintenance and pauses">{live(content)}</AsyncView>
    };
    panel("What suppresses fires", (), content)
}

/// The bands of the calendars that schedules use.
fn of_calendars(calendars: &Page<Calendar>, days: &[Day]) -> Vec<Band> {
    let band = |calendar: &Calendar| {
        let what = match calendar.mode {
            CalendarMode::Exclude => "suppresses its entries",
            CalendarMode::Only => "allows only its entries",
        };
        let schedules = amount(calendar.schedules, "schedule", "schedules");
        Band {
            name: calendar.name.clone(),
            href: Route::EditCalendar(calendar.id.clone()).path_at(&calendar.namespace),
            namespace: calendar.namespace.clone(),
            note: format!("{what}, for {schedules}").into_any(),
            state: "skipped",
            covers: days.iter().map(|day| by_calendar(calendar, *day)).collect(),
        }
    };
    let used = calendars.rows.iter().filter(|calendar| calendar.schedules > 0);
    used.map(|calendar| band(calendar)).collect()
}

/// The bands of the maintenance windows.
fn of_windows(windows: &Page<MaintenanceWindow>, days: &[Day], zone: &str) -> Vec<Band> {
    let band = |window: &MaintenanceWindow| {
        let schedules = amount(window.schedule_count, "schedule", "schedules");
        let then = afterwards(window.missed);
        let (from, until) = (when(window.starts_at, None), when(window.ends_at, None));
        let note = view! {
            {format!("maintenance of {schedules} from ")}{from}" until "{until}{then}
        };
        Band {
            name: window.title.clone(),
            href: Route::MaintenanceWindow(window.id.clone()).path_at(&window.namespace),
            namespace: window.namespace.clone(),
            note: note.into_any(),
            state: "paused",
            covers: days
                .iter()
                .map(|day| by_instants(window.starts_at, window.ends_at, *day, zone))
                .collect(),
        }
    };
    windows.rows.iter().map(|window| band(window)).collect()
}

/// The bands of the paused schedules.
fn of_pauses(paused: &Page<ScheduleRow>, days: &[Day], zone: &str) -> Vec<Band> {
    let band = |schedule: &ScheduleRow| {
        let pause = schedule.pause.as_ref()?;
        let note = match pause.until {
            Some(until) => {
                let then = pause.missed.map_or("", afterwards);
                view! { "paused until "{when(until, None)}{then} }.into_any()
            }
            None => "paused".into_any(),
        };
        Some(Band {
            name: schedule.name.clone(),
            href: Route::Schedule(schedule.id.clone()).path_at(&schedule.namespace),
            namespace: schedule.namespace.clone(),
            note,
            state: "paused",
            covers: days.iter().map(|day| by_pause(pause, *day, zone)).collect(),
        })
    };
    paused.rows.iter().filter_map(|schedule| band(schedule)).collect()
}

fn draw(bands: Vec<Band>, days: &[Day], others: &Others) -> AnyView {
    if bands.is_empty() {
        let words = if others.calendars || others.windows || others.pauses {
            "None of the first calendars, maintenance windows and pauses suppresses fires on these days."
        } else {
            "No calendar, no maintenance and no pause suppresses fires on these days."
        };
        return view! { <p class="muted">{words}{others.links()}</p> }.into_any();
    }
    let now = Moment::now();
    let dates: Vec<String> = days.iter().map(|day| day_words(&day.to_string(), now)).collect();
    let head = |(day, date): (&Day, &String)| {
        let letter = Weekday::WEEK.get(day.weekday()).and_then(|day| day.word().get(..1));
        let (_, _, number) = day.parts();
        view! {
            <th scope="col" title=date.clone()>
                <span aria-hidden="true">{letter}</span>
                <span aria-hidden="true">{number}</span>
                <span class="visually-hidden">{date.clone()}</span>
            </th>
        }
        .into_any()
    };
    let heads: Vec<_> = days.iter().zip(&dates).map(head).collect();
    let rows: Vec<_> = bands.into_iter().map(|band| row(band, &dates)).collect();
    view! {
        <div class="bands-frame" tabindex="0" role="group" aria-label="What suppresses fires, by day">
            <table class="bands">
                <caption class="visually-hidden">"What suppresses fires, by day"</caption>
                <thead><tr><th scope="col"><span class="visually-hidden">"Calendar, maintenance or pause"</span></th>{heads}</tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
        <p class="hint">
            "A full band is all day, half a band a part of the day. A calendar's days are those of each schedule's own zone."
            {others.links()}
        </p>
    }
    .into_any()
}

fn row(band: Band, dates: &[String]) -> AnyView {
    let Band { name, href, namespace, note, state, covers } = band;
    let cell = |(cover, date): (&Cover, &String)| {
        let (kind, words) = match cover {
            Cover::Nothing => return view! { <td></td> }.into_any(),
            Cover::Part => ("part", "a part of the day"),
            Cover::All => ("all", "all day"),
        };
        view! {
            <td title=format!("{date}: {words}")>
                <span class="band" data-cover=kind data-state=state>
                    <span class="visually-hidden">{words}</span>
                </span>
            </td>
        }
        .into_any()
    };
    let cells: Vec<_> = covers.iter().zip(dates).map(cell).collect();
    view! {
        <tr data-testid="band">
            <th scope="row">
                <a href=href>{name}</a>{place_note(&namespace)}<span class="cell-note">{note}</span>
            </th>
            {cells}
        </tr>
    }
    .into_any()
}
