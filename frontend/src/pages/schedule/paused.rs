//! The fires that have fallen into a pause. The ledger has no rows for them before the pause ends. This code is loaded
//! for a paused schedule.

use leptos::prelude::*;

use crate::{
    api,
    components::{AsyncView, Heading, Mark, badge, fire_mark, heading, panel, table, when},
    data::{Load, use_load},
    model::{PausedFire, PausedFires, ScheduleDetail, Verdict},
};

/// Number of fires that are shown.
const SHOWN: i64 = 40;

/// The outcomes that these fires would have at the automatic end of the pause. Only shown while the
/// schedule is paused.
pub(in crate::pages) fn paused(id: StoredValue<String>, load: Load<ScheduleDetail>) -> AnyView {
    let zone = Memo::new(move |_| load.with(|schedule| schedule.row.timing.zone.clone()));
    let fires = use_load(move || {
        load.with(|schedule| schedule.row.version)?;
        Some(api::paused_fires(id.get_value(), SHOWN))
    });
    let rows = move || fires.draw(move |fires| rows(fires, zone.get()));
    let note = view! { <span class="muted">"no rows of the ledger yet"</span> };
    let content = view! { <AsyncView loading=fires.loading what="the fires of the pause">{rows()}</AsyncView> };
    panel("In this pause", note, content)
}

fn rows(fires: &PausedFires, zone: Option<String>) -> AnyView {
    if fires.nodes.is_empty() {
        return view! { <p class="empty">"No fire has fallen into this pause so far."</p> }
            .into_any();
    }
    let headings: Vec<Heading> =
        ["Scheduled", "If the pause ends on its own"].map(|words| heading(words, "")).into();
    let shown: Vec<_> = fires.nodes.iter().map(|fire| row(fire, zone.clone())).collect();
    let rest = fires.total_count - i64::try_from(fires.nodes.len()).unwrap_or(0);
    let more = (rest > 0).then(|| view! { <p class="panel-note">{format!("and {rest} more")}</p> });
    view! { {table("Fires of the pause", "table table-tight virtual-rows", headings, shown.into_any())}{more} }
        .into_any()
}

fn row(fire: &PausedFire, zone: Option<String>) -> AnyView {
    let many = (fire.count > 1).then(|| {
        let last = when(fire.last_scheduled_at, zone.clone());
        let words = format!("{} instants, up to ", fire.count);
        view! { <span class="cell-note">{words}{last}</span> }.into_any()
    });
    let why = match (fire.verdict, &fire.detail) {
        (Verdict::Pending, _) => "runs when the pause ends".to_owned(),
        (_, Some(calendar)) => format!("calendar {calendar}"),
        (_, None) => fire.reason.name_and_words().1.to_owned(),
    };
    view! {
        <tr data-testid="paused-fire">
            <th scope="row" class="time-cell">{when(fire.scheduled_at, zone)}{fire_mark(fire.kind)}{many}</th>
            <td>{badge(Mark::Verdict(fire.verdict))}" "<span class="muted">{why}</span></td>
        </tr>
    }
    .into_any()
}
