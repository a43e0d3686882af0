//! Runs of several tasks.

use std::{collections::HashSet, sync::Arc, time::Duration};

use carillon::{
    model::{Definition, Task, When},
    store::{
        FaultPoint, Faults,
        flows::{FlowStep, RunChange},
        holds::RunLease,
    },
};
use chrono::TimeDelta;
use entity::{run, task_run::State};
use futures::FutureExt;
use serde_json::{Value, json};
use tokio::sync::watch;
use uuid::Uuid;

use super::{
    forge,
    gate::{Arrival, Gate},
    world::{World, at},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    tasks_fan_out_and_join_and_find_the_outputs_of_earlier_ones,
    a_failure_skips_what_needs_success_and_starts_what_answers_to_it,
    a_task_that_waits_for_its_next_attempt_holds_up_no_other,
    what_a_killed_node_had_finished_is_not_done_again,
    a_run_parked_between_attempts_goes_on_in_the_next_life,
    cancelling_a_run_stops_all_its_tasks,
    a_run_that_does_not_end_in_time_is_released_with_its_finished_tasks,
    a_run_over_its_time_limit_is_stopped_and_timed_out,
    a_run_keeps_within_its_own_limit_and_the_nodes_room,
    a_step_by_a_stale_hold_changes_nothing,
    a_run_that_its_node_fails_to_end_is_ended_by_recovery,
    a_result_over_the_limit_fails_its_attempt_and_says_so,
    a_task_that_has_ended_keeps_its_result_however_long_the_database_is_away,
);

/// The states of a task's attempts, in order.
pub(crate) async fn states(world: &World, run: Uuid, task: &str) -> Vec<State> {
    let attempts = world.database.store.attempts_of(run).await.unwrap();
    let numbers = attempts.iter().filter(|row| row.task == task).map(|row| row.attempt);
    let count = i32::try_from(numbers.clone().count()).unwrap();
    assert!(numbers.eq(1..=count), "attempts of {task} have gaps");
    attempts.into_iter().filter(|row| row.task == task).map(|row| row.state).collect()
}

/// The task that a request comes from.
fn from(arrival: &Arrival) -> String {
    arrival.key.rsplit('-').next().unwrap().to_owned()
}

/// The next requests, by the name of their task.
pub(super) async fn arrivals(gate: &mut Gate, count: usize) -> Vec<Arrival> {
    let mut arrivals = Vec::new();
    for _ in 0..count {
        arrivals.push(gate.arrival().await);
    }
    arrivals.sort_by_key(from);
    arrivals
}

fn when(task: Task, when: When) -> Task {
    Task { when, ..task }
}

pub(super) async fn only_run(world: &World, schedule: Uuid) -> run::Model {
    world.until("the run is there", async || world.runs(schedule).await.pop()).await
}

/// Waits until the last attempt of a task is in `state`.
async fn task_is(world: &World, run: Uuid, task: &str, state: State) {
    world
        .until(&format!("{task} is {state:?}"), async || {
            (states(world, run, task).await.last() == Some(&state)).then_some(())
        })
        .await;
}

async fn tasks_fan_out_and_join_and_find_the_outputs_of_earlier_ones(database: TestDatabase) {
    let world = World::new(database).await;
    let mut gate = Gate::open().await;
    let definition = Definition::of(vec![
        gate.step("join", &["left", "right"]),
        gate.step("left", &["start"]),
        gate.step("right", &["start"]),
        gate.step("start", &[]),
    ]);
    let schedule =
        world.due_now(definition, |row| row.context = json!({ "base": 0, "from": "run" })).await;
    let engine = world.engine().await;

    let start = gate.arrival().await;
    assert_eq!((from(&start), start.attempt()), ("start".to_owned(), 1));
    assert_eq!(start.body["context"], json!({ "base": 0, "from": "run" }));
    assert!(!gate.has_more(), "nothing begins before what it needs");
    start.answer_with(200, json!({ "from": "start", "rows": 7 }));

    let mut both = arrivals(&mut gate, 2).await;
    assert_eq!(both.iter().map(from).collect::<Vec<_>>(), ["left", "right"]);
    let context = json!({ "base": 0, "from": "start", "rows": 7 });
    assert!(both.iter().all(|arrival| arrival.body["context"] == context));
    // If both tasks return the same field, the one that comes later in the definition wins,
    // whichever ends first.
    both.remove(1).answer_with(200, json!({ "from": "right", "right": true }));
    let run = only_run(&world, schedule.id).await;
    task_is(&world, run.id, "right", State::Succeeded).await;
    assert!(!gate.has_more(), "a join waits for both");
    both.remove(0).answer_with(200, json!({ "from": "left", "left": true }));

    let join = gate.arrival().await;
    assert_eq!(from(&join), "join");
    assert_eq!(
        join.body["context"],
        json!({ "base": 0, "from": "start", "rows": 7, "left": true, "right": true })
    );
    join.answer_with(200, json!({}));
    let run = world.settled_run(schedule.id).await;
    assert_eq!((run.state, run.error, run.attempt), (run::State::Succeeded, None, 1));
    assert_eq!(run.context, json!({ "base": 0, "from": "run" }), "the run's own stays");
    for task in ["start", "left", "right", "join"] {
        assert_eq!(states(&world, run.id, task).await, [State::Succeeded], "{task}");
    }
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_failure_skips_what_needs_success_and_starts_what_answers_to_it(database: TestDatabase) {
    let world = World::new(database).await;
    let mut gate = Gate::open().await;
    let definition = Definition::of(vec![
        gate.step("load", &[]),
        gate.step("report", &["load"]),
        gate.step("publish", &["report"]),
        when(gate.step("alarm", &["publish"]), When::Failure),
        when(gate.step("tidy", &["publish"]), When::Always),
    ]);
    let schedule = world.due_now(definition, |_| {}).await;
    let engine = world.engine().await;
    gate.arrival().await.answer(500);
    for arrival in arrivals(&mut gate, 2).await {
        assert!(["alarm", "tidy"].contains(&&*from(&arrival)));
        arrival.answer_with(200, json!({}));
    }
    let run = world.settled_run(schedule.id).await;
    assert_eq!(run.state, run::State::Failed, "an alarm that was raised hides no failure");
    assert!(run.error.as_deref().unwrap().starts_with("task 'load': "), "{:?}", run.error);
    assert_eq!(states(&world, run.id, "load").await, [State::Failed]);
    assert_eq!(states(&world, run.id, "report").await, [State::Skipped]);
    assert_eq!(states(&world, run.id, "publish").await, [State::Skipped]);
    assert_eq!(states(&world, run.id, "alarm").await, [State::Succeeded]);
    assert_eq!(states(&world, run.id, "tidy").await, [State::Succeeded]);
    let attempts = world.database.store.attempts_of(run.id).await.unwrap();
    let skipped = attempts.iter().find(|row| row.task == "publish").unwrap();
    assert_eq!(
        skipped.error.as_deref(),
        Some("'report', which it needs, has not succeeded"),
        "what is skipped says why"
    );
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_task_that_waits_for_its_next_attempt_holds_up_no_other(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let mut gate = Gate::open().await;
    let mut flaky = gate.step("flaky", &[]);
    flaky.retry.max_attempts = 2;
    flaky.retry.initial_ms = 60_000;
    flaky.retry.jitter = 0.0;
    let definition = Definition::of(vec![flaky, gate.step("a", &[]), gate.step("b", &["a"])]);
    let schedule = world.due_now(definition, |_| {}).await;
    let engine = world.engine().await;
    let mut first = arrivals(&mut gate, 2).await;
    first.remove(1).answer(503);
    let run = only_run(&world, schedule.id).await;
    task_is(&world, run.id, "flaky", State::Failed).await;
    world.run_is(run.id, run::State::Running).await;
    first.remove(0).answer_with(200, json!({}));
    let second = gate.arrival().await;
    assert_eq!(from(&second), "b");
    second.answer_with(200, json!({}));

    // No task is running any more, so the run gives up its place on the node.
    let run = world.run_is(run.id, run::State::Retrying).await;
    assert_eq!(run.available_at, (clock.now() + TimeDelta::seconds(60)).into());
    clock.advance(Duration::from_millis(59_999));
    assert!(!gate.has_more());
    clock.advance(Duration::from_millis(1));
    let again = gate.arrival().await;
    assert_eq!((from(&again), again.attempt()), ("flaky".to_owned(), 2));
    again.answer_with(200, json!({}));
    let run = world.settled_run(schedule.id).await;
    assert_eq!((run.state, run.attempt, run.max_attempts), (run::State::Succeeded, 2, 2));
    assert_eq!(states(&world, run.id, "flaky").await, [State::Failed, State::Succeeded]);
    assert_eq!(states(&world, run.id, "a").await, [State::Succeeded]);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn what_a_killed_node_had_finished_is_not_done_again(database: TestDatabase) {
    let world = World::new(database).await;
    let mut gate = Gate::open().await;
    let definition = Definition::of(vec![
        gate.step("a", &[]),
        gate.step("b", &["a"]),
        gate.step("c", &["a"]),
        gate.step("d", &["b", "c"]),
    ]);
    let schedule = world.due_now(definition, |_| {}).await;
    let engine = world.engine().await;
    gate.arrival().await.answer_with(200, json!({ "a": 1 }));
    let mut first = arrivals(&mut gate, 2).await;
    first.remove(0).answer_with(200, json!({ "b": 1 }));
    let run = only_run(&world, schedule.id).await;
    task_is(&world, run.id, "b", State::Succeeded).await;
    engine.abandon();

    let engine = world.engine().await;
    let again = gate.arrival().await;
    assert_eq!((from(&again), again.attempt()), ("c".to_owned(), 2));
    assert_eq!(again.key, first[0].key, "the same key over all attempts");
    assert_eq!(
        (&again.body["context"]["a"], &again.body["context"]["b"]),
        (&json!(1), &Value::Null)
    );
    assert_eq!(again.body["context"]["is_recovery"], true);
    again.answer_with(200, json!({ "c": 1 }));
    let last = gate.arrival().await;
    let context = &last.body["context"];
    assert_eq!((&context["a"], &context["b"], &context["c"]), (&json!(1), &json!(1), &json!(1)));
    // The killed node's result arrives after a long time, too late.
    first.remove(0).answer(500);
    last.answer_with(200, json!({}));
    let run = world.settled_run(schedule.id).await;
    assert_eq!((run.state, run.recovery_attempts), (run::State::Succeeded, 1));
    assert_eq!(states(&world, run.id, "a").await, [State::Succeeded]);
    assert_eq!(states(&world, run.id, "b").await, [State::Succeeded]);
    assert_eq!(states(&world, run.id, "c").await, [State::Lost, State::Succeeded]);
    assert_eq!(states(&world, run.id, "d").await, [State::Succeeded]);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_run_parked_between_attempts_goes_on_in_the_next_life(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let mut gate = Gate::open().await;
    let mut second = gate.step("b", &["a"]);
    second.retry.max_attempts = 3;
    second.retry.initial_ms = 60_000;
    second.retry.jitter = 0.0;
    let schedule = world.due_now(Definition::of(vec![gate.step("a", &[]), second]), |_| {}).await;
    let engine = world.engine().await;
    gate.arrival().await.answer_with(200, json!({}));
    gate.arrival().await.answer(500);
    let run = only_run(&world, schedule.id).await;
    world.run_is(run.id, run::State::Retrying).await;
    engine.abandon();
    clock.advance(Duration::from_secs(60));
    let engine = world.engine().await;
    let again = gate.arrival().await;
    assert_eq!((from(&again), again.attempt()), ("b".to_owned(), 2));
    again.answer_with(200, json!({}));
    let run = world.settled_run(schedule.id).await;
    assert_eq!((run.state, run.recovery_attempts), (run::State::Succeeded, 0));
    assert_eq!(states(&world, run.id, "a").await, [State::Succeeded]);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn cancelling_a_run_stops_all_its_tasks(database: TestDatabase) {
    let world = World::new(database).await;
    let mut gate = Gate::open().await;
    let definition = Definition::of(vec![
        gate.step("a", &[]),
        gate.step("b", &[]),
        when(gate.step("after", &["a"]), When::Always),
    ]);
    let schedule = world.due_now(definition, |_| {}).await;
    let engine = world.engine().await;
    let _unanswered = arrivals(&mut gate, 2).await;
    let run = only_run(&world, schedule.id).await;
    let store = &world.database.store;
    let tx = store.begin().await.unwrap();
    let now = world.clock.now().into();
    assert!(store.cancel_if_live(&tx, run.id, "ada", None, now).await.unwrap());
    store.commit(tx).await.unwrap();
    world.signals.wake_canceller();
    let run = world.run_is(run.id, run::State::Cancelled).await;
    assert!(run.finished_at.is_some());
    assert_eq!(states(&world, run.id, "a").await, [State::Cancelled]);
    assert_eq!(states(&world, run.id, "b").await, [State::Cancelled]);
    assert!(states(&world, run.id, "after").await.is_empty());
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
    assert!(!gate.has_more());
}

async fn a_run_that_does_not_end_in_time_is_released_with_its_finished_tasks(
    database: TestDatabase,
) {
    let world = World::new(database).await;
    let mut gate = Gate::open().await;
    let definition =
        Definition::of(vec![gate.step("a", &[]), gate.step("b", &["a"]), gate.step("c", &["b"])]);
    let schedule = world.due_now(definition, |_| {}).await;
    let engine = world.engine().await;
    gate.arrival().await.answer_with(200, json!({ "a": 1 }));
    let _unanswered = gate.arrival().await;
    engine.shutdown(Duration::ZERO).await.unwrap();
    let run = world.runs(schedule.id).await.remove(0);
    assert_eq!(run.state, run::State::Retrying);
    assert_eq!(states(&world, run.id, "b").await, [State::Lost]);

    let engine = world.engine().await;
    let again = gate.arrival().await;
    assert_eq!((from(&again), again.attempt()), ("b".to_owned(), 2));
    assert_eq!(again.body["context"], json!({ "a": 1 }), "what was done is still known");
    again.answer_with(200, json!({}));
    let last = gate.arrival().await;
    assert_eq!(from(&last), "c");
    last.answer_with(200, json!({}));
    let run = world.run_is(run.id, run::State::Succeeded).await;
    assert_eq!((run.recovery_attempts, run.is_recovery), (0, false));
    assert_eq!(states(&world, run.id, "a").await, [State::Succeeded]);
    assert_eq!(states(&world, run.id, "b").await, [State::Lost, State::Succeeded]);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_run_over_its_time_limit_is_stopped_and_timed_out(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let mut gate = Gate::open().await;
    let mut tried = gate.step("main", &[]);
    tried.retry.max_attempts = 10;
    tried.retry.initial_ms = 60_000;
    tried.retry.jitter = 0.0;
    // The time limit of a run also applies if the run has a single task: it covers all attempts.
    let alone = Definition { timeout_ms: Some(90_000), ..Definition::single(tried.clone()) };
    let schedule = world.due_now(alone, |_| {}).await;
    let engine = world.engine().await;
    let first = gate.arrival().await;
    assert!(!first.key.ends_with("-main"), "a lone task has the run's own key");
    first.answer(500);
    let run = only_run(&world, schedule.id).await;
    world.run_is(run.id, run::State::Retrying).await;
    clock.advance(Duration::from_secs(60));
    let _unanswered = gate.arrival().await;
    clock.advance(Duration::from_secs(30));
    let run = world.settled_run(schedule.id).await;
    assert_eq!(run.state, run::State::TimedOut);
    assert!(run.error.as_deref().unwrap().contains("90000 ms"), "{:?}", run.error);
    assert_eq!(states(&world, run.id, "main").await, [State::Failed, State::TimedOut]);

    // The limit includes the time in which the run waits for its next attempt.
    tried.retry.initial_ms = 3_600_000;
    tried.retry.max_ms = 3_600_000;
    let waits = Definition { timeout_ms: Some(90_000), ..Definition::single(tried) };
    let schedule = world.due_now(waits, |_| {}).await;
    gate.arrival().await.answer(500);
    let run = only_run(&world, schedule.id).await;
    let run = world.run_is(run.id, run::State::Retrying).await;
    assert_eq!(run.available_at, (clock.now() + TimeDelta::seconds(90)).into());
    clock.advance(Duration::from_secs(90));
    let run = world.settled_run(schedule.id).await;
    assert_eq!(run.state, run::State::TimedOut);
    assert_eq!(states(&world, run.id, "main").await, [State::Failed]);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_run_keeps_within_its_own_limit_and_the_nodes_room(database: TestDatabase) {
    let mut world = World::new(database).await;
    world.settings.capacity = 2;
    let mut gate = Gate::open().await;
    let steps = |gate: &Gate, count: usize| -> Vec<Task> {
        (0..count).map(|index| gate.step(&format!("t{index}"), &[])).collect()
    };
    let wide = Definition::of(steps(&gate, 5));
    let schedule = world.due_now(wide, |_| {}).await;
    let engine = world.engine().await;
    // With two places, two tasks are running at a time, as long as two are left.
    for round in [2, 2, 1] {
        let mut at_work = Vec::new();
        for _ in 0..round {
            at_work.push(gate.arrival().await);
        }
        assert!(!gate.has_more());
        for arrival in at_work {
            arrival.answer_with(200, json!({}));
        }
    }
    assert_eq!(world.settled_run(schedule.id).await.state, run::State::Succeeded);

    let narrow = Definition { max_parallel: 1, ..Definition::of(steps(&gate, 3)) };
    let schedule = world.due_now(narrow, |_| {}).await;
    for index in 0..3 {
        let arrival = gate.arrival().await;
        assert_eq!(from(&arrival), format!("t{index}"), "in the definition's order");
        assert!(!gate.has_more());
        arrival.answer_with(200, json!({}));
    }
    assert_eq!(world.settled_run(schedule.id).await.state, run::State::Succeeded);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// An outage of the database, which begins when the next log lines are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outage {
    Near,
    On,
    Over,
}

/// The lines of a task are written before its result, so an outage delays both.
async fn a_task_that_has_ended_keeps_its_result_however_long_the_database_is_away(
    database: TestDatabase,
) {
    let (mut world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let outage = Arc::new(watch::Sender::new(Outage::Over));
    let (begins, passes) = (outage.clone(), outage.subscribe());
    let store = world.database.store.clone().with_observer(move |sql| {
        let is_near = *begins.borrow() == Outage::Near;
        if is_near && sql.contains("INSERT INTO task_log") {
            begins.send_replace(Outage::On);
        }
    });
    let edge = move |edge| {
        let mut passes = passes.clone();
        let passed = async move {
            if edge == FaultPoint::Commit {
                passes.wait_for(|outage| *outage != Outage::On).await.unwrap();
            }
            Ok(())
        };
        passed.boxed()
    };
    world.database.store = store.with_faults(Faults::new(edge, || None));
    let mut gate = Gate::open().await;
    let brief = Task { timeout_ms: 60_000, ..gate.step("a", &[]) };
    let definition = Definition::of(vec![brief, gate.step("b", &["a"])]);
    let schedule = world.due_now(definition, |_| {}).await;
    let engine = world.engine().await;
    let first = gate.arrival().await;
    let run = only_run(&world, schedule.id).await;
    world
        .until("it is written that the request is sent", async || {
            let lines = world.database.store.lines_after(run.id, 0, 10).await.unwrap();
            (!lines.is_empty()).then_some(())
        })
        .await;

    outage.send_replace(Outage::Near);
    first.answer_with(200, json!({ "a": 1 }));
    let mut seen = outage.subscribe();
    let is_on = seen.wait_for(|outage| *outage == Outage::On);
    tokio::time::timeout(Duration::from_secs(60), is_on).await.unwrap().unwrap();
    clock.pass(Duration::from_secs(60 + 1) + world.settings.heartbeat_expiry);
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    outage.send_replace(Outage::Over);

    let second = gate.arrival().await;
    assert_eq!((from(&second), &second.body["context"]["a"]), ("b".to_owned(), &json!(1)));
    second.answer_with(200, json!({}));
    let run = world.settled_run(schedule.id).await;
    assert_eq!((run.state, run.error), (run::State::Succeeded, None));
    assert_eq!(states(&world, run.id, "a").await, [State::Succeeded]);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_step_by_a_stale_hold_changes_nothing(database: TestDatabase) {
    let world = World::new(database).await;
    let gate = Gate::open().await;
    let definition = Definition::of(vec![gate.step("main", &[]), gate.step("b", &["main"])]);
    let schedule = forge::idle(&world, definition, |_| {}).await;
    let node = Uuid::from_u128(7);
    let run = forge::orphan(&world, &schedule, |run| {
        (run.attempt, run.epoch, run.node_id) = (2, 3, Some(node));
    })
    .await;
    let held = RunLease { run_id: run.id, attempt: 2, node_id: node, epoch: 3 };
    let step = |(hold, begun): &(RunLease, &str)| {
        let ended = carillon::store::flows::EndedTask {
            task: "main".to_owned(),
            attempt: 2,
            state: State::Succeeded,
            error: None,
            output: None,
            at: world.clock.now().into(),
        };
        FlowStep {
            hold: *hold,
            turn: RunChange::Held { hard_limit: Duration::from_secs(60) },
            ended: vec![ended],
            begun: vec![((*begun).to_owned(), 1)],
            skipped: vec![],
            at: world.clock.now().into(),
        }
    };
    let write = async |steps: &[(RunLease, &str)]| {
        let store = &world.database.store;
        let steps: Vec<FlowStep> = steps.iter().map(step).collect();
        let tx = store.begin().await.unwrap();
        let held = store.step_if_held(&tx, &steps).await.unwrap();
        store.commit(tx).await.unwrap();
        held
    };
    for stale in [
        RunLease { attempt: 1, ..held },
        RunLease { epoch: 2, ..held },
        RunLease { node_id: Uuid::from_u128(8), ..held },
    ] {
        assert!(write(&[(stale, "b")]).await.is_empty(), "{stale:?}");
        assert_eq!(world.runs(schedule.id).await, std::slice::from_ref(&run));
        let attempts = world.database.store.attempts_of(run.id).await.unwrap();
        let states: Vec<_> = attempts.iter().map(|row| (&*row.task, row.state)).collect();
        assert_eq!(states, [("main", State::Running)]);
    }
    // If a node takes its own run again, one batch may contain a step of the hold that was lost. A
    // batch whose commit got no answer is written again.
    let lost = RunLease { attempt: 1, ..held };
    for _ in ["committed", "again"] {
        assert_eq!(write(&[(lost, "c"), (held, "b")]).await, HashSet::from([held]));
        let attempts = world.database.store.attempts_of(run.id).await.unwrap();
        let states: Vec<_> = attempts.iter().map(|row| (&*row.task, row.state)).collect();
        assert_eq!(states, [("b", State::Running), ("main", State::Succeeded)]);
    }
}

/// The other node is alive, but the run on it makes no progress.
async fn a_run_that_its_node_fails_to_end_is_ended_by_recovery(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let mut gate = Gate::open().await;
    let mut stuck = gate.step("main", &[]);
    stuck.timeout_ms = 60_000;
    stuck.retry.max_attempts = 2;
    stuck.retry.initial_ms = 0;
    let mut last = gate.step("b", &["main"]);
    last.timeout_ms = 60_000;
    let definition = Definition::of(vec![stuck, last]);
    let schedule = forge::idle(&world, definition, |_| {}).await;
    let other = forge::node(&world).await;
    let run = forge::orphan(&world, &schedule, |run| {
        run.node_id = Some(other);
        run.hard_deadline_at = Some(run.created_at);
    })
    .await;
    let (node, mut recovery) = world.step("recovery").await;
    assert_eq!(recovery.once(clock.now()).await.unwrap(), None);
    let limit = Duration::from_secs(60 + 1) + world.settings.heartbeat_expiry;
    let moment = Duration::from_millis(1);
    forge::while_it_lives(&world, &clock, other, limit - moment, &mut recovery).await;
    clock.pass(moment);
    let found = recovery.once(clock.now()).await.unwrap().unwrap();
    assert!(found.contains("overruns: 1,"), "{found}");
    node.leave().await.unwrap();

    let engine = world.engine().await;
    let again = gate.arrival().await;
    assert_eq!((from(&again), again.attempt()), ("main".to_owned(), 2));
    again.answer_with(200, json!({}));
    gate.arrival().await.answer_with(200, json!({}));
    let run = world.run_is(run.id, run::State::Succeeded).await;
    assert!(!run.is_recovery);
    assert_eq!(states(&world, run.id, "main").await, [State::TimedOut, State::Succeeded]);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_result_over_the_limit_fails_its_attempt_and_says_so(database: TestDatabase) {
    let world = World::new(database).await;
    let mut gate = Gate::open().await;
    let definition = Definition::of(vec![gate.step("a", &[]), gate.step("b", &["a"])]);
    let schedule = world.due_now(definition, |_| {}).await;
    let engine = world.engine().await;
    let half = "x".repeat(200_000);
    gate.arrival().await.answer_with(200, json!({ "a": half }));
    gate.arrival().await.answer_with(200, json!({ "b": half }));
    let run = world.settled_run(schedule.id).await;
    assert_eq!(run.state, run::State::Failed);
    let error = run.error.unwrap();
    assert!(error.contains("task 'b': ") && error.contains("262144 (256 KiB)"), "{error}");
    assert_eq!(states(&world, run.id, "b").await, [State::Failed]);

    let definition = Definition::of(vec![gate.step("a", &[]), gate.step("b", &["a"])]);
    let schedule = world.due_now(definition, |_| {}).await;
    gate.arrival().await.answer_with(200, json!([1]));
    let run = world.settled_run(schedule.id).await;
    assert!(run.error.as_deref().unwrap().contains("not a JSON object"), "{:?}", run.error);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}
