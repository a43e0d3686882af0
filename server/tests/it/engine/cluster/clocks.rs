use std::time::Duration;

use carillon::{
    clock::ManualClock,
    commands::{Call, Edit, NewSchedule, ScheduleWork},
    engine::cluster::NodeReadiness,
    model::{Definition, Spec},
};
use chrono::TimeDelta;
use entity::{fire, idempotency, run, schedule};
use sea_orm::{EntityTrait, PaginatorTrait, QueryOrder};

use crate::{
    engine::{
        editing,
        gate::Gate,
        world::{World, at, ms, noop},
    },
    support::{TestDatabase, on_both},
};

on_both!(
    a_node_whose_clock_is_stepped_claims_nothing_until_it_is_right,
    a_node_whose_clock_is_a_little_off_fires_by_the_databases_time,
    a_claim_by_a_clock_that_is_ahead_finds_nothing_due,
    a_node_whose_clock_is_wrong_does_not_start,
    a_node_whose_clock_is_wrong_takes_no_orders,
    what_ends_on_a_node_whose_clock_is_wrong_has_the_time_of_the_others,
);

/// The world, the clock of the database that leases use, and the node's clock.
async fn two_clocks(database: TestDatabase) -> (World, ManualClock, ManualClock) {
    let start = at("2026-03-01T12:00:00Z");
    let (mut world, database_clock) = World::at(database, start).await;
    let node_clock = ManualClock::new(start);
    world.clock = node_clock.clock();
    (world, database_clock, node_clock)
}

async fn a_node_whose_clock_is_stepped_claims_nothing_until_it_is_right(database: TestDatabase) {
    let (world, database_clock, clock) = two_clocks(database).await;
    let schedule = world.schedule("30 * * * *", noop(), |_| {}).await;
    let engine = world.engine().await;
    let mut rounds = engine.planner_reports();
    let mut beats = engine.pulse_reports();
    rounds.wait_for(|(count, _)| *count > 0).await.unwrap();
    beats.wait_for(|(count, _)| *count > 0).await.unwrap();

    rounds.mark_unchanged();
    clock.set(at("2026-03-01T13:00:00Z"));
    tokio::time::timeout(Duration::from_secs(60), rounds.changed()).await.unwrap().unwrap();
    assert_eq!(rounds.borrow_and_update().1.claimed, 0);
    // The planner may run before the heartbeat that notices the step, and the first heartbeat may
    // have begun before the step.
    let cluster = engine.cluster();
    while cluster.standing(&world.clock) != NodeReadiness::ClockOff(TimeDelta::hours(1)) {
        beats.mark_unchanged();
        for clock in [&database_clock, &clock] {
            clock.advance(world.settings.heartbeat_interval);
        }
        tokio::time::timeout(Duration::from_secs(60), beats.changed()).await.unwrap().unwrap();
    }

    // The heartbeat that finds the clock right again wakes the planner.
    let right = at("2026-03-01T12:00:10Z");
    database_clock.set(right);
    clock.set(right);
    while cluster.standing(&world.clock) != NodeReadiness::Ready {
        beats.mark_unchanged();
        for clock in [&database_clock, &clock] {
            clock.advance(world.settings.heartbeat_interval);
        }
        tokio::time::timeout(Duration::from_secs(60), beats.changed()).await.unwrap().unwrap();
    }
    assert!(world.ledger(schedule.id).await.is_empty());

    for clock in [&database_clock, &clock] {
        clock.set(at("2026-03-01T12:30:00Z"));
    }
    let run = world.settled_run(schedule.id).await;
    assert_eq!(run.scheduled_at.utc(), at("2026-03-01T12:30:00Z"));
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_node_whose_clock_is_a_little_off_fires_by_the_databases_time(database: TestDatabase) {
    let (world, database_clock, clock) = two_clocks(database).await;
    let schedule = world.schedule("* * * * *", noop(), |_| {}).await;
    for (minute, off) in [(1, 4), (2, -4)] {
        let due = at("2026-03-01T12:00:00Z") + TimeDelta::minutes(minute);
        let off = TimeDelta::seconds(off);
        clock.set(database_clock.now() + off);
        // The test executes heartbeats by hand: otherwise one could compare the clocks while only
        // one of them has been set.
        let (node, mut services) = world.by_hand().await;
        // By the node's own clock, the instant is already due, or not due for a while.
        for (now, fired) in [(due - TimeDelta::milliseconds(101), minute - 1), (due, minute)] {
            database_clock.set(now);
            clock.set(now + off);
            for name in ["pulse", "planner"] {
                let service = services.get_mut(name).unwrap();
                service.once(world.clock.now()).await.unwrap();
            }
            let fires = world.ledger(schedule.id).await;
            assert_eq!(i64::try_from(fires.len()), Ok(fired), "{off} off at {now}");
        }
        let fire = world.ledger(schedule.id).await.pop().unwrap();
        assert_eq!((fire.scheduled_at.utc(), fire.claimed_at.utc()), (due, due), "{off} off");
        node.leave().await.unwrap();
    }
}

/// Mutations on such a node would compute cursors from the wrong time.
async fn a_node_whose_clock_is_wrong_takes_no_orders(database: TestDatabase) {
    let (world, _database_clock, clock) = two_clocks(database).await;
    let row = world.schedule("30 * * * *", noop(), |_| {}).await;
    let node = world.step("pulse").await.0;
    let commands = editing::commands(&world).with_cluster(node.cluster());
    let editor = editing::ada().editor().unwrap();
    let new = || NewSchedule {
        namespace: "test".to_owned(),
        spec: Spec { name: "new".to_owned(), ..Spec::of(&row) },
        work: ScheduleWork::Task(Box::new(noop())),
        paused: false,
    };
    let edit = || Edit {
        id: row.id,
        expected_version: row.version,
        apply: Box::new(|spec: &mut Spec| spec.timing.expressions = vec!["0 * * * *".to_owned()]),
        work: None,
        reason: None,
    };
    let key = Call::new("createSchedule", "", Some("key".to_owned())).unwrap();
    let before = rows(&world).await;
    for (step, how) in
        [(TimeDelta::hours(1), "3600 s ahead of"), (-TimeDelta::hours(2), "3600 s behind")]
    {
        clock.set(clock.now() + step);
        let refused = [
            commands.create_schedule(&editor, new(), &Call::once()).await.map(drop),
            commands.create_schedule(&editor, new(), &key).await.map(drop),
            commands.update_schedule(&editor, edit(), &Call::once()).await.map(drop),
            commands.delete_schedule(&editor, row.id, None, None, &Call::once()).await.map(drop),
        ];
        for answer in refused {
            let error = answer.unwrap_err().to_string();
            assert!(error.contains(&format!("the clock of this node is {how} the")), "{error}");
        }
        assert_eq!(rows(&world).await, before);
    }

    clock.set(at("2026-03-01T12:00:00Z"));
    commands.create_schedule(&editor, new(), &key).await.unwrap();
    commands.update_schedule(&editor, edit(), &Call::once()).await.unwrap();
    commands.delete_schedule(&editor, row.id, None, None, &Call::once()).await.unwrap();
}

/// The schedules, and the numbers of fires and of stored calls.
async fn rows(world: &World) -> (Vec<schedule::Model>, u64, u64) {
    let read = world.database.store.read();
    let schedules = schedule::Entity::find().order_by_asc(schedule::Column::Id).all(read).await;
    let fires = fire::Entity::find().count(read).await.unwrap();
    let calls = idempotency::Entity::find().count(read).await.unwrap();
    (schedules.unwrap(), fires, calls)
}

/// A claim compares with the database's clock, whatever the node believes about its own.
async fn a_claim_by_a_clock_that_is_ahead_finds_nothing_due(database: TestDatabase) {
    let (world, _database_clock, _clock) = two_clocks(database).await;
    world.schedule("30 * * * *", noop(), |_| {}).await;
    world.due_now(noop(), |_| {}).await;
    let store = &world.database.store;
    let due = async |now: &str| {
        let tx = store.begin().await.unwrap();
        let due = store.lock_due_schedules(&tx, at(now).into(), None, &[], 10).await.unwrap();
        tx.rollback().await.unwrap();
        due.len()
    };
    assert_eq!(due("2026-03-01T12:00:00.100Z").await, 1);
    assert_eq!(due("2026-03-01T12:00:00.101Z").await, 0);
    assert_eq!(due("2026-03-01T13:00:00Z").await, 0);
}

async fn a_node_whose_clock_is_wrong_does_not_start(database: TestDatabase) {
    let (world, _database_clock, clock) = two_clocks(database).await;
    for (wrong, how) in [("12:00:06", "6 s ahead of"), ("11:00:00", "3600 s behind")] {
        clock.set(at(&format!("2026-03-01T{wrong}Z")));
        let error = world.try_engine().await.unwrap_err().to_string();
        assert!(error.contains(&format!("{how} the database's")), "{error}");
    }
    clock.set(at("2026-03-01T12:00:04Z"));
    world.engine().await.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// The other nodes compare these times with their own clocks. The node itself does so as well, once
/// its clock is right again.
async fn what_ends_on_a_node_whose_clock_is_wrong_has_the_time_of_the_others(
    database: TestDatabase,
) {
    let (world, database_clock, clock) = two_clocks(database).await;
    let mut gate = Gate::open().await;
    let mut flaky = gate.step("flaky", &[]);
    flaky.retry.max_attempts = 3;
    flaky.retry.initial_ms = 60_000;
    flaky.retry.jitter = 0.0;
    let flow = Definition::of(vec![flaky, gate.step("long", &[])]);
    let flow = world.due_now(flow, |_| {}).await;
    let lone = world.due_now(gate.task(), |_| {}).await;
    let engine = world.engine().await;
    let mut arrivals = vec![gate.arrival().await, gate.arrival().await, gate.arrival().await];
    let mut arrived = |name: &str| {
        let place = arrivals.iter().position(|arrival| arrival.key.contains(name)).unwrap();
        arrivals.remove(place)
    };
    let (long, lone_one) = (arrived("-long"), arrived(&lone.id.to_string()));

    // The node's clock is an hour ahead, then an hour behind. A retry that is due in a minute
    // starts a minute later all the same.
    let mut flaky = arrived("-flaky");
    for (step, pause) in [(TimeDelta::hours(1), 60), (TimeDelta::hours(-2), 120)] {
        clock.set(clock.now() + step);
        flaky.answer(503);
        let run = world.until("the run is there", async || world.runs(flow.id).await.pop()).await;
        let ended = world
            .until("the attempt is written", async || {
                let attempts = world.attempts(run.id).await;
                let ended = attempts.into_iter().rfind(|row| row.task == "flaky");
                ended.and_then(|row| row.finished_at)
            })
            .await;
        assert_eq!(ended.utc(), database_clock.now());
        let pause = Duration::from_secs(pause);
        for clock in [&database_clock, &clock] {
            clock.pass(pause - Duration::from_millis(1));
        }
        assert!(!gate.has_more());
        for clock in [&database_clock, &clock] {
            clock.pass(Duration::from_millis(1));
        }
        flaky = gate.arrival().await;
    }
    flaky.answer_with(200, serde_json::json!({}));
    long.answer_with(200, serde_json::json!({}));
    let run = world.settled_run(flow.id).await;
    assert_eq!(run.state, run::State::Succeeded);
    assert_eq!(run.finished_at, Some(ms("2026-03-01T12:03:00Z")));

    // The node shuts down while its clock is still wrong.
    let ends = async {
        let draining = async || {
            let nodes = world.database.store.living_nodes().await.unwrap();
            nodes.iter().any(|member| member.node.draining_at.is_some()).then_some(())
        };
        world.until("the node drains", draining).await;
        lone_one.answer(200);
    };
    let (left, ()) = tokio::join!(engine.shutdown(Duration::from_secs(20)), ends);
    left.unwrap();
    let run = world.settled_run(lone.id).await;
    assert_eq!(run.finished_at, Some(ms("2026-03-01T12:03:00Z")));
}
