//! A row of the ledger: what became of an instant, and why.

use leptos::prelude::*;

use super::backfill::{Backfilling, is_lost, orders};
use crate::{
    components::{Look, Mark, badge, button, fire_mark, reason_text, when, when_relative},
    model::LedgerRow,
    route::Route,
    time::duration,
};

pub(super) fn row(row: &LedgerRow, backfilling: Option<Backfilling>) -> AnyView {
    let fire = &row.row;
    let mark = Mark::Verdict(fire.verdict);
    let zone = row.more.schedule.as_ref().map(|schedule| schedule.timing.zone.clone());
    let schedule = match &row.more.schedule {
        Some(schedule) => {
            let href = Route::Schedule(schedule.id.clone()).path();
            view! { <a href=href>{schedule.name.clone()}</a> }.into_any()
        }
        None => view! { <span class="muted">"a schedule that is gone"</span> }.into_any(),
    };
    let last = (fire.count > 1).then(|| {
        view! { <span class="cell-note">{fire.count}" instants, the last "{when(fire.last_scheduled_at, zone.clone())}</span> }
            .into_any()
    });
    let run = fire.run.as_ref().map(|run| {
        let mark = Mark::Run(run.state);
        let took = run.duration_ms.map(|millis| format!(" {}", duration(millis)));
        let name = format!("Run, {}", mark.word());
        view! { <a class="cell-link" href=Route::Run(run.id.clone()).path() aria-label=name>{badge(mark)}</a>{took} }
            .into_any()
    });
    let order = row.clone();
    let backfill =
        backfilling.filter(|_| is_lost(row) && row.more.schedule.is_some()).map(|backfilling| {
            button(Look::Plain, None, "Backfill", move || {
                backfilling.ask(orders([&order].into_iter()))
            })
        });
    view! {
        <tr data-testid="ledger-row" data-state=mark.state()>
            <td>{when_relative(fire.scheduled_at, zone.clone())}{fire_mark(fire.kind)}{last}</td>
            <th scope="row" class="name-cell">{schedule}</th>
            <td>{badge(mark)}</td>
            <td class="why-cell">{reason_text(&fire.reason.text)}</td>
            <td class="nowrap">{run}{backfill}</td>
        </tr>
    }
    .into_any()
}
