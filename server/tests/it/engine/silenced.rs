//! Changes of a calendar that would keep schedules from ever firing again. The schedules are
//! checked before the change; those that have changed since are checked again in its transaction.

use std::{
    pin::pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
};

use carillon::store::{FaultPoint, Faults, Store, schedules};
use chrono::TimeDelta;
use entity::{Keys, calendar, calendar::Mode, schedule};
use futures::{FutureExt, future::BoxFuture};
use sea_orm::{ActiveModelTrait, Set};
use serde_json::json;
use tokio::{runtime::Builder, sync::oneshot, task::spawn_blocking};
use uuid::Uuid;

use super::{
    editing::{close_for_a_day, commands},
    world::{World, at, noop},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_change_of_a_calendar_looks_at_its_schedules_before_its_transaction,
    a_schedule_that_changes_while_its_calendar_does_is_looked_at_again,
    calendars_that_change_together_are_looked_at_together,
);

const OFTEN: &str = "0 12 * * *";
const ONCE: &str = "@at 2026-03-07T12:00:00Z";

async fn a_world(database: TestDatabase) -> (World, Uuid) {
    let (world, _clock) = World::at(database, at("2026-03-06T11:59:30Z")).await;
    let calendar = world.calendar("closed", Mode::Exclude, json!({})).await;
    (world, calendar)
}

/// Creates schedules that were not changed recently.
async fn old(world: &World, count: usize, change: impl Fn(usize, &mut schedule::Model)) {
    let long_ago = (world.clock.now() - TimeDelta::hours(1)).into();
    world
        .schedules_with(count, noop(), |number, row| {
            row.name = format!("s{number:04}");
            row.updated_at = long_ago;
            change(number, row);
        })
        .await;
}

/// Lets another transaction write at the moment when the next one is about to begin.
fn interrupted(
    world: &mut World,
    write: impl Fn(Store) -> BoxFuture<'static, ()> + Send + Sync + 'static,
) {
    let sound = world.database.store.clone();
    let is_armed = Arc::new(AtomicBool::new(true));
    let other = sound.clone();
    let edge = move |edge| {
        let is_it = edge == FaultPoint::Begin && is_armed.swap(false, Ordering::SeqCst);
        let written = is_it.then(|| write(other.clone()));
        async move {
            if let Some(written) = written {
                written.await;
            }
            Ok(())
        }
        .boxed()
    };
    world.database.store = sound.with_faults(Faults::new(edge, || None));
}

async fn a_change_of_a_calendar_looks_at_its_schedules_before_its_transaction(
    database: TestDatabase,
) {
    let (mut world, calendar) = a_world(database).await;
    old(&world, 1_200, |_, row| {
        row.calendars = Some(Keys(vec![calendar]));
        row.expressions.0 = vec![OFTEN.to_owned()];
    })
    .await;
    let said = Arc::new(Mutex::new(Vec::new()));
    let noted = said.clone();
    let note = move |sql: &str| noted.lock().unwrap().push(sql.to_owned());
    world.database.store = world.database.store.clone().with_observer(note);
    close_for_a_day(&commands(&world), calendar).await.unwrap();
    let said = said.lock().unwrap();
    let changed = said.iter().position(|sql| sql.starts_with("UPDATE \"calendar\"")).unwrap();
    let reads = |said: &[String]| {
        let is_one = |sql: &&String| sql.contains("\"schedule\".\"expressions\"");
        said.iter().filter(is_one).count()
    };
    assert_eq!(reads(&said[..changed]), 4, "pages of 500, and one that is empty");
    assert!(reads(&said[changed..]) <= 2, "{:#?}", &said[changed..]);
}

/// The event loop of the API would answer nobody meanwhile.
#[test]
fn the_schedules_of_a_calendar_are_checked_on_a_blocking_thread() {
    let runtime = Builder::new_current_thread().enable_all().max_blocking_threads(1).build();
    runtime.unwrap().block_on(async {
        let (world, calendar) = a_world(TestDatabase::sqlite().await).await;
        old(&world, 1, |_, row| {
            row.calendars = Some(Keys(vec![calendar]));
            row.expressions.0 = vec![OFTEN.to_owned()];
        })
        .await;
        let (began, is_taken) = oneshot::channel();
        let (give_back, given_back) = mpsc::channel::<()>();
        let only_thread = spawn_blocking(move || {
            began.send(()).unwrap();
            // An error means that the test has failed.
            let _ = given_back.recv();
        });
        is_taken.await.unwrap();
        let commands = commands(&world);
        let mut change = pin!(close_for_a_day(&commands, calendar));
        for _ in 0..200 {
            let read = schedules::by_name(world.database.store.read(), world.namespace, "s0000");
            tokio::select! {
                biased;
                changed = &mut change => panic!("it did not wait: {changed:?}"),
                found = read => assert!(found.unwrap().is_some()),
            }
        }
        give_back.send(()).unwrap();
        change.await.unwrap();
        only_thread.await.unwrap();
    });
}

async fn a_schedule_that_changes_while_its_calendar_does_is_looked_at_again(
    database: TestDatabase,
) {
    let (mut world, calendar) = a_world(database).await;
    old(&world, 3, |_, row| {
        row.calendars = Some(Keys(vec![calendar]));
        row.expressions.0 = vec![OFTEN.to_owned()];
    })
    .await;
    let (namespace, now) = (world.namespace, world.clock.now());
    interrupted(&mut world, move |store| {
        async move {
            let tx = store.begin().await.unwrap();
            let row = schedules::by_name(&tx, namespace, "s0001").await.unwrap();
            let change = schedule::ActiveModel {
                id: Set(row.unwrap().id),
                expressions: Set(entity::Strings(vec![ONCE.to_owned()])),
                updated_at: Set(now.into()),
                ..Default::default()
            };
            change.update(&tx).await.unwrap();
            store.commit(tx).await.unwrap();
        }
        .boxed()
    });
    let refused = close_for_a_day(&commands(&world), calendar).await.unwrap_err().to_string();
    assert!(refused.contains("every fire of s0001"), "{refused}");
}

/// Each of the two changes alone leaves instants on which the schedule fires.
async fn calendars_that_change_together_are_looked_at_together(database: TestDatabase) {
    let (mut world, calendar) = a_world(database).await;
    let other = world.calendar("other", Mode::Exclude, json!({})).await;
    old(&world, 1, |_, row| {
        row.calendars = Some(Keys(vec![calendar, other]));
        row.expressions.0 = vec![ONCE.to_owned(), "@at 2026-03-08T12:00:00Z".to_owned()];
    })
    .await;
    interrupted(&mut world, move |store| {
        async move {
            let tx = store.begin().await.unwrap();
            let change = calendar::ActiveModel {
                id: Set(other),
                version: Set(2),
                definition: Set(json!({ "dates": ["2026-03-08"] })),
                ..Default::default()
            };
            change.update(&tx).await.unwrap();
            store.commit(tx).await.unwrap();
        }
        .boxed()
    });
    let refused = close_for_a_day(&commands(&world), calendar).await.unwrap_err().to_string();
    assert!(refused.contains("every fire of s0000"), "{refused}");
}
