//! The lines that attempts print.

use std::{path::Path, time::Duration};

use carillon::{
    model::{Definition, Task},
    target::{CommandTarget, Target},
};
use entity::{
    run,
    task_log::{self, Stream},
};
use sea_orm::EntityTrait;
use tokio::io::AsyncWriteExt;
use uuid::Uuid;

use super::world::{World, task};
use crate::support::{TestDatabase, on_both};

on_both!(
    lines_arrive_while_the_task_still_runs,
    a_settled_run_has_all_its_lines,
    lines_of_two_tasks_side_by_side_do_not_collide,
    a_megabyte_of_short_lines_takes_few_rows,
    a_page_may_begin_and_end_in_the_middle_of_a_row,
    lines_that_the_database_refuses_cost_no_others,
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
            let lines = said(&world, run.id, 10_000).await;
            (lines.len() == 2).then_some(lines)
        })
        .await;
    assert!(lines.contains(&(Stream::Stdout, "one".to_owned())), "{lines:?}");
    assert!(lines.contains(&(Stream::Stderr, "oops".to_owned())), "{lines:?}");
    world.run_is(run.id, run::State::Running).await;

    say(&fifo, "two\n").await;
    world.run_is(run.id, run::State::Succeeded).await;
    let last = said(&world, run.id, 10_000).await.pop().unwrap();
    assert_eq!(last, (Stream::Stdout, "two".to_owned()));
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_settled_run_has_all_its_lines(database: TestDatabase) {
    let world = World::new(database).await;
    let schedule = world.due_now(shell("seq 1 5000"), |_| {}).await;
    let engine = world.engine().await;
    let run = world.settled_run(schedule.id).await;
    let lines = said(&world, run.id, 10_000).await;
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

async fn a_megabyte_of_short_lines_takes_few_rows(database: TestDatabase) {
    let world = World::new(database).await;
    // The beginning of the log is kept up to 786,432 bytes, and the end up to 2,000 lines.
    let schedule = world.due_now(shell("yes x | head -n 600000; echo last"), |_| {}).await;
    let engine = world.engine().await;
    let run = world.settled_run(schedule.id).await;
    let store = &world.database.store;
    let rows = task_log::Entity::find().all(store.read()).await.unwrap();
    // One chunk per 4,096 lines, and some more where the program was slower than the log.
    assert!(rows.len() < 500, "{} rows", rows.len());
    let bytes: usize = rows.iter().map(|row| row.text.len()).sum();
    println!("{} rows with {bytes} bytes of text", rows.len());
    let lines = said(&world, run.id, 1_000_000).await;
    assert_eq!(lines.len(), 393_216 + 2 + 2_000);
    assert_eq!(lines.last().unwrap(), &(Stream::Stdout, "last".to_owned()));
    let mark = "... 204,785 lines (409 kB) left out ...";
    assert_eq!(lines[393_217], (Stream::System, mark.to_owned()));
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_page_may_begin_and_end_in_the_middle_of_a_row(database: TestDatabase) {
    let world = World::new(database).await;
    let script = "seq 1 3000; echo oops >&2; seq 3001 3100";
    let schedule = world.due_now(shell(script), |_| {}).await;
    let engine = world.engine().await;
    let run = world.settled_run(schedule.id).await;
    let store = &world.database.store;
    let all = store.lines_after(run.id, 0, 10_000).await.unwrap();
    assert_eq!(all.len(), 3_101);
    let (mut paged, mut after) = (Vec::new(), i64::MIN);
    loop {
        let page = store.lines_after(run.id, after, 77).await.unwrap();
        let Some(last) = page.last() else { break };
        after = last.seq;
        paged.extend(page);
    }
    assert_eq!(paged, all);
    assert!(all.is_sorted_by_key(|line| line.seq));
    assert!(all.iter().all(|line| line.lines.is_none()));
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// While the writer retries the first refused lines, the others wait in its queue, so that they
/// form one batch with the later refused ones.
async fn lines_that_the_database_refuses_cost_no_others(database: TestDatabase) {
    const LINES_OF_A_ROW: usize = 4_096;
    let world = World::new(database).await;
    world.refuse("INSERT ON task_log", "NEW.text LIKE '%poison%'").await;
    let script = "echo poison; seq 1 30000; echo poison; seq 30001 60000";
    let schedule = world.due_now(shell(script), |_| {}).await;
    let engine = world.engine().await;
    let run = world.settled_run(schedule.id).await;
    assert_eq!(run.state, run::State::Succeeded);
    let lines = said(&world, run.id, 100_000).await;
    assert!(lines.iter().all(|(_, text)| text != "poison"));
    assert!(lines.len() > 60_000 - 2 * LINES_OF_A_ROW, "{} lines", lines.len());
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

fn shell(script: &str) -> Task {
    task(Target::Command(CommandTarget {
        script: Some(script.to_owned()),
        ..CommandTarget::default()
    }))
}

async fn said(world: &World, run: Uuid, most: u64) -> Vec<(Stream, String)> {
    let lines = world.database.store.lines_after(run, 0, most).await.unwrap();
    lines.into_iter().map(|line| (line.stream, line.text)).collect()
}

async fn say(fifo: &Path, text: &str) {
    let mut options = tokio::fs::OpenOptions::new();
    let open = options.write(true).open(fifo);
    let mut writer = tokio::time::timeout(Duration::from_secs(60), open).await.unwrap().unwrap();
    writer.write_all(text.as_bytes()).await.unwrap();
    writer.flush().await.unwrap();
}
