//! Calendars, which suppress fires, and the schedules that use them.
//!
//! - `editor`: one calendar: a clickable year, its other entries, the schedules that use it
//! - `draft`: the state of a calendar that is being edited
//! - `year`: the year
//! - `effect`: the effect of a change on fires, before it is saved

mod draft;
mod editor;
mod effect;
mod year;

pub(super) use effect::schedule as effect_of;

pub(crate) use editor::{EditCalendar, NewCalendar};

use std::time::Duration;

use leptos::prelude::*;

use super::{
    cursors,
    kit::{
        Asked, Change, empty, form, in_use, name_field, named_with, note, place_cell, placed,
        use_asked,
    },
    place,
};
use crate::{
    api,
    components::{
        AsyncView, Heading, Look, button, heading, pager, rows, silent_heading, table, when,
    },
    data::{Loading, use_listing},
    model::{Calendar, CalendarMode, Place},
    route::{Route, Scope},
    state::{use_address, use_every, use_session, use_title},
    time::grouped,
};

const SIZE: usize = 100;
const LOOK: Duration = Duration::from_secs(10);

/// The list of calendars.
#[component]
pub(crate) fn Calendars() -> impl IntoView {
    use_title(|| "Calendars".to_owned());
    let address = use_address();
    let calendars = use_listing(SIZE, move || {
        let text = Some(named_with(address));
        api::planning::calendars(address.namespace(), text, place(address), SIZE)
    });
    let session = use_session();
    let remove = use_asked::<Calendar>();
    let loading = calendars.load.loading;
    use_every(LOOK, move || loading.refresh());
    let go = move |place: Place| address.go(&address.with(&cursors(&place)));
    let nothing = move || {
        if named_with(address).is_empty() {
            let words = "Holidays, blackouts and business hours: a calendar suppresses fires of the schedules that use it.";
            empty("No calendar yet", words)
        } else {
            empty("No calendar here", "No name contains this text.")
        }
    };
    let new = move || {
        session.edits().then(|| {
            view! { <a class="button button-primary" href=Route::NewCalendar.path()>"New calendar"</a> }.into_any()
        })
    };
    view! {
        <header class="page-head"><h1>"Calendars"</h1>{move || new()}</header>
        {name_field(address, "Which calendars")}
        <AsyncView
            loading=loading
            what="calendars"
            is_empty=Signal::derive(move || calendars.list.is_empty())
            empty=nothing
        >
            {table("Calendars", "table", placed(headings(), 1), rows(calendars.list, move |calendar| row(calendar, remove)))}
            {pager(calendars.beside(), "calendars", go)}
        </AsyncView>
        {remove.dialog("Delete calendar", move |calendar| remove_form(&calendar, remove, loading))}
    }
}

fn headings() -> Vec<Heading> {
    vec![
        heading("Calendar", ""),
        heading("Does", "wide"),
        heading("Names", "wide"),
        heading("Used by", "number"),
        heading("Changed", "wide"),
        silent_heading("Actions"),
    ]
}

fn row(calendar: &Calendar, remove: Asked<Calendar>) -> AnyView {
    let module = calendar.module.as_ref().map(|module| note(format!("declared by {module}")));
    let href = Route::EditCalendar(calendar.id.clone()).path_at(&calendar.namespace);
    let search = format!("calendar:\"{}\"", calendar.name);
    let users =
        Route::Schedules.narrowed_in(&Scope::One(calendar.namespace.clone()), &[("q", &search)]);
    let delete = (use_session().edits_in(&calendar.namespace) && calendar.module.is_none())
        .then(|| button(Look::Danger, None, "Delete", remove.ask(calendar)));
    view! {
        <tr data-testid="calendar-row">
            <th scope="row" class="name-cell"><a href=href>{calendar.name.clone()}</a>{module}</th>
            {place_cell(&calendar.namespace)}
            <td class="wide">{mode_words(calendar.mode)}</td>
            <td class="wide">{sum(calendar)}</td>
            <td class="number"><a href=users>{grouped(calendar.schedules)}</a><span class="card-word">" schedules"</span></td>
            <td class="wide">{when(calendar.updated_at, None)}</td>
            <td class="actions-cell"><div class="row-actions">{delete}</div></td>
        </tr>
    }
    .into_any()
}

fn mode_words(mode: CalendarMode) -> &'static str {
    match mode {
        CalendarMode::Exclude => "Suppresses its entries",
        CalendarMode::Only => "Allows only its entries",
    }
}

/// A summary of a calendar's entries: `12 days, 2 weekdays, 1 range`.
fn sum(calendar: &Calendar) -> String {
    let parts = [
        (calendar.dates.len(), "day"),
        (calendar.yearly.len(), "yearly day"),
        (calendar.weekdays.len(), "weekday"),
        (calendar.ranges.len(), "range"),
        (calendar.windows.len(), "window"),
    ];
    let part = |(count, word): (usize, &str)| match count {
        0 => None,
        1 => Some(format!("1 {word}")),
        count => Some(format!("{count} {word}s")),
    };
    let parts: Vec<String> = parts.into_iter().filter_map(part).collect();
    if parts.is_empty() { "nothing yet".to_owned() } else { parts.join(", ") }
}

fn remove_form(calendar: &Calendar, remove: Asked<Calendar>, loading: Loading) -> AnyView {
    let (id, name, version) = (calendar.id.clone(), calendar.name.clone(), calendar.version);
    let impact = in_use(calendar.schedules, "uses", "use");
    let fields =
        view! { <p>"Deletes the calendar "<strong>{name.clone()}</strong>". "{impact}</p> };
    let plan = move |_| {
        let ask = api::planning::delete_calendar(id.clone(), version);
        Ok(Change { ask, said: format!("{name} is deleted.") })
    };
    let done = move |_| loading.reload();
    form(remove.open, (Look::Danger, "Delete"), RwSignal::new(None), fields.into_any(), plan, done)
}
