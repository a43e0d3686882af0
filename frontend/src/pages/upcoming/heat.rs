//! A week as days by hours: the darker a cell, the more starts in the hour, or the more work. Each cell shows its
//! number, and opens the minutes of the hour.

use std::collections::BTreeMap;

use leptos::{ev::KeyboardEvent, prelude::*};
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use crate::{
    model::{ForecastHour, Weekday},
    state::use_zone,
    time::{Day, Moment, Wall, amount},
};

const HOUR_MS: i64 = 3_600_000;
const LEVELS: i64 = 5;

/// The hours of each day, by wall-clock hour.
pub(super) type Days = BTreeMap<String, [Option<ForecastHour>; 24]>;

/// What is counted in an hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    Starts,
    /// How long the runs that start in the hour keep workers busy.
    Work,
}

impl Measure {
    /// The measure with this name in the address.
    pub(super) fn of(name: &str) -> Self {
        if name == "work" { Self::Work } else { Self::Starts }
    }

    /// The number of starts, or of milliseconds.
    pub(super) fn amount(self, hour: &ForecastHour) -> i64 {
        match self {
            Self::Starts => hour.fires,
            Self::Work => hour.work_ms,
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Starts => "Starts by day and hour",
            Self::Work => "Worker-minutes by day and hour",
        }
    }

    /// The text of a cell, which has room for three characters.
    fn short(self, hour: &ForecastHour) -> String {
        match self {
            Self::Starts if hour.fires == 0 => String::new(),
            Self::Starts => short(hour.fires),
            Self::Work if hour.work_ms == 0 => String::new(),
            Self::Work => match rounded(hour.work_ms) {
                0 => "<1".to_owned(),
                minutes => short(minutes),
            },
        }
    }

    fn exact(self, hour: &ForecastHour) -> String {
        let starts = starts(hour.fires);
        let starts = format!("{starts} of {}", amount(hour.schedules, "schedule", "schedules"));
        match self {
            Self::Starts => starts,
            Self::Work => format!("{} by {starts}", worker_minutes(hour.work_ms)),
        }
    }

    /// A sentence about the busiest hour.
    fn busiest(self, most: i64) -> String {
        match self {
            Self::Starts => format!("The busiest hour has {}.", starts(most)),
            Self::Work => format!(
                "The busiest hour has {}, if runs take as long as the newest ones of their schedule. Schedules that \
                 have not run yet do not count.",
                worker_minutes(most)
            ),
        }
    }
}

/// Whole minutes.
fn rounded(millis: i64) -> i64 {
    (millis + 30_000) / 60_000
}

fn worker_minutes(millis: i64) -> String {
    match rounded(millis) {
        0 if millis > 0 => "<1 worker-minute".to_owned(),
        minutes => amount(minutes, "worker-minute", "worker-minutes"),
    }
}

fn starts(count: i64) -> String {
    amount(count, "start", "starts")
}

pub(super) fn heat(
    hours: &[ForecastHour],
    measure: Measure,
    chosen: RwSignal<Option<Moment>>,
) -> AnyView {
    let zone = use_zone().get().zone(None);
    let days = by_day(hours, &zone);
    let most = hours.iter().map(|hour| measure.amount(hour)).max().unwrap_or_default();
    let first = hours.first().map(|hour| hour.at);
    let head = |hour: usize| {
        let shown = if hour.is_multiple_of(3) { format!("{hour:02}") } else { String::new() };
        view! { <th scope="col"><span class="visually-hidden">{format!("{hour:02}:00")}</span><span aria-hidden="true">{shown}</span></th> }
            .into_any()
    };
    let row = |(date, hours): (&String, &[Option<ForecastHour>; 24])| {
        let day = Day::parse(date);
        let weekday =
            day.and_then(|day| Weekday::WEEK.get(day.weekday())).map_or("", |day| day.word());
        let cells: Vec<_> = hours
            .iter()
            .enumerate()
            .map(|(place, hour)| cell(weekday, place, *hour, measure, most, first, chosen))
            .collect();
        let short = date.get(5..).unwrap_or_default().to_owned();
        view! { <tr><th scope="row">{weekday}" "<span class="muted">{short}</span></th>{cells}</tr> }.into_any()
    };
    let rows: Vec<_> = days.iter().map(row).collect();
    let heads: Vec<_> = (0..24).map(head).collect();
    view! {
        <div class="week-heat-frame" tabindex="0" role="group" aria-label=measure.title()>
            <table class="week-heat" on:keydown=move |event| key(&event)>
                <caption class="visually-hidden">{format!("{} in {zone}", measure.title())}</caption>
                <thead><tr><th scope="col"><span class="visually-hidden">"Day"</span></th>{heads}</tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
        <p class="hint">{format!("Times in {zone}. {}", measure.busiest(most))}</p>
    }
    .into_any()
}

/// Groups hours by day and wall-clock hour of a zone, each of which is within one such hour. Two with
/// the same wall-clock time (when a clock goes back) are added up.
pub(super) fn by_day(hours: &[ForecastHour], zone: &str) -> Days {
    let mut days = Days::new();
    for hour in hours {
        let wall =
            Wall::read(hour.at, zone).or_else(|| Wall::read(hour.at, "UTC")).unwrap_or_default();
        let place = wall.time.get(..2).and_then(|text| text.parse::<usize>().ok());
        let row = days.entry(wall.date).or_insert([None; 24]);
        if let Some(cell) = place.and_then(|place| row.get_mut(place)) {
            *cell = Some(match *cell {
                Some(first) => ForecastHour {
                    fires: first.fires + hour.fires,
                    work_ms: first.work_ms + hour.work_ms,
                    ..first
                },
                None => *hour,
            });
        }
    }
    days
}

/// The level of a cell: 0 for none, up to `LEVELS` for the busiest.
pub(super) fn level(fires: i64, most: i64) -> i64 {
    if fires == 0 { 0 } else { (fires * LEVELS + most - 1) / most.max(1) }
}

fn cell(
    weekday: &'static str,
    place: usize,
    hour: Option<ForecastHour>,
    measure: Measure,
    most: i64,
    first: Option<Moment>,
    chosen: RwSignal<Option<Moment>>,
) -> AnyView {
    let Some(hour) = hour else { return view! { <td class="week-heat-none"></td> }.into_any() };
    let exact = format!("{weekday} {place:02}:00: {}", measure.exact(&hour));
    let shown = measure.short(&hour);
    // The accessible name contains the visible text, for users of voice control.
    let name = if shown.ends_with('k') { format!("{shown}, {exact}") } else { exact.clone() };
    let at = hour.at;
    // Tab reaches the selected hour, or else the first one; the arrow keys move from there.
    let stop = move || {
        let stop = chosen.get().or(first) == Some(at);
        if stop { "0" } else { "-1" }
    };
    view! {
        <td>
            <button
                type="button"
                id=format!("hour-{}", at.millis())
                data-level=level(measure.amount(&hour), most)
                data-at=at.millis()
                title=exact
                aria-label=name
                aria-pressed=move || (chosen.get() == Some(at)).to_string()
                tabindex=stop
                on:click=move |_| chosen.set(Some(at))
            >
                {shown}
            </button>
        </td>
    }
    .into_any()
}

/// `999`, `1k`, `12k`
pub(super) fn short(number: i64) -> String {
    if number < 1_000 { number.to_string() } else { format!("{}k", number / 1_000) }
}

/// Handles the arrow keys, which move from hour to hour, and from day to day.
fn key(event: &KeyboardEvent) {
    let hours = match event.key().as_str() {
        "ArrowLeft" => -1,
        "ArrowRight" => 1,
        "ArrowUp" => -24,
        "ArrowDown" => 24,
        _ => return,
    };
    let from = event.target().and_then(|target| target.dyn_into::<HtmlElement>().ok());
    let at =
        from.and_then(|cell| cell.get_attribute("data-at")).and_then(|at| at.parse::<i64>().ok());
    let Some(at) = at else { return };
    event.prevent_default();
    let to = document().get_element_by_id(&format!("hour-{}", at + hours * HOUR_MS));
    if let Some(to) = to.and_then(|to| to.dyn_into::<HtmlElement>().ok()) {
        let _gone = to.focus();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_hour_is_the_darkest_and_an_empty_one_has_no_colour() {
        assert_eq!([0, 1, 20, 50, 100].map(|fires| level(fires, 100)), [0, 1, 1, 3, 5]);
        assert_eq!(level(1, 1), 5);
        assert_eq!([7, 1_000, 12_900].map(short), ["7", "1k", "12k"]);
    }

    #[test]
    fn work_is_shown_in_whole_minutes() {
        let shown = |work_ms: i64| {
            let hour = ForecastHour {
                at: Moment::from_millis(0),
                fires: 3,
                schedules: 2,
                frequent_fires: 0,
                frequent_schedules: 0,
                work_ms,
            };
            (Measure::Work.short(&hour), Measure::Work.exact(&hour))
        };
        let told = |minutes: &str| format!("{minutes} by 3 starts of 2 schedules");
        assert_eq!(shown(0), (String::new(), told("0 worker-minutes")));
        assert_eq!(shown(200), ("<1".to_owned(), told("<1 worker-minute")));
        assert_eq!(shown(60_000), ("1".to_owned(), told("1 worker-minute")));
        assert_eq!(shown(90_000), ("2".to_owned(), told("2 worker-minutes")));
        assert_eq!(shown(600_000_000), ("10k".to_owned(), told("10\u{202f}000 worker-minutes")));
    }
}
