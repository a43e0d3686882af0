//! The fires that wait in the schedule's buffer for a blocking run to end. An operator changes their order, or removes
//! them.

use std::time::Duration;

use leptos::prelude::*;

use crate::{
    api,
    components::{Heading, Look, button, fire_mark, heading, panel, silent_heading, table, when},
    data::{self, Load, use_actor, use_load},
    model::{Buffer, BufferedFire, OverlapPolicy, ScheduleDetail},
    pages::kit::{Asked, Change, form, use_asked},
    state::{use_every, use_session},
    time::amount,
};

/// Number of waiting fires that are shown.
const SHOWN: i64 = 40;
/// How often the buffer is polled, because a fire that begins to wait causes no event.
const LOOK: Duration = Duration::from_secs(10);

/// Loads the buffer of a schedule whose policy has one.
pub(super) fn use_buffer(id: String, load: Load<ScheduleDetail>) -> Load<Buffer> {
    let has_buffer = Memo::new(move |_| {
        let policy = load.with(|schedule| schedule.more.on_overlap);
        matches!(policy, Some(OverlapPolicy::BufferOne | OverlapPolicy::BufferAll))
    });
    let buffer = use_load(move || has_buffer.get().then(|| api::buffer(id.clone(), SHOWN)));
    use_every(LOOK, move || buffer.loading.refresh());
    buffer
}

/// The waiting fires. Nothing is shown while there are none. This code is loaded with the first of them.
pub(in crate::pages) fn waiting(
    id: StoredValue<String>,
    buffer: Load<Buffer>,
    zone: Memo<Option<String>>,
) -> AnyView {
    let id = id.get_value();
    let empty = use_asked::<Buffer>();
    let key = id.clone();
    let dialog = empty.dialog("Empty the buffer", move |all| empty_form(&key, &all, empty, buffer));
    let list = move |fires: &Buffer| match fires.buffer_size {
        0 => ().into_any(),
        _ => list(&id, fires, buffer, zone.get(), empty),
    };
    view! { {buffer.draw(list)}{dialog} }.into_any()
}

fn list(
    id: &str,
    fires: &Buffer,
    buffer: Load<Buffer>,
    zone: Option<String>,
    empty: Asked<Buffer>,
) -> AnyView {
    let operates = use_session().operates();
    let mut headings: Vec<Heading> =
        ["Scheduled", "Waits since", "Why"].map(|words| heading(words, "")).into();
    if operates {
        headings.push(silent_heading("Actions"));
    }
    let row = |(place, fire): (usize, &BufferedFire)| {
        let actions = operates.then(|| actions(id, fire, place > 0, buffer));
        row(fire, zone.clone(), actions)
    };
    let rows: Vec<_> = fires.buffer.iter().enumerate().map(row).collect();
    let rest = fires.buffer_size - i64::try_from(fires.buffer.len()).unwrap_or(0);
    let more = (rest > 0).then(|| view! { <p class="panel-note">{format!("and {rest} more")}</p> });
    let all = operates.then(|| button(Look::Plain, None, "Empty …", empty.ask(fires)));
    let aside =
        view! { <span class="muted">{amount(fires.buffer_size, "fire", "fires")}</span>{all} };
    let class = "table table-tight";
    let table = table("Fires in the buffer, the next one first", class, headings, rows.into_any());
    panel("Waiting in the buffer", aside, view! { {table}{more} })
}

fn row(fire: &BufferedFire, zone: Option<String>, actions: Option<AnyView>) -> AnyView {
    let cell = actions.map(|actions| {
        view! { <td class="actions-cell"><div class="row-actions">{actions}</div></td> }.into_any()
    });
    view! {
        <tr data-testid="buffered-fire">
            <th scope="row" class="time-cell">{when(fire.scheduled_at, zone.clone())}{fire_mark(fire.kind)}</th>
            <td>{when(fire.claimed_at, zone)}</td>
            <td class="why-cell">{fire.reason.text.clone()}</td>
            {cell}
        </tr>
    }
    .into_any()
}

/// The actions on a waiting fire. A removed one stays in the ledger as skipped.
fn actions(id: &str, fire: &BufferedFire, is_behind: bool, buffer: Load<Buffer>) -> AnyView {
    let actor = use_actor();
    let (schedule, key) = (id.to_owned(), fire.id.clone());
    let next = is_behind.then(|| {
        let (schedule, key) = (schedule.clone(), key.clone());
        let go = move || {
            let change = api::reorder_buffer(schedule.clone(), vec![key.clone()], data::new_key());
            actor.act(change, "It starts next.".to_owned(), move |_| buffer.loading.reload());
        };
        button(Look::Plain, None, "Start next", go)
    });
    let remove = move || {
        let fires = Some(vec![key.clone()]);
        let change = api::purge_buffer(schedule.clone(), fires, data::new_key());
        let said = "Removed from the buffer. The ledger shows it as skipped.".to_owned();
        actor.act(change, said, move |_| buffer.loading.reload());
    };
    view! { {next}{button(Look::Plain, None, "Remove", remove)} }.into_any()
}

/// Asks before all waiting fires are removed.
fn empty_form(id: &str, all: &Buffer, empty: Asked<Buffer>, buffer: Load<Buffer>) -> AnyView {
    let id = id.to_owned();
    let count = amount(all.buffer_size, "fire", "fires");
    let fields = view! {
        <p>{format!("{count} will not run. The ledger shows each as skipped, with your name.")}</p>
    };
    let plan = move |key| {
        let ask = api::purge_buffer(id.clone(), None, key);
        Ok(Change { ask, said: "The buffer is empty.".to_owned() })
    };
    let wrong = RwSignal::new(None);
    let action = (Look::Danger, "Remove all");
    form(empty.open, action, wrong, fields.into_any(), plan, move |_| buffer.loading.reload())
}
