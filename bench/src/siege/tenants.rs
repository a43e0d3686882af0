use std::time::Duration;

use anyhow::{Context, Result, ensure};
use carillon::clock::Clock;
use serde_json::{Value, json};

use super::{camp::Camp, texts};
use crate::{
    graphql::Caller,
    receiver::{HANG, Receiver},
};

/// Number of schedules that one request creates.
const TOGETHER: usize = 100;
/// Number of schedules on the largest page.
const PAGE: usize = 200;
/// Number of runs whose target does not answer.
const HANGING: usize = 900;
/// A number of schedules that is larger than any quota under attack.
const MAX_CROWD: usize = 5_000;

/// Creates as many schedules as a page has, with a timing that causes warnings.
pub(super) async fn page(camp: &Camp) -> Result<()> {
    let mut editor = camp.editor().await?;
    let timing = "30 2 29 2 *";
    create(&mut editor, &texts::schedules(PAGE, "page", timing, &noop())).await?;
    Ok(())
}

/// Creates schedules that fire every second until the namespace's quota refuses more, and then lets
/// them fire. Returns their number.
pub(super) async fn crowd(camp: &Camp, clock: &Clock, time: Duration) -> Result<usize> {
    let start = clock.instant();
    let mut editor = camp.editor().await?;
    let all = texts::schedules(MAX_CROWD, "crowd", "* * * * * *", &noop());
    let mut made = 0;
    for some in all.chunks(TOGETHER) {
        let refusal = match create(&mut editor, some).await {
            Ok(()) => {
                made += some.len();
                continue;
            }
            Err(error) => format!("{error:#}"),
        };
        ensure!(refusal.contains("QUOTA_EXCEEDED"), "{refusal}");
        clock.sleep(time.saturating_sub(start.elapsed())).await;
        return Ok(made);
    }
    anyhow::bail!("no quota refused {MAX_CROWD} schedules that fire every second")
}

/// Starts 900 runs at once whose target accepts the request and does not answer. Returns their
/// number.
pub(super) async fn hanging(camp: &Camp, clock: &Clock, time: Duration) -> Result<usize> {
    let start = clock.instant();
    // The receiver's port makes it a different origin from the receiver of the other namespace.
    let target = Receiver::start(clock).await?;
    let url = format!("{}{}", target.url().trim_end_matches('/'), HANG);
    let mut editor = camp.editor().await?;
    let all = texts::schedules(HANGING, "hanging", "@manually", &json!({ "http": { "url": url } }));
    for some in all.chunks(TOGETHER) {
        create(&mut editor, some).await?;
    }
    let trigger = "mutation($namespace: String!) {
        triggerSchedules(which: { namespace: $namespace, search: \"tag:hanging\" }) { done } }";
    let started = editor.ask(trigger, &json!({ "namespace": "attackers" })).await?;
    let done = started["triggerSchedules"]["done"].as_u64().context("how many were started")?;
    ensure!(usize::try_from(done)? == HANGING, "{done} of {HANGING} runs were started");
    clock.sleep(time.saturating_sub(start.elapsed())).await;
    Ok(HANGING)
}

fn noop() -> Value {
    json!({ "noop": {} })
}

async fn create(caller: &mut Caller, inputs: &[Value]) -> Result<()> {
    let create = "mutation($inputs: [CreateScheduleInput!]!) {
        createSchedules(inputs: $inputs) { id } }";
    caller.ask(create, &json!({ "inputs": inputs })).await.context("create schedules")?;
    Ok(())
}
