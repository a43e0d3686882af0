//! A process that freezes between a commit and the steps that follow, for longer than the others
//! wait for a node. The test executes its services by hand.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use carillon::{
    clock::ManualClock,
    model::Definition,
    store::{FaultPoint, Faults, Store},
};
use entity::{node, run, task_run};
use futures::{FutureExt, future::BoxFuture};
use sea_orm::{ActiveModelTrait, EntityTrait, IntoActiveModel, Set};
use uuid::Uuid;

use super::{
    gate::Gate,
    lost_answers::{Answer, answering, group_for},
    world::{World, at},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_hand_off_does_not_begin_what_was_taken_over_and_removed,
    the_dispatcher_does_not_begin_what_was_taken_over_and_removed,
    a_hand_off_does_not_begin_what_a_life_that_is_over_holds,
    the_dispatcher_does_not_begin_what_a_life_that_is_over_holds,
    a_hand_off_begins_what_is_still_its_own,
    the_dispatcher_begins_what_is_still_its_own,
    a_step_is_not_begun_of_a_run_that_was_taken_over_and_removed,
    a_step_is_not_begun_of_a_run_of_a_life_that_is_over,
    a_step_is_begun_of_a_run_that_is_still_its_own,
);

async fn a_hand_off_does_not_begin_what_was_taken_over_and_removed(database: TestDatabase) {
    begins(database, false, Meanwhile::Removed).await;
}

async fn the_dispatcher_does_not_begin_what_was_taken_over_and_removed(database: TestDatabase) {
    begins(database, true, Meanwhile::Removed).await;
}

async fn a_hand_off_does_not_begin_what_a_life_that_is_over_holds(database: TestDatabase) {
    begins(database, false, Meanwhile::Dead).await;
}

async fn the_dispatcher_does_not_begin_what_a_life_that_is_over_holds(database: TestDatabase) {
    begins(database, true, Meanwhile::Dead).await;
}

async fn a_hand_off_begins_what_is_still_its_own(database: TestDatabase) {
    begins(database, false, Meanwhile::Nothing).await;
}

async fn the_dispatcher_begins_what_is_still_its_own(database: TestDatabase) {
    begins(database, true, Meanwhile::Nothing).await;
}

async fn a_step_is_not_begun_of_a_run_that_was_taken_over_and_removed(database: TestDatabase) {
    goes_on(database, Meanwhile::Removed).await;
}

async fn a_step_is_not_begun_of_a_run_of_a_life_that_is_over(database: TestDatabase) {
    goes_on(database, Meanwhile::Dead).await;
}

async fn a_step_is_begun_of_a_run_that_is_still_its_own(database: TestDatabase) {
    goes_on(database, Meanwhile::Nothing).await;
}

/// The fate of the runs while the process is frozen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meanwhile {
    Nothing,
    /// Another node ends the runs, and retention removes them.
    Removed,
    /// Another node has declared this one dead, and has not taken anything over yet.
    Dead,
}

/// An answer to a commit that arrives after a day.
fn late(
    sound: &Store,
    clock: &ManualClock,
    meanwhile: Meanwhile,
) -> impl Fn() -> BoxFuture<'static, Answer> + Send + Sync + use<> {
    let (sound, clock) = (sound.clone(), clock.clone());
    move || {
        let (sound, clock) = (sound.clone(), clock.clone());
        let answered = async move {
            match meanwhile {
                Meanwhile::Nothing => {}
                Meanwhile::Removed => {
                    task_run::Entity::delete_many().exec(sound.read()).await.unwrap();
                    run::Entity::delete_many().exec(sound.read()).await.unwrap();
                }
                Meanwhile::Dead => {
                    let own = node::Entity::find().one(sound.read()).await.unwrap().unwrap();
                    let mut other = own.clone().into_active_model().reset_all();
                    (other.id, other.name) = (Set(Uuid::now_v7()), Set("other".to_owned()));
                    other.insert(sound.read()).await.unwrap();
                    let mut own = own.into_active_model();
                    own.state = Set(node::State::Dead);
                    own.update(sound.read()).await.unwrap();
                }
            }
            clock.pass(Duration::from_secs(86_400));
            Ok(())
        };
        answered.boxed()
    }
}

async fn begins(database: TestDatabase, by_dispatcher: bool, meanwhile: Meanwhile) {
    let (mut world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let group = group_for(&world, by_dispatcher).await;
    let mut gate = Gate::open().await;
    world.due_now(gate.task(), |row| row.group_id = group).await;
    let sound = world.database.store.clone();
    let answer = late(&sound, &clock, meanwhile);
    world.database.store = answering(&sound, run::State::Running, answer);
    let (node, mut services) = world.by_hand().await;
    let now = clock.now();
    services.get_mut("planner").unwrap().once(now).await.unwrap();
    if by_dispatcher {
        services.get_mut("dispatcher").unwrap().once(now).await.unwrap();
    }
    assert!(clock.now() > now, "the process stood still");
    match meanwhile {
        Meanwhile::Nothing => gate.arrival().await.answer(200),
        Meanwhile::Removed | Meanwhile::Dead => assert_eq!(node.attempts(), 0),
    }
}

/// The first step of a run of several tasks ends while the process is frozen.
async fn goes_on(database: TestDatabase, meanwhile: Meanwhile) {
    let (mut world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let mut gate = Gate::open().await;
    let definition = Definition::of(vec![gate.step("first", &[]), gate.step("second", &["first"])]);
    world.due_now(definition, |_| {}).await;
    let sound = world.database.store.clone();
    let (answer, steps) = (late(&sound, &clock, meanwhile), Arc::new(AtomicBool::new(false)));
    let is_stepping = steps.clone();
    let edge = move |edge| {
        let is_step = edge == FaultPoint::Committed && is_stepping.swap(false, Ordering::SeqCst);
        if is_step { answer() } else { std::future::ready(Ok(())).boxed() }
    };
    world.database.store = sound.clone().with_faults(Faults::new(edge, || None));
    let (node, mut services) = world.by_hand().await;
    let now = clock.now();
    services.get_mut("planner").unwrap().once(now).await.unwrap();
    assert_eq!(node.attempts(), 1);
    steps.store(true, Ordering::SeqCst);
    let writer = services.get_mut("steps").unwrap();
    let written = async {
        while writer.once(now).await.unwrap().is_none() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), written).await.expect("the run begins");
    assert!(clock.now() > now, "the process stood still");
    match meanwhile {
        Meanwhile::Nothing => gate.arrival().await.answer(200),
        Meanwhile::Removed | Meanwhile::Dead => {
            let let_go = async {
                while node.attempts() > 0 {
                    tokio::task::yield_now().await;
                }
            };
            tokio::time::timeout(Duration::from_secs(60), let_go).await.expect("it is let go");
            assert!(!gate.has_more(), "nothing was begun");
        }
    }
}
