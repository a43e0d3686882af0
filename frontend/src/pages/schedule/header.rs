//! The name of a schedule, its state, and its actions.

use leptos::prelude::*;

use crate::{
    components::{
        Glyph, Look, Mark, When, badge, button, expressions, icon, live, menu, tags, ticket, when,
    },
    data::Load,
    model::{Pause, PlannedPause, ScheduleDetail, ScheduleRow, ScheduleState, WindowLink},
    pages::actions::{Action, Actions, effect::afterwards},
    route::Route,
    state::Session,
};

/// The head of the page. It shows nothing of the fires, which may change the schedule every second, and is only drawn
/// again if something else has changed: a menu that is open in it stays open.
pub(super) fn header(load: Load<ScheduleDetail>, session: Session, actions: Actions) -> AnyView {
    let row = Memo::new(move |_| load.with(without_fires));
    live(move || row.get().map_or_else(|| ().into_any(), |row| head(&row, session, actions)))
}

fn without_fires(schedule: &ScheduleDetail) -> ScheduleRow {
    ScheduleRow {
        next_fire_at: None,
        last_fire_at: None,
        last_run: None,
        module: schedule.more.module.clone(),
        ..schedule.row.clone()
    }
}

fn head(row: &ScheduleRow, session: Session, actions: Actions) -> AnyView {
    let pause = row.pause.as_ref().map(|pause| pause_note(pause, row.zone()));
    let planned = row.planned_pause.as_ref().map(|planned| planned_note(planned, row.zone()));
    let note =
        (!row.note.is_empty()).then(|| view! { <p class="note">{row.note.clone()}</p> }.into_any());
    view! {
        <header class="schedule-head schedule-sticky">
            <div class="page-head">
                <h1>{row.name.clone()}</h1>
                <span role="status" data-testid="schedule-state" data-state=Mark::Schedule(row.state).state()>
                    {badge(Mark::Schedule(row.state))}
                </span>
                {buttons(row, session, actions)}
            </div>
            <p class="lede">
                {expressions(&row.timing.expressions)}
                <span>{row.timing.description.clone()}</span>
            </p>
            {pause}
            {planned}
            {note}
            {tags(&row.tags)}
        </header>
    }
    .into_any()
}

fn pause_note(pause: &Pause, zone: Option<String>) -> AnyView {
    let then = pause.missed.map_or("", afterwards);
    let until = pause
        .until
        .map(|until| view! { <span>"until "{when(until, zone.clone())}{then}</span> }.into_any());
    let why = match &pause.window {
        Some(window) => window_link(window),
        None => view! { <span>{pause.reason.clone()}</span> }.into_any(),
    };
    view! {
        <p class="pause-note">
            {icon(Glyph::Pause)}
            <strong>{format!("Paused by {}", pause.by)}</strong>
            {When::new(pause.at).zone(zone).far().minutes().focusable().view()}
            {why}
            {until}
        </p>
    }
    .into_any()
}

/// The pause that a maintenance window has planned.
fn planned_note(planned: &PlannedPause, zone: Option<String>) -> AnyView {
    let then = afterwards(planned.missed);
    view! {
        <p class="pause-note" data-testid="planned-pause">
            {icon(Glyph::Pause)}
            {window_link(&planned.window)}
            <span>
                "from "{when(planned.from, zone.clone())}" until "{when(planned.until, zone)}{then}
            </span>
        </p>
    }
    .into_any()
}

/// A maintenance window by its title, with its ticket.
fn window_link(window: &WindowLink) -> AnyView {
    let href = Route::MaintenanceWindow(window.id.clone()).path();
    let ticket = window.ticket.as_ref().map(|text| ticket(text));
    view! { <span>"Maintenance: "<a href=href>{window.title.clone()}</a></span>{ticket} }.into_any()
}

/// The buttons that the user's role allows: run now, pause or resume, edit, delete.
fn buttons(row: &ScheduleRow, session: Session, actions: Actions) -> AnyView {
    let duplicate = session.edits().then(|| {
        let href = Route::NewSchedule.narrowed(&[("from", &row.id)]);
        view! { <a class="button" href=href>"Duplicate"</a> }.into_any()
    });
    // The name of a schedule that a module declares comes from the module's file.
    let rename = (session.edits() && row.module.is_none())
        .then(|| button(Look::Plain, None, "Rename …", actions.ask(Action::Rename, row)));
    let operating = session.operates().then(move || {
        let other = match row.state {
            ScheduleState::Active => {
                button(Look::Plain, Some(Glyph::Pause), "Pause", actions.ask(Action::Pause, row))
            }
            ScheduleState::Paused => button(
                Look::Primary,
                Some(Glyph::Resume),
                "Resume",
                actions.ask(Action::Resume, row),
            ),
            ScheduleState::Finished | ScheduleState::Exhausted => ().into_any(),
        };
        // Only an active schedule has fires to skip.
        let skip = (row.state == ScheduleState::Active)
            .then(|| button(Look::Plain, None, "Skip next …", actions.ask(Action::Skip, row)));
        let more = view! {
            <div class="menu-actions" data-closes="">
                {button(Look::Plain, None, "Run with …", actions.ask(Action::RunWith, row))}
                {skip}
                <a class="button" href=Route::NewBackfill.narrowed(&[("schedule", &row.name)])>"Backfill …"</a>
                <a class="button" href=Route::WhatIf.narrowed(&[("schedule", &row.id)])>"What if …"</a>
                {button(Look::Plain, None, "Note …", actions.ask(Action::Note, row))}
                {duplicate}
                {rename}
            </div>
        }
        .into_any();
        view! {
            {button(Look::Plain, Some(Glyph::Play), "Run now", actions.run(row))}
            {other}
            {menu("", view! { "More actions"{icon(Glyph::Down)} }.into_any(), more)}
        }
        .into_any()
    });
    let editing = session.edits().then(|| match &row.module {
        // A schedule that a module declares can only be changed and deleted by deploying the
        // module.
        Some(module) => {
            view! { <span class="muted">"declared by module "{module.clone()}</span> }.into_any()
        }
        None => view! {
            <a class="button" href=Route::EditSchedule(row.id.clone()).path()>{icon(Glyph::Edit)}"Edit"</a>
            {button(Look::Danger, Some(Glyph::Trash), "Delete", actions.ask(Action::Delete, row))}
        }
        .into_any(),
    });
    view! { <div class="actions">{operating}{editing}</div> }.into_any()
}
