//! A namespace that has one of each object with a key.

use carillon::store::namespaces;
use entity::{
    Timestamp, alert,
    fire::{Reason, Verdict},
    run, task_log, task_run,
};
use sea_orm::{
    ActiveModelTrait, ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter,
    sea_query::Expr,
};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    desk::{CREATE, Desk, noon},
    ledger::{plant, planted_fire},
};

/// A value that is easy to recognise in contexts, outputs, errors and logs.
pub(super) const PAYLOAD: &str = "4111-passes-through";

/// Creates the objects. Returns their keys, each with a word that occurs in the name of every field
/// for such a key; if several words fit a field, the first one counts.
pub(super) async fn one_of_each(desk: &Desk, namespace: &str) -> Vec<(&'static str, String)> {
    let schedule = json!({
        "namespace": namespace,
        "name": "nightly",
        "timing": { "expressions": ["0 2 * * *"] },
        "task": { "target": { "noop": {} } },
    });
    let made = desk.ask(CREATE, json!({ "input": schedule })).await;
    let schedule = made["createSchedule"]["schedule"]["id"].as_str().unwrap().to_owned();
    let run = run_of(desk, &schedule).await;
    let skip = "mutation ($id: UUID!) { skipNext(id: $id, reason: \"x\") { skippedAt } }";
    desk.ask(skip, json!({ "id": schedule })).await;
    let fires = "query ($id: UUID!) { fires(scheduleId: $id) { nodes { id } } }";
    let fires = desk.ask(fires, json!({ "id": schedule })).await;
    let fire = fires["fires"]["nodes"][0]["id"].as_str().unwrap().to_owned();
    let home = namespaces::by_name(desk.database.store.read(), namespace).await.unwrap().unwrap();
    let lost = planted_fire(&schedule, home.id, 5, (Verdict::Missed, Reason::Outage));
    plant(desk, [lost]).await;
    let problems = "query ($in: String!) { problems(namespace: $in) { id } }";
    let problems = desk.ask(problems, json!({ "in": namespace })).await;
    let problem = problems["problems"][0]["id"].as_str().unwrap().to_owned();
    let made: Value = desk
        .ask(
            "mutation ($in: String!, $id: UUID!) {
                createCalendar(input: { namespace: $in, name: \"holidays\", mode: EXCLUDE }) {
                    calendar { id } }
                createConcurrencyGroup(input: { namespace: $in, name: \"g\", maxRuns: 1 }) {
                    group { id } }
                createWorkflow(input: {
                    namespace: $in, name: \"w\", tasks: [{ name: \"main\", target: { noop: {} } }]
                }) { workflow { id } }
                createBackfill(
                    scheduleId: $id, from: \"2026-02-01T00:00:00Z\", to: \"2026-02-02T00:00:00Z\",
                    reason: \"walk\", context: { card: \"4111-passes-through\" }
                ) { backfill { id } }
                planMaintenance(input: {
                    namespace: $in, title: \"walk\",
                    startsAt: \"2026-03-05T00:00:00Z\", endsAt: \"2026-03-05T01:00:00Z\"
                }) { window { id } }
            }",
            json!({ "in": namespace, "id": schedule }),
        )
        .await;
    let of = |path: &str| made.pointer(path).unwrap().as_str().unwrap().to_owned();
    let mut keys = alerts_in(desk, namespace).await;
    keys.extend([
        ("calendar", of("/createCalendar/calendar/id")),
        ("concurrencygroup", of("/createConcurrencyGroup/group/id")),
        ("workflow", of("/createWorkflow/workflow/id")),
        ("backfill", of("/createBackfill/backfill/id")),
        ("maintenance", of("/planMaintenance/window/id")),
        ("schedule", schedule.clone()),
        ("buffer", schedule.clone()),
        ("skipnext", schedule.clone()),
        ("resumepreview", schedule.clone()),
        ("pausepreview", schedule.clone()),
        ("node", schedule.clone()),
        ("subject", schedule),
        ("run", run),
        ("fire", fire),
        ("problem", problem),
    ]);
    keys
}

/// A run of the schedule that failed with a long log, after an earlier run with a context.
async fn run_of(desk: &Desk, schedule: &str) -> String {
    let edit = "mutation ($id: UUID!, $context: JSON!) {
        updateSchedule(input: { id: $id, expectedVersion: 1, context: $context }) { schedule { id } } }";
    let context = json!({ "card": PAYLOAD });
    desk.ask(edit, json!({ "id": schedule, "context": context })).await;
    let run = desk.trigger(schedule).await;
    let (id, at): (Uuid, _) = (run.parse().unwrap(), Timestamp::from(noon()));
    let attempt = task_run::Model {
        run_id: id,
        task: "main".to_owned(),
        attempt: 1,
        state: task_run::State::Succeeded,
        node_id: Uuid::from_u128(1),
        started_at: at,
        finished_at: Some(at),
        error: Some(format!("exit code 1: {PAYLOAD}")),
        output: Some(json!({ "result": { "card": PAYLOAD } })),
    };
    let line = task_log::Model {
        run_id: id,
        seq: 1,
        task: "main".to_owned(),
        attempt: 1,
        at,
        stream: task_log::Stream::Stderr,
        text: PAYLOAD.to_owned(),
        lines: None,
    };
    let tx = desk.database.store.begin().await.unwrap();
    attempt.into_active_model().insert(&tx).await.unwrap();
    line.into_active_model().insert(&tx).await.unwrap();
    let error = Expr::value(format!("exit code 1: {PAYLOAD}"));
    let ended = run::Entity::update_many().col_expr(run::Column::Error, error);
    ended.filter(run::Column::Id.eq(id)).exec(&tx).await.unwrap();
    desk.database.store.commit(tx).await.unwrap();
    run
}

/// A rule, an alert that it recorded, and a message with its channel.
async fn alerts_in(desk: &Desk, namespace: &str) -> Vec<(&'static str, String)> {
    let made = desk
        .ask(
            "mutation ($namespace: String!) { createAlertChannel(input: {
                namespace: $namespace,
                name: \"hook\", kind: WEBHOOK, url: \"https://hooks.example/\"
            }) { channel { id } } }",
            json!({ "namespace": namespace }),
        )
        .await;
    let channel = made["createAlertChannel"]["channel"]["id"].as_str().unwrap().to_owned();
    let made = desk
        .ask(
            "mutation ($namespace: String!, $channel: UUID!) {
                createAlertRule(input: {
                    namespace: $namespace, name: \"all\", on: [FAILED], channelIds: [$channel]
                }) { rule { id } }
                testAlertChannel(id: $channel) { notification { id } }
            }",
            json!({ "namespace": namespace, "channel": channel }),
        )
        .await;
    let of = |path: &str| made.pointer(path).unwrap().as_str().unwrap().to_owned();
    let rule = of("/createAlertRule/rule/id");
    let home = namespaces::by_name(desk.database.store.read(), namespace).await.unwrap().unwrap();
    let at = Timestamp::from(noon());
    let row = alert::Model {
        id: Uuid::now_v7(),
        namespace_id: home.id,
        rule_id: rule.parse().unwrap(),
        kind: alert::Kind::Failed,
        occurrence: "failed:walk".to_owned(),
        schedule_id: None,
        subject: "nightly".to_owned(),
        run_id: None,
        fire_id: None,
        detail: Some(format!("exit code 1: {PAYLOAD}")),
        count: 1,
        began_at: at,
        last_at: at,
        ended_at: None,
        tell_at: None,
        told_at: None,
        acknowledged_at: None,
        acknowledged_by: None,
        acknowledged_note: None,
        acknowledged_until: None,
        withdrawn_at: None,
        changed: 0,
    };
    let tx = desk.database.store.begin().await.unwrap();
    let row = row.into_active_model().insert(&tx).await.unwrap();
    // Followers see it after everything that was written before.
    let dialect = desk.database.store.dialect();
    let stamp = format!("UPDATE alert SET changed = {} WHERE id = $1", dialect.stamp("alert"));
    tx.execute_raw(dialect.statement(stamp, [row.id.into()])).await.unwrap();
    desk.database.store.commit(tx).await.unwrap();
    vec![
        ("channel", channel),
        ("rule", rule),
        ("alert", row.id.to_string()),
        ("notification", of("/testAlertChannel/notification/id")),
    ]
}
