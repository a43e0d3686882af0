//! Jobs whose node is killed while a worker works on them.

use reqwest::StatusCode;
use serde_json::json;

use super::workers::{Desk, of, task};
use crate::support::{Server, TestDatabase, on_both};

on_both!(a_job_whose_node_was_killed_is_done_again_and_its_worker_is_too_late);

async fn a_job_whose_node_was_killed_is_done_again_and_its_worker_is_too_late(
    database: TestDatabase,
) {
    let desk = Desk::open(&database);
    let worker = desk.worker("mailer", 1).await;
    // The task permits only one attempt: a takeover by recovery does not count as a failure.
    let run = desk.run("nightly", task(json!({}))).await;
    let job = desk.job(&worker).await;
    let Desk { server, token } = desk;
    // SIGKILL ends the node before it can settle or release anything.
    drop(server);

    let desk = Desk { server: Server::start(&database), token };
    // The worker was alive throughout, and its lease has not expired.
    desk.ok("heartbeat", json!({ "workerId": worker })).await;
    let other = desk.worker("other", 1).await;
    let again = desk.job(&other).await;
    assert_eq!((&again["run"]["id"], &again["run"]["attempt"]), (&run, &json!(2)), "{again}");
    assert_eq!(again["run"]["idempotencyKey"], job["run"]["idempotencyKey"]);
    assert_ne!((&again["id"], &again["token"]), (&job["id"], &job["token"]));

    let named = json!([{ "id": job["id"], "token": job["token"] }]);
    let beat = desk.ok("heartbeat", json!({ "workerId": worker, "jobs": named })).await;
    assert_eq!(beat["lost"], json!([job["id"]]), "{beat}");
    let late = of(&worker, &job, json!({ "output": { "by": "the first" } }));
    let (status, answer) = desk.word("complete", late).await;
    assert_eq!((status, &answer["error"]["code"]), (StatusCode::CONFLICT, &json!("STALE")));
    desk.ok("complete", of(&other, &again, json!({ "output": { "by": "the second" } }))).await;
    let ended = desk.ended(&run).await;
    assert_eq!((&ended["state"], &ended["attempt"]), (&json!("SUCCEEDED"), &json!(2)), "{ended}");
    let output = &ended["tasks"][0]["attempts"][1]["output"];
    assert_eq!(output["result"]["by"], "the second", "{ended}");
}
