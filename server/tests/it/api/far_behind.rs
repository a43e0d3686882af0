//! A month without a claim, before a deployment that ends a schedule's timing or a resume.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use carillon::target::Policy;
use chrono::{DateTime, TimeDelta, Utc};
use entity::{
    fire::{self, Verdict},
    schedule,
};
use sea_orm::EntityTrait;
use serde_json::json;

use super::desk::{Desk, noon};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_deployment_accounts_step_by_step_for_what_is_far_behind,
    a_resume_of_many_transactions_can_be_repeated,
);

const DEPLOY: &str = "mutation($source: String!, $dryRun: Boolean! = false) {
    deployModule(source: $source, dryRun: $dryRun) { changes { action kind name } } }";

/// Fires every second, except for five minutes of each quarter of an hour: a month of them is
/// thousands of ranges.
fn source(when: &str, more: &str) -> String {
    let quarter = |index: u32| {
        let (hour, minute) = (index / 4, index % 4 * 15);
        format!("{{ from: \"{hour:02}:{minute:02}\", to: \"{hour:02}:{:02}\" }}", minute + 5)
    };
    let windows: Vec<String> = (0..96).map(quarter).collect();
    format!(
        "module: demo\ncalendars:\n  breaks: {{ mode: exclude, windows: [{}] }}\nschedules:\n  \
         every: {{ when: \"{when}\", calendars: [breaks], task: {{ target: {{ noop: {{}} }} }} }}\n{more}",
        windows.join(", ")
    )
}

async fn ledger(desk: &Desk) -> Vec<fire::Model> {
    let mut rows = fire::Entity::find().all(desk.database.store.read()).await.unwrap();
    rows.sort_by_key(|row| row.scheduled_at);
    rows
}

async fn cursor(desk: &Desk) -> DateTime<Utc> {
    let row = schedule::Entity::find().one(desk.database.store.read()).await.unwrap().unwrap();
    row.next_scheduled_at.unwrap().utc()
}

async fn a_deployment_accounts_step_by_step_for_what_is_far_behind(database: TestDatabase) {
    let written = Arc::new(AtomicUsize::new(0));
    let counted = written.clone();
    let desk = Desk::with(database, Policy::default(), |store| {
        store.with_observer(move |sql| {
            if sql.contains("INSERT INTO fire") {
                counted.fetch_add(1, Ordering::Relaxed);
            }
        })
    })
    .await;
    desk.ask(DEPLOY, json!({ "source": source("* * * * * *", "") })).await;
    let (begin, now) = (noon(), noon() + TimeDelta::days(30));
    desk.clock.set(now);

    // A dry run reports the same changes, and writes almost nothing that would be rolled back.
    let gone = json!({ "source": "module: demo", "dryRun": true });
    let told = desk.ask(DEPLOY, gone).await;
    assert_eq!(told["deployModule"]["changes"][0]["action"], "DELETE");
    assert!(written.load(Ordering::Relaxed) <= 4, "{written:?} statements");
    assert_eq!(cursor(&desk).await, begin + TimeDelta::seconds(1));
    assert!(ledger(&desk).await.is_empty());

    // A refused deployment leaves the timing alone. Instants before the catch-up window were
    // accounted for in earlier transactions, so the deployment's own transaction only had to write
    // one day.
    let broken = "  broken: { when: \"@daily\", workflow: missing }\n";
    desk.refused(DEPLOY, json!({ "source": source("*/2 * * * * *", broken) })).await;
    let accounted = cursor(&desk).await;
    let window = now - TimeDelta::days(1);
    assert!(window - TimeDelta::days(6) < accounted && accounted <= window, "{accounted}");
    let rows = ledger(&desk).await;
    assert!(rows.len() > 4_000, "{} rows", rows.len());
    assert!(rows.iter().all(|row| row.verdict != Verdict::Pending));

    desk.ask(DEPLOY, json!({ "source": source("*/2 * * * * *", "") })).await;
    assert_eq!(cursor(&desk).await, now + TimeDelta::seconds(2));
    let instants: i64 = ledger(&desk).await.iter().map(|row| row.count).sum();
    assert_eq!(instants, TimeDelta::days(30).num_seconds());
}

async fn a_resume_of_many_transactions_can_be_repeated(database: TestDatabase) {
    let desk = Desk::open(database).await;
    desk.ask(DEPLOY, json!({ "source": source("* * * * * *", "") })).await;
    let row = schedule::Entity::find().one(desk.database.store.read()).await.unwrap().unwrap();
    let pause =
        "mutation($id: UUID!) { pauseSchedule(id: $id, reason: \"x\") { schedule { id } } }";
    desk.ask(pause, json!({ "id": row.id })).await;
    desk.clock.set(noon() + TimeDelta::days(30));
    let resume = "mutation($id: UUID!) {
        resumeSchedule(id: $id, missed: SKIP, idempotencyKey: \"once\") { schedule { state } } }";
    for _ in 0..2 {
        let answer = desk.ask(resume, json!({ "id": row.id })).await;
        assert_eq!(answer["resumeSchedule"]["schedule"]["state"], "ACTIVE");
    }
    assert!(ledger(&desk).await.len() > 2_000, "one transaction writes about a thousand");
}
