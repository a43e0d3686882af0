//! Subscriptions to fires, alerts and backfills.

use std::collections::{BTreeMap, HashSet};

use carillon::store::{
    Cursor,
    alerts::notes::{self, AlertUpdate, EndedAlert},
    backfills::EndedFire,
    reads::fire_feed::FirePosition,
};
use entity::{
    Timestamp, alert, backfill_fire,
    fire::{self, Reason, Verdict},
    user::Role,
};
use futures::{StreamExt, stream::BoxStream};
use sea_orm::{ConnectionTrait, EntityTrait};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    desk::{Desk, noon},
    ledger::{plant, planted_fire},
    walk::Walk,
    walking::{member_of, namespace},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_follower_of_fires_that_goes_and_comes_back_misses_nothing_and_sees_nothing_twice,
    a_follower_of_fires_gets_only_the_verdicts_that_it_wants,
    a_follower_sees_what_is_decided_after_the_newest_fire_was_removed,
    a_follower_of_alerts_that_goes_and_comes_back_misses_nothing_and_sees_nothing_twice,
    a_follower_of_backfills_sees_each_of_their_changes,
    a_member_of_another_namespace_follows_nothing_of_this_one,
);

const FIRES: &str = "subscription($since: String, $verdicts: [Verdict!]) {
    fireEvents(since: $since, verdicts: $verdicts) {
        cursor fire { id verdict reason { code } run { id state } } } }";
const ALERTS: &str = "subscription($since: String) { alertEvents(since: $since) {
    cursor alertId alert { count endedAt acknowledgedBy } } }";
const BACKFILLS: &str = "subscription($since: String, $id: UUID) {
    backfillEvents(since: $since, backfillId: $id) {
        cursor backfill { id state progress { pending skipped cancelled } } } }";
const SKIP: &str = "mutation($id: UUID!) { skipNext(id: $id, reason: \"x\") { skippedAt } }";

type Events = BoxStream<'static, async_graphql::Response>;

/// The next event of a subscription with this field.
async fn next(events: &mut Events, field: &str) -> Value {
    let response = events.next().await.unwrap();
    assert!(response.errors.is_empty(), "{:?}", response.errors);
    response.data.into_json().unwrap()[field].take()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Follows until `is_done`, and leaves every few events, to come back with the last cursor.
async fn follow_with_breaks(
    desk: &Desk,
    (query, field): (&str, &str),
    start: String,
    mut is_done: impl FnMut(&Value) -> bool,
) {
    let (mut since, mut seen, mut random) = (start, HashSet::new(), 42_u32);
    loop {
        let mut events = desk.subscribe(query, json!({ "since": since }));
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        for _ in 0..1 + (random >> 16) % 7 {
            let event = next(&mut events, field).await;
            since = text(&event["cursor"]);
            assert!(seen.insert(since.clone()), "seen twice: {event}");
            if is_done(&event) {
                return;
            }
        }
    }
}

/// Gives a run that was started by hand a fire, and cancels it.
async fn cancelled_run_of_a_fire(desk: &Desk, schedule: &str, minutes: i64) {
    let store = &desk.database.store;
    let run = desk.trigger(schedule).await;
    let home = namespace(desk, "default").await;
    let outcome = (Verdict::Started, Reason::OnTime);
    let mut fire = planted_fire(schedule, home, minutes, outcome);
    fire.run_id = Some(run.parse().unwrap());
    let values = [fire.id.into(), fire.scheduled_at.0.into(), fire.run_id.into()];
    plant(desk, [fire]).await;
    let link = "UPDATE run SET fire_id = $1, scheduled_at = $2 WHERE id = $3";
    let tx = store.begin().await.unwrap();
    tx.execute_raw(store.dialect().statement(link, values)).await.unwrap();
    store.commit(tx).await.unwrap();
    let cancel = "mutation($id: UUID!) { cancelRun(id: $id) { run { id } } }";
    desk.ask(cancel, json!({ "id": run })).await;
}

async fn a_follower_of_fires_that_goes_and_comes_back_misses_nothing_and_sees_nothing_twice(
    database: TestDatabase,
) {
    const SKIPPED: usize = 40;
    const RAN: usize = 20;
    let desk = Desk::open(database).await;
    let schedule = desk.schedule("tick", "@daily").await;
    let skipping = async {
        for _ in 0..SKIPPED {
            desk.ask(SKIP, json!({ "id": schedule })).await;
        }
    };
    let running = async {
        for minutes in (1..).take(RAN) {
            cancelled_run_of_a_fire(&desk, &schedule, minutes).await;
        }
    };
    let mut last: BTreeMap<String, Value> = BTreeMap::new();
    let following = follow_with_breaks(
        &desk,
        (FIRES, "fireEvents"),
        FirePosition::START.to_string(),
        |event| {
            let fire = &event["fire"];
            last.insert(text(&fire["id"]), fire.clone());
            let count = |verdict: &str| {
                let settled =
                    |fire: &&Value| fire["verdict"] == verdict && fire["run"]["state"] != "QUEUED";
                last.values().filter(settled).count()
            };
            count("SKIPPED") == SKIPPED && count("STARTED") == RAN
        },
    );
    tokio::join!(skipping, running, following);
    let rows = fire::Entity::find().all(desk.database.store.read()).await.unwrap();
    assert_eq!((rows.len(), last.len()), (SKIPPED + RAN, SKIPPED + RAN));
    for row in rows {
        let seen = &last[&row.id.to_string()];
        assert_eq!(seen["run"].is_null(), row.run_id.is_none(), "{seen}");
        if row.run_id.is_some() {
            assert_eq!(seen["run"]["state"], "CANCELLED");
        }
    }
}

async fn a_follower_of_fires_gets_only_the_verdicts_that_it_wants(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let schedule = desk.schedule("tick", "@daily").await;
    let start = FirePosition::START.to_string();
    desk.ask(SKIP, json!({ "id": schedule })).await;
    cancelled_run_of_a_fire(&desk, &schedule, 5).await;
    for (wanted, code) in [("STARTED", "ON_TIME"), ("SKIPPED", "BY_REQUEST")] {
        let variables = json!({ "since": start, "verdicts": [wanted, wanted] });
        let event = next(&mut desk.subscribe(FIRES, variables), "fireEvents").await;
        assert_eq!(event["fire"]["verdict"], wanted);
        assert_eq!(event["fire"]["reason"]["code"], code);
    }
    // A cursor of another feed is refused.
    let other = json!({ "since": Cursor::START.to_string() });
    let answer = desk.subscribe(FIRES, other).next().await.unwrap();
    let error = serde_json::to_value(&answer.errors[0]).unwrap();
    assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{error}");
}

/// On SQLite, stamps are counted from the greatest one in the table.
async fn a_follower_sees_what_is_decided_after_the_newest_fire_was_removed(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let schedule = desk.schedule("tick", "@daily").await;
    let mut since = FirePosition::START.to_string();
    for _ in 0..3 {
        for _ in 0..2 {
            desk.ask(SKIP, json!({ "id": schedule })).await;
            let mut events = desk.subscribe(FIRES, json!({ "since": since }));
            let event = next(&mut events, "fireEvents").await;
            since = text(&event["cursor"]);
        }
        let store = &desk.database.store;
        let tx = store.begin().await.unwrap();
        tx.execute_unprepared("DELETE FROM fire").await.unwrap();
        store.commit(tx).await.unwrap();
    }
}

/// A rule that waits a minute before it reports an alert; returns its key.
async fn patient_rule(desk: &Desk) -> Uuid {
    let channel = "mutation { createAlertChannel(input: {
        name: \"hook\", kind: WEBHOOK, url: \"https://hooks.example/\" }) { channel { id } } }";
    let channel = desk.ask(channel, json!({})).await;
    let rule = "mutation($channel: UUID!) { createAlertRule(input: {
        name: \"all\", on: [FAILED], channelIds: [$channel] }) { rule { id } } }";
    let channel = &channel["createAlertChannel"]["channel"]["id"];
    let made = desk.ask(rule, json!({ "channel": channel })).await;
    made["createAlertRule"]["rule"]["id"].as_str().unwrap().parse().unwrap()
}

async fn a_follower_of_alerts_that_goes_and_comes_back_misses_nothing_and_sees_nothing_twice(
    database: TestDatabase,
) {
    const ALERTS_MADE: i64 = 40;
    let desk = Desk::open(database).await;
    let (rule, home) = (patient_rule(&desk).await, namespace(&desk, "default").await);
    let (at, store) = (Timestamp::from(noon()), &desk.database.store);
    let begun = |number: i64| alert::Model {
        id: Uuid::now_v7(),
        namespace_id: home,
        rule_id: rule,
        kind: alert::Kind::Failed,
        occurrence: format!("failed:{number}"),
        schedule_id: None,
        subject: "nightly".to_owned(),
        run_id: None,
        fire_id: None,
        detail: None,
        count: 1,
        began_at: at,
        last_at: at,
        ended_at: None,
        tell_at: Some(Timestamp(at.0 + 60_000)),
        told_at: None,
        acknowledged_at: None,
        acknowledged_by: None,
        acknowledged_note: None,
        acknowledged_until: None,
        withdrawn_at: None,
        changed: 0,
    };
    // The kinds of changes: an alert goes on, ends, is withdrawn, is acknowledged.
    let writing = async {
        for number in 0..ALERTS_MADE {
            let row = begun(number);
            let id = row.id;
            let tx = store.begin().await.unwrap();
            notes::add_new(store, &tx, vec![row]).await.unwrap();
            store.commit(tx).await.unwrap();
            let tx = store.begin().await.unwrap();
            match number % 4 {
                0 => {
                    let going =
                        AlertUpdate { id, last_at: at, count: 7, run_id: None, detail: None };
                    notes::go_on(store, &tx, &[going]).await.unwrap();
                }
                1 => {
                    let ended_at = Timestamp(at.0 + 90_000);
                    let over = EndedAlert { id, ended_at, tell_at: None };
                    notes::end(store, &tx, &[over]).await.unwrap();
                }
                2 => {
                    let over = EndedAlert { id, ended_at: at, tell_at: None };
                    notes::end(store, &tx, &[over]).await.unwrap();
                }
                _ => {
                    tx.rollback().await.unwrap();
                    let acknowledge =
                        "mutation($id: UUID!) { acknowledgeAlert(id: $id) { alert { id } } }";
                    desk.ask(acknowledge, json!({ "id": id })).await;
                    continue;
                }
            }
            store.commit(tx).await.unwrap();
        }
    };
    let mut last: BTreeMap<String, Value> = BTreeMap::new();
    let following =
        follow_with_breaks(&desk, (ALERTS, "alertEvents"), Cursor::START.to_string(), |event| {
            last.insert(text(&event["alertId"]), event["alert"].clone());
            let count = |is: &dyn Fn(&Value) -> bool| last.values().filter(|it| is(it)).count();
            let each = 10;
            count(&|alert| alert["count"] == 7) == each
                && count(&|alert| alert["endedAt"].is_string()) == each
                && count(&|alert| alert.is_null()) == each
                && count(&|alert| alert["acknowledgedBy"].is_string()) == each
        });
    tokio::join!(writing, following);
    // What was withdrawn is in no list, and its event may be recorded again.
    let listed = desk.ask("{ alerts { totalCount } }", json!({})).await;
    assert_eq!(listed["alerts"]["totalCount"], 30);
    let tx = store.begin().await.unwrap();
    notes::add_new(store, &tx, vec![begun(2), begun(3)]).await.unwrap();
    store.commit(tx).await.unwrap();
    let listed = desk.ask("{ alerts { totalCount } }", json!({})).await;
    assert_eq!(listed["alerts"]["totalCount"], 31);
}

async fn a_follower_of_backfills_sees_each_of_their_changes(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let schedule = desk.schedule("tick", "@hourly").await;
    let create = "mutation($id: UUID!) { createBackfill(
        scheduleId: $id, from: \"2026-02-01T00:00:00Z\", to: \"2026-02-01T03:00:00Z\",
        reason: \"late data\") { backfill { id } } }";
    let mut since = Cursor::START.to_string();
    let made = desk.ask(create, json!({ "id": schedule })).await;
    let id = text(&made["createBackfill"]["backfill"]["id"]);
    // Each step is followed by a subscription of its own, which continues after the last event.
    let order = async |name: &str| {
        let query = format!("mutation($id: UUID!) {{ {name}(id: $id) {{ backfill {{ id }} }} }}");
        desk.ask(&query, json!({ "id": id })).await;
    };
    for (step, state, [pending, skipped, cancelled]) in [
        ("", "RUNNING", [3, 0, 0]),
        ("pauseBackfill", "PAUSED", [3, 0, 0]),
        ("end a fire", "PAUSED", [2, 1, 0]),
        ("resumeBackfill", "RUNNING", [2, 1, 0]),
        ("cancelBackfill", "CANCELLED", [0, 1, 2]),
    ] {
        match step {
            "" => {}
            "end a fire" => {
                let store = &desk.database.store;
                let tx = store.begin().await.unwrap();
                let key: Uuid = id.parse().unwrap();
                store.lock_backfill(&tx, key).await.unwrap();
                let ended = EndedFire {
                    position: 0,
                    state: backfill_fire::State::Skipped,
                    detail: None,
                    at: noon().into(),
                };
                store.end_fires(&tx, key, &[ended]).await.unwrap();
                store.commit(tx).await.unwrap();
            }
            name => order(name).await,
        }
        let variables = json!({ "since": since, "id": id });
        let event = next(&mut desk.subscribe(BACKFILLS, variables), "backfillEvents").await;
        since = text(&event["cursor"]);
        assert_eq!(event["backfill"]["state"], state, "{step}");
        let progress = json!({ "pending": pending, "skipped": skipped, "cancelled": cancelled });
        assert_eq!(event["backfill"]["progress"], progress, "{step}");
    }
    // Another backfill is none of this follower's business.
    let mut own = desk.subscribe(BACKFILLS, json!({ "since": since, "id": id }));
    let mut all = desk.subscribe(BACKFILLS, json!({ "since": since }));
    desk.ask(create, json!({ "id": schedule })).await;
    tokio::select! {
        biased;
        event = own.next() => panic!("{event:?}"),
        event = next(&mut all, "backfillEvents") => assert_ne!(event["backfill"]["id"], json!(id)),
    }
}

async fn a_member_of_another_namespace_follows_nothing_of_this_one(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let theirs = Walk::begin(&desk).await;
    theirs.beside(&desk, "other").await;
    let stranger = member_of(namespace(&desk, "other").await, Role::Viewer);
    let (row, fire) = (Cursor::START.to_string(), FirePosition::START.to_string());
    for (field, node, start) in [
        ("fireEvents", "fire", &fire),
        ("alertEvents", "alert", &row),
        ("backfillEvents", "backfill", &row),
    ] {
        let follow = |namespace: &str| {
            let query = format!(
                "subscription {{ {field}(namespace: {namespace}, since: \"{start}\") {{ \
                   {node} {{ namespace }} }} }}"
            );
            let request = async_graphql::Request::new(query).data(stranger.clone());
            desk.schema.execute_stream(request)
        };
        // Those of the other namespace were written first, so they would come first.
        let first = follow("null").next().await.unwrap();
        assert!(first.errors.is_empty(), "{field}: {:?}", first.errors);
        let first = first.data.into_json().unwrap();
        assert_eq!(first[field][node]["namespace"], "other", "{field}");
        let refused = follow("\"default\"").next().await.unwrap();
        let error = serde_json::to_value(&refused.errors[0]).unwrap();
        assert_eq!(error["extensions"]["code"], "NOT_FOUND", "{field}: {error}");
    }
}
