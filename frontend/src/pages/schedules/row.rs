//! A schedule in a row.

use leptos::prelude::*;

use crate::{
    components::{
        Column, Glyph, Mark, RowName, badge, expressions, icon_button, tags, tally_bar,
        warning_list, when_relative,
    },
    model::{ScheduleRow, ScheduleState},
    pages::actions::{Action, Actions},
    route::Route,
    state::Session,
    time::Moment,
};

/// How a row is called.
pub(super) fn name(schedule: &ScheduleRow) -> RowName {
    let state = Mark::Schedule(schedule.state).state();
    RowName { name: schedule.name.clone(), test: "schedule-row", state }
}

/// Name, state, timing, what comes and what was.
pub(super) fn columns() -> Vec<Column> {
    vec![
        Column::new("name", "Name", title).head(),
        Column::new("state", "State", state),
        Column::new("timing", "When", timing).class("timing-cell wide"),
        Column::new("next", "Next fire", |row: &ScheduleRow| time(row.next_fire_at, row)),
        Column::new("last", "Last fire", |row: &ScheduleRow| time(row.last_fire_at, row))
            .class("wide spare"),
        Column::new("run", "Last run", last_run).class("wide"),
        Column::new("workflow", "Workflow", |row: &ScheduleRow| {
            row.workflow.name.clone().into_any()
        })
        .extra(),
        Column::new("note", "Note", |row: &ScheduleRow| row.note.clone().into_any())
            .class("why-cell")
            .extra(),
        Column::new("day", "24 h", |row: &ScheduleRow| tally_bar(row.tally)).class("wide"),
    ]
}

fn title(schedule: &ScheduleRow) -> AnyView {
    view! {
        <a href=Route::Schedule(schedule.id.clone()).path()>{schedule.name.clone()}</a>
        {tags(&schedule.tags)}
        {warning_list(schedule.timing.warnings.iter().filter(|warning| warning.is_never()))}
    }
    .into_any()
}

fn state(schedule: &ScheduleRow) -> AnyView {
    let pause = schedule.pause.as_ref().map(|pause| {
        let title = format!("{} by {}", pause.reason, pause.by);
        view! { <span class="cell-note" title=title>{pause.reason.clone()}</span> }.into_any()
    });
    view! { <div>{badge(Mark::Schedule(schedule.state))}{pause}</div> }.into_any()
}

fn timing(schedule: &ScheduleRow) -> AnyView {
    let timing = &schedule.timing;
    view! {
        <span title=timing.description.clone()>
            {expressions(&timing.expressions)}
            <span class="cell-note">{timing.zone.clone()}</span>
        </span>
    }
    .into_any()
}

fn time(at: Option<Moment>, schedule: &ScheduleRow) -> AnyView {
    match at {
        Some(at) => when_relative(at, schedule.zone()),
        None => view! { <span class="muted">"–"</span> }.into_any(),
    }
}

fn last_run(schedule: &ScheduleRow) -> AnyView {
    let link = schedule.last_run.as_ref().map(|run| {
        let (mark, href) = (Mark::Run(run.state), Route::Run(run.id.clone()).path());
        let name = format!("Last run, {}", mark.word());
        view! { <a class="cell-link" href=href aria-label=name>{badge(mark)}</a> }.into_any()
    });
    view! { {link} }.into_any()
}

/// What can be done with it.
pub(super) fn actions(schedule: &ScheduleRow, session: Session, actions: Actions) -> AnyView {
    if !session.operates() {
        return ().into_any();
    }
    let name = &schedule.name;
    let run = icon_button(Glyph::Play, "Run now", format!("Run {name} now"), actions.run(schedule));
    let other = match schedule.state {
        ScheduleState::Active => {
            let ask = actions.ask(Action::Pause, schedule);
            icon_button(Glyph::Pause, "Pause", format!("Pause {name}"), ask)
        }
        ScheduleState::Paused => {
            let ask = actions.ask(Action::Resume, schedule);
            icon_button(Glyph::Resume, "Resume", format!("Resume {name}"), ask)
        }
        ScheduleState::Finished | ScheduleState::Exhausted => ().into_any(),
    };
    view! { {run}{other} }.into_any()
}
