//! A target that hangs occupies its share of a node's places, and no more.

use std::time::Duration;

use axum::Router;
use carillon::{
    config,
    engine::{Engine, maintenance::health, places::PlaceHolder},
    model::{Definition, Task},
    store::reads::health::HealthScope,
    target::{CommandTarget, Http, SecretText, Target},
};
use entity::{namespace, run, schedule};
use sea_orm::{
    ActiveModelTrait, ColumnTrait, EntityTrait, IntoActiveModel, PaginatorTrait, QueryFilter,
};
use serde_json::json;
use tokio::net::TcpListener;
use uuid::Uuid;

use super::{
    gate::{Arrival, Gate},
    groups::group,
    world::{World, task},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    others_are_on_time_while_hundreds_of_requests_hang,
    runs_that_wait_overtake_those_whose_origin_has_its_share,
    one_origin_alone_has_nearly_all_places_and_all_its_runs_are_done,
    runs_of_several_tasks_have_one_share_of_the_places,
    scripts_that_hang_keep_no_other_script_waiting,
    a_namespace_whose_scripts_all_hang_leaves_places_to_another,
);

const CAPACITY: usize = 50;

/// The number of places that one origin may occupy.
const SHARE: usize = 40;

/// The number of the remaining places that a second origin may occupy.
const SECOND_SHARE: usize = 7;

/// A receiver that answers at once.
async fn prompt() -> Task {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let router = Router::new().fallback(async || "well");
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    task(Target::Http(Http::post(url)))
}

async fn due(world: &World, count: usize, work: Task) -> Vec<Uuid> {
    let now = world.clock.now();
    let is_due = |_, row: &mut schedule::Model| {
        row.anchor_at = (now - chrono::TimeDelta::days(365)).into();
        row.next_scheduled_at = Some(now.into());
        row.next_fire_at = Some(now.into());
    };
    let made = world.schedules_with(count, work, is_due).await;
    world.signals.wake_planner();
    made
}

async fn arrivals(gate: &mut Gate, count: usize) -> Vec<Arrival> {
    let mut all = Vec::with_capacity(count);
    for _ in 0..count {
        all.push(gate.arrival().await);
    }
    all
}

async fn count(world: &World, state: run::State) -> u64 {
    let of_state = run::Entity::find().filter(run::COLUMN.state.eq(state));
    of_state.count(world.database.store.read()).await.unwrap()
}

/// Waits until this many runs have succeeded.
async fn succeeded(world: &World, wanted: u64) {
    world
        .until(&format!("{wanted} runs have succeeded"), || async {
            (count(world, run::State::Succeeded).await >= wanted).then_some(())
        })
        .await;
}

/// Answers everything that arrives until this many runs have succeeded.
async fn let_all_go(world: &World, gate: &mut Gate, held: Vec<Arrival>, wanted: u64) {
    for arrival in held {
        arrival.answer_with(200, json!({}));
    }
    let answer = async {
        loop {
            gate.arrival().await.answer_with(200, json!({}));
        }
    };
    tokio::select! {
        () = answer => {}
        () = succeeded(world, wanted) => {}
    }
}

async fn issue(world: &World, engine: &Engine) -> Option<String> {
    let limits =
        config::Health { saturated: config::Span::seconds(0), ..config::Health::default() };
    let (cluster, scope) = (engine.cluster(), HealthScope::default());
    let store = &world.database.store;
    let checks = health::examine(store, &world.clock, &cluster, &scope, &limits).await.unwrap();
    let places = checks.into_iter().find(|check| check.name == "places").unwrap();
    assert_eq!(places.healthy, places.issue.is_none());
    places.issue
}

async fn others_are_on_time_while_hundreds_of_requests_hang(database: TestDatabase) {
    let mut world = World::new(database).await;
    world.settings.capacity = CAPACITY;
    let (mut slow, mut slower) = (Gate::open().await, Gate::open().await);
    let engine = world.engine().await;
    assert_eq!(issue(&world, &engine).await, None);
    due(&world, 300, slow.task()).await;
    let held = arrivals(&mut slow, SHARE).await;
    // A second target that hangs also gets places.
    due(&world, 300, slower.task()).await;
    let also_held = arrivals(&mut slower, SECOND_SHARE).await;
    let good = due(&world, 300, prompt().await).await;
    succeeded(&world, 300).await;
    for id in good {
        assert_eq!(world.settled_run(id).await.state, run::State::Succeeded);
    }
    assert!(!slow.has_more(), "more than its share of the places");
    assert!(count(&world, run::State::Running).await < CAPACITY as u64);

    let told = issue(&world, &engine).await.unwrap();
    let origin = slow.task().target.origin().unwrap().within(world.namespace);
    let origin = PlaceHolder::Origin(origin);
    assert!(told.contains(&format!("{origin} holds 40 of the 50 places")), "{told}");
    assert!(told.contains("260 runs wait"), "{told}");
    let_all_go(&world, &mut slow, held, 600).await;
    let_all_go(&world, &mut slower, also_held, 900).await;
    world
        .until("nothing waits for a share", async || {
            issue(&world, &engine).await.is_none().then_some(())
        })
        .await;
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn runs_that_wait_overtake_those_whose_origin_has_its_share(database: TestDatabase) {
    let mut world = World::new(database).await;
    world.settings.capacity = CAPACITY;
    let mut slow = Gate::open().await;
    let engine = world.engine().await;
    due(&world, 200, slow.task()).await;
    let held = arrivals(&mut slow, SHARE).await;
    // The runs of the group have a low priority, so they wait behind all runs that hang.
    let (group, quick) = (group(&world, 5).await, prompt().await);
    for _ in 0..30 {
        let behind = |row: &mut schedule::Model| {
            row.group_id = Some(group);
            row.priority = -100;
        };
        world.due_now(quick.clone(), behind).await;
    }
    succeeded(&world, 30).await;
    assert_eq!(count(&world, run::State::Running).await, SHARE as u64);
    let_all_go(&world, &mut slow, held, 230).await;
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn one_origin_alone_has_nearly_all_places_and_all_its_runs_are_done(database: TestDatabase) {
    let mut world = World::new(database).await;
    world.settings.capacity = CAPACITY;
    let mut gate = Gate::open().await;
    let engine = world.engine().await;
    due(&world, 400, gate.task()).await;
    let held = arrivals(&mut gate, SHARE).await;
    let_all_go(&world, &mut gate, held, 400).await;
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
    // If the share is the whole capacity, no places are reserved for others.
    world.settings.max_share = 100;
    let engine = world.engine().await;
    due(&world, 60, gate.task()).await;
    let held = arrivals(&mut gate, CAPACITY).await;
    let_all_go(&world, &mut gate, held, 460).await;
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn runs_of_several_tasks_have_one_share_of_the_places(database: TestDatabase) {
    let mut world = World::new(database).await;
    world.settings.capacity = CAPACITY;
    let mut slow = Gate::open().await;
    let engine = world.engine().await;
    for _ in 0..20 {
        let steps = ["a", "b", "c", "d", "e"].map(|name| slow.step(name, &[]));
        world.due_now(Definition::of(steps.to_vec()), |_| {}).await;
    }
    let held = arrivals(&mut slow, SHARE).await;
    due(&world, 100, prompt().await).await;
    succeeded(&world, 100).await;
    assert!(!slow.has_more());
    let_all_go(&world, &mut slow, held, 120).await;
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// A task that executes the script `text`; `hangs` puts `HANG` into its environment, and then the
/// script never ends.
fn script(text: &str, hangs: bool) -> Task {
    let mut command = CommandTarget { script: Some(text.to_owned()), ..CommandTarget::default() };
    if hangs {
        command.env.insert("HANG".to_owned(), SecretText::new("yes"));
    }
    task(Target::Command(command))
}

async fn other_namespace(world: &World) -> Uuid {
    let other = namespace::Model {
        id: Uuid::now_v7(),
        name: "other".to_owned(),
        retention_days: None,
        quotas: None,
        created_at: world.clock.now().into(),
        deleted_at: None,
        deleted_by: None,
        deleted_name: None,
        purged_at: None,
    };
    let id = other.id;
    let tx = world.database.store.begin().await.unwrap();
    other.into_active_model().insert(&tx).await.unwrap();
    world.database.store.commit(tx).await.unwrap();
    id
}

async fn scripts_that_hang_keep_no_other_script_waiting(database: TestDatabase) {
    let mut world = World::new(database).await;
    world.settings.capacity = CAPACITY;
    let engine = world.engine().await;
    let text = "[ -z \"$HANG\" ] || exec tail -f /dev/null";
    due(&world, 100, script(text, true)).await;
    world
        .until("the script that hangs has its share", || async {
            let running = count(&world, run::State::Running).await;
            (running >= SHARE as u64).then_some(())
        })
        .await;
    // A different script of the same namespace runs, and so does the same script of another
    // namespace.
    due(&world, 20, script("exit 0", false)).await;
    succeeded(&world, 20).await;
    world.namespace = other_namespace(&world).await;
    due(&world, 20, script(text, false)).await;
    succeeded(&world, 40).await;
    assert_eq!(count(&world, run::State::Running).await, SHARE as u64);
    engine.shutdown(Duration::from_secs(1)).await.unwrap();
}

async fn a_namespace_whose_scripts_all_hang_leaves_places_to_another(database: TestDatabase) {
    let mut world = World::new(database).await;
    world.settings.capacity = CAPACITY;
    world.settings.quotas_interval = Duration::from_millis(20);
    let (hog, other) = (world.namespace, other_namespace(&world).await);
    let engine = world.engine().await;
    for namespace in [hog, other] {
        world.namespace = namespace;
        due(&world, 1, script("exit 0", false)).await;
    }
    succeeded(&world, 2).await;
    world
        .until("the places are shared", || async {
            engine.cluster().places().are_shared().then_some(())
        })
        .await;
    world.namespace = hog;
    // Each script has a share of its own, as each target of another origin would.
    for number in 0..60 {
        due(&world, 1, script(&format!("exec tail -f /dev/null # {number}"), false)).await;
    }
    let kept = CAPACITY / 16;
    world
        .until("all places but those of others are taken", || async {
            let running = count(&world, run::State::Running).await;
            (running >= (CAPACITY - kept) as u64).then_some(())
        })
        .await;
    world.namespace = other;
    due(&world, 20, script("exit 0", false)).await;
    succeeded(&world, 22).await;
    assert_eq!(count(&world, run::State::Running).await, (CAPACITY - kept) as u64);
    let told = issue(&world, &engine).await.unwrap();
    assert!(told.contains(&format!("namespace {hog} holds 47 of the 50 places")), "{told}");
    engine.shutdown(Duration::from_secs(1)).await.unwrap();
}
