//! Previews of a pause, of an edit and of an unsaved timing, and the fires of the days to come.

use entity::{run::State, user::Role};
use serde_json::{Value, json};

use super::{
    desk::{CREATE, Desk},
    sorting::settle,
    walking::{member_of, namespace},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_pause_tells_the_fires_that_would_fall_into_it,
    a_pause_is_previewed_by_ids_in_any_namespace,
    a_pause_that_is_only_thought_of_tells_each_way_to_resume,
    the_minutes_to_come_are_counted_and_a_candidate_is_tried,
    what_starts_as_often_in_each_hour_can_be_left_out_of_the_hours_to_come,
    the_hours_to_come_are_those_of_a_clock,
    the_work_to_come_is_counted_by_how_long_runs_usually_take,
    an_edit_tells_the_fires_that_it_adds_and_removes,
    a_clock_change_tells_its_effect_on_each_schedule,
    the_days_to_come_are_counted_with_what_calendars_suppress,
);

async fn a_pause_tells_the_fires_that_would_fall_into_it(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let hourly = desk.schedule("hourly", "@hourly").await;
    let daily = desk.schedule("daily", "0 2 * * *").await;
    let query = "query($ids: [UUID!], $search: String, $until: DateTime) {
        pausePreview(ids: $ids, search: $search, until: $until) { at until fires hasMore schedules {
            schedule { name } fires sample(first: 2) { at } nextFireAt } } }";
    let until = "2026-03-02T12:00:00Z";
    let preview = desk.ask(query, json!({ "ids": [hourly, daily], "until": until })).await;
    let preview = &preview["pausePreview"];
    // The hourly schedule fires from 13:00 to 11:00: the instant at which the pause ends is not
    // part of it.
    assert_eq!((&preview["fires"], &preview["hasMore"]), (&json!(24), &json!(false)));
    assert_eq!(
        preview["schedules"][0],
        json!({ "schedule": { "name": "hourly" }, "fires": 23,
            "sample": [{ "at": "2026-03-01T13:00:00Z" }, { "at": "2026-03-01T14:00:00Z" }],
            "nextFireAt": "2026-03-02T12:00:00Z" })
    );
    assert_eq!(preview["schedules"][1]["sample"], json!([{ "at": "2026-03-02T02:00:00Z" }]));
    let found = desk.ask(query, json!({ "search": "name:daily" })).await["pausePreview"].clone();
    assert_eq!((&found["fires"], &found["until"]), (&json!(7), &json!("2026-03-08T12:00:00Z")));
    let skip = "mutation($id: UUID!) { skipNext(id: $id, count: 3, reason: \"x\") { skippedAt } }";
    desk.ask(skip, json!({ "id": daily })).await;
    let preview = desk.ask(query, json!({ "ids": [daily], "until": until })).await;
    let skipped = &preview["pausePreview"]["schedules"][0];
    assert_eq!(
        (&skipped["fires"], &skipped["nextFireAt"]),
        (&json!(0), &json!("2026-03-05T02:00:00Z"))
    );
    for (bad, field) in [
        (json!({}), "ids"),
        (json!({ "ids": [] }), "ids"),
        (json!({ "ids": [daily], "search": "x" }), "search"),
        (json!({ "ids": [daily], "until": "2026-03-01T12:00:00Z" }), "until"),
        (json!({ "ids": [daily], "until": "2028-03-01T12:00:00Z" }), "until"),
    ] {
        assert_eq!(desk.refused(query, bad).await["extensions"]["field"], field);
    }
}

async fn a_pause_is_previewed_by_ids_in_any_namespace(database: TestDatabase) {
    let desk = Desk::open(database).await;
    desk.ask("mutation { createNamespace(name: \"other\") { namespace { id } } }", json!({})).await;
    let input = json!({
        "namespace": "other", "name": "hourly", "timing": { "expressions": ["@hourly"] },
        "task": { "target": { "noop": {} } },
    });
    let made = desk.ask(CREATE, json!({ "input": input })).await;
    let id = made["createSchedule"]["schedule"]["id"].clone();
    let query = "query($id: UUID!) { pausePreview(ids: [$id]) { schedules { fires } } }";
    let eve = member_of(namespace(&desk, "other").await, Role::Operator);
    assert_eq!(desk.code_for(&eve, query, json!({ "id": id })).await, "");
    let found = "{ pausePreview(search: \"hourly\") { fires } }";
    assert_eq!(desk.code_for(&eve, found, json!({})).await, "NOT_FOUND");
}

async fn a_pause_that_is_only_thought_of_tells_each_way_to_resume(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("hourly", "@hourly").await;
    let query = "query($id: UUID!, $if: Boolean!) {
        resumePreview(id: $id, at: \"2026-03-01T15:30:00Z\", ifPaused: $if) {
            paused choices { missed runs others nextFireAt rows { nodes { scheduledAt verdict } } } } }";
    let really = desk.ask(query, json!({ "id": id, "if": false })).await;
    assert_eq!(really["resumePreview"], json!({ "paused": false, "choices": [] }));
    let preview = desk.ask(query, json!({ "id": id, "if": true })).await["resumePreview"].clone();
    let runs = |index: usize| preview["choices"][index]["runs"].as_i64().unwrap();
    assert_eq!([runs(0), runs(1), runs(2)], [0, 1, 3]);
    let rows = preview["choices"][2]["rows"]["nodes"].as_array().unwrap();
    assert_eq!(rows[0], json!({ "scheduledAt": "2026-03-01T13:00:00Z", "verdict": "PENDING" }));
    assert_eq!(preview["choices"][0]["nextFireAt"], "2026-03-01T16:00:00Z");

    // The preview matches the result of the pause.
    let pause =
        "mutation($id: UUID!) { pauseSchedule(id: $id, reason: \"x\") { schedule { id } } }";
    desk.ask(pause, json!({ "id": id })).await;
    let real = desk.ask(query, json!({ "id": id, "if": false })).await["resumePreview"].clone();
    assert_eq!((&real["paused"], &real["choices"]), (&json!(true), &preview["choices"]));
}

async fn the_minutes_to_come_are_counted_and_a_candidate_is_tried(database: TestDatabase) {
    let desk = Desk::open(database).await;
    for name in ["a", "b", "c"] {
        desk.schedule(name, "0 14 * * *").await;
    }
    let edited = desk.schedule("edited", "5 14 * * *").await;
    desk.schedule("often", "*/20 * * * * *").await;
    let query = "query($minutes: Int!, $search: String, $candidate: TimingInput, $id: UUID) {
        upcomingByMinute(minutes: $minutes, search: $search, candidate: $candidate, scheduleId: $id)
        { from to starts schedules isComplete candidate { problem { problem }
            starts { at before after } busiest { at after } quieter { minutes starts } } } }";
    let ask = async |variables: Value| desk.ask(query, variables).await["upcomingByMinute"].clone();
    let all = ask(json!({ "minutes": 180 })).await;
    let starts: Vec<i64> =
        all["starts"].as_array().unwrap().iter().map(|starts| starts.as_i64().unwrap()).collect();
    assert_eq!((starts.len(), starts[119], starts[120], starts[125]), (180, 3, 6, 4));
    // The fires of the current minute may already have been claimed.
    assert!(starts[0] <= 3 && starts.iter().skip(1).all(|starts| *starts >= 3), "{starts:?}");
    assert_eq!((&all["schedules"], &all["isComplete"]), (&json!(5), &json!(true)));
    assert_eq!(
        (&all["from"], &all["to"]),
        (&json!("2026-03-01T12:00:00Z"), &json!("2026-03-01T15:00:00Z"))
    );

    let candidate = json!({ "expressions": ["0 14 * * *"] });
    let variables = json!({
        "minutes": 180, "search": "-name:often", "candidate": candidate, "id": edited
    });
    let tried = ask(variables).await;
    // The forecast leaves out the schedule that is edited.
    assert_eq!((&tried["schedules"], &tried["starts"][125]), (&json!(3), &json!(0)));
    let at = "2026-03-01T14:00:00Z";
    let quieter = [-1, 1, -2, 2, -3].map(|minutes| json!({ "minutes": minutes, "starts": 1 }));
    assert_eq!(
        tried["candidate"],
        json!({
            "problem": null, "starts": [{ "at": at, "before": 3, "after": 4 }],
            "busiest": { "at": at, "after": 4 },
            "quieter": quieter,
        })
    );
    let bad = json!({ "minutes": 60, "candidate": { "expressions": ["61 * * * *"] } });
    let refused = ask(bad).await;
    assert!(refused["candidate"]["problem"]["problem"].is_string(), "{refused}");
    for minutes in [0, 10_081] {
        let error = desk.refused(query, json!({ "minutes": minutes })).await;
        assert_eq!(error["extensions"]["field"], "minutes");
    }
    let week = ask(json!({ "minutes": 10_080 })).await;
    assert_eq!(
        (week["starts"].as_array().unwrap().len(), &week["isComplete"]),
        (10_080, &json!(true))
    );
}

async fn what_starts_as_often_in_each_hour_can_be_left_out_of_the_hours_to_come(
    database: TestDatabase,
) {
    let desk = Desk::open(database).await;
    for (name, expression) in [
        ("second", "* * * * * *"),
        ("sevens", "@every 7s"),
        ("minutely", "* * * * *"),
        ("office", "* 9-17 * * *"),
        ("nightly", "0 2 * * *"),
        ("hourly", "0 * * * *"),
    ] {
        desk.schedule(name, expression).await;
    }
    let ends = json!({
        "name": "ends", "timing": { "expressions": ["* * * * *"] }, "maxFires": 1_000_000,
        "task": { "target": { "noop": {} } },
    });
    desk.ask(CREATE, json!({ "input": ends })).await;
    let query = "query($from: DateTime, $hours: Int!, $frequent: Boolean!) {
        upcoming(from: $from, hours: $hours, first: 3, frequent: $frequent) {
            isComplete frequentSchedules fires { schedule { name } }
            hours { fires schedules frequentFires frequentSchedules } } }";
    let ask = async |variables: Value| desk.ask(query, variables).await["upcoming"].clone();
    let week = ask(json!({ "hours": 168, "frequent": false })).await;
    assert_eq!((&week["isComplete"], &week["frequentSchedules"]), (&json!(true), &json!(3)));
    let figures = |hour: &Value| {
        let of = |field: &str| hour[field].as_u64().unwrap();
        let fires = (of("frequentFires"), of("fires") - of("frequentFires"));
        (fires, of("schedules"), of("frequentSchedules"))
    };
    // The hour of 13:00 is in office hours, that of 2:00 at night.
    for (index, others, schedules) in [(1, 60 + 60 + 1, 6), (14, 60 + 1 + 1, 6)] {
        let ((frequent, rest), all, often) = figures(&week["hours"][index]);
        assert!((3_660 + 514..=3_660 + 515).contains(&frequent), "{index}: {frequent}");
        assert_eq!((rest, all, often), (others, schedules, 3), "{index}");
    }
    let names = |answer: &Value| {
        let fires = answer["fires"].as_array().unwrap().iter();
        fires.map(|fire| fire["schedule"]["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let listed = names(&week);
    assert!(listed.iter().all(|name| name == "office" || name == "ends"), "{listed:?}");
    assert_eq!(names(&ask(json!({ "hours": 1, "frequent": true })).await)[0], "second");

    // A query for one hour leaves out the same schedules as a query for the week.
    let hour = json!({ "from": "2026-03-01T13:00:00Z", "hours": 1, "frequent": false });
    let hour = ask(hour).await;
    assert_eq!((&hour["frequentSchedules"], &hour["hours"][0]), (&json!(3), &week["hours"][1]));
    let listed = names(&hour);
    assert!(!listed.contains(&"minutely".to_owned()) && listed.len() == 3, "{listed:?}");
}

async fn the_hours_to_come_are_those_of_a_clock(database: TestDatabase) {
    let desk = Desk::open(database).await;
    // At 09:15 in Kolkata (+05:30), and at 09:30 in Kathmandu (+05:45).
    desk.schedule("daily", "45 3 * * *").await;
    let query = "query($from: DateTime, $hours: Int! = 24, $zone: String) {
        upcoming(from: $from, hours: $hours, zone: $zone) { to hours { at fires } fires { at } } }";
    let ask = async |variables: Value| desk.ask(query, variables).await["upcoming"].clone();
    for (zone, first, hour) in [
        (None, "2026-03-01T12:00:00Z", "2026-03-02T03:00:00Z"),
        (Some("Asia/Kolkata"), "2026-03-01T11:30:00Z", "2026-03-02T03:30:00Z"),
        (Some("Asia/Kathmandu"), "2026-03-01T11:15:00Z", "2026-03-02T03:15:00Z"),
    ] {
        let ahead = ask(json!({ "zone": zone })).await;
        let hours = ahead["hours"].as_array().unwrap();
        assert_eq!((&hours[0]["at"], hours.len()), (&json!(first), 24), "{zone:?}");
        let busy: Vec<_> = hours.iter().filter(|hour| hour["fires"] != 0).collect();
        assert_eq!(busy, [&json!({ "at": hour, "fires": 1 })], "{zone:?}");
        // One hour from its begin on.
        let one = ask(json!({ "from": hour, "hours": 1, "zone": zone })).await;
        assert_eq!(one["hours"], json!([{ "at": hour, "fires": 1 }]), "{zone:?}");
        assert_eq!(one["fires"][0]["at"], "2026-03-02T03:45:00Z", "{zone:?}");
    }
    let error = desk.refused(query, json!({ "zone": "Asia/Nowhere" })).await;
    assert_eq!(error["extensions"]["field"], "zone");
}

async fn the_work_to_come_is_counted_by_how_long_runs_usually_take(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let hourly = desk.schedule("hourly", "0 * * * *").await;
    let often = desk.schedule("often", "* * * * *").await;
    desk.schedule("new", "30 * * * *").await;
    for (schedule, state, took) in [
        (&hourly, State::Succeeded, 60_000),
        (&hourly, State::Succeeded, 600_000),
        (&hourly, State::Succeeded, 120_000),
        (&hourly, State::Failed, 1),
        (&often, State::Succeeded, 1_000),
    ] {
        let run = desk.trigger(schedule).await;
        settle(&desk, &run, state, took).await;
    }
    let query = "{ upcoming(hours: 2, first: 1) { hours { fires workMs frequentWorkMs } } }";
    let hour = desk.ask(query, json!({})).await["upcoming"]["hours"][1].clone();
    // The median of the first is two minutes; nothing is known of the schedule that has not run.
    let work = json!({ "fires": 62, "workMs": 120_000 + 60_000, "frequentWorkMs": 60_000 });
    assert_eq!(hour, work);
}

async fn an_edit_tells_the_fires_that_it_adds_and_removes(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("nightly", "0 2 * * *").await;
    let query = "query($id: UUID!, $timing: TimingInput!) {
        definitionEffect(scheduleId: $id, timing: $timing) { from until problem { field }
            before after added removed addedFires { at local } removedFires { at } isComplete } }";
    let timing = json!({ "expressions": ["0 2,3 * * 1-5"] });
    let effect = desk.ask(query, json!({ "id": id, "timing": timing })).await;
    let effect = &effect["definitionEffect"];
    assert_eq!(
        (&effect["from"], &effect["until"]),
        (&json!("2026-03-01T12:00:00Z"), &json!("2026-03-31T12:00:00Z"))
    );
    // Of 30 nights, 22 are followed by a weekday.
    let figures = ["before", "after", "added", "removed"].map(|of| effect[of].as_i64().unwrap());
    assert_eq!(figures, [30, 44, 22, 8]);
    assert_eq!(
        effect["addedFires"][0],
        json!({ "at": "2026-03-02T03:00:00Z", "local": "2026-03-02T03:00:00" })
    );
    assert_eq!(effect["removedFires"][0]["at"], "2026-03-07T02:00:00Z");
    assert_eq!(
        (&effect["isComplete"], effect["addedFires"].as_array().unwrap().len()),
        (&json!(true), 20)
    );
    let bad = desk.ask(query, json!({ "id": id, "timing": { "expressions": ["x"] } })).await;
    assert!(bad["definitionEffect"]["problem"]["field"].is_string(), "{bad}");
    let unknown = json!({ "id": uuid::Uuid::nil(), "timing": timing });
    assert_eq!(desk.refused(query, unknown).await["extensions"]["code"], "NOT_FOUND");
}

/// The effect of a clock change on a schedule, as the API tells it.
fn effect(name: &str, text: &str, calendar: Option<&str>) -> Value {
    json!({ "schedule": { "name": name }, "effects": [text], "suppressedBy": calendar })
}

async fn a_clock_change_tells_its_effect_on_each_schedule(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let calendar = "mutation { createCalendar(input: {
        name: \"sundays\", mode: EXCLUDE, weekdays: [SUN] }) { calendar { id } } }";
    desk.ask(calendar, json!({})).await;
    let create = async |name: &str, timing: Value, calendars: Value| {
        let task = json!({ "target": { "noop": {} } });
        let input = json!({ "name": name, "timing": timing, "calendars": calendars, "task": task });
        let made = desk.ask(CREATE, json!({ "input": input })).await;
        made["createSchedule"]["schedule"]["id"].as_str().unwrap().to_owned()
    };
    let berlin = |text: &str| json!({ "expressions": [text], "zone": "Europe/Berlin" });
    let mut both = berlin("30 2 * * *");
    both["gap"] = json!("SKIP");
    both["overlap"] = json!("BOTH");
    create("shifts", berlin("30 2 * * *"), json!([])).await;
    create("both", both, json!([])).await;
    create("rests", berlin("30 2 * * *"), json!(["sundays"])).await;
    create("hourly", berlin("0 * * * *"), json!([])).await;
    create("elsewhere", json!({ "expressions": ["30 2 * * *"] }), json!([])).await;
    let paused = create("paused", berlin("30 2 * * *"), json!([])).await;
    let pause =
        "mutation($id: UUID!) { pauseSchedule(id: $id, reason: \"x\") { schedule { id } } }";
    desk.ask(pause, json!({ "id": paused })).await;

    let query = "query($days: Int! = 366, $search: String, $first: Int! = 50) {
        clockChanges(days: $days, search: $search, first: $first) { schedules isComplete changes {
            zone at before after affected
            schedules { schedule { name } effects suppressedBy } } } }";
    let ask = async |variables: Value| desk.ask(query, variables).await["clockChanges"].clone();
    let year = ask(json!({})).await;
    assert_eq!((&year["schedules"], &year["isComplete"]), (&json!(4), &json!(true)));
    let changes = year["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 2, "{year}");
    let gap = "02:30 does not exist on 2026-03-29 in Europe/Berlin";
    let shifted = format!("{gap}: it fires at 03:00 instead, the first instant after the gap");
    assert_eq!(
        changes[0],
        json!({
            "zone": "Europe/Berlin", "at": "2026-03-29T01:00:00Z", "affected": 3,
            "before": "2026-03-29T02:00:00+01:00", "after": "2026-03-29T03:00:00+02:00",
            "schedules": [
                effect("both", &format!("{gap}: it does not fire then"), None),
                effect("rests", &shifted, Some("sundays")),
                effect("shifts", &shifted, None),
            ],
        })
    );
    let overlap = "02:30 occurs twice on 2026-10-25 in Europe/Berlin";
    assert_eq!(
        (&changes[1]["before"], &changes[1]["after"]),
        (&json!("2026-10-25T03:00:00+02:00"), &json!("2026-10-25T02:00:00+01:00"))
    );
    let twice = effect("both", &format!("{overlap}: it fires both times"), None);
    assert_eq!(changes[1]["schedules"][0], twice);

    // A change that lists fewer schedules still counts all of them.
    let soon = ask(json!({ "days": 30, "first": 1 })).await;
    let listed = &soon["changes"][0];
    assert_eq!(
        (soon["changes"].as_array().unwrap().len(), &listed["affected"]),
        (1, &json!(3)),
        "{soon}"
    );
    assert_eq!(listed["schedules"].as_array().unwrap().len(), 1);
    let found = ask(json!({ "search": "name:shifts" })).await;
    assert_eq!((&found["schedules"], &found["changes"][0]["affected"]), (&json!(1), &json!(1)));
    for days in [0, 367] {
        let error = desk.refused(query, json!({ "days": days })).await;
        assert_eq!(error["extensions"]["field"], "days");
    }
}

/// Creates a schedule in Berlin's zone, and returns the fires of its next 30 days.
async fn days_in_berlin(desk: &Desk, expression: &str, more: Value) -> Vec<Value> {
    let mut input = json!({
        "timing": { "expressions": [expression], "zone": "Europe/Berlin" },
        "task": { "target": { "noop": {} } },
    });
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let made = desk.ask(CREATE, json!({ "input": input })).await;
    let query = "query($id: UUID!) { schedule(id: $id) {
        fireDays(count: 30) { date from until fires suppressed suppressedBy } } }";
    let id = made["createSchedule"]["schedule"]["id"].clone();
    let answer = desk.ask(query, json!({ "id": id })).await;
    answer["schedule"]["fireDays"].as_array().unwrap().clone()
}

async fn the_days_to_come_are_counted_with_what_calendars_suppress(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let make = "mutation($input: CreateCalendarInput!) { createCalendar(input: $input) {
        calendar { id } } }";
    let weekends = json!({ "name": "weekends", "mode": "EXCLUDE", "weekdays": ["SAT", "SUN"] });
    desk.ask(make, json!({ "input": weekends })).await;

    // It is noon on Sunday, 1 March, after the fire of that day.
    let nightly = json!({ "name": "nightly", "calendars": ["weekends"] });
    let days = days_in_berlin(&desk, "30 2 * * *", nightly).await;
    assert_eq!(days.len(), 30);
    assert_eq!(
        days[0],
        json!({ "date": "2026-03-01", "from": "2026-02-28T23:00:00Z",
            "until": "2026-03-01T23:00:00Z", "fires": 0, "suppressed": 0, "suppressedBy": null })
    );
    let told = |day: &Value| (day["fires"].clone(), day["suppressed"].clone());
    assert_eq!(told(&days[1]), (json!(1), json!(0)));
    assert_eq!(told(&days[6]), (json!(0), json!(1)));
    assert_eq!(days[6]["suppressedBy"], "weekends");

    // The day on which the clocks go forward has 23 hours; the first one begins at noon.
    let days = days_in_berlin(&desk, "* * * * *", json!({ "name": "often" })).await;
    let fires = |day: usize| days[day]["fires"].as_i64().unwrap();
    assert_eq!([fires(0), fires(1), fires(28), fires(29)], [659, 1_440, 1_380, 1_440]);
    assert_eq!(days[28]["until"], "2026-03-29T22:00:00Z");

    // No day has fires beyond the maximum.
    let few = json!({ "name": "few", "maxFires": 4 });
    let days = days_in_berlin(&desk, "0 9,15 * * *", few).await;
    let fires: Vec<i64> = days.iter().map(|day| day["fires"].as_i64().unwrap()).collect();
    assert_eq!((&fires[..4], fires[4..].iter().sum::<i64>()), (&[1, 2, 1, 0][..], 0));
}
