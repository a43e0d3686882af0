//! The lines that attempts print.

use std::{path::Path, time::Duration};

use carillon::{
    engine::{Definition, Task},
    target::{Command, Target},
};
use entity::{run, task_log::Stream};
use tokio::io::AsyncWriteExt;
use uuid::Uuid;

use super::world::{World, task};
use crate::support::{TestDatabase, on_both};

on_both!(
    lines_arrive_while_the_task_still_runs,
    a_settled_run_has_all_its_lines,
    lines_of_two_tasks_side_by_side_do_not_collide,
);

async fn lines_arrive_while_the_task_still_runs(database: TestDatabase) {
    let world = World::new(database).await;
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo");
    let script = format!("mkfifo {0}; echo one; echo oops >&2; cat {0}", fifo.display());
    let schedule = world.due_now(shell(&script), |_| {}).await;
    let engine = world.engine().await;
    let run = world.until("the run is there", async || world.runs(schedule.id).await.pop()).await;
    let lines = world
        .until("two lines are there", async || {
            let lines = said(&world, run.id).await;
            (lines.len() == 2).then_some(lines)
        })
        .await;
    assert!(lines.contains(&(Stream::Stdout, "one".to_owned())), "{lines:?}");
    assert!(lines.contains(&(Stream::Stderr, "oops".to_owned())), "{lines:?}");
    world.run_is(run.id, run::State::Running).await;

    say(&fifo, "two\n").await;
    world.run_is(run.id, run::State::Succeeded).await;
    let last = said(&world, run.id).await.pop().unwrap();
    assert_eq!(last, (Stream::Stdout, "two".to_owned()));
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_settled_run_has_all_its_lines(database: TestDatabase) {
    let world = World::new(database).await;
    let schedule = world.due_now(shell("seq 1 5000"), |_| {}).await;
    let engine = world.engine().await;
    let run = world.settled_run(schedule.id).await;
    let lines = said(&world, run.id).await;
    let expected = (1..=5000).map(|number| (Stream::Stdout, number.to_string()));
    assert_eq!(lines, expected.collect::<Vec<_>>());
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn lines_of_two_tasks_side_by_side_do_not_collide(database: TestDatabase) {
    let world = World::new(database).await;
    let mut left = shell("seq 1 2000");
    left.name = "left".to_owned();
    let right = Task { name: "right".to_owned(), ..left.clone() };
    let schedule = world.due_now(Definition::of(vec![left, right]), |_| {}).await;
    let engine = world.engine().await;
    let run = world.settled_run(schedule.id).await;
    let lines = world.database.store.lines_after(run.id, 0, 10_000).await.unwrap();
    assert_eq!(lines.len(), 4_000);
    for task in ["left", "right"] {
        let own = lines.iter().filter(|line| line.task == task).map(|line| line.text.clone());
        assert!(own.eq((1..=2_000).map(|number| number.to_string())), "{task}");
    }
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

fn shell(script: &str) -> Task {
    task(Target::Command(Command { script: Some(script.to_owned()), ..Command::default() }))
}

async fn said(world: &World, run: Uuid) -> Vec<(Stream, String)> {
    let lines = world.database.store.lines_after(run, 0, 10_000).await.unwrap();
    lines.into_iter().map(|line| (line.stream, line.text)).collect()
}

async fn say(fifo: &Path, text: &str) {
    let mut options = tokio::fs::OpenOptions::new();
    let open = options.write(true).open(fifo);
    let mut writer = tokio::time::timeout(Duration::from_secs(60), open).await.unwrap().unwrap();
    writer.write_all(text.as_bytes()).await.unwrap();
    writer.flush().await.unwrap();
}
