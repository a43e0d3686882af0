//! What people order, through the same commands as the API.

use std::sync::Arc;

use carillon::engine::commands::{
    ByHand, Call, CommandError, Commands, Edit, NewSchedule, Spec, Viewer, ViewerKind, Work,
};
use chrono::TimeDelta;
use entity::{run, schedule, user::Role};
use sea_orm::{EntityTrait, QueryOrder};
use uuid::Uuid;

use super::{
    database::NAMESPACE, expectation::Expectations, gate::Round, node::Node, plan::Plan,
    scenario::Order, workshop,
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

/// Carries out `order` through `node`; says in words what became of it.
pub(crate) async fn order(
    node: &Node,
    cache: &Arc<timetable::Cache>,
    expected: &mut Expectations,
    pick: usize,
    order: &Order,
) -> String {
    let store = expected.store().clone();
    let (now, executor) = (node.clock.now(), workshop::executor());
    let commands = Commands::new(
        node.store.clone(),
        node.clock.clock(),
        cache.clone(),
        executor,
        node.signals.clone(),
    );
    let (editor, operator) = (ada().editor().unwrap(), ada().operator().unwrap());
    let call = Call::once();
    node.gate.enter(&Round::whole());
    if let Order::Create(plan) = order {
        let name = expected.new_name();
        let went = create(&commands, &name, plan).await;
        expected.made(&name, now).await;
        return told(&format!("create {name}"), went);
    }
    if let Order::Cancel(number) | Order::Retry(number) = order {
        let runs = run::Entity::find().order_by_asc(run::Column::Id);
        let runs = runs.all(store.read()).await.unwrap();
        if runs.is_empty() {
            return "no run is there".to_owned();
        }
        let run = &runs[number % runs.len()];
        let went = if matches!(order, Order::Cancel(_)) {
            commands.cancel(&operator, run.id, None, &call).await
        } else {
            commands.retry(&operator, run.id, &call).await
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
        Order::Create(_) | Order::Cancel(_) | Order::Retry(_) => unreachable!("done above"),
    };
    expected.touched(before, now).await;
    told(&format!("{} {}", word(order), before.name), went)
}

/// Makes the schedules that a world begins with.
pub(crate) async fn create(
    commands: &Commands,
    name: &str,
    plan: &Plan,
) -> Result<(), CommandError> {
    let new = NewSchedule {
        namespace: NAMESPACE.to_owned(),
        spec: plan.spec(name),
        work: Work::Task(Box::new(plan.task())),
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
        work: timing.then(|| Work::Task(Box::new(plan.task()))),
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
        Order::Cancel(_) => "cancel".to_owned(),
        Order::Retry(_) => "retry".to_owned(),
    }
}

fn told(what: &str, went: Result<(), CommandError>) -> String {
    match went {
        Ok(()) => what.to_owned(),
        Err(error) => format!("{what}: refused: {error}"),
    }
}
