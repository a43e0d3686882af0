//! The definition of a schedule, and sentences about its behaviour at the next outage, clock change
//! or overlap.

use leptos::prelude::*;

use super::{target::target, watchdog::watchdog};
use crate::{
    components::{expressions, fact, json_view, panel, when},
    data::Load,
    model::{
        CalendarLink, CatchUp, GapPolicy, Misfire, OverlapHourPolicy, OverlapPolicy, ScheduleDetail,
    },
    pages::kit::days_choice,
    route::Route,
    time::{Moment, Wall, amount, city, clock_changes, day_words, seconds},
};

/// The days on which the clocks of a zone next go forward, and back.
type Changes = [Option<String>; 2];

/// The tab with the definition.
pub(in crate::pages) fn definition(load: Load<ScheduleDetail>) -> AnyView {
    let zone = Memo::new(move |_| load.with(|schedule| schedule.row.timing.zone.clone()));
    // They are searched day by day, so only once for each zone.
    let changes = Memo::new(move |_| zone.get().map(|zone| changes(&zone)).unwrap_or_default());
    load.draw(move |schedule| panels(schedule, &changes.get()))
}

fn panels(schedule: &ScheduleDetail, changes: &Changes) -> AnyView {
    let href = Route::Workflow(schedule.more.work.id.clone()).path();
    let name = schedule.row.workflow.name.clone();
    let workflow = view! { <span class="muted">"workflow "<a href=href>{name}</a></span> };
    let ping = schedule.more.ping.as_ref();
    let watchdog = ping.map(|ping| panel("Watchdog", (), watchdog(ping, schedule.row.zone())));
    view! {
        <div class="definition-grid">
            {panel("When", (), timing(schedule))}
            {panel("Target", workflow, target(schedule))}
            {panel("Policies", (), policies(schedule, changes))}
            {watchdog}
            {panel("About", (), about(schedule))}
        </div>
    }
    .into_any()
}

fn timing(schedule: &ScheduleDetail) -> AnyView {
    let (timing, policy) = (&schedule.row.timing, &schedule.more.policy);
    let time = |name, at| fact(name, when(at, schedule.row.zone()));
    let mut facts = vec![
        fact("Timing", view! { {expressions(&timing.expressions)}" "{timing.description.clone()} }),
        fact("Zone", timing.zone.clone()),
    ];
    if policy.jitter_seconds > 0 {
        facts.push(fact("Jitter", format!("up to {}", seconds(policy.jitter_seconds))));
    }
    if !schedule.more.calendars.is_empty() {
        let link = |calendar: &CalendarLink| {
            let href = Route::EditCalendar(calendar.id.clone()).path();
            view! { <a href=href>{calendar.name.clone()}</a>" " }.into_any()
        };
        let links: Vec<_> = schedule.more.calendars.iter().map(link).collect();
        facts.push(fact("Calendars", links));
    }
    facts
        .extend(schedule.more.max_fires.map(|most| fact("At most", amount(most, "fire", "fires"))));
    facts.extend(policy.start_at.map(|at| time("From", at)));
    facts.extend(policy.end_at.map(|at| time("Until", at)));
    view! { <dl class="facts">{facts}</dl> }.into_any()
}

fn changes(zone: &str) -> Changes {
    let now = Moment::now();
    let mut days = Changes::default();
    for at in clock_changes(zone, now, 2) {
        let walls = Wall::read(at.later(-60_000), zone).zip(Wall::read(at, zone));
        let Some((before, after)) = walls else { continue };
        let [forward, back] = &mut days;
        let is_forward = (&after.date, &after.time) > (&before.date, &before.time);
        let day = if is_forward { forward } else { back };
        day.get_or_insert_with(|| day_words(&after.date, now));
    }
    days
}

/// Each policy, as a description of its effect.
fn policies(schedule: &ScheduleDetail, changes: &Changes) -> AnyView {
    let more = &schedule.more;
    let zone = city(&schedule.row.timing.zone);
    let gap = match more.policy.gap {
        GapPolicy::Shift => "times in the skipped hour fire right after it",
        GapPolicy::Skip => "times in the skipped hour do not fire",
    };
    let twice = match more.policy.overlap {
        OverlapHourPolicy::First => "times in the repeated hour fire the first time",
        OverlapHourPolicy::Last => "times in the repeated hour fire the second time",
        OverlapHourPolicy::Both => "times in the repeated hour fire both times",
    };
    let mut facts = vec![
        fact("After an outage", {
            let href = Route::WhatIf.narrowed(&[("schedule", &schedule.row.id)]);
            view! { {misfire_words(more.misfire)}" "<a href=href>"Try an outage"</a> }
        }),
        fact("Still running", overlap_words(more.on_overlap, more.buffer_limit)),
    ];
    let next = changes.clone().map(|day| day.map(|day| format!(", next on {day}")));
    let [forward, back] = next.map(Option::unwrap_or_default);
    facts.push(fact(
        "Clock forward",
        format!("When the clocks of {zone} go forward{forward}, {gap}."),
    ));
    facts.push(fact("Clock back", format!("When they go back{back}, {twice}.")));
    facts.extend(
        more.start_deadline_seconds.map(|deadline| fact("Too late", deadline_words(deadline))),
    );
    facts.extend(more.group.clone().map(|group| {
        let link = view! { <a href=Route::Groups.path()>{group}</a> };
        fact("Group", view! { "Its runs share the slots of the group "{link}" with others." })
    }));
    if more.priority != 0 {
        facts.push(fact(
            "Priority",
            format!("{}: waiting runs with a higher priority start first.", more.priority),
        ));
    }
    view! { <dl class="facts">{facts}</dl> }.into_any()
}

/// What happens to a fire while a run is live.
pub(super) fn overlap_words(policy: OverlapPolicy, buffer_limit: Option<i64>) -> String {
    match policy {
        OverlapPolicy::Skip => {
            "A fire that becomes due while the previous run is live is skipped.".to_owned()
        }
        OverlapPolicy::BufferOne => {
            "While a run is live, one fire waits for its end; later ones are skipped.".to_owned()
        }
        OverlapPolicy::BufferAll => format!(
            "While a run is live, fires wait for its end, at most {}.",
            buffer_limit.unwrap_or_default()
        ),
        OverlapPolicy::CancelOther => {
            "A fire asks the live run to stop, and starts once it has stopped.".to_owned()
        }
        OverlapPolicy::TerminateOther => "A fire ends the live run, and starts.".to_owned(),
        OverlapPolicy::Allow => "Runs may overlap: each fire starts its own.".to_owned(),
    }
}

/// What happens to a fire that starts too late, by a number of seconds.
pub(super) fn deadline_words(deadline: i64) -> String {
    format!("A fire that has not started {} after it was due is skipped.", seconds(deadline))
}

/// What happens to missed fires.
pub(super) fn misfire_words(misfire: Misfire) -> String {
    let grace = seconds(misfire.grace_seconds);
    let window = seconds(misfire.window_seconds);
    match misfire.catch_up {
        CatchUp::Skip => format!("Fires that could not start within {grace} are skipped."),
        CatchUp::Latest => format!(
            "Of the fires that could not start within {grace}, the latest of the last {window} starts once; the others are skipped."
        ),
        CatchUp::All => format!(
            "Fires that could not start within {grace} are caught up on: at most {}, of the last {window}, {} apart.",
            misfire.max,
            seconds(misfire.spacing_seconds),
        ),
    }
}

fn about(schedule: &ScheduleDetail) -> AnyView {
    let more = &schedule.more;
    let time = |name, at| fact(name, when(at, schedule.row.zone()));
    let mut facts = vec![time("Created", more.created_at), time("Changed", more.updated_at)];
    facts.extend(more.module.clone().map(|module| {
        let href = Route::module(&module).path();
        fact("Declared in", view! { <a href=href>{module}</a> })
    }));
    facts.extend(
        more.retention_days.map(|days| fact("History", format!("kept for {}", days_choice(days)))),
    );
    let has_context = more.context.as_object().is_some_and(|context| !context.is_empty());
    let context = has_context.then(|| json_view(&more.context, "Context"));
    view! { <dl class="facts">{facts}</dl>{context} }.into_any()
}
