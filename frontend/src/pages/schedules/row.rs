//! A schedule in a row.

use leptos::prelude::*;

use crate::{
    components::{
        Column, Glyph, Mark, PastFire, RowName, badge, expressions, fire_history, icon_button,
        tags, tally_bar, warning_list, when_relative,
    },
    model::{RecentFire, ScheduleRow, ScheduleState, Verdict},
    pages::actions::{Action, Actions},
    route::Route,
    state::Session,
    time::{Moment, duration},
};

/// The name of a row, and the ids by which tests find it.
pub(super) fn name(schedule: &ScheduleRow) -> RowName {
    let state = Mark::Schedule(schedule.state).state();
    RowName { name: schedule.name.clone(), test: "schedule-row", state }
}

/// Name, state, timing, next and recent fires; across all namespaces also the namespace.
pub(super) fn columns(is_across: bool) -> Vec<Column> {
    let namespace = |row: &ScheduleRow| row.namespace.clone().into_any();
    let mut columns = vec![
        Column::new("name", "Name", title).head().sorts("name"),
        Column::new("state", "State", state),
        Column::new("timing", "When", timing).class("timing-cell wide"),
        Column::new("next", "Next fire", |row: &ScheduleRow| time(row.next_fire_at, row))
            .sorts("next"),
        Column::new("last", "Last fire", |row: &ScheduleRow| time(row.last_fire_at, row))
            .class("wide spare")
            .sorts("last"),
        Column::new("run", "Last run", last_run).class("wide"),
        Column::new("history", "Last 40", history).class("wide"),
        Column::new("p95", "p95", p95).class("number wide spare"),
        Column::new("workflow", "Workflow", |row: &ScheduleRow| {
            row.workflow.name.clone().into_any()
        })
        .extra(),
        Column::new("module", "Module", module).extra(),
        Column::new("note", "Note", |row: &ScheduleRow| row.note.clone().into_any())
            .class("why-cell")
            .extra(),
        Column::new("day", "24 h", |row: &ScheduleRow| tally_bar(row.tally)).class("wide").extra(),
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

fn time(at: Option<Moment>, schedule: &ScheduleRow) -> AnyView {
    match at {
        Some(at) => when_relative(at, schedule.zone()),
        None => view! { <span class="muted">"–"</span> }.into_any(),
    }
}

fn history(schedule: &ScheduleRow) -> AnyView {
    if schedule.recent_fires.is_empty() {
        return ().into_any();
    }
    let past = |fire: &RecentFire| {
        let mark = match (fire.run, fire.verdict) {
            (Some(run), Verdict::Started | Verdict::Pending) => Mark::Run(run.state),
            (_, verdict) => Mark::Verdict(verdict),
        };
        let at = fire.local.replace('T', " ");
        PastFire { mark, title: format!("{at} {}: {}", fire.offset, fire.reason.text) }
    };
    fire_history(schedule.recent_fires.iter().rev().map(past).collect())
}

/// The 95th percentile of the durations of its recent runs.
fn p95(schedule: &ScheduleRow) -> AnyView {
    let title = "95 % of the runs under \"Last 40\" took no longer";
    match schedule.p95() {
        Some(millis) => view! { <span title=title>{duration(millis)}</span> }.into_any(),
        None => view! { <span class="muted">"–"</span> }.into_any(),
    }
}

fn module(schedule: &ScheduleRow) -> AnyView {
    let link = schedule.module.clone().map(|module| {
        let href = Route::Module(module.clone()).path();
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

/// The actions of a row: every user who sees it may make it a favourite.
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
    if !session.operates() {
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
