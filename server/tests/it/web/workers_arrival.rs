//! Jobs whose handover is lost on the way to the worker, and the workers that may report on a job.

use reqwest::StatusCode;
use serde_json::json;

use super::workers::{Desk, of, task};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_job_that_did_not_arrive_is_handed_over_once_more,
    a_job_that_never_arrived_returns_to_its_queue_when_the_worker_leaves,
    only_the_jobs_own_worker_may_report_on_it,
    a_stopped_job_can_only_fail,
);

async fn a_job_that_did_not_arrive_is_handed_over_once_more(database: TestDatabase) {
    let desk = Desk::open(&database);
    let worker = desk.worker("mailer", 2).await;
    let run = desk.run("nightly", task(json!({}))).await;
    let job = desk.job(&worker).await;
    // The worker does not name the job, so the answer that handed it over was lost.
    let poll = async |has: serde_json::Value| {
        let ask = json!({ "workerId": worker, "free": 1, "waitSeconds": 0, "jobs": has });
        desk.ok("poll", ask).await["jobs"].clone()
    };
    assert_eq!(poll(json!([job["id"]])).await, json!([]), "it knows of it");
    let again = poll(json!([])).await;
    assert_eq!((&again[0]["id"], &again[0]["token"]), (&job["id"], &job["token"]), "{again}");
    assert_eq!(poll(json!([])).await, json!([]), "once more, and no third time");
    desk.ok("complete", of(&worker, &job, json!({ "output": {} }))).await;
    let ended = desk.ended(&run).await;
    assert_eq!((&ended["state"], &ended["attempt"]), (&json!("SUCCEEDED"), &json!(1)), "{ended}");
}

async fn a_job_that_never_arrived_returns_to_its_queue_when_the_worker_leaves(
    database: TestDatabase,
) {
    let desk = Desk::open(&database);
    let leaving = desk.worker("leaving", 2).await;
    let runs = [
        desk.run("begun", task(json!({}))).await,
        desk.run("lost-on-its-way", task(json!({}))).await,
    ];
    let begun = desk.job(&leaving).await;
    let lost = desk.job(&leaving).await;
    desk.ok("leave", json!({ "workerId": leaving, "jobs": [begun["id"]] })).await;
    let other = desk.worker("other", 2).await;
    let again = desk.job(&other).await;
    assert_eq!((&again["id"], &again["run"]["attempt"]), (&lost["id"], &json!(1)), "{again}");
    assert_ne!(again["token"], lost["token"]);
    desk.ok("complete", of(&other, &again, json!({}))).await;
    let of_run = |job: &serde_json::Value| runs.iter().position(|run| *run == job["run"]["id"]);
    let (begun, again) = (of_run(&begun).unwrap(), of_run(&again).unwrap());
    let ended = desk.ended(&runs[again]).await;
    assert_eq!((&ended["state"], &ended["attempt"]), (&json!("SUCCEEDED"), &json!(1)), "{ended}");
    // All jobs that the worker held are lost.
    let ended = desk.ended(&runs[begun]).await;
    assert_eq!(ended["state"], "FAILED", "{ended}");
}

async fn only_the_jobs_own_worker_may_report_on_it(database: TestDatabase) {
    let desk = Desk::open(&database);
    let worker = desk.worker("mailer", 1).await;
    let other = desk.worker("other", 1).await;
    let run = desk.run("nightly", task(json!({}))).await;
    let job = desk.job(&worker).await;
    let lines = json!({ "lines": [{ "text": "forged" }] });
    for (word, said) in [
        ("complete", json!({ "output": {} })),
        ("fail", json!({ "message": "forged" })),
        ("log", lines),
        ("extend", json!({ "seconds": 10 })),
    ] {
        let (status, answer) = desk.word(word, of(&other, &job, said)).await;
        assert_eq!(status, StatusCode::CONFLICT, "{word}: {answer}");
    }
    let named = json!([{ "id": job["id"], "token": job["token"] }]);
    let beat = desk.ok("heartbeat", json!({ "workerId": other, "jobs": named })).await;
    assert_eq!(beat["lost"][0], job["id"], "{beat}");
    desk.ok("complete", of(&worker, &job, json!({}))).await;
    assert_eq!(desk.ended(&run).await["state"], "SUCCEEDED");
}

async fn a_stopped_job_can_only_fail(database: TestDatabase) {
    let desk = Desk::open(&database);
    let worker = desk.worker("mailer", 1).await;
    let run = desk.run("nightly", task(json!({}))).await;
    let job = desk.job(&worker).await;
    let cancel = "mutation ($id: UUID!) { cancelRun(id: $id) { run { id } } }";
    desk.graphql(cancel, json!({ "id": run })).await;
    let ask = json!({ "workerId": worker, "free": 0, "waitSeconds": 20 });
    let polled = desk.ok("poll", ask).await;
    assert_eq!(polled["stop"][0], job["id"], "{polled}");
    let (status, _) = desk.word("complete", of(&worker, &job, json!({}))).await;
    assert_eq!(status, StatusCode::CONFLICT);
    // The report ends the job at once, before the grace is over.
    desk.ok("fail", of(&worker, &job, json!({ "message": "stopped" }))).await;
    assert_eq!(desk.ended(&run).await["state"], "CANCELLED");
}
