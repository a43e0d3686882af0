//! Maintenance windows: planned, previewed, listed, changed and cancelled.

use carillon::store::maintenance;
use entity::{maintenance_window, schedule, user::Role};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, UpdateMany, sea_query::Expr};
use serde_json::{Value, json};
use uuid::Uuid;

use super::desk::Desk;
use crate::support::{TestDatabase, on_both};

on_both!(
    a_window_is_planned_changed_and_cancelled,
    a_window_that_cannot_be_is_refused_at_its_field,
    a_repeated_plan_plans_nothing_twice,
    a_namespace_has_a_limit_of_windows,
    what_a_window_would_hold_is_shown_before,
    what_is_ahead_begins_with_the_soonest_and_what_was_with_the_latest,
    no_forecast_promises_what_a_window_will_hold,
    a_pause_names_its_window_until_a_person_takes_it_over,
);

const WINDOW: &str = "window { id namespace title ticket search startsAt endsAt missed state
    plannedBy plannedAt cancelledBy cancelledAt cancelReason scheduleCount }";

pub(super) fn input(title: &str, from: &str, to: &str) -> Value {
    json!({ "title": title, "startsAt": from, "endsAt": to })
}

fn tomorrow() -> Value {
    input("Upgrade", "2026-03-02T12:00:00Z", "2026-03-02T14:00:00Z")
}

pub(super) async fn plan(desk: &Desk, input: &Value) -> Value {
    let query = format!(
        "mutation($input: MaintenanceInput!) {{ planMaintenance(input: $input) {{ {WINDOW} }} }}"
    );
    desk.ask(&query, json!({ "input": input })).await["planMaintenance"]["window"].take()
}

/// Marks a schedule for a window, as the engine would.
pub(super) async fn mark(desk: &Desk, schedule: &str, window: &Value) {
    let row = row(desk, window).await;
    let marked = schedule::Entity::update_many()
        .col_expr(schedule::Column::PauseFrom, Expr::value(row.starts_at))
        .col_expr(schedule::Column::PauseWindowId, Expr::value(row.id));
    write(desk, schedule, marked).await;
}

/// Pauses a schedule for a window, as the engine would.
pub(super) async fn hold(desk: &Desk, schedule: &str, window: &Value) {
    let row = row(desk, window).await;
    let paused = schedule::Entity::update_many()
        .col_expr(schedule::Column::Enabled, Expr::value(false))
        .col_expr(schedule::Column::PausedReason, Expr::value("Maintenance: Upgrade"))
        .col_expr(schedule::Column::PausedBy, Expr::value(row.planned_by))
        .col_expr(schedule::Column::PausedAt, Expr::value(row.starts_at))
        .col_expr(schedule::Column::PausedUntil, Expr::value(row.ends_at))
        .col_expr(schedule::Column::PausedWindowId, Expr::value(row.id));
    write(desk, schedule, paused).await;
}

async fn row(desk: &Desk, window: &Value) -> maintenance_window::Model {
    let id: Uuid = window["id"].as_str().unwrap().parse().unwrap();
    maintenance::by_id(desk.database.store.read(), id).await.unwrap().unwrap()
}

async fn write(desk: &Desk, schedule: &str, change: UpdateMany<schedule::Entity>) {
    let (store, id): (_, Uuid) = (&desk.database.store, schedule.parse().unwrap());
    let tx = store.begin().await.unwrap();
    change.filter(schedule::Column::Id.eq(id)).exec(&tx).await.unwrap();
    store.commit(tx).await.unwrap();
}

async fn a_window_is_planned_changed_and_cancelled(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let mut wanted = tomorrow();
    wanted["ticket"] = "https://tickets.example/7".into();
    wanted["search"] = " tag:db ".into();
    wanted["missed"] = "LATEST".into();
    let planned = plan(&desk, &wanted).await;
    let id = planned["id"].clone();
    assert_eq!(
        planned,
        json!({
            "id": id, "namespace": "default", "title": "Upgrade",
            "ticket": "https://tickets.example/7", "search": "tag:db",
            "startsAt": "2026-03-02T12:00:00Z", "endsAt": "2026-03-02T14:00:00Z",
            "missed": "LATEST", "state": "PLANNED", "plannedBy": "ada",
            "plannedAt": "2026-03-01T12:00:00Z", "cancelledBy": null, "cancelledAt": null,
            "cancelReason": null, "scheduleCount": 0,
        })
    );
    let change = format!(
        "mutation($id: UUID!, $input: MaintenanceInput!) {{
            changeMaintenance(id: $id, input: $input, reason: \"later\") {{ {WINDOW} }} }}"
    );
    let later = input("Upgrade", "2026-03-03T12:00:00Z", "2026-03-03T14:00:00Z");
    let changed = desk.ask(&change, json!({ "id": id, "input": later })).await;
    let changed = &changed["changeMaintenance"]["window"];
    assert_eq!(changed["startsAt"], "2026-03-03T12:00:00Z");
    assert_eq!((&changed["search"], &changed["missed"]), (&Value::Null, &json!("SKIP")));
    let found = "query($id: UUID!) { maintenanceWindow(id: $id) { state } }";
    let found = desk.ask(found, json!({ "id": id })).await;
    assert_eq!(found["maintenanceWindow"]["state"], "PLANNED");

    let cancel = format!(
        "mutation($id: UUID!, $reason: String!) {{
            cancelMaintenance(id: $id, reason: $reason) {{ {WINDOW} }} }}"
    );
    let error = desk.refused(&cancel, json!({ "id": id, "reason": " " })).await;
    assert_eq!(error["extensions"]["field"], "reason", "{error}");
    let cancelled = desk.ask(&cancel, json!({ "id": id, "reason": "postponed" })).await;
    let cancelled = &cancelled["cancelMaintenance"]["window"];
    assert_eq!(cancelled["state"], "CANCELLED");
    assert_eq!(cancelled["cancelledBy"], "ada");
    assert_eq!(cancelled["cancelReason"], "postponed");
    for (query, variables) in [
        (&cancel, json!({ "id": id, "reason": "again" })),
        (&change, json!({ "id": id, "input": later })),
    ] {
        let error = desk.refused(query, variables).await;
        assert_eq!(error["extensions"]["code"], "CONFLICT", "{error}");
    }
    for action in ["maintenance.plan", "maintenance.change", "maintenance.cancel"] {
        assert_eq!(desk.audited(action).await, 1, "{action}");
    }
    let query = "mutation($input: MaintenanceInput!) {
        planMaintenance(input: $input) { window { id } } }";
    let error = desk.refused_as(Some(Role::Viewer), query, json!({ "input": tomorrow() })).await;
    assert_eq!(error["extensions"]["code"], "FORBIDDEN");
}

async fn a_window_that_cannot_be_is_refused_at_its_field(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let plan = "mutation($input: MaintenanceInput!) {
        planMaintenance(input: $input) { window { id } } }";
    let preview = "query($input: MaintenanceInput!) {
        maintenancePreview(input: $input) { scheduleCount } }";
    for (field, value) in [
        ("title", json!("")),
        ("title", json!("x".repeat(101))),
        ("ticket", json!("x".repeat(201))),
        ("search", json!("tag:")),
        ("endsAt", json!("2026-03-01T12:00:00Z")),
        ("endsAt", json!("2026-03-02T12:00:00Z")),
        ("endsAt", json!("2026-04-02T12:00:01Z")),
    ] {
        let mut wanted = tomorrow();
        wanted[field] = value;
        for query in [plan, preview] {
            let error = desk.refused(query, json!({ "input": wanted })).await;
            assert_eq!(error["extensions"]["field"], field, "{error}");
        }
    }
    assert_eq!(desk.audited("maintenance.plan").await, 0);
}

async fn a_repeated_plan_plans_nothing_twice(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let query = "mutation($input: MaintenanceInput!) {
        planMaintenance(input: $input, idempotencyKey: \"k\") { window { id } } }";
    let variables = json!({ "input": tomorrow() });
    let first = desk.ask(query, variables.clone()).await;
    assert_eq!(desk.ask(query, variables).await, first);
    let listed = desk.ask("{ maintenanceWindows { totalCount } }", json!({})).await;
    assert_eq!(listed["maintenanceWindows"]["totalCount"], 1);
}

async fn a_namespace_has_a_limit_of_windows(database: TestDatabase) {
    let desk = Desk::open(database).await;
    for _ in 0..99 {
        plan(&desk, &tomorrow()).await;
    }
    let last = plan(&desk, &tomorrow()).await;
    let query = "mutation($input: MaintenanceInput!) {
        planMaintenance(input: $input) { window { id } } }";
    let error = desk.refused(query, json!({ "input": tomorrow() })).await;
    assert_eq!(error["extensions"]["code"], "CONFLICT", "{error}");
    let cancel = "mutation($id: UUID!) {
        cancelMaintenance(id: $id, reason: \"too many\") { window { id } } }";
    desk.ask(cancel, json!({ "id": last["id"] })).await;
    plan(&desk, &tomorrow()).await;
}

async fn what_a_window_would_hold_is_shown_before(database: TestDatabase) {
    let desk = Desk::open(database).await;
    desk.schedule("hourly", "0 * * * *").await;
    desk.schedule("half-hourly", "*/30 * * * *").await;
    let paused = desk.schedule("resting", "0 * * * *").await;
    let pause =
        "mutation($id: UUID!) { pauseSchedule(id: $id, reason: \"x\") { schedule { id } } }";
    desk.ask(pause, json!({ "id": paused })).await;
    let other = plan(&desk, &tomorrow()).await;
    let later = input("Later", "2026-03-02T14:00:00Z", "2026-03-02T15:00:00Z");
    plan(&desk, &later).await;
    let query =
        "query($input: MaintenanceInput!, $id: UUID) { maintenancePreview(input: $input, id: $id) {
        scheduleCount alreadyPaused sample { name } fireCount isFireCountComplete
        overlapping { id } } }";
    let wanted = input("New", "2026-03-02T13:00:00Z", "2026-03-02T14:00:00Z");
    let seen = desk.ask(query, json!({ "input": wanted })).await;
    let all = [
        json!({ "name": "half-hourly" }),
        json!({ "name": "hourly" }),
        json!({ "name": "resting" }),
    ];
    assert_eq!(
        seen["maintenancePreview"],
        json!({
            "scheduleCount": 3, "alreadyPaused": 1, "sample": all,
            "fireCount": 3, "isFireCountComplete": true, "overlapping": [{ "id": other["id"] }],
        })
    );
    let mut some = wanted.clone();
    some["search"] = "half".into();
    let seen = desk.ask(query, json!({ "input": some, "id": other["id"] })).await;
    let seen = &seen["maintenancePreview"];
    assert_eq!((&seen["scheduleCount"], &seen["fireCount"]), (&json!(1), &json!(2)));
    assert_eq!(seen["overlapping"], json!([]));
}

async fn what_is_ahead_begins_with_the_soonest_and_what_was_with_the_latest(
    database: TestDatabase,
) {
    let desk = Desk::open(database).await;
    for day in [3, 5, 4] {
        let (from, to) = (format!("2026-03-0{day}T12:00:00Z"), format!("2026-03-0{day}T14:00:00Z"));
        plan(&desk, &input(&format!("on {day}"), &from, &to)).await;
    }
    let titles = async |arguments: &str| {
        let query = format!(
            "{{ maintenanceWindows({arguments}) {{ nodes {{ title }} pageInfo {{ endCursor hasNextPage }} }} }}"
        );
        let page = desk.ask(&query, json!({})).await["maintenanceWindows"].take();
        let nodes = page["nodes"].as_array().unwrap().iter();
        let titles: Vec<String> =
            nodes.map(|node| node["title"].as_str().unwrap().to_owned()).collect();
        (titles, page["pageInfo"]["endCursor"].as_str().unwrap_or_default().to_owned())
    };
    let ahead = "states: [PLANNED, ACTIVE]";
    assert_eq!(titles(ahead).await.0, ["on 3", "on 4", "on 5"]);
    assert_eq!(titles("first: 9").await.0, ["on 5", "on 4", "on 3"]);
    let (first, cursor) = titles(&format!("{ahead}, first: 2")).await;
    assert_eq!(first, ["on 3", "on 4"]);
    let rest = titles(&format!("{ahead}, first: 2, after: \"{cursor}\"")).await.0;
    assert_eq!(rest, ["on 5"]);
    let (first, cursor) = titles("first: 1").await;
    assert_eq!(first, ["on 5"]);
    assert_eq!(titles(&format!("after: \"{cursor}\"")).await.0, ["on 4", "on 3"]);
    let between = "from: \"2026-03-03T14:00:00Z\", to: \"2026-03-05T12:00:00Z\"";
    assert_eq!(titles(between).await.0, ["on 4"]);
    assert!(titles("states: [ENDED]").await.0.is_empty());
}

async fn no_forecast_promises_what_a_window_will_hold(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("hourly", "0 * * * *").await;
    let window =
        plan(&desk, &input("Upgrade", "2026-03-01T13:00:00Z", "2026-03-01T15:00:00Z")).await;
    mark(&desk, &id, &window).await;
    let query = "query($id: UUID!) {
        schedule(id: $id) { nextFireAt nextFires(count: 3) { at suppressedBy }
            plannedPause { from until missed window { id scheduleCount } } }
        upcoming(hours: 4) { fires { at } hours { fires } }
        upcomingByMinute(minutes: 200) { starts }
        overview { upcoming(first: 2) { at } } }";
    let seen = desk.ask(query, json!({ "id": id })).await;
    let schedule = &seen["schedule"];
    assert_eq!(schedule["nextFireAt"], "2026-03-01T15:00:00Z");
    let held = "Maintenance: Upgrade";
    assert_eq!(
        schedule["nextFires"],
        json!([
            { "at": "2026-03-01T13:00:00Z", "suppressedBy": held },
            { "at": "2026-03-01T14:00:00Z", "suppressedBy": held },
            { "at": "2026-03-01T15:00:00Z", "suppressedBy": null },
        ])
    );
    assert_eq!(
        schedule["plannedPause"],
        json!({
            "from": "2026-03-01T13:00:00Z", "until": "2026-03-01T15:00:00Z", "missed": "SKIP",
            "window": { "id": window["id"], "scheduleCount": 1 },
        })
    );
    assert_eq!(seen["upcoming"]["fires"], json!([{ "at": "2026-03-01T15:00:00Z" }]));
    let starts = seen["upcomingByMinute"]["starts"].as_array().unwrap();
    assert_eq!(starts.iter().position(|starts| starts == 1), Some(180));
    assert_eq!(
        seen["overview"]["upcoming"],
        json!([{ "at": "2026-03-01T15:00:00Z" }, { "at": "2026-03-01T16:00:00Z" }])
    );
}

async fn a_pause_names_its_window_until_a_person_takes_it_over(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("hourly", "0 * * * *").await;
    let window = plan(&desk, &tomorrow()).await;
    hold(&desk, &id, &window).await;
    let shown = "query($id: UUID!) { schedule(id: $id) { pause { window { id } } } }";
    let seen = desk.ask(shown, json!({ "id": id })).await;
    assert_eq!(seen["schedule"]["pause"]["window"]["id"], window["id"]);
    let pause = "mutation($id: UUID!) {
        pauseSchedule(id: $id, reason: \"mine\") { schedule { pause { window { id } } } } }";
    let paused = desk.ask(pause, json!({ "id": id })).await;
    assert_eq!(paused["pauseSchedule"]["schedule"]["pause"]["window"], Value::Null);
}
