//! The next 90 days as a calendar: how often the schedule fires on each day, what calendars suppress, and the fires of
//! a chosen day. The address names that day.

use std::time::Duration;

use leptos::{ev::KeyboardEvent, prelude::*};
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use super::{has_focus, next_fires::fire_table};
use crate::{
    api,
    components::{AsyncView, days_by_arrow, live, panel, week_rows, weekday_heads},
    data::{Load, use_load},
    model::{FireDay, PreviewFire, ScheduleDetail, ScheduleState},
    state::{Address, use_address, use_every},
    time::{Day, Moment, amount, day_words, grouped, month_name},
};

/// Number of days in the calendar, and of fires that are listed of a chosen day.
const DAYS: i64 = 90;
const LISTED: i64 = 50;
/// The level of the busiest days.
const LEVELS: i64 = 5;
const HOUR_MS: i64 = 3_600_000;
/// How often the days are counted again, because today has fewer and fewer fires left.
const LOOK: Duration = Duration::from_secs(60);

/// The calendar, and the fires of the chosen day.
#[component]
pub(super) fn Days(id: String, load: Load<ScheduleDetail>) -> impl IntoView {
    let address = use_address();
    let version = Memo::new(move |_| load.with(|schedule| schedule.row.version));
    let zone = Memo::new(move |_| load.with(|schedule| schedule.row.timing.zone.clone()));
    let is_paused = Memo::new(move |_| {
        load.with(|schedule| schedule.row.state == ScheduleState::Paused).unwrap_or_default()
    });
    let key = id.clone();
    let days = use_load(move || {
        // A new version may fire on other days.
        version.get()?;
        Some(api::fire_days(key.clone(), DAYS))
    });
    use_every(LOOK, move || {
        // A calendar that is drawn again loses the focus.
        if !has_focus(".fire-days") {
            days.loading.refresh();
        }
    });
    let day = Memo::new(move |_| {
        let date = address.query("day");
        let found = |days: &Vec<FireDay>| {
            let place = days.iter().position(|day| day.date == date)?;
            days.get(place).cloned().map(|day| (place, day))
        };
        days.with(found).flatten()
    });
    let chosen = Memo::new(move |_| day.get().map(|(_, day)| day.date).unwrap_or_default());
    let fires = use_load(move || {
        version.get()?;
        let (place, day) = day.get()?;
        // Fires of today that are already decided are not listed.
        let from = (place > 0).then(|| day.from.earlier(1));
        Some(api::fires_ahead(id.clone(), LISTED, from))
    });
    let words = move || match day.get() {
        Some((_, day)) => said(&day),
        None => "Choose a day to see its fires.".to_owned(),
    };
    let listed = move || {
        let Some(((_, day), zone)) = day.get().zip(zone.get()) else { return ().into_any() };
        fires.with(|fires| listed(&day, fires, &zone)).unwrap_or_else(|| ().into_any())
    };
    let content = view! {
        <AsyncView loading=days.loading what="the days">
            {days.draw(move |days| calendar(days, is_paused.get(), chosen, address))}
            <p class="hint" role="status" data-testid="fire-day-words">{move || words()}</p>
            {live(listed)}
        </AsyncView>
    };
    panel("Next 90 days", (), content)
}

fn calendar(days: &[FireDay], is_paused: bool, chosen: Memo<String>, address: Address) -> AnyView {
    let total = |count: fn(&FireDay) -> i64| days.iter().map(count).sum::<i64>();
    let (fires, suppressed) = (total(|day| day.fires), total(|day| day.suppressed));
    if fires + suppressed == 0 {
        return view! { <p class="empty">"No fire is left in the next 90 days."</p> }.into_any();
    }
    let most = days.iter().map(|day| day.fires).max().unwrap_or_default();
    let first = days.first().map(|day| day.date.clone()).unwrap_or_default();
    // The first week begins with the days before today.
    let before = Day::parse(&first).map_or(0, Day::weekday);
    let mut cells: Vec<AnyView> = (0..before).map(|_| view! { <td></td> }.into_any()).collect();
    cells.extend(days.iter().map(|day| cell(day, &first, most, chosen, address)));
    view! {
        <p class="panel-note" data-testid="fire-days-words">{summary(fires, suppressed, is_paused)}</p>
        <table class="fire-days" on:keydown=move |event| key(&event)>
            <caption class="visually-hidden">"Fires of each day"</caption>
            <thead><tr>{weekday_heads()}</tr></thead>
            <tbody>{week_rows(cells)}</tbody>
        </table>
        {cut(days)}
    }
    .into_any()
}

/// The note that days are missing, if some are.
fn cut(days: &[FireDay]) -> Option<AnyView> {
    let counted = i64::try_from(days.len()).unwrap_or(DAYS);
    (counted < DAYS).then(|| {
        let words = format!("Only {counted} days are counted: calendars have too many windows.");
        view! { <p class="muted">{words}</p> }.into_any()
    })
}

fn summary(fires: i64, suppressed: i64, is_paused: bool) -> String {
    let when = if is_paused { "If it is resumed now: " } else { "" };
    let out = match suppressed {
        0 => String::new(),
        _ => format!(", and {} that calendars suppress", grouped(suppressed)),
    };
    format!("{when}{}{out}.", amount(fires, "fire", "fires"))
}

/// A day. Its fires are in its number and its colour; those that calendars suppress are struck out.
fn cell(day: &FireDay, first: &str, most: i64, chosen: Memo<String>, address: Address) -> AnyView {
    let (date, id) = (day.date.clone(), format!("fire-day-{}", day.date));
    let is_first = date == first;
    let (year, month, number) = Day::parse(&date).map(Day::parts).unwrap_or_default();
    let month = month_name(month);
    let month_seen = (is_first || number == 1).then(|| {
        let word = month.get(..3).unwrap_or_default();
        view! { <span aria-hidden="true">{word}</span> }.into_any()
    });
    let length = hours(day).map(|hours| {
        let title = "The clocks change on this day.";
        view! { <span class="fire-mark" title=title>{format!("{hours} h")}</span> }.into_any()
    });
    let out = (day.suppressed > 0)
        .then(|| view! { <s aria-hidden="true">{short(day.suppressed)}</s> }.into_any());
    let seen = (day.fires > 0).then(|| short(day.fires));
    let (pressed, stop, go) = (date.clone(), date.clone(), date.clone());
    // Tab reaches the chosen day, or else today; the arrow keys move from there.
    let stop = move || {
        let is_stop = chosen.with(|chosen| *chosen == stop || (chosen.is_empty() && is_first));
        if is_stop { "0" } else { "-1" }
    };
    let choose = move |_| {
        let is_chosen = chosen.with_untracked(|chosen| *chosen == go);
        let to = if is_chosen { "" } else { go.as_str() };
        address.replace(&address.with(&[("day", to)]));
    };
    view! {
        <td>
            <button
                type="button"
                id=id
                data-testid="fire-day"
                data-date=date
                data-level=level(day.fires, most)
                title=said(day)
                aria-pressed=move || chosen.with(|chosen| *chosen == pressed).to_string()
                tabindex=stop
                on:click=choose
            >
                <span class="month-date">
                    <span>{number}</span>{month_seen}
                    <span class="visually-hidden">{format!(" {month} {year}: ")}</span>
                    {length}
                </span>
                <span class="fire-day-counts"><strong aria-hidden="true">{seen}</strong>{out}</span>
                <span class="visually-hidden">{counts(day)}</span>
            </button>
        </td>
    }
    .into_any()
}

/// The fires of a chosen day, in a table.
fn listed(day: &FireDay, fires: &[PreviewFire], zone: &str) -> AnyView {
    let all = day.fires + day.suppressed;
    // Fires beyond the number of the day exceed the schedule's maximum of fires.
    let most = usize::try_from(all).unwrap_or_default();
    let is_of_day = |fire: &&PreviewFire| (day.from..day.until).contains(&fire.at);
    let of_day: Vec<_> = fires.iter().filter(is_of_day).take(most).cloned().collect();
    if of_day.is_empty() {
        return ().into_any();
    }
    let left = all - i64::try_from(of_day.len()).unwrap_or_default();
    let more = (left > 0).then(|| {
        view! { <p class="panel-note">{format!("and {} more", grouped(left))}</p> }.into_any()
    });
    view! { {fire_table(&of_day, zone, "Fires of a day")}{more} }.into_any()
}

/// A day in words: `Sat 7 Mar: 1 fire, 2 suppressed by holidays`.
fn said(day: &FireDay) -> String {
    format!("{}: {}", day_words(&day.date, Moment::now()), counts(day))
}

fn counts(day: &FireDay) -> String {
    let fires = match day.fires {
        0 => "no fire".to_owned(),
        fires => amount(fires, "fire", "fires"),
    };
    let out = match &day.suppressed_by {
        Some(calendar) => format!(", {} suppressed by {calendar}", grouped(day.suppressed)),
        None => String::new(),
    };
    let length = hours(day).map(|hours| format!(", a day of {hours} hours")).unwrap_or_default();
    format!("{fires}{out}{length}")
}

/// The length of a day on which the clocks change.
fn hours(day: &FireDay) -> Option<String> {
    let length = day.until.since(day.from);
    let (hours, rest) = (length / HOUR_MS, length % HOUR_MS);
    let half = if rest == 0 { "" } else { "½" };
    (length != 24 * HOUR_MS).then(|| format!("{hours}{half}"))
}

/// The level of a day: 0 for none, up to `LEVELS` for the busiest.
fn level(fires: i64, most: i64) -> i64 {
    if fires == 0 { 0 } else { (fires * LEVELS + most - 1) / most.max(1) }
}

/// `999`, `1k`, `86k`
fn short(number: i64) -> String {
    if number < 1_000 { number.to_string() } else { format!("{}k", number / 1_000) }
}

/// Handles the arrow keys, which move from day to day, and from week to week.
fn key(event: &KeyboardEvent) {
    let Some(days) = days_by_arrow(event) else { return };
    let from = event.target().and_then(|target| target.dyn_into::<HtmlElement>().ok());
    let day = from.and_then(|cell| cell.get_attribute("data-date"));
    let Some(day) = day.and_then(|date| Day::parse(&date)) else { return };
    event.prevent_default();
    let to = document().get_element_by_id(&format!("fire-day-{}", day.plus(days)));
    if let Some(to) = to.and_then(|to| to.dyn_into::<HtmlElement>().ok()) {
        let _gone = to.focus();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn day(until: &str, fires: i64, suppressed: i64) -> FireDay {
        let by = (suppressed > 0).then_some("holidays");
        serde_json::from_value(json!({
            "date": "2026-03-29", "from": "2026-03-28T23:00:00Z", "until": until,
            "fires": fires, "suppressed": suppressed, "suppressedBy": by,
        }))
        .unwrap()
    }

    #[test]
    fn a_day_is_told_with_what_is_suppressed_and_its_length() {
        let usual = "2026-03-29T23:00:00Z";
        assert_eq!(counts(&day(usual, 1, 0)), "1 fire");
        assert_eq!(counts(&day(usual, 0, 2)), "no fire, 2 suppressed by holidays");
        assert_eq!(counts(&day("2026-03-29T22:00:00Z", 3, 0)), "3 fires, a day of 23 hours");
        assert_eq!(hours(&day("2026-03-29T22:30:00Z", 3, 0)).as_deref(), Some("23½"));
        assert_eq!(hours(&day(usual, 3, 0)), None);
    }

    #[test]
    fn all_days_are_summed_up() {
        assert_eq!(summary(90, 0, false), "90 fires.");
        assert_eq!(
            summary(1, 26, true),
            "If it is resumed now: 1 fire, and 26 that calendars suppress."
        );
    }

    #[test]
    fn the_busiest_day_has_the_highest_level_and_a_day_without_fires_none() {
        assert_eq!([0, 1, 50, 100].map(|fires| level(fires, 100)), [0, 1, 3, 5]);
        assert_eq!([7, 86_400].map(short), ["7", "86k"]);
    }
}
