//! A week by the hour: seven rows of 24 cells; the higher the count, the darker the cell.

use leptos::prelude::*;

use super::twin::{Twin, TwinRow, twin};

pub(crate) const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const HOURS: [&str; 24] = [
    "00", "01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "12", "13", "14", "15",
    "16", "17", "18", "19", "20", "21", "22", "23",
];
const LEVELS: i64 = 5;
/// The size of a cell, with the gap after it.
const CELL: usize = 10;

/// The counts of a week, by day from Monday on, and by hour.
pub(crate) type Week = [[i64; 24]; 7];

/// Draws the week. `what` names the counted objects.
pub(crate) fn heat_map(what: &'static str, week: &Week) -> AnyView {
    let most = week.iter().flatten().copied().max().unwrap_or(0);
    let cells = week.iter().enumerate().flat_map(|(day, hours)| {
        hours.iter().enumerate().map(move |(hour, count)| {
            let title = DAYS.get(day).map(|name| format!("{name} {hour:02}:00: {count}"));
            view! {
                <rect
                    class="heat-cell"
                    data-level=level(*count, most)
                    x=hour * CELL
                    y=day * CELL
                    width=CELL - 1
                    height=CELL - 1
                >
                    <title>{title}</title>
                </rect>
            }
            .into_any()
        })
    });
    let cells: Vec<_> = cells.collect();
    let days = DAYS.map(|day| view! { <span>{day}</span> }.into_any());
    let hours =
        [0, 6, 12, 18, 24].map(|hour| view! { <span>{format!("{hour:02}")}</span> }.into_any());
    let row = |(day, hours): (&str, &[i64; 24])| TwinRow {
        name: day.to_owned(),
        href: None,
        cells: hours.iter().map(i64::to_string).collect(),
    };
    let rows = DAYS.into_iter().zip(week).map(row).collect();
    let headings = std::iter::once("Day").chain(HOURS).collect();
    view! {
        <figure class="heat">
            <div class="heat-days" aria-hidden="true">{Vec::from(days)}</div>
            <svg viewBox="0 0 239 69" preserveAspectRatio="none" role="img" aria-label=summary(what, week)>
                {cells}
            </svg>
            <div class="heat-hours" aria-hidden="true">{Vec::from(hours)}</div>
            {twin(Twin { caption: what, headings, rows })}
        </figure>
    }
    .into_any()
}

/// The level of a cell, from 0 for no fire to 5 for the maximum. A single fire among thousands
/// still has the level 1.
fn level(count: i64, most: i64) -> i64 {
    if count <= 0 || most <= 0 { 0 } else { (count * LEVELS / most).max(1) }
}

fn summary(what: &str, week: &Week) -> String {
    let hours = week.iter().enumerate().flat_map(|(day, hours)| {
        hours.iter().enumerate().map(move |(hour, count)| (*count, day, hour))
    });
    let fullest = hours.max_by_key(|(count, day, hour)| (*count, 7 - day, 24 - hour));
    match fullest.and_then(|(count, day, hour)| Some((count, DAYS.get(day)?, hour))) {
        Some((count, day, hour)) if count > 0 => {
            let total: i64 = week.iter().flatten().sum();
            format!("{what}: {total} in all, the most ({count}) on {day} at {hour:02}:00")
        }
        _ => format!("{what}: none"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fullest_hour_is_the_darkest_and_a_single_one_is_seen() {
        let levels = [level(0, 1_000), level(1, 1_000), level(600, 1_000), level(1_000, 1_000)];
        assert_eq!(levels, [0, 1, 3, 5]);
        assert_eq!(level(0, 0), 0);
    }

    #[test]
    fn the_sum_names_the_fullest_hour() {
        let mut week: Week = [[0; 24]; 7];
        assert_eq!(summary("Starts", &week), "Starts: none");
        week[2][5] = 7;
        week[4][5] = 7;
        week[6][23] = 1;
        assert_eq!(summary("Starts", &week), "Starts: 15 in all, the most (7) on Wed at 05:00");
    }
}
