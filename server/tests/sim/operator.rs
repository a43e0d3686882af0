//! What people order, through the same commands as the API.

use std::sync::Arc;

use carillon::engine::commands::{
    ByHand, CalendarSpec, Call, CommandError, Commands, Edit, NewCalendar, NewSchedule,
    NewWorkflow, Spec, Viewer, ViewerKind,
};
use chrono::TimeDelta;
use entity::{calendar::Mode, run, schedule, user::Role};
use sea_orm::{EntityTrait, QueryOrder};
use timetable::{CalendarEntries, TimeWindow};
use uuid::Uuid;

use super::{
    database::NAMESPACE,
    expectation::Expectations,
    gate::Round,
    node::Node,
    plan::{CALENDARS, FLOWS, GROUP, Plan, flow},
    scenario::Order,
    workshop,
};

fn ada() -> Viewer {
    Viewer {
        id: Uuid::from_u128(7),
        name: "ada".to_owned(),
        kind: ViewerKind::User,
        role: Role::Admin,
        source: "sim".to_owned(),
    }
}

/// The commands of a node.
pub(crate) fn commands(node: &Node, cache: &Arc<timetable::Cache>) -> Commands {
    let (store, clock) = (node.store.clone(), node.clock.clock());
    Commands::new(store, clock, cache.clone(), workshop::executor(), node.signals.clone())
}

/// Carries out `order` through `node`; says in words what became of it.
pub(crate) async fn order(
    node: &Node,
    cache: &Arc<timetable::Cache>,
    expected: &mut Expectations,
    pick: usize,
    order: &Order,
) -> String {
    let store = expected.store().clone();
    let now = node.clock.now();
    let commands = commands(node, cache);
    let (editor, operator) = (ada().editor().unwrap(), ada().operator().unwrap());
    let call = Call::once();
    node.gate.enter(&Round::whole());
    if let Order::Create(plan) = order {
        let name = expected.new_name();
        let went = create(&commands, &name, plan).await;
        expected.made(&name, now).await;
        return told(&format!("create {name}"), went);
    }
    if let Order::Cancel(number) | Order::Retry(number) | Order::Rerun(number) = order {
        let runs = run::Entity::find().order_by_asc(run::Column::Id);
        let runs = runs.all(store.read()).await.unwrap();
        if runs.is_empty() {
            return "no run is there".to_owned();
        }
        let run = &runs[number % runs.len()];
        let went = if matches!(order, Order::Cancel(_)) {
            commands.cancel(&operator, run.id, None, &call).await
        } else if matches!(order, Order::Retry(_)) {
            commands.retry(&operator, run.id, &call).await
        } else {
            commands.rerun_from_failed(&operator, run.id, &call).await
        };
        return told(&format!("{} run {}", word(order), run.id), went.map(drop));
    }
    let living = expected.living().await;
    if living.is_empty() {
        return "no schedule is there".to_owned();
    }
    let before = &living[pick % living.len()];
    let id = before.id;
    let went: Result<(), CommandError> = match order {
        Order::Edit(plan, timing) => {
            let edit = edit(before, plan, *timing);
            commands.update_schedule(&editor, edit, &call).await.map(drop)
        }
        Order::Delete => commands.delete_schedule(&editor, id, None, &call).await.map(drop),
        Order::Pause(minutes) => {
            let until = minutes.map(|minutes| now + TimeDelta::minutes(minutes));
            commands.pause(&operator, id, "a simulation", until, &call).await.map(drop)
        }
        Order::Resume(missed) => commands.resume(&operator, id, *missed, &call).await.map(drop),
        Order::Trigger => {
            commands.trigger(&operator, id, &ByHand::default(), &call).await.map(drop)
        }
        Order::SkipNext(count) => {
            commands.skip_next(&operator, id, *count, "a simulation", &call).await.map(drop)
        }
        Order::Purge => commands.purge_buffer(&operator, id, None, &call).await.map(drop),
        Order::Create(_) | Order::Cancel(_) | Order::Retry(_) | Order::Rerun(_) => {
            unreachable!("done above")
        }
    };
    expected.touched(before, now).await;
    told(&format!("{} {}", word(order), before.name), went)
}

/// Makes what schedules share.
pub(crate) async fn furnish(commands: &Commands) {
    let (editor, call) = (ada().editor().unwrap(), Call::once());
    commands.create_group(&editor, NAMESPACE, GROUP, &call).await.unwrap();
    for &name in FLOWS {
        let (namespace, definition) = (NAMESPACE.to_owned(), flow(name));
        let new = NewWorkflow { namespace, name: name.to_owned(), definition };
        commands.create_workflow(&editor, new, &call).await.unwrap();
    }
    for &(name, from, to) in CALENDARS {
        let window = TimeWindow { from: from.to_owned(), to: to.to_owned(), weekdays: Vec::new() };
        let entries = CalendarEntries { windows: vec![window], ..CalendarEntries::default() };
        let spec = CalendarSpec { name: name.to_owned(), mode: Mode::Exclude, entries };
        let new = NewCalendar { namespace: NAMESPACE.to_owned(), spec };
        commands.create_calendar(&editor, new, &call).await.unwrap();
    }
}

async fn create(commands: &Commands, name: &str, plan: &Plan) -> Result<(), CommandError> {
    let new = NewSchedule {
        namespace: NAMESPACE.to_owned(),
        spec: plan.spec(name),
        work: plan.work(),
        paused: false,
    };
    commands.create_schedule(&ada().editor().unwrap(), new, &Call::once()).await.map(drop)
}

fn edit(row: &schedule::Model, plan: &Plan, timing: bool) -> Edit {
    let wanted = plan.clone();
    let apply = move |spec: &mut Spec| {
        let name = std::mem::take(&mut spec.name);
        let old = spec.timing.clone();
        *spec = wanted.spec(&name);
        if !timing {
            spec.timing = old;
        }
    };
    Edit {
        id: row.id,
        expected_version: row.version,
        apply: Box::new(apply),
        work: timing.then(|| plan.work()),
        reason: None,
    }
}

fn word(order: &Order) -> String {
    match order {
        Order::Create(_) => "create".to_owned(),
        Order::Edit(_, true) => "edit the timing of".to_owned(),
        Order::Edit(_, false) => "edit the policies of".to_owned(),
        Order::Delete => "delete".to_owned(),
        Order::Pause(until) => format!("pause({until:?})"),
        Order::Resume(missed) => format!("resume({missed:?})"),
        Order::Trigger => "trigger".to_owned(),
        Order::SkipNext(count) => format!("skip the next {count} of"),
        Order::Purge => "purge the buffer of".to_owned(),
        Order::Cancel(_) => "cancel".to_owned(),
        Order::Retry(_) => "retry".to_owned(),
        Order::Rerun(_) => "rerun".to_owned(),
    }
}

fn told(what: &str, went: Result<(), CommandError>) -> String {
    match went {
        Ok(()) => what.to_owned(),
        Err(error) => format!("{what}: refused: {error}"),
    }
}
