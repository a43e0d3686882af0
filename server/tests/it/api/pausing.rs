use entity::{fire, schedule};
use sea_orm::{ConnectionTrait, EntityTrait};
use serde_json::{Value, json};

use super::desk::Desk;
use crate::support::{TestDatabase, on_both};

on_both!(
    a_pause_is_shown_and_creates_no_version,
    instants_of_a_pause_are_accounted_for_when_it_ends,
    an_edit_during_a_pause_accounts_for_the_old_timing,
    a_pause_waits_for_the_hand_off_under_way,
);

const PAUSE: &str = "mutation($id: UUID!, $reason: String!, $until: DateTime) {
    pauseSchedule(id: $id, reason: $reason, until: $until) {
        schedule { state version nextFireAt pause { reason by at until } } } }";
const RESUME: &str = "mutation($id: UUID!) { resumeSchedule(id: $id) {
    schedule { state version nextFireAt pause { reason } } } }";

async fn a_pause_is_shown_and_creates_no_version(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("tick", "* * * * *").await;
    let until = "2026-03-01T18:00:00Z";
    let answer =
        desk.ask(PAUSE, json!({ "id": id, "reason": " disk full ", "until": until })).await;
    assert_eq!(
        answer["pauseSchedule"]["schedule"],
        json!({
            "state": "PAUSED", "version": 1, "nextFireAt": null,
            "pause": { "reason": "disk full", "by": "ada", "at": "2026-03-01T12:00:00Z", "until": until },
        })
    );
    // The cursor stays where it was.
    let row = schedule::Entity::find().one(desk.database.store.read()).await.unwrap().unwrap();
    assert_eq!(row.next_scheduled_at.unwrap().utc().to_rfc3339(), "2026-03-01T12:01:00+00:00");
    for (field, variables) in [
        ("reason", json!({ "id": id, "reason": " " })),
        ("until", json!({ "id": id, "reason": "x", "until": "2026-03-01T12:00:00Z" })),
    ] {
        let error = desk.refused(PAUSE, variables).await;
        assert_eq!(error["extensions"]["field"], field, "{error}");
    }
}

async fn instants_of_a_pause_are_accounted_for_when_it_ends(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("tick", "* * * * *").await;
    desk.ask(PAUSE, json!({ "id": id, "reason": "lunch" })).await;
    desk.clock.set("2026-03-01T12:03:30Z".parse().unwrap());
    let answer = desk.ask(RESUME, json!({ "id": id })).await;
    assert_eq!(
        answer["resumeSchedule"]["schedule"],
        json!({ "state": "ACTIVE", "version": 1, "nextFireAt": "2026-03-01T12:04:00Z", "pause": null })
    );
    let query = "query($id: UUID!) { fires(scheduleId: $id) { nodes {
        scheduledAt local offset verdict count reason { code text } } } }";
    let answer = desk.ask(query, json!({ "id": id })).await;
    let fires = answer["fires"]["nodes"].as_array().unwrap();
    let counted: i64 = fires.iter().map(|fire| fire["count"].as_i64().unwrap()).sum();
    assert_eq!(counted, 3, "{fires:#?}");
    for fire in fires {
        assert_eq!(
            (&fire["verdict"], &fire["reason"]["code"]),
            (&json!("SKIPPED"), &json!("PAUSED"))
        );
        assert!(fire["reason"]["text"].as_str().unwrap().ends_with('.'));
    }
    // Resuming a schedule that is not paused changes nothing.
    let again = desk.ask(RESUME, json!({ "id": id })).await;
    assert_eq!(again["resumeSchedule"]["schedule"]["nextFireAt"], "2026-03-01T12:04:00Z");
}

async fn an_edit_during_a_pause_accounts_for_the_old_timing(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("tick", "* * * * *").await;
    desk.ask(PAUSE, json!({ "id": id, "reason": "lunch" })).await;
    desk.clock.set("2026-03-01T12:02:30Z".parse().unwrap());
    let edit = "mutation($id: UUID!) { updateSchedule(input: {
        id: $id, expectedVersion: 1, timing: { expressions: [\"@hourly\"] }
    }) { schedule { version state pause { reason } } } }";
    let answer = desk.ask(edit, json!({ "id": id })).await;
    assert_eq!(
        answer["updateSchedule"]["schedule"],
        json!({ "version": 2, "state": "PAUSED", "pause": { "reason": "lunch" } })
    );
    let fires = fire::Entity::find().all(desk.database.store.read()).await.unwrap();
    assert_eq!(fires.iter().map(|fire| fire.count).sum::<i64>(), 2);
    let answer = desk.ask(RESUME, json!({ "id": id })).await;
    assert_eq!(answer["resumeSchedule"]["schedule"]["nextFireAt"], "2026-03-01T13:00:00Z");
    assert_eq!(answer["resumeSchedule"]["schedule"]["pause"], Value::Null);
}

/// A hand-off has read the schedule before the pause. The pause waits for that hand-off: once the
/// pause is answered, no further run starts.
async fn a_pause_waits_for_the_hand_off_under_way(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("tick", "* * * * *").await;
    let store = &desk.database.store;
    let handoff = store.begin_handoff().await.unwrap();
    let mut pause = Box::pin(desk.ask(PAUSE, json!({ "id": id, "reason": "lunch" })));
    if store.dialect().is_postgres() {
        let waiting = "SELECT 1 FROM pg_locks JOIN pg_database d ON d.oid = database \
            WHERE locktype = 'advisory' AND NOT granted AND datname = current_database()";
        let statement = || store.dialect().statement(waiting, []);
        let waits =
            async { while store.read().query_one_raw(statement()).await.unwrap().is_none() {} };
        tokio::select! {
            _ = &mut pause => panic!("it did not wait"),
            () = waits => {}
        }
    } else {
        assert!(futures::poll!(&mut pause).is_pending());
    }
    store.commit(handoff).await.unwrap();
    assert_eq!(pause.await["pauseSchedule"]["schedule"]["state"], "PAUSED");
}
