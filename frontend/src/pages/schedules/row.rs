//! A schedule in a row.

use leptos::prelude::*;

use crate::{
    components::{
        Glyph, Mark, badge, expressions, icon_button, tags, tally_bar, warning_list, when_relative,
    },
    model::{ScheduleRow, ScheduleState},
    pages::deeds::{Deed, Deeds},
    route::Route,
    state::Session,
    time::Moment,
};

/// Name, state, timing, what comes and what was, and what can be done.
pub(super) fn row(schedule: &ScheduleRow, session: Session, deeds: Deeds) -> AnyView {
    let mark = Mark::Schedule(schedule.state);
    let timing = &schedule.timing;
    let time = |at: Option<Moment>| match at {
        Some(at) => when_relative(at, schedule.zone()),
        None => view! { <span class="muted">"–"</span> }.into_any(),
    };
    let pause = schedule.pause.as_ref().map(|pause| {
        let title = format!("{} by {}", pause.reason, pause.by);
        view! { <span class="cell-note" title=title>{pause.reason.clone()}</span> }.into_any()
    });
    let last_run = schedule.last_run.as_ref().map(|run| {
        let (mark, href) = (Mark::Run(run.state), Route::Run(run.id.clone()).path());
        let name = format!("Last run, {}", mark.word());
        view! { <a class="cell-link" href=href aria-label=name>{badge(mark)}</a> }.into_any()
    });
    view! {
        <tr data-testid="schedule-row" data-state=mark.state()>
            <th scope="row" class="name-cell">
                <a href=Route::Schedule(schedule.id.clone()).path()>{schedule.name.clone()}</a>
                {tags(&schedule.tags)}
                {warning_list(timing.warnings.iter().filter(|warning| warning.is_never()))}
            </th>
            <td>{badge(mark)}{pause}</td>
            <td class="timing-cell wide" title=timing.description.clone()>
                {expressions(&timing.expressions)}
                <span class="cell-note">{timing.zone.clone()}</span>
            </td>
            <td>{time(schedule.next_fire_at)}</td>
            <td class="wide">{time(schedule.last_fire_at)}</td>
            <td class="wide">{last_run}</td>
            <td class="wide">{tally_bar(schedule.tally)}</td>
            <td class="actions-cell">{actions(schedule, session, deeds)}</td>
        </tr>
    }
    .into_any()
}

fn actions(schedule: &ScheduleRow, session: Session, deeds: Deeds) -> AnyView {
    if !session.operates() {
        return ().into_any();
    }
    let name = &schedule.name;
    let run = icon_button(Glyph::Play, "Run now", format!("Run {name} now"), deeds.run(schedule));
    let other = match schedule.state {
        ScheduleState::Active => {
            let ask = deeds.ask(Deed::Pause, schedule);
            icon_button(Glyph::Pause, "Pause", format!("Pause {name}"), ask)
        }
        ScheduleState::Paused => {
            let ask = deeds.ask(Deed::Resume, schedule);
            icon_button(Glyph::Resume, "Resume", format!("Resume {name}"), ask)
        }
        ScheduleState::Finished | ScheduleState::Exhausted => ().into_any(),
    };
    view! { <div class="row-actions">{run}{other}</div> }.into_any()
}
