//! The clock changes of the coming year, with their effect on each schedule that they affect.

use leptos::prelude::*;

use super::super::kit::{empty, note, place_note};
use crate::{
    api,
    components::{AsyncView, expressions, heading, silent_heading, table},
    data::use_load,
    model::{ClockChange, ClockChangeEffect, ClockChanges},
    route::Route,
    state::{use_address, use_session},
    time::{Moment, amount, day_words, distance, grouped},
};

/// The report of the clock changes.
#[component]
pub(super) fn Clocks() -> impl IntoView {
    let address = use_address();
    let report = use_load(move || Some(api::planning::clock_changes(address.namespace())));
    let is_empty = Signal::derive(move || {
        let is_empty = |report: &ClockChanges| report.changes.is_empty() && report.is_complete;
        report.with(is_empty).unwrap_or_default()
    });
    view! {
        <AsyncView
            loading=report.loading
            what="the clock changes"
            is_empty=is_empty
            empty=|| empty("No clock change of the next year affects a schedule", "A schedule is affected if the clocks of its zone skip or repeat one of its times.")
        >
            <div class="stack">{report.draw(draw)}</div>
        </AsyncView>
    }
}

fn draw(report: &ClockChanges) -> AnyView {
    let changes: Vec<_> = report.changes.iter().map(change).collect();
    let cut = (!report.is_complete).then(|| {
        let examined = grouped(report.schedules);
        let words = format!(
            "There is more: only the {examined} schedules that are due soonest were examined."
        );
        view! { <p class="muted">{words}</p> }.into_any()
    });
    view! { {changes}{cut} }.into_any()
}

/// One change, and the schedules that it affects.
fn change(change: &ClockChange) -> AnyView {
    let is_forward = change.after.get(..19) > change.before.get(..19);
    let way = if is_forward { "forward" } else { "back" };
    let title = format!("{}: the clock goes {way}", change.zone);
    let id = format!("clock-{}-{}", change.zone.replace('/', "-"), change.at.millis());
    let now = Moment::now();
    let day = day_words(change.before.get(..10).unwrap_or_default(), now);
    let aside = format!("{day}, {}", distance(change.at.since(now)));
    let clock = |text: &str| text.get(11..16).unwrap_or_default().to_owned();
    let offset = |text: &str| text.get(19..).unwrap_or_default().to_owned();
    let words = format!(
        "{} becomes {} ({} becomes {}). It affects {}.",
        clock(&change.before),
        clock(&change.after),
        offset(&change.before),
        offset(&change.after),
        amount(change.affected, "schedule", "schedules"),
    );
    let headings =
        vec![heading("Schedule", ""), heading("What happens", ""), silent_heading("Actions")];
    let rows: Vec<_> = change.schedules.iter().map(row).collect();
    let listed = change.schedules.len();
    let is_cut = change.affected > i64::try_from(listed).unwrap_or(i64::MAX);
    let more = is_cut.then(|| {
        view! { <p class="muted">{format!("The first {listed} by name are listed.")}</p> }
            .into_any()
    });
    view! {
        <section class="panel" aria-labelledby=id.clone() data-testid="clock-change">
            <header class="panel-head"><h2 id=id.clone()>{title}</h2><span class="muted">{aside}</span></header>
            <p class="lede">{words}</p>
            {table("Affected schedules", "table", headings, rows.into_any())}
            {more}
        </section>
    }
    .into_any()
}

fn row(one: &ClockChangeEffect) -> AnyView {
    let schedule = &one.schedule;
    let href = Route::Schedule(schedule.id.clone()).path_at(&schedule.namespace);
    let effects: Vec<_> =
        one.effects.iter().map(|effect| view! { <p>{effect.clone()}</p> }.into_any()).collect();
    let suppressed = one.suppressed_by.as_ref().map(|calendar| {
        note(format!("The calendar {calendar} suppresses its fires at that instant."))
    });
    let may_edit = use_session().edits_in(&schedule.namespace) && schedule.module.is_none();
    let edit = may_edit.then(|| {
        let href = Route::EditSchedule(schedule.id.clone()).path_at(&schedule.namespace);
        let label = format!("Edit {}", schedule.name);
        view! { <a class="button" href=href aria-label=label>"Edit"</a> }.into_any()
    });
    view! {
        <tr data-testid="clock-row">
            <th scope="row" class="name-cell">
                <a href=href>{schedule.name.clone()}</a>{place_note(&schedule.namespace)}
                {expressions(&schedule.timing.expressions)}
            </th>
            <td class="why-cell">{effects}{suppressed}</td>
            <td class="actions-cell"><div class="row-actions">{edit}</div></td>
        </tr>
    }
    .into_any()
}
