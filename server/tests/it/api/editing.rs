use chrono::{DateTime, Utc};
use entity::{
    fire::{self, Reason, Verdict},
    schedule,
};
use sea_orm::{ConnectionTrait, EntityTrait, QueryOrder};
use serde_json::{Value, json};

use super::desk::{CREATE, Desk};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_change_makes_a_version_that_says_what_changed,
    a_change_of_an_old_version_is_refused_with_both,
    an_edited_timing_begins_anew_from_now,
    an_edit_after_the_clock_was_stepped_back_begins_behind_what_is_accounted_for,
    an_edit_does_not_wait_for_what_was_skipped_ahead_of_time,
    what_nobody_claimed_before_an_edit_is_accounted_for,
    what_nobody_claimed_before_a_deletion_is_accounted_for,
    whatever_changes_fires_begins_anew_from_now,
    what_waits_for_its_jitter_outlives_an_edit_of_policies,
    an_edit_that_leaves_fires_alone_leaves_the_cursor_alone,
    a_maximum_of_fires_is_more_than_have_started,
    a_deleted_schedule_is_gone_and_its_name_free,
    a_task_that_changes_is_a_new_version_of_its_workflow,
);

const UPDATE: &str = "mutation($input: UpdateScheduleInput!) { updateSchedule(input: $input) {
    schedule { id version name nextFireAt startDeadlineSeconds workflow { version }
        versions { nodes { version change } } } } }";

async fn update(desk: &Desk, id: &str, version: i32, change: Value) -> Value {
    let answer = desk.ask(UPDATE, edit(id, version, change)).await;
    answer["updateSchedule"]["schedule"].clone()
}

fn edit(id: &str, version: i32, change: Value) -> Value {
    let mut input = json!({ "id": id, "expectedVersion": version });
    for (key, value) in change.as_object().unwrap() {
        input[key] = value.clone();
    }
    json!({ "input": input })
}

async fn a_change_makes_a_version_that_says_what_changed(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("nightly", "0 2 * * *").await;
    let timing = json!({ "expressions": ["0 3 * * *"] });
    let changed = json!({ "timing": timing, "startDeadlineSeconds": 60 });
    let schedule = update(&desk, &id, 1, changed).await;
    assert_eq!(schedule["version"], 2);
    assert_eq!(schedule["nextFireAt"], "2026-03-02T03:00:00Z");
    assert_eq!(
        schedule["versions"]["nodes"][0]["change"],
        "timing: `0 2 * * *` -> `0 3 * * *`; start deadline seconds: none -> `60`"
    );
    // Absent fields keep their values; null removes the deadline.
    let schedule = update(&desk, &id, 2, json!({ "note": "moved" })).await;
    assert_eq!((&schedule["version"], &schedule["startDeadlineSeconds"]), (&json!(3), &json!(60)));
    let schedule = update(&desk, &id, 3, json!({ "startDeadlineSeconds": null })).await;
    assert_eq!(schedule["startDeadlineSeconds"], Value::Null);
    // An edit that changes nothing creates no version.
    let schedule = update(&desk, &id, 4, json!({ "note": "moved" })).await;
    assert_eq!(schedule["version"], 4);
}

async fn a_change_of_an_old_version_is_refused_with_both(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("nightly", "0 2 * * *").await;
    update(&desk, &id, 1, json!({ "note": "first" })).await;
    let error = desk.refused(UPDATE, edit(&id, 1, json!({ "note": "second" }))).await;
    assert_eq!(error["extensions"]["code"], "CONFLICT");
    assert_eq!(error["extensions"]["expectedVersion"], 1);
    assert_eq!(error["extensions"]["currentVersion"], 2);
    let query = "query($id: UUID!) { schedule(id: $id) { note version } }";
    let answer = desk.ask(query, json!({ "id": id })).await;
    assert_eq!(answer["schedule"], json!({ "note": "first", "version": 2 }));
}

async fn an_edited_timing_begins_anew_from_now(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("every", "*/10 * * * *").await;
    // Nothing was claimed for an hour; the edit does not start the missed fires.
    desk.clock.set("2026-03-01T13:00:30Z".parse().unwrap());
    let timing = json!({ "expressions": ["*/5 * * * *"] });
    let schedule = update(&desk, &id, 1, json!({ "timing": timing })).await;
    assert_eq!(schedule["nextFireAt"], "2026-03-01T13:05:00Z");
    // An edit of another field leaves the cursor alone.
    desk.clock.set("2026-03-01T13:20:30Z".parse().unwrap());
    let schedule = update(&desk, &id, 2, json!({ "note": "x" })).await;
    assert_eq!(schedule["nextFireAt"], "2026-03-01T13:05:00Z");
}

async fn an_edit_after_the_clock_was_stepped_back_begins_behind_what_is_accounted_for(
    database: TestDatabase,
) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("every", "* * * * *").await;
    let mut next = Value::Null;
    for (version, now, expression) in [
        (1, "2026-03-01T14:00:30Z", "*/2 * * * *"),
        (2, "2026-03-01T13:00:30Z", "* * * * *"),
        (3, "2026-03-01T15:00:30Z", "*/2 * * * *"),
    ] {
        desk.clock.set(now.parse().unwrap());
        let timing = json!({ "expressions": [expression] });
        let schedule = update(&desk, &id, version, json!({ "timing": timing })).await;
        if version == 2 {
            next = schedule["nextFireAt"].clone();
        }
    }
    assert_eq!(next, "2026-03-01T14:01:00Z");
    let rows = fire::Entity::find().order_by_asc(fire::Column::ScheduledAt);
    let minute = |text: &str| text.parse::<DateTime<Utc>>().unwrap().timestamp_millis();
    let mut next = minute("2026-03-01T12:01:00Z");
    for row in rows.all(desk.database.store.read()).await.unwrap() {
        assert_eq!(row.scheduled_at.0, next, "a gap or an overlap before {row:#?}");
        next = row.last_scheduled_at.0 + 60_000;
    }
    assert_eq!(next, minute("2026-03-01T15:01:00Z"));
}

async fn an_edit_does_not_wait_for_what_was_skipped_ahead_of_time(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("nightly", "0 2 * * *").await;
    let skip = "mutation($id: UUID!) {
        skipNext(id: $id, count: 3, reason: \"away\") { schedule { nextFireAt } } }";
    let answer = desk.ask(skip, json!({ "id": id })).await;
    assert_eq!(answer["skipNext"]["schedule"]["nextFireAt"], "2026-03-05T02:00:00Z");
    let timing = json!({ "expressions": ["0 3 * * *"] });
    let schedule = update(&desk, &id, 1, json!({ "timing": timing })).await;
    assert_eq!(schedule["nextFireAt"], "2026-03-02T03:00:00Z");
}

async fn a_deleted_schedule_is_gone_and_its_name_free(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("nightly", "0 2 * * *").await;
    let query = "mutation($id: UUID!) { deleteSchedule(id: $id, reason: \"done\") { id } }";
    desk.ask(query, json!({ "id": id })).await;
    let found = "query($id: UUID!) { schedule(id: $id) { id } schedules { totalCount } }";
    let answer = desk.ask(found, json!({ "id": id })).await;
    assert_eq!(answer, json!({ "schedule": null, "schedules": { "totalCount": 0 } }));
    let error = desk.refused(query, json!({ "id": id })).await;
    assert_eq!(error["extensions"]["code"], "NOT_FOUND");
    // The schedule's own workflow was deleted with it: the next schedule with that name gets a new
    // one.
    let again = desk.schedule("nightly", "0 4 * * *").await;
    assert_ne!(again, id);
    let read = desk.database.store.read();
    let rows = schedule::Entity::find().all(read).await.unwrap();
    assert_eq!(rows.iter().filter(|row| row.enabled).count(), 1);
}

async fn a_task_that_changes_is_a_new_version_of_its_workflow(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("nightly", "0 2 * * *").await;
    let task = json!({ "task": { "target": { "noop": {} }, "timeoutSeconds": 5.5 } });
    let schedule = update(&desk, &id, 1, task.clone()).await;
    assert_eq!(schedule["workflow"]["version"], 2);
    assert_eq!(
        schedule["versions"]["nodes"][0]["change"],
        "task of workflow nightly changed (version 2)"
    );
    let schedule = update(&desk, &id, 2, task).await;
    assert_eq!(schedule["version"], 2, "the same task is no change");

    // An edit does not change a workflow that another schedule also runs.
    let shared =
        json!({ "name": "other", "timing": { "expressions": ["@daily"] }, "workflow": "nightly" });
    desk.ask(CREATE, json!({ "input": shared })).await;
    let task = json!({ "task": { "target": { "noop": {} }, "timeoutSeconds": 9 } });
    let error = desk.refused(UPDATE, edit(&id, 2, task)).await;
    assert_eq!(error["extensions"]["field"], "name", "{error}");
}

/// Time, version, verdict and reason of each row, oldest first.
async fn fates(desk: &Desk) -> Vec<(String, i32, Verdict, Reason, i64)> {
    let mut fires = fire::Entity::find().all(desk.database.store.read()).await.unwrap();
    fires.sort_by_key(|fire| fire.scheduled_at);
    let at = |fire: &fire::Model| fire.scheduled_at.utc().format("%H:%M").to_string();
    let fate = |fire: &fire::Model| {
        (at(fire), fire.schedule_version, fire.verdict, fire.reason, fire.count)
    };
    fires.iter().map(fate).collect()
}

async fn what_nobody_claimed_before_an_edit_is_accounted_for(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("every", "*/10 * * * *").await;
    desk.clock.set("2026-03-01T12:33:00Z".parse().unwrap());
    let timing = json!({ "expressions": ["*/15 * * * *"] });
    let schedule = update(&desk, &id, 1, json!({ "timing": timing })).await;
    assert_eq!(schedule["nextFireAt"], "2026-03-01T12:45:00Z");
    let row = |at: &str, verdict, reason| (at.to_owned(), 1, verdict, reason, 1);
    assert_eq!(
        fates(&desk).await,
        [
            row("12:10", Verdict::Missed, Reason::Outage),
            row("12:20", Verdict::Missed, Reason::Outage),
            // The grace of this instant has not ended: the edit came before the claim.
            row("12:30", Verdict::Skipped, Reason::StaleVersion),
        ]
    );
    let query = "query($id: UUID!) { fires(scheduleId: $id, first: 1) { nodes { reason { text } } }
        schedule(id: $id) { lastFireAt } }";
    let answer = desk.ask(query, json!({ "id": id })).await;
    assert_eq!(
        answer["fires"]["nodes"][0]["reason"]["text"],
        "Skipped: the schedule was edited before any node claimed it."
    );
    assert_eq!(answer["schedule"]["lastFireAt"], "2026-03-01T12:30:00Z");
    // A second edit right after the first finds no instants to account for.
    update(&desk, &id, 2, json!({ "timing": { "expressions": ["@hourly"] } })).await;
    assert_eq!(fates(&desk).await.len(), 3);
}

async fn whatever_changes_fires_begins_anew_from_now(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("every", "*/10 * * * *").await;
    let task = json!({ "target": { "noop": {} }, "timeoutSeconds": 9 });
    let edits = [
        json!({ "misfire": { "catchUp": "ALL", "graceSeconds": 0 } }),
        json!({ "overlap": "BUFFER_ALL" }),
        json!({ "startDeadlineSeconds": 3_600 }),
        json!({ "context": { "region": "eu" } }),
        json!({ "maxFires": 1_000 }),
        json!({ "task": task }),
    ];
    let mut expected = Vec::new();
    let mut accounted = async |version: i32, change: Option<&Value>| {
        // Two instants are unclaimed. The grace of the first version makes the second of them wait.
        let hour = 12 + version;
        desk.clock.set(format!("2026-03-01T{hour}:12:00Z").parse().unwrap());
        match change {
            Some(change) => drop(update(&desk, &id, version, change.clone()).await),
            None => {
                let query = "mutation($id: UUID!) { rollbackSchedule(
                    id: $id, toVersion: 1, expectedVersion: 7) { schedule { id } } }";
                desk.ask(query, json!({ "id": id })).await;
            }
        }
        let row = schedule::Entity::find().one(desk.database.store.read()).await.unwrap().unwrap();
        let next = format!("2026-03-01T{hour}:20:00Z").parse::<DateTime<Utc>>().unwrap();
        assert_eq!(row.next_scheduled_at, Some(next.into()), "{change:?}");
        assert_eq!(row.fires_version, version + 1, "{change:?}");
        let fates = fates(&desk).await;
        let new: Vec<_> = fates.iter().filter(|fate| fate.1 == version).collect();
        let instants: i64 = new.iter().map(|fate| fate.4).sum();
        assert_eq!(instants, if version == 1 { 7 } else { 6 }, "{change:?}: {new:?}");
        assert!(new.iter().all(|fate| fate.2 != Verdict::Pending), "{change:?}: {new:?}");
        expected.push(new.len());
        assert_eq!(fates.len(), expected.iter().sum::<usize>(), "{change:?}");
    };
    for (version, change) in (1..).zip(&edits) {
        accounted(version, Some(change)).await;
    }
    // A rollback of policies accounts for instants in the same way.
    accounted(7, None).await;
}

async fn what_waits_for_its_jitter_outlives_an_edit_of_policies(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let input = json!({
        "name": "spread", "task": { "target": { "noop": {} } },
        "timing": { "expressions": ["*/10 * * * *"], "jitterSeconds": 3_600 },
    });
    let made = desk.ask(CREATE, json!({ "input": input })).await;
    let id = made["createSchedule"]["schedule"]["id"].as_str().unwrap();
    let (first, now) = ("2026-03-01T12:10:00Z", "2026-03-01T14:00:00Z");
    let [first, now] = [first, now].map(|at| at.parse::<DateTime<Utc>>().unwrap());
    desk.clock.set(now);
    let cursor = async || {
        let row = schedule::Entity::find().one(desk.database.store.read()).await.unwrap().unwrap();
        (row.next_scheduled_at.unwrap().utc(), row.next_fire_at.unwrap().utc())
    };
    let accounted = async || fates(&desk).await.iter().map(|fate| fate.4).sum::<i64>();

    // Two hours without a claim: all instants are overdue except the latest one.
    update(&desk, id, 1, json!({ "misfire": { "catchUp": "ALL" } })).await;
    let left = cursor().await;
    assert!(left.0 == now && now < left.1, "{left:?}");
    assert_eq!(accounted().await, (left.0 - first).num_minutes() / 10);
    // The previous edit left no instant due, so another edit of the policies accounts for none.
    update(&desk, id, 2, json!({ "overlap": "ALLOW" })).await;
    assert_eq!(cursor().await, left);
    assert_eq!(accounted().await, (left.0 - first).num_minutes() / 10);
    // A change of the timing also accounts for instants that wait for their jitter.
    let timing = json!({ "expressions": ["*/10 * * * *"], "jitterSeconds": 0 });
    update(&desk, id, 3, json!({ "timing": timing })).await;
    assert_eq!(cursor().await.0, "2026-03-01T14:10:00Z".parse::<DateTime<Utc>>().unwrap());
    assert_eq!(accounted().await, 12);
}

async fn an_edit_that_leaves_fires_alone_leaves_the_cursor_alone(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("every", "*/10 * * * *").await;
    let read = desk.database.store.read();
    let before = schedule::Entity::find().one(read).await.unwrap().unwrap();
    desk.clock.set("2026-03-01T12:33:00Z".parse().unwrap());
    let note =
        "mutation($id: UUID!) { annotateSchedule(id: $id, note: \"x\") { schedule { id } } }";
    desk.ask(note, json!({ "id": id })).await;
    let tag = "mutation { updateSchedules(
        which: { search: \"every\" }, change: { addTags: [\"billing\"] }) { done } }";
    assert_eq!(desk.ask(tag, json!({})).await["updateSchedules"]["done"], 1);
    update(&desk, &id, 3, json!({ "priority": 3, "name": "other", "retentionDays": 2 })).await;
    let after = schedule::Entity::find().one(read).await.unwrap().unwrap();
    assert_eq!((after.version, after.fires_version), (4, 1));
    assert_eq!(after.next_scheduled_at, before.next_scheduled_at);
    assert!(fates(&desk).await.is_empty());
    // A change of policies does not move the cursor back to fires that were skipped in advance.
    desk.clock.set("2026-03-01T12:05:00Z".parse().unwrap());
    let skip = "mutation($id: UUID!) {
        skipNext(id: $id, count: 3, reason: \"away\") { schedule { nextFireAt } } }";
    desk.ask(skip, json!({ "id": id })).await;
    let schedule = update(&desk, &id, 4, json!({ "overlap": "ALLOW" })).await;
    assert_eq!(schedule["nextFireAt"], "2026-03-01T12:40:00Z");
}

async fn what_nobody_claimed_before_a_deletion_is_accounted_for(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("every", "* * * * *").await;
    desk.clock.set("2026-03-01T15:00:30Z".parse().unwrap());
    let delete = "mutation($id: UUID!) { deleteSchedule(id: $id) { id } }";
    desk.ask(delete, json!({ "id": id })).await;
    let fates = fates(&desk).await;
    // One row covers three hours, except the last five minutes, which are within the grace.
    assert_eq!(fates[0], ("12:01".to_owned(), 1, Verdict::Missed, Reason::Outage, 3 * 60 - 5));
    assert_eq!(fates[1..].iter().map(|fate| fate.4).sum::<i64>(), 5);
    assert!(fates[1..].iter().all(|fate| (fate.2, fate.3) == (Verdict::Skipped, Reason::Deleted)));
}

async fn a_maximum_of_fires_is_more_than_have_started(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("tick", "* * * * *").await;
    let sql = "UPDATE schedule SET fire_count = 3, max_fires = 3, next_scheduled_at = NULL, \
        next_fire_at = NULL";
    let tx = desk.database.store.begin().await.unwrap();
    tx.execute_unprepared(sql).await.unwrap();
    desk.database.store.commit(tx).await.unwrap();
    let query = "query($id: UUID!) { schedule(id: $id) {
        state nextFireAt maxFires fireCount nextFires { at } } }";
    let answer = desk.ask(query, json!({ "id": id })).await;
    assert_eq!(
        answer["schedule"],
        json!({ "state": "EXHAUSTED", "nextFireAt": null, "maxFires": 3, "fireCount": 3,
            "nextFires": [] })
    );
    let listed = "{ schedules(filter: { state: EXHAUSTED }) { totalCount }
        finished: schedules(filter: { state: FINISHED }) { totalCount } }";
    assert_eq!(
        desk.ask(listed, json!({})).await,
        json!({ "schedules": { "totalCount": 1 }, "finished": { "totalCount": 0 } })
    );
    let error = desk.refused(UPDATE, edit(&id, 1, json!({ "maxFires": 2 }))).await;
    assert_eq!(error["extensions"]["field"], "maxFires", "{error}");
    // An edit of another field leaves the state as it is.
    let schedule = update(&desk, &id, 1, json!({ "note": "x" })).await;
    assert_eq!(schedule["nextFireAt"], Value::Null);
    // The raised maximum permits one more fire.
    desk.clock.set("2026-03-01T15:00:30Z".parse().unwrap());
    let schedule = update(&desk, &id, 2, json!({ "maxFires": 4 })).await;
    assert_eq!(schedule["nextFireAt"], "2026-03-01T15:01:00Z");
    let answer = desk.ask(query, json!({ "id": id })).await;
    assert_eq!(answer["schedule"]["state"], "ACTIVE");
    assert_eq!(answer["schedule"]["nextFires"], json!([{ "at": "2026-03-01T15:01:00Z" }]));
    assert!(fates(&desk).await.is_empty());
}
