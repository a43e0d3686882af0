//! A schedule in a row.

use leptos::prelude::*;

use super::history::Histories;
use crate::{
    components::{
        Column, Glyph, Mark, RowName, badge, expressions, icon_button, tags, warning_list,
        when_relative,
    },
    model::{ScheduleRow, ScheduleState, Warning},
    pages::actions::{Action, Actions},
    route::Route,
    state::Session,
    time::Moment,
};

/// The expression of a timing without any instants.
const MANUALLY: &str = "@manually";

/// The name of a schedule's row, and the ids by which tests find it.
pub(super) fn name(schedule: &ScheduleRow) -> RowName {
    let state = Mark::Schedule(schedule.state).state();
    RowName { name: schedule.name.clone(), test: "schedule-row", state }
}

/// The columns: name, state, timing, next and recent fires; across all namespaces also the
/// namespace.
pub(super) fn columns(is_across: bool, histories: Histories) -> Vec<Column> {
    let namespace = |row: &ScheduleRow| row.namespace.clone().into_any();
    let mut columns = vec![
        Column::new("name", "Name", title).head().sorts("name"),
        Column::new("state", "State", state),
        Column::new("timing", "When", timing).class("timing-cell wide"),
        Column::new("next", "Next fire", next).sorts("next"),
        Column::new("last", "Last fire", |row: &ScheduleRow| time(row.last_fire_at, row))
            .class("wide spare")
            .sorts("last"),
        Column::new("verdict", "Last verdict", move |row: &ScheduleRow| histories.verdict(row))
            .class("why-cell wide spare"),
        Column::new("run", "Last run", last_run).class("wide"),
        Column::new("history", "Last 40", move |row: &ScheduleRow| histories.bars(row))
            .class("wide"),
        Column::new("p95", "p95", move |row: &ScheduleRow| histories.p95(row))
            .class("number wide spare")
            .sorts("p95"),
        Column::new("workflow", "Workflow", |row: &ScheduleRow| {
            row.workflow.name.clone().into_any()
        })
        .extra(),
        Column::new("module", "Module", module).extra(),
        Column::new("note", "Note", |row: &ScheduleRow| row.note.clone().into_any())
            .class("why-cell")
            .extra(),
        Column::new("day", "24 h", move |row: &ScheduleRow| histories.day(row))
            .class("wide")
            .extra(),
    ];
    if is_across {
        columns.insert(1, Column::new("namespace", "Namespace", namespace));
    }
    columns
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

/// The next fire, or a word for the reason why there is none.
fn next(schedule: &ScheduleRow) -> AnyView {
    if let Some(at) = schedule.next_fire_at {
        return when_relative(at, schedule.zone());
    }
    let is_manual =
        schedule.timing.expressions.iter().all(|text| text.eq_ignore_ascii_case(MANUALLY));
    let is_never = schedule.timing.warnings.iter().any(Warning::is_never);
    let why = why_none(schedule.state, is_manual, is_never);
    view! { <span class="muted">{why}</span> }.into_any()
}

/// The reason why a schedule has no next fire.
fn why_none(state: ScheduleState, is_manual: bool, is_never: bool) -> &'static str {
    match state {
        ScheduleState::Paused => "none while paused",
        ScheduleState::Finished => "none left",
        ScheduleState::Exhausted => "all that were allowed",
        ScheduleState::Active if is_manual => "by hand only",
        ScheduleState::Active if is_never => "never",
        ScheduleState::Active => "not planned yet",
    }
}

fn time(at: Option<Moment>, schedule: &ScheduleRow) -> AnyView {
    match at {
        Some(at) => when_relative(at, schedule.zone()),
        None => view! { <span class="muted">"–"</span> }.into_any(),
    }
}

fn module(schedule: &ScheduleRow) -> AnyView {
    let link = schedule.module.clone().map(|module| {
        let href = Route::module(&module).path();
        view! { <a class="cell-link" href=href>{module}</a> }
    });
    view! { {link} }.into_any()
}

fn last_run(schedule: &ScheduleRow) -> AnyView {
    let link = schedule.last_run.as_ref().map(|run| {
        let (mark, href) = (Mark::Run(run.state), Route::Run(run.id.clone()).path());
        let name = format!("Last run, {}", mark.word());
        view! { <a class="cell-link" href=href aria-label=name>{badge(mark)}</a> }.into_any()
    });
    view! { {link} }.into_any()
}

/// The actions of a row. Every user who sees the schedule may make it a favourite.
pub(super) fn actions(
    schedule: &ScheduleRow,
    session: Session,
    actions: Actions,
    star: Callback<(String, bool)>,
) -> AnyView {
    let name = &schedule.name;
    let (id, is_favourite) = (schedule.id.clone(), schedule.is_favourite);
    let (glyph, words) = if is_favourite {
        (Glyph::Starred, format!("Remove {name} from the favourites"))
    } else {
        (Glyph::Star, format!("Add {name} to the favourites"))
    };
    let star =
        icon_button(glyph, "Favourite", words, move || star.run((id.clone(), !is_favourite)));
    if !session.operates_in(&schedule.namespace) {
        return star;
    }
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
    view! { {star}{run}{other} }.into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_without_a_next_fire_says_why() {
        let why = |state| why_none(state, false, false);
        assert_eq!(why(ScheduleState::Paused), "none while paused");
        assert_eq!(why(ScheduleState::Finished), "none left");
        assert_eq!(why(ScheduleState::Exhausted), "all that were allowed");
        assert_eq!(why_none(ScheduleState::Active, true, false), "by hand only");
        assert_eq!(why_none(ScheduleState::Active, false, true), "never");
    }
}
