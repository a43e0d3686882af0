use entity::{fire, schedule};
use sea_orm::{ConnectionTrait, EntityTrait};
use serde_json::{Value, json};

use super::desk::Desk;
use crate::support::{TestDatabase, on_both};

on_both!(
    a_pause_is_shown_and_creates_no_version,
    a_pause_with_an_end_says_what_becomes_of_its_fires,
    what_a_pause_has_left_out_so_far_is_as_its_end_will_decide,
    the_end_of_a_pause_is_previewed_before_it_is_made,
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

async fn a_pause_with_an_end_says_what_becomes_of_its_fires(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("tick", "* * * * *").await;
    let pause = "mutation($id: UUID!, $until: DateTime, $missed: CatchUp) {
        pauseSchedule(id: $id, reason: \"x\", until: $until, missed: $missed) {
            schedule { pause { until missed } } } }";
    let until = "2026-03-01T18:00:00Z";
    for (given, shown) in [
        (json!({ "id": id, "until": until }), json!({ "until": until, "missed": "SKIP" })),
        (
            json!({ "id": id, "until": until, "missed": "LATEST" }),
            json!({ "until": until, "missed": "LATEST" }),
        ),
        (json!({ "id": id }), json!({ "until": null, "missed": null })),
        (
            json!({ "id": id, "until": until, "missed": "ALL" }),
            json!({ "until": until, "missed": "ALL" }),
        ),
    ] {
        desk.clock.advance(std::time::Duration::from_secs(1));
        let answer = desk.ask(pause, given).await;
        assert_eq!(answer["pauseSchedule"]["schedule"]["pause"], shown);
    }
    let log = "{ auditEvents(first: 1) { nodes { action after } } }";
    let log = desk.ask(log, json!({})).await["auditEvents"]["nodes"][0].take();
    assert_eq!(
        log,
        json!({
            "action": "schedule.pause",
            "after": { "paused": true, "until": until, "missed": "all" },
        })
    );
    let many = "mutation($until: DateTime, $missed: CatchUp) {
        pauseSchedules(which: { search: \"name:tick\" }, reason: \"y\", until: $until,
            missed: $missed) { done sample { pause { reason missed } } } }";
    let answer = desk.ask(many, json!({ "until": until, "missed": "LATEST" })).await;
    assert_eq!(
        answer["pauseSchedules"],
        json!({ "done": 1, "sample": [{ "pause": { "reason": "y", "missed": "LATEST" } }] })
    );
    // Without an end, the resume by hand chooses.
    for (mutation, given) in [
        (pause, json!({ "id": id, "missed": "LATEST" })),
        (pause, json!({ "id": id, "missed": "SKIP" })),
        (many, json!({ "missed": "LATEST" })),
    ] {
        let error = desk.refused(mutation, given).await;
        assert_eq!(error["extensions"]["field"], "missed", "{error}");
        assert!(error["message"].as_str().unwrap().contains("'until'"), "{error}");
    }
    desk.ask(RESUME, json!({ "id": id })).await;
    let row = schedule::Entity::find().one(desk.database.store.read()).await.unwrap().unwrap();
    assert_eq!(row.paused_missed, None);
}

/// Of a pause that runs the latest fire at its end, no fire runs while another is to come.
async fn what_a_pause_has_left_out_so_far_is_as_its_end_will_decide(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("tick", "* * * * *").await;
    let pause = "mutation($id: UUID!, $missed: CatchUp!) {
        pauseSchedule(id: $id, reason: \"x\", until: \"2026-03-01T14:01:00Z\", missed: $missed) {
            schedule { id } } }";
    let asked = "query($id: UUID!) { schedule(id: $id) { pausedFires(first: 200) {
        nodes { scheduledAt lastScheduledAt count dueAt verdict reason } } } }";
    let so_far = async || {
        let mut answer = desk.ask(asked, json!({ "id": id })).await;
        answer["schedule"]["pausedFires"]["nodes"].take()
    };
    desk.ask(pause, json!({ "id": id, "missed": "LATEST" })).await;
    assert_eq!(so_far().await, json!([]));
    desk.clock.set("2026-03-01T13:30:30Z".parse().unwrap());
    let range = |last: &str, count: i64| {
        json!({
            "scheduledAt": "2026-03-01T12:01:00Z", "lastScheduledAt": last, "count": count,
            "dueAt": "2026-03-01T12:01:00Z", "verdict": "COLLAPSED", "reason": "PAUSED",
        })
    };
    assert_eq!(so_far().await, json!([range("2026-03-01T13:30:00Z", 90)]));
    desk.clock.set("2026-03-01T14:00:30Z".parse().unwrap());
    let latest = json!({
        "scheduledAt": "2026-03-01T14:00:00Z", "lastScheduledAt": "2026-03-01T14:00:00Z",
        "count": 1, "dueAt": "2026-03-01T14:01:00Z", "verdict": "PENDING",
        "reason": "AWAITING_HANDOFF",
    });
    assert_eq!(so_far().await, json!([range("2026-03-01T13:59:00Z", 119), latest]));
    desk.ask(pause, json!({ "id": id, "missed": "ALL" })).await;
    let rows = so_far().await;
    // The policy of the schedule runs the last hundred fires.
    let verdicts = |verdict: &str| {
        rows.as_array().unwrap().iter().filter(|row| row["verdict"] == verdict).count()
    };
    assert_eq!((verdicts("SKIPPED"), verdicts("PENDING")), (20, 100));
}

async fn the_end_of_a_pause_is_previewed_before_it_is_made(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("hourly", "0 * * * *").await;
    let query = "query($id: UUID!, $at: DateTime, $until: DateTime) {
        resumePreview(id: $id, at: $at, until: $until) { at paused choices {
            missed runs others nextFireAt rows { nodes { scheduledAt verdict } } } } }";
    let until = "2026-03-01T15:00:00Z";
    let preview =
        desk.ask(query, json!({ "id": id, "until": until })).await["resumePreview"].take();
    assert_eq!((&preview["at"], &preview["paused"]), (&json!(until), &json!(false)));
    let counts = |choice: &Value| {
        let names = ["missed", "runs", "others", "nextFireAt"];
        names.map(|name| choice[name].clone())
    };
    let choices: Vec<_> = preview["choices"].as_array().unwrap().iter().map(counts).collect();
    // A fire at the very end is not one of the pause.
    let expected = [("SKIP", 0, 2), ("LATEST", 1, 1), ("ALL", 2, 0)]
        .map(|(missed, runs, others)| [json!(missed), json!(runs), json!(others), json!(until)]);
    assert_eq!(choices, expected);
    assert_eq!(
        preview["choices"][1]["rows"]["nodes"],
        json!([
            { "scheduledAt": "2026-03-01T13:00:00Z", "verdict": "COLLAPSED" },
            { "scheduledAt": "2026-03-01T14:00:00Z", "verdict": "PENDING" },
        ])
    );
    // The preview is the same during the pause.
    desk.ask(PAUSE, json!({ "id": id, "reason": "x", "until": until })).await;
    desk.clock.set("2026-03-01T13:30:00Z".parse().unwrap());
    let later = desk.ask(query, json!({ "id": id, "until": until })).await["resumePreview"].take();
    assert_eq!((&later["paused"], &later["choices"]), (&json!(true), &preview["choices"]));
    for wrong in [
        json!({ "id": id, "until": "2026-03-01T13:30:00Z" }),
        json!({ "id": id, "until": "2028-03-01T12:00:00Z" }),
        json!({ "id": id, "until": until, "at": until }),
    ] {
        let error = desk.refused(query, wrong).await;
        assert_eq!(error["extensions"]["field"], "until", "{error}");
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
