use std::{fmt::Write, time::Duration};

use anyhow::{Context, Result, ensure};
use carillon::{clock::Clock, store::Store};
use entity::schedule;
use sea_orm::{EntityTrait, PaginatorTrait};
use serde_json::json;
use tokio::task::JoinSet;

use crate::{graphql::Caller, spread::percentile};

/// The kind of schedules that a call creates.
#[derive(Clone, Copy, Debug)]
pub(super) enum Manner {
    One { own_task: bool },
    Many { count: usize, own_task: bool },
}

impl Manner {
    fn each_call(self) -> usize {
        match self {
            Self::One { .. } => 1,
            Self::Many { count, .. } => count,
        }
    }

    /// Number of rows that are written for each schedule.
    pub(super) fn rows_each(self) -> usize {
        match self {
            Self::One { own_task: true } | Self::Many { own_task: true, .. } => 6,
            Self::One { own_task: false } | Self::Many { own_task: false, .. } => 3,
        }
    }
}

/// The result of a measurement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    /// Schedules per second.
    pub(super) rate: f64,
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
    made: usize,
}

const WORKFLOW: &str = "mutation { createWorkflow(input: { name: \"noop\",
    tasks: [{ name: \"main\", target: { noop: {} } }] }) { workflow { id } } }";

/// Creates the workflow that schedules without an inline task run, and warms up connections.
pub(super) async fn prepare(callers: &mut [Caller]) -> Result<()> {
    for (number, caller) in callers.iter_mut().enumerate() {
        if number == 0 {
            caller.ask(WORKFLOW, &json!({})).await?;
        }
        caller.ask("{ me { name } }", &json!({})).await?;
    }
    Ok(())
}

/// Creates schedules with each caller for this long, one call after the other.
#[expect(clippy::cast_precision_loss, reason = "counts of schedules")]
pub(super) async fn run(
    clock: &Clock,
    callers: Vec<Caller>,
    manner: Manner,
    time: Duration,
) -> Result<Load> {
    let mut tasks = JoinSet::new();
    let began = clock.instant();
    for (number, mut caller) in callers.into_iter().enumerate() {
        let clock = clock.clone();
        tasks.spawn(async move {
            let mut took = Vec::new();
            for call in 0.. {
                if began.elapsed() >= time {
                    break;
                }
                let body = body(manner, number, call);
                let sent = clock.instant();
                caller.send(&body).await?;
                took.push(sent.elapsed());
            }
            anyhow::Ok(took)
        });
    }
    let mut took = Vec::new();
    while let Some(some) = tasks.join_next().await {
        took.extend(some??);
    }
    let seconds = began.elapsed().as_secs_f64();
    took.sort_unstable();
    let of = |percent| {
        let time = percentile(&took, percent).context("no call was answered")?;
        anyhow::Ok(time.as_secs_f64() * 1_000.0)
    };
    let made = took.len() * manner.each_call();
    Ok(Load { rate: made as f64 / seconds, p50_ms: of(50)?, p99_ms: of(99)?, made })
}

/// Checks that every schedule that the server acknowledged exists.
pub(super) async fn check(store: &Store, load: Load) -> Result<()> {
    let there = schedule::Entity::find().count(store.read()).await?;
    ensure!(u64::try_from(load.made)? == there, "{there} schedules of {}", load.made);
    Ok(())
}

/// The text of a request. It is formatted by hand, because CPU that the callers use is not
/// available to the server.
fn body(manner: Manner, caller: usize, call: usize) -> String {
    match manner {
        Manner::One { own_task } => {
            let mut text = "{\"query\":\"mutation($input: CreateScheduleInput!) \
                { createSchedule(input: $input) { schedule { id } } }\",\
                \"variables\":{\"input\":"
                .to_owned();
            input(&mut text, &format!("{caller}-{call}"), own_task);
            text.push_str("}}");
            text
        }
        Manner::Many { count, own_task } => {
            let mut text = "{\"query\":\"mutation($inputs: [CreateScheduleInput!]!) \
                { createSchedules(inputs: $inputs) { id } }\",\"variables\":{\"inputs\":["
                .to_owned();
            for number in 0..count {
                if number > 0 {
                    text.push(',');
                }
                input(&mut text, &format!("{caller}-{call}-{number}"), own_task);
            }
            text.push_str("]}}");
            text
        }
    }
}

fn input(text: &mut String, name: &str, own_task: bool) {
    let work = if own_task {
        "\"task\":{\"target\":{\"http\":{\"method\":\"POST\",\"url\":\"https://example.org/hook\"}}}"
    } else {
        "\"workflow\":\"noop\""
    };
    let _ = write!(
        text,
        "{{\"name\":\"bench-{name}\",\"timing\":{{\"expressions\":[\"0 3 * * *\"],\
         \"zone\":\"Europe/Berlin\"}},{work}}}"
    );
}
