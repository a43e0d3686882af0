//! Outputs that are nested too deeply: a run could no longer read them, so they are not stored as
//! they are.

use std::time::Duration;

use carillon::model::{Definition, Task};
use entity::{run, task_run::State};
use serde_json::{Value, json};

use super::{
    flow::{arrivals, only_run, states},
    gate::Gate,
    world::{World, at},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    an_answer_that_nests_deep_leaves_its_run_readable,
    a_run_that_cannot_be_read_any_more_fails_and_says_so,
);

/// The number of nested lists.
fn nested(levels: usize) -> Value {
    (0..levels).fold(json!(1), |inner, _| json!([inner]))
}

/// A run whose task `a` has returned an output, while `flaky` waits a minute for its next attempt.
async fn parked(world: &World, gate: &mut Gate, answer: Value) -> run::Model {
    let mut flaky = gate.step("flaky", &[]);
    flaky.retry.max_attempts = 2;
    flaky.retry.initial_ms = 60_000;
    flaky.retry.jitter = 0.0;
    let answered = Task { name: "a".to_owned(), ..gate.task() };
    let schedule = world.due_now(Definition::of(vec![answered, flaky]), |_| {}).await;
    let mut both = arrivals(gate, 2).await;
    both.remove(1).answer(503);
    both.remove(0).answer_with(200, answer);
    let run = only_run(world, schedule.id).await;
    world.run_is(run.id, run::State::Retrying).await
}

/// JSON is read to 127 levels, and the stored output lies one level deeper.
async fn an_answer_that_nests_deep_leaves_its_run_readable(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let mut gate = Gate::open().await;
    let engine = world.engine().await;
    let run = parked(&world, &mut gate, nested(127)).await;
    let kept = world.attempts(run.id).await.into_iter().find(|row| row.task == "a").unwrap();
    assert_eq!(kept.output.unwrap()["body"], json!(nested(127).to_string()));
    clock.advance(Duration::from_secs(60));
    gate.arrival().await.answer_with(200, json!({ "deep": nested(99) }));
    let run = world.run_is(run.id, run::State::Succeeded).await;
    let kept = world.attempts(run.id).await.into_iter().find(|row| row.attempt == 2).unwrap();
    assert_eq!(kept.output.unwrap()["result"]["deep"], nested(99));

    for levels in [100, 130] {
        let merges = Definition::of(vec![gate.step("a", &[]), gate.step("b", &["a"])]);
        let schedule = world.due_now(merges, |_| {}).await;
        gate.arrival().await.answer_with(200, json!({ "deep": nested(levels) }));
        let run = world.settled_run(schedule.id).await;
        assert_eq!(run.state, run::State::Failed);
        let said = format!("nests {} levels deep; the limit is 100", levels + 1);
        assert!(run.error.as_deref().unwrap().contains(&said), "{:?}", run.error);
        assert_eq!(states(&world, run.id, "a").await, [State::Failed]);
    }
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// The output may have been written by another version of Carillon, or by a person.
async fn a_run_that_cannot_be_read_any_more_fails_and_says_so(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let mut gate = Gate::open().await;
    let engine = world.engine().await;
    let run = parked(&world, &mut gate, json!({})).await;
    let sql = "UPDATE task_run SET output = $1 WHERE run_id = $2 AND task = 'a'";
    world.write(sql, [nested(130).into(), run.id.into()]).await;
    clock.advance(Duration::from_secs(60));
    let run = world.run_is(run.id, run::State::Failed).await;
    let error = run.error.unwrap();
    assert!(error.contains("the progress of the run cannot be read"), "{error}");
    assert!(!gate.has_more());
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}
