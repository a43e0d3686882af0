//! The check of the ledger, about what the engine wrote: after an outage, a clock change, a change
//! of a calendar, a pause, an edit and a deletion nothing is unexplained, and what is wrong is
//! found.

use std::time::Duration;

use carillon::{
    api::{self, Schema},
    clock::ManualClock,
    config,
    engine::cluster::Cluster,
};
use entity::{
    fire::{Reason, Verdict},
    schedule,
    user::Role,
};
use sea_orm::EntityTrait;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    editing::commands,
    forge,
    world::{World, at, ms},
};
use crate::{
    api::desk::{CREATE, request},
    support::{TestDatabase, on_both},
};

on_both!(
    everything_is_accounted_for_whatever_happens_to_a_schedule,
    a_schedule_that_has_had_its_fires_owes_no_more,
    rows_that_are_removed_or_made_up_are_found,
    calendars_are_judged_by_what_they_were_at_the_time,
    a_deleted_schedule_is_checked_until_its_deletion,
);

const CHECK: &str = "query($from: DateTime, $search: String, $deleted: Boolean! = false) {
    ledgerCheck(namespace: \"test\", from: $from, search: $search, deleted: $deleted) {
        expected accounted unexplained unexpected waiting paused unjudged unchecked
        schedules { from deletedAt }
        findings { schedule { name } at fault text fireId version } } }";

/// A world whose control plane is asked as well.
struct CheckedWorld {
    world: World,
    clock: ManualClock,
    schema: Schema,
}

impl CheckedWorld {
    async fn begin(database: TestDatabase, now: &str) -> Self {
        let (world, clock) = World::at(database, at(now)).await;
        let schema = api::schema(
            commands(&world),
            config::Health::default(),
            Cluster::default(),
            config::Introspection::default(),
        );
        Self { world, clock, schema }
    }

    async fn ask(&self, query: &str, variables: Value) -> Value {
        let response =
            api::execute(&self.schema, request(Some(Role::Admin), query, variables)).await;
        assert!(response.errors.is_empty(), "{query}\n{:#?}", response.errors);
        response.data.into_json().unwrap()
    }

    /// Creates a schedule that does nothing.
    async fn schedule(&self, name: &str, expression: &str, more: Value) -> Uuid {
        let mut input = json!({
            "namespace": "test", "name": name,
            "timing": { "expressions": [expression], "zone": "Europe/Berlin" },
            "task": { "target": { "noop": {} } },
        });
        for (key, value) in more.as_object().unwrap() {
            input[key] = value.clone();
        }
        let made = self.ask(CREATE, json!({ "input": input })).await;
        made["createSchedule"]["schedule"]["id"].as_str().unwrap().parse().unwrap()
    }

    async fn row(&self, id: Uuid) -> schedule::Model {
        let row = schedule::Entity::find_by_id(id).one(self.world.database.store.read()).await;
        row.unwrap().unwrap()
    }

    /// Lets an engine claim what has become due until then.
    async fn live_until(&self, now: &str, schedules: &[Uuid]) {
        self.clock.set(at(now));
        let engine = self.world.engine().await;
        for id in schedules {
            self.world
                .until("what is due is claimed", async || {
                    let row = self.row(*id).await;
                    row.next_scheduled_at.is_none_or(|next| next > ms(now)).then_some(())
                })
                .await;
        }
        engine.shutdown(Duration::from_secs(5)).await.unwrap();
    }

    async fn check(&self, variables: Value) -> Value {
        self.ask(CHECK, variables).await["ledgerCheck"].take()
    }
}

/// Expected, accounted, unexplained, unexpected.
fn figures(check: &Value) -> [i64; 4] {
    ["expected", "accounted", "unexplained", "unexpected"]
        .map(|figure| check[figure].as_i64().unwrap())
}

async fn everything_is_accounted_for_whatever_happens_to_a_schedule(database: TestDatabase) {
    let desk = CheckedWorld::begin(database, "2026-03-28T12:00:30Z").await;
    let make = "mutation { createCalendar(input: { namespace: \"test\", name: \"night\",
        mode: EXCLUDE, windows: [{ from: \"00:00\", to: \"06:00\" }] }) { calendar { id } } }";
    let made = desk.ask(make, json!({})).await;
    let calendar = &made["createCalendar"]["calendar"]["id"];
    let often = desk.schedule("often", "*/10 * * * *", json!({ "calendars": ["night"] })).await;
    // This local time does not exist on the 29th.
    let nightly = desk.schedule("nightly", "30 2 * * *", json!({})).await;

    // No scheduler was running for twenty hours.
    desk.live_until("2026-03-29T08:00:30Z", &[often, nightly]).await;
    let found = desk.check(json!({})).await;
    assert_eq!(figures(&found), [20 * 6 + 1, 20 * 6 + 1, 0, 0], "{found}");

    // Another calendar.
    let change = "mutation($id: UUID!) { updateCalendar(input: { id: $id, expectedVersion: 1,
        windows: [{ from: \"10:00\", to: \"11:30\" }] }) { calendar { version } } }";
    desk.ask(change, json!({ "id": calendar })).await;
    desk.live_until("2026-03-29T10:00:30Z", &[often]).await;
    let rows = desk.world.ledger(often).await;
    assert!(rows.iter().any(|row| row.reason == Reason::Calendar), "the calendars are in force");
    let all = 22 * 6 + 1;
    assert_eq!(figures(&desk.check(json!({})).await), [all, all, 0, 0]);

    // A pause, whose instants get their rows when it ends.
    let pause = "mutation($id: UUID!) {
        pauseSchedule(id: $id, reason: \"x\") { schedule { id } } }";
    desk.ask(pause, json!({ "id": often })).await;
    desk.clock.set(at("2026-03-29T11:00:30Z"));
    let found = desk.check(json!({})).await;
    assert_eq!((figures(&found), &found["paused"]), ([all, all, 0, 0], &json!(6)));
    let resume = "mutation($id: UUID!) {
        resumeSchedule(id: $id, missed: LATEST) { schedule { id } } }";
    desk.ask(resume, json!({ "id": often })).await;
    let all = all + 6;
    let found = desk.check(json!({})).await;
    assert_eq!((figures(&found), &found["paused"]), ([all, all, 0, 0], &json!(0)));

    // Another timing, and another name.
    desk.live_until("2026-03-29T11:59:00Z", &[often]).await;
    let edit = "mutation($id: UUID!) { updateSchedule(input: { id: $id, expectedVersion: 1,
        name: \"less\", timing: { expressions: [\"*/30 * * * *\"], zone: \"Europe/Berlin\" } })
        { schedule { version } } }";
    desk.ask(edit, json!({ "id": often })).await;
    desk.live_until("2026-03-29T13:59:00Z", &[often]).await;
    // The hour from 11 with its former timing, and the instants of two hours with the new one.
    let all = all + 5 + 4;
    let from = json!({ "from": "2026-03-28T12:00:00Z" });
    let found = desk.check(from).await;
    assert_eq!(figures(&found), [all, all, 0, 0], "{found}");
    assert_eq!(found["unchecked"], 0);
}

async fn a_schedule_that_has_had_its_fires_owes_no_more(database: TestDatabase) {
    let desk = CheckedWorld::begin(database, "2026-03-01T12:00:30Z").await;
    let few = desk.schedule("few", "0 * * * *", json!({ "maxFires": 2 })).await;
    for now in ["2026-03-01T13:00:01Z", "2026-03-01T14:00:01Z", "2026-03-01T18:00:01Z"] {
        desk.live_until(now, &[few]).await;
    }
    assert_eq!(figures(&desk.check(json!({})).await), [2, 2, 0, 0]);
    let more = "mutation($id: UUID!) { updateSchedule(input: { id: $id, expectedVersion: 1,
        maxFires: 3 }) { schedule { version } } }";
    desk.ask(more, json!({ "id": few })).await;
    desk.live_until("2026-03-01T19:00:01Z", &[few]).await;
    desk.live_until("2026-03-01T22:00:01Z", &[few]).await;
    let found = desk.check(json!({})).await;
    assert_eq!(figures(&found), [3, 3, 0, 0], "{found}");
}

async fn rows_that_are_removed_or_made_up_are_found(database: TestDatabase) {
    let desk = CheckedWorld::begin(database, "2026-03-01T00:00:30Z").await;
    let skip = json!({ "misfire": { "catchUp": "SKIP" } });
    let hourly = desk.schedule("hourly", "0 * * * *", skip.clone()).await;
    let minutely = desk.schedule("minutely", "* * * * *", skip).await;
    desk.live_until("2026-03-01T12:00:30Z", &[hourly, minutely]).await;
    let all = 12 + 12 * 60;
    assert_eq!(figures(&desk.check(json!({})).await), [all, all, 0, 0]);

    let five = ms("2026-03-01T05:00:00Z");
    let remove = "DELETE FROM fire WHERE schedule_id = $1 AND scheduled_at = $2";
    desk.world.write(remove, [hourly.into(), five.0.into()]).await;
    let found = desk.check(json!({})).await;
    assert_eq!(figures(&found), [all, all - 1, 1, 0]);
    assert_eq!(
        found["findings"],
        json!([{
            "schedule": { "name": "hourly" }, "at": "2026-03-01T05:00:00Z", "fault": "NO_ROW",
            "text": "the schedule was due, and no row accounts for it",
            "fireId": null, "version": null,
        }])
    );

    let row = desk.row(hourly).await;
    let made_up = forge::intent(&desk.world, &row, |fire| {
        let at = ms("2026-03-01T07:15:00Z");
        (fire.scheduled_at, fire.due_at, fire.last_scheduled_at) = (at, at, at);
        (fire.verdict, fire.reason) = (Verdict::Missed, Reason::Outage);
        fire.decided_at = Some(fire.claimed_at);
    });
    let made_up = made_up.await;
    let longer = "UPDATE fire SET count = count + 1 WHERE schedule_id = $1 AND count > 1";
    desk.world.write(longer, [minutely.into()]).await;
    let found = desk.check(json!({})).await;
    assert_eq!(figures(&found), [all, all - 1, 1, 2], "{found}");
    let faults = |check: &Value| {
        let findings = check["findings"].as_array().unwrap().iter();
        let fault = |one: &Value| (one["fault"].clone(), one["fireId"].clone());
        findings.map(fault).collect::<Vec<_>>()
    };
    let of_hourly = desk.check(json!({ "search": "name:hourly" })).await;
    assert_eq!(
        faults(&of_hourly),
        [(json!("NO_ROW"), Value::Null), (json!("NOT_DUE"), json!(made_up.id))]
    );
    let of_minutely = desk.check(json!({ "search": "name:minutely" })).await;
    assert_eq!(figures(&of_minutely), [12 * 60, 12 * 60, 0, 1]);
    assert_eq!(faults(&of_minutely)[0].0, "WRONG_COUNT");
}

/// What is wrong, and when.
fn wrong(check: &Value) -> Vec<(&str, &str)> {
    let findings = check["findings"].as_array().unwrap().iter();
    findings.map(|one| (one["at"].as_str().unwrap(), one["fault"].as_str().unwrap())).collect()
}

async fn calendars_are_judged_by_what_they_were_at_the_time(database: TestDatabase) {
    let desk = CheckedWorld::begin(database, "2026-03-28T12:00:30Z").await;
    let make = "mutation { createCalendar(input: { namespace: \"test\", name: \"night\",
        mode: EXCLUDE, windows: [{ from: \"00:00\", to: \"06:00\" }] }) { calendar { id } } }";
    let made = desk.ask(make, json!({})).await;
    let calendar = &made["createCalendar"]["calendar"]["id"];
    let hourly = desk.schedule("hourly", "0 * * * *", json!({ "calendars": ["night"] })).await;
    desk.live_until("2026-03-29T08:00:30Z", &[hourly]).await;
    let found = desk.check(json!({})).await;
    assert_eq!((figures(&found), &found["unjudged"]), ([20, 20, 0, 0], &json!(0)), "{found}");

    // In Berlin it is 01:00, and 16:00.
    let [night, day] = ["2026-03-29T00:00:00Z", "2026-03-28T15:00:00Z"];
    for (at, verdict, reason) in [(night, "started", "on_time"), (day, "skipped", "calendar")] {
        let change = "UPDATE fire SET verdict = $1, reason = $2 \
            WHERE schedule_id = $3 AND scheduled_at = $4";
        let values = [verdict.into(), reason.into(), hourly.into(), ms(at).0.into()];
        desk.world.write(change, values).await;
    }
    let both = [(day, "NOT_SUPPRESSED"), (night, "RAN_SUPPRESSED")];
    let found = desk.check(json!({})).await;
    assert_eq!(figures(&found), [20, 20, 0, 2], "{found}");
    assert_eq!(wrong(&found), both);

    // Neither another version of the calendar nor one of the schedule changes what was right.
    let change = "mutation($id: UUID!) { updateCalendar(input: { id: $id, expectedVersion: 1,
        name: \"early\", windows: [{ from: \"15:00\", to: \"18:00\" }] })
        { calendar { version } } }";
    desk.ask(change, json!({ "id": calendar })).await;
    let edit = "mutation($id: UUID!) { updateSchedule(input: { id: $id, expectedVersion: 1,
        name: \"each-hour\", calendars: [] }) { schedule { version } } }";
    desk.ask(edit, json!({ "id": hourly })).await;
    let found = desk.check(json!({})).await;
    assert_eq!((wrong(&found), &found["unjudged"]), (both.to_vec(), &json!(0)), "{found}");

    // A version shows the name of that time; the key is for the check alone.
    let versions = "query($id: UUID!) { schedule(id: $id) { versions { nodes { snapshot } } } }";
    let versions = desk.ask(versions, json!({ "id": hourly })).await;
    let first = &versions["schedule"]["versions"]["nodes"][1]["snapshot"];
    assert_eq!((&first["calendars"], first.get("calendar_ids")), (&json!(["night"]), None));

    // Without the history of the calendar nothing is said.
    let calendar: Uuid = calendar.as_str().unwrap().parse().unwrap();
    let forget = "DELETE FROM calendar_version WHERE calendar_id = $1";
    desk.world.write(forget, [calendar.into()]).await;
    let found = desk.check(json!({})).await;
    assert_eq!((figures(&found), wrong(&found)), ([20, 20, 0, 0], vec![]), "{found}");
    // Those of the night, and the one of the day that says so, too.
    assert!(found["unjudged"].as_i64().unwrap() >= 6, "{found}");
}

async fn a_deleted_schedule_is_checked_until_its_deletion(database: TestDatabase) {
    let desk = CheckedWorld::begin(database, "2026-03-01T00:00:30Z").await;
    let skip = json!({ "misfire": { "catchUp": "SKIP" } });
    let hourly = desk.schedule("hourly", "0 * * * *", skip).await;
    desk.live_until("2026-03-01T12:00:30Z", &[hourly]).await;
    // Another instant waits when it is deleted.
    desk.clock.set(at("2026-03-01T13:30:00Z"));
    let delete = "mutation($id: UUID!) { deleteSchedule(id: $id) { id } }";
    desk.ask(delete, json!({ "id": hourly })).await;
    desk.clock.set(at("2026-03-01T18:00:30Z"));
    assert_eq!(figures(&desk.check(json!({})).await), [0; 4], "it is not among the others");
    let found = desk.check(json!({ "deleted": true })).await;
    assert_eq!(figures(&found), [13, 13, 0, 0], "{found}");
    assert_eq!(found["schedules"][0]["deletedAt"], "2026-03-01T13:30:00Z");

    let remove = "DELETE FROM fire WHERE schedule_id = $1 AND scheduled_at = $2";
    let five = ms("2026-03-01T05:00:00Z");
    desk.world.write(remove, [hourly.into(), five.0.into()]).await;
    let found = desk.check(json!({ "deleted": true })).await;
    assert_eq!(figures(&found), [13, 12, 1, 0], "{found}");
    assert_eq!(wrong(&found), [("2026-03-01T05:00:00Z", "NO_ROW")]);
}
