//! The upcoming fires, each on three clocks, with a mark if a clock change affects it.

use leptos::prelude::*;

use crate::{
    components::{When, fire_mark, heading, silent_heading, table},
    model::{FireKind, PreviewFire, ScheduleDetail, ScheduleState},
    state::use_now,
    time::{Moment, Wall, browser_zone, city, day_words, distance},
};

/// The next fires, or the reason why there are none.
pub(super) fn next_fires(schedule: &ScheduleDetail) -> AnyView {
    let fires = &schedule.more.next_fires;
    let (why_none, note) = match schedule.row.state {
        ScheduleState::Paused => {
            ("Paused: nothing fires until it is resumed.", Some("Paused: these would fire."))
        }
        ScheduleState::Finished => ("No fire is left.", None),
        ScheduleState::Exhausted => {
            ("No fire is left: it has reached its maximum number of fires.", None)
        }
        ScheduleState::Active => ("No fire is left within its bounds.", None),
    };
    if fires.is_empty() {
        return view! { <p class="empty">{why_none}</p> }.into_any();
    }
    let note = note.map(|note| view! { <p class="panel-note">{note}</p> }.into_any());
    let first = fires.first().map(|fire| {
        let when = When::new(fire.at).zone(schedule.row.zone()).far().focusable();
        view! { <p class="lede">{when.suppressed(fire.suppressed_by.clone()).view()}</p> }
            .into_any()
    });
    view! { {note}{first}{fire_table(fires, &schedule.row.timing.zone, "Next fires")} }.into_any()
}

/// Fires on the clocks of the schedule, UTC and the browser. Identical zones are shown once.
pub(in crate::pages) fn fire_table(
    fires: &[PreviewFire],
    zone: &str,
    caption: &'static str,
) -> AnyView {
    let mine = browser_zone();
    let mut others =
        vec![("UTC".to_owned(), "UTC".to_owned()), (format!("{} (mine)", city(&mine)), mine)];
    others.retain(|(_, other)| other != zone);
    others.dedup_by(|(_, next), (_, known)| next == known);
    let mut headings = vec![heading(zone.to_owned(), "")];
    headings.extend(others.iter().map(|(name, _)| heading(name.clone(), "")));
    headings.push(silent_heading("From now"));
    let rows: Vec<_> = fires.iter().map(|fire| row(fire, &others)).collect();
    table(caption, "table table-tight", headings, rows.into_any())
}

fn row(fire: &PreviewFire, others: &[(String, String)]) -> AnyView {
    let (now, at) = (use_now(), fire.at);
    let day = fire.local.get(..10).unwrap_or_default();
    let others: Vec<_> = others.iter().map(|(_, zone)| clock(at, zone, day)).collect();
    let far = move || distance(at.since(now.get()));
    let suppressed = fire.suppressed_by.as_ref().map(|calendar| {
        let text = format!("not run: calendar {calendar}");
        view! { <span class="when-offset">{text}</span> }.into_any()
    });
    let time = fire.local.get(11..).unwrap_or_default();
    let text = format!("{} {time}", day_words(day, now.get_untracked()));
    let clock_text = match fire.suppressed_by {
        Some(_) => view! { <s>{text}</s> }.into_any(),
        None => text.into_any(),
    };
    view! {
        <tr data-kind=(fire.kind != FireKind::Normal).then_some("changed")>
            <th scope="row" class="time-cell">
                {clock_text}<span class="when-offset">{fire.offset.clone()}</span>
                {fire_mark(fire.kind)}
                {suppressed}
            </th>
            {others}
            <td class="number muted">{move || far()}</td>
        </tr>
    }
    .into_any()
}

/// The time in the zone, with the day if it differs from that in the schedule's zone.
fn clock(at: Moment, zone: &str, day: &str) -> AnyView {
    let wall = Wall::read(at, zone).unwrap_or_default();
    let other_day = (wall.date != day).then(|| {
        let date = day_words(&wall.date, Moment::now());
        view! { <span class="when-date">{date}" "</span> }.into_any()
    });
    view! { <td class="time-cell">{other_day}{wall.time}</td> }.into_any()
}
