//! The requests of operators, through the same commands that the API calls.

use std::sync::Arc;

use carillon::{
    access::{Grants, Viewer, ViewerKind},
    commands::{
        AutomaticEnd, ByHand, CalendarEdit, CalendarSpec, Call, CommandError, Commands,
        DeploymentSource, Edit, GroupEdit, NewCalendar, NewSchedule, NewWorkflow, Rollback,
        WindowSpec,
    },
    model::Spec,
};
use chrono::{DateTime, TimeDelta, Utc};
use entity::{calendar, concurrency_group, fire, run, schedule, user::Role};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder};
use timetable::{CalendarEntries, TimeWindow};
use uuid::Uuid;

use super::{
    backfills,
    database::NAMESPACE,
    expectation::Expectations,
    gate::Round,
    module,
    node::Node,
    plan::{CALENDARS, FLOWS, GROUP, Plan, WINDOWS, flow},
    scenario::Order,
    windows, workshop,
};

pub(crate) fn ada() -> Viewer {
    let grants = Grants::everywhere(Role::Admin);
    Viewer::new(Uuid::from_u128(7), "ada", ViewerKind::User, grants, "sim")
}

/// The commands of a node.
pub(crate) fn commands(node: &Node, cache: &Arc<timetable::Cache>) -> Commands {
    let (store, clock) = (node.store.clone(), node.clock.clock());
    let executor = workshop::executor();
    let commands = Commands::new(store, clock, cache.clone(), executor, node.signals.clone())
        .with_retention(node.settings.retention.unwrap_or_default());
    // A node whose clock is wrong accepts no requests.
    node.cluster().map_or(commands.clone(), |cluster| commands.with_cluster(cluster))
}

/// Executes `order` through `node`; returns a description of the result. Returns an error if an
/// invariant is violated.
pub(crate) async fn order(
    node: &Node,
    cache: &Arc<timetable::Cache>,
    expected: &mut Expectations,
    pick: usize,
    order: &Order,
) -> Result<String, String> {
    let now = node.clock.now();
    let commands = commands(node, cache);
    node.gate.enter(&Round::whole());
    match order {
        Order::Create(plan) => {
            let name = expected.new_name();
            let went = create(&commands, &name, plan).await;
            expected.made(&name, now).await;
            Ok(told(&format!("create {name}"), went))
        }
        Order::Cancel(number) | Order::Retry(number) | Order::Rerun(number) => {
            Ok(of_a_run(&commands, expected, order, *number).await)
        }
        Order::PauseBackfill(number)
        | Order::ResumeBackfill(number)
        | Order::CancelBackfill(number) => {
            Ok(of_a_backfill(&commands, expected, order, *number).await)
        }
        Order::Redraw(..) | Order::Limit(_) | Order::Keep(_) => {
            Ok(of_what_is_shared(&commands, expected, order).await)
        }
        Order::PlanWindow(_) | Order::CancelWindow(_) => {
            Ok(of_a_window(&commands, expected, order, now).await)
        }
        Order::Deploy(plans, prune) => deploy(&commands, expected, plans, *prune, now).await,
        Order::Edit(..)
        | Order::Delete
        | Order::Pause(_)
        | Order::Resume(_)
        | Order::Rollback(_)
        | Order::Trigger
        | Order::Label(_)
        | Order::SkipNext(_)
        | Order::Purge
        | Order::Reorder
        | Order::Backfill(_) => {
            let living = expected.living().await;
            if living.is_empty() {
                return Ok("no schedule is there".to_owned());
            }
            let before = &living[pick % living.len()];
            let went = of_a_schedule(&commands, expected, before, order, now).await?;
            expected.touched(before, now).await;
            Ok(told(&format!("{} {}", word(order), before.name), went))
        }
    }
}

async fn of_a_schedule(
    commands: &Commands,
    expected: &Expectations,
    before: &schedule::Model,
    order: &Order,
    now: DateTime<Utc>,
) -> Result<Result<(), CommandError>, String> {
    let (editor, operator) = (ada().editor().unwrap(), ada().operator().unwrap());
    let (id, call) = (before.id, Call::once());
    Ok(match order {
        Order::Edit(plan, timing) => {
            let edit = edit(before, plan, *timing);
            commands.update_schedule(&editor, edit, &call).await.map(drop)
        }
        Order::Rollback(back) => {
            let (to_version, expected_version) = (before.version - back, before.version);
            let order = Rollback { id, to_version, expected_version, reason: None };
            commands.rollback_schedule(&editor, &order, &call).await.map(drop)
        }
        Order::Delete => commands.delete_schedule(&editor, id, None, None, &call).await.map(drop),
        Order::Pause(end) => {
            let end = end.map(|(minutes, missed)| AutomaticEnd {
                at: now + TimeDelta::minutes(minutes),
                missed,
            });
            commands.pause(&operator, id, "a simulation", end, &call).await.map(drop)
        }
        Order::Resume(missed) => commands.resume(&operator, id, *missed, &call).await.map(drop),
        Order::Trigger => {
            commands.trigger(&operator, id, &ByHand::default(), &call).await.map(drop)
        }
        Order::Label(number) => {
            let label = format!("v{}", before.version);
            let apply: Box<dyn FnOnce(&mut Spec) + Send> = match number % 3 {
                0 => {
                    let noted = commands.annotate(&operator, id, &label, &call).await;
                    return Ok(noted.map(drop));
                }
                1 => Box::new(|spec: &mut Spec| spec.tags = vec![label]),
                _ => Box::new(|spec: &mut Spec| spec.priority = (spec.priority + 1) % 10),
            };
            let edit =
                Edit { id, expected_version: before.version, apply, work: None, reason: None };
            commands.update_schedule(&editor, edit, &call).await.map(drop)
        }
        Order::SkipNext(count) => {
            commands.skip_next(&operator, id, *count, "a simulation", &call).await.map(drop)
        }
        Order::Purge => commands.purge_buffer(&operator, id, None, &call).await.map(drop),
        Order::Reorder => {
            let last = fire::Entity::find()
                .filter(fire::Column::ScheduleId.eq(id))
                .filter(fire::Column::Verdict.eq(fire::Verdict::Pending))
                .order_by_desc(fire::Column::QueuePosition)
                .one(expected.store().read());
            let last: Vec<Uuid> = last.await.unwrap().into_iter().map(|fire| fire.id).collect();
            commands.reorder_buffer(&operator, id, &last, &call).await.map(drop)
        }
        Order::Backfill(past) => {
            backfills::order(commands, expected.store(), before, past, now).await?
        }
        Order::Create(_)
        | Order::Cancel(_)
        | Order::Retry(_)
        | Order::Rerun(_)
        | Order::PauseBackfill(_)
        | Order::ResumeBackfill(_)
        | Order::CancelBackfill(_)
        | Order::Redraw(..)
        | Order::Limit(_)
        | Order::Keep(_)
        | Order::PlanWindow(_)
        | Order::CancelWindow(_)
        | Order::Deploy(..) => unreachable!("it is about no schedule"),
    })
}

async fn of_a_run(
    commands: &Commands,
    expected: &Expectations,
    order: &Order,
    number: usize,
) -> String {
    let (operator, call) = (ada().operator().unwrap(), Call::once());
    let runs = run::Entity::find().order_by_asc(run::Column::Id);
    let runs = runs.all(expected.store().read()).await.unwrap();
    if runs.is_empty() {
        return "no run is there".to_owned();
    }
    let run = runs[number % runs.len()].id;
    let went = if matches!(order, Order::Cancel(_)) {
        commands.cancel(&operator, run, None, &call).await
    } else if matches!(order, Order::Retry(_)) {
        commands.retry(&operator, run, &call).await
    } else {
        commands.rerun_from_failed(&operator, run, &call).await
    };
    told(&format!("{} run {run}", word(order)), went.map(drop))
}

async fn of_a_backfill(
    commands: &Commands,
    expected: &Expectations,
    order: &Order,
    number: usize,
) -> String {
    let (operator, call) = (ada().operator().unwrap(), Call::once());
    let open = backfills::open(expected.store()).await;
    if open.is_empty() {
        return "no backfill is open".to_owned();
    }
    let id = open[number % open.len()].id;
    let went = if matches!(order, Order::PauseBackfill(_)) {
        commands.pause_backfill(&operator, id, &call).await
    } else if matches!(order, Order::ResumeBackfill(_)) {
        commands.resume_backfill(&operator, id, &call).await
    } else {
        commands.cancel_backfill(&operator, id, None, &call).await
    };
    told(&format!("{} backfill {id}", word(order)), went.map(drop))
}

async fn of_a_window(
    commands: &Commands,
    expected: &Expectations,
    order: &Order,
    now: DateTime<Utc>,
) -> String {
    let (operator, call) = (ada().operator().unwrap(), Call::once());
    let went = if let Order::PlanWindow(ahead) = order {
        let starts_at = now + TimeDelta::minutes(ahead.minutes);
        let spec = WindowSpec {
            namespace: NAMESPACE.to_owned(),
            title: "a simulation".to_owned(),
            ticket: None,
            search: None,
            starts_at,
            ends_at: starts_at + TimeDelta::minutes(ahead.lasts),
            missed: ahead.missed,
        };
        commands.plan_maintenance(&operator, &spec, None, &call).await
    } else if let Order::CancelWindow(number) = order {
        let open = windows::open(expected.store()).await;
        if open.is_empty() {
            return "no window is open".to_owned();
        }
        let id = open[number % open.len()].id;
        commands.cancel_maintenance(&operator, id, "a simulation", &call).await
    } else {
        unreachable!("it is about no window")
    };
    told(&word(order), went.map(drop))
}

async fn of_what_is_shared(
    commands: &Commands,
    expected: &mut Expectations,
    order: &Order,
) -> String {
    let (editor, call) = (ada().editor().unwrap(), Call::once());
    let read = expected.store().read();
    let went = if let Order::Redraw(which, window) = order {
        let name = CALENDARS[*which].0;
        let found = calendar::Entity::find().filter(calendar::Column::Name.eq(name));
        let row = found.one(read).await.unwrap().unwrap();
        let spec = calendar_spec(name, *window);
        let (id, expected_version) = (row.id, row.version);
        let apply = Box::new(move |was: &mut CalendarSpec| *was = spec);
        let edit = CalendarEdit { id, expected_version, apply, reason: None };
        let went = commands.update_calendar(&editor, edit, &call).await;
        let store = expected.store().clone();
        expected.eras.note(&store).await;
        went.map(drop)
    } else if let Order::Limit(most) = order {
        let group = concurrency_group::Entity::find().one(read).await.unwrap().unwrap();
        let (expected_version, max_runs) = (group.version, Some(*most));
        let edit = GroupEdit { expected_version, name: None, max_runs };
        commands.update_group(&editor, group.id, &edit, &call).await.map(drop)
    } else if let Order::Keep(days) = order {
        let admin = ada().admin().unwrap();
        expected.keeps(*days);
        commands.set_retention(&admin, NAMESPACE, *days, None, &call).await.map(drop)
    } else {
        unreachable!("it is about nothing that is shared")
    };
    told(&word(order), went)
}

async fn deploy(
    commands: &Commands,
    expected: &mut Expectations,
    plans: &[(usize, Plan)],
    prune: bool,
    now: DateTime<Utc>,
) -> Result<String, String> {
    let (editor, call) = (ada().editor().unwrap(), Call::once());
    let before = expected.living().await;
    let file = module::file(plans);
    let went = commands
        .deploy(&editor, DeploymentSource { prune, ..DeploymentSource::yaml(&file) }, &call)
        .await;
    for row in before.iter().filter(|row| row.module.is_some()) {
        expected.touched(row, now).await;
    }
    for (number, _) in plans {
        expected.made(&module::name(*number), now).await;
    }
    let after = expected.living().await;
    if went.is_ok() {
        for (number, plan) in plans {
            let name = module::name(*number);
            let row = after.iter().find(|row| row.name == name);
            if row.is_none_or(|row| Spec::of(row).timing != plan.timing) {
                return Err(format!("{name} is not as its module declares it: {row:?}"));
            }
        }
        let declared = after.iter().filter(|row| row.module.is_some()).count();
        if prune && declared != plans.len() {
            return Err(format!("{declared} schedules are left of a module of {}", plans.len()));
        }
    }
    let names: Vec<String> = plans.iter().map(|(number, _)| module::name(*number)).collect();
    Ok(told(&format!("deploy {} (prune: {prune})", names.join(", ")), went.map(drop)))
}

/// Creates the objects that schedules share.
pub(crate) async fn furnish(commands: &Commands, expected: &mut Expectations) {
    let (editor, call) = (ada().editor().unwrap(), Call::once());
    let (group, max_runs) = GROUP;
    commands.create_group(&editor, NAMESPACE, group, max_runs, &call).await.unwrap();
    for &name in FLOWS {
        let (namespace, definition) = (NAMESPACE.to_owned(), flow(name));
        let new = NewWorkflow { namespace, name: name.to_owned(), definition };
        commands.create_workflow(&editor, new, &call).await.unwrap();
    }
    for &(name, window) in CALENDARS {
        let spec = calendar_spec(name, window);
        let new = NewCalendar { namespace: NAMESPACE.to_owned(), spec };
        commands.create_calendar(&editor, new, &call).await.unwrap();
    }
    let store = expected.store().clone();
    expected.eras.note(&store).await;
}

fn calendar_spec(name: &str, window: usize) -> CalendarSpec {
    let (mode, from, to) = WINDOWS[window];
    let window = TimeWindow { from: from.to_owned(), to: to.to_owned(), weekdays: Vec::new() };
    let entries = CalendarEntries { windows: vec![window], ..CalendarEntries::default() };
    CalendarSpec { name: name.to_owned(), mode, entries }
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
        Order::Label(number) => format!("label({})", number % 3),
        Order::SkipNext(count) => format!("skip the next {count} of"),
        Order::Purge => "purge the buffer of".to_owned(),
        Order::Cancel(_) | Order::CancelBackfill(_) => "cancel".to_owned(),
        Order::Retry(_) => "retry".to_owned(),
        Order::Rerun(_) => "rerun".to_owned(),
        Order::Rollback(back) => format!("roll back by {back} versions"),
        Order::Reorder => "reorder the buffer of".to_owned(),
        Order::Backfill(past) => format!("backfill({past:?})"),
        Order::PauseBackfill(_) => "pause".to_owned(),
        Order::ResumeBackfill(_) => "resume".to_owned(),
        Order::Redraw(which, window) => {
            format!("let {} be {:?}", CALENDARS[*which].0, WINDOWS[*window])
        }
        Order::Limit(most) => format!("let {most} runs of the group be in progress"),
        Order::Keep(days) => format!("keep history for {days:?} days"),
        Order::Deploy(..) => "deploy".to_owned(),
        Order::PlanWindow(ahead) => format!("plan a window({ahead:?})"),
        Order::CancelWindow(_) => "cancel a window".to_owned(),
    }
}

fn told(what: &str, went: Result<(), CommandError>) -> String {
    match went {
        Ok(()) => what.to_owned(),
        Err(error) => format!("{what}: refused: {error}"),
    }
}
