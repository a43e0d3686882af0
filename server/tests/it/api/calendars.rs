use entity::fire::{self, Reason};
use sea_orm::EntityTrait;
use serde_json::{Value, json};

use super::desk::{CREATE, Desk};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_calendar_is_made_changed_and_deleted,
    a_calendar_counts_the_schedules_that_refer_to_it,
    a_schedule_obeys_the_calendars_that_it_names,
    a_changed_calendar_is_obeyed_at_once,
    a_change_decides_nothing_of_what_came_before_it,
    a_module_declares_calendars_and_takes_them_away,
    a_deployment_that_silences_a_schedule_is_refused,
);

const MAKE: &str = "mutation($input: CreateCalendarInput!) { createCalendar(input: $input) {
    calendar { id name mode version dates yearly weekdays ranges { from to }
        windows { from to weekdays } module } } }";
const CHANGE: &str = "mutation($input: UpdateCalendarInput!) { updateCalendar(input: $input) {
    calendar { version dates weekdays } } }";
const DELETE: &str = "mutation($id: UUID!, $version: Int!) {
    deleteCalendar(id: $id, expectedVersion: $version) { id } }";

async fn make(desk: &Desk, input: Value) -> Value {
    let answer = desk.ask(MAKE, json!({ "input": input })).await;
    answer["createCalendar"]["calendar"].clone()
}

fn weekends() -> Value {
    json!({ "name": "weekends", "mode": "EXCLUDE", "weekdays": ["SAT", "SUN"] })
}

fn nine_oclock(calendars: &[&str]) -> Value {
    json!({
        "name": "report",
        "timing": { "expressions": ["0 9 * * *"], "zone": "Europe/Berlin" },
        "task": { "target": { "noop": {} } },
        "calendars": calendars,
    })
}

async fn a_calendar_counts_the_schedules_that_refer_to_it(database: TestDatabase) {
    let desk = Desk::open(database).await;
    make(&desk, weekends()).await;
    make(&desk, json!({ "name": "holidays", "mode": "EXCLUDE" })).await;
    make(&desk, json!({ "name": "unused", "mode": "EXCLUDE" })).await;
    for (name, calendars) in
        [("a", &["weekends", "holidays"][..]), ("b", &["weekends"]), ("c", &[])]
    {
        let mut input = nine_oclock(calendars);
        input["name"] = json!(name);
        desk.ask(CREATE, json!({ "input": input })).await;
    }
    let counts = "{ calendars { nodes { name schedules } } }";
    let count = |name: &str, schedules: i64| json!({ "name": name, "schedules": schedules });
    assert_eq!(
        desk.ask(counts, json!({})).await["calendars"]["nodes"],
        json!([count("holidays", 1), count("unused", 0), count("weekends", 2)])
    );
    let list = "query($name: String) { schedules(filter: { calendar: $name }) {
        nodes { name } totalCount } }";
    let found = desk.ask(list, json!({ "name": "weekends" })).await;
    let both = json!({ "nodes": [{ "name": "a" }, { "name": "b" }], "totalCount": 2 });
    assert_eq!(found["schedules"], both);
    let none = desk.ask(list, json!({ "name": "nothing" })).await;
    assert_eq!(none["schedules"]["totalCount"], 0);
    // Another namespace gets a calendar of the same name.
    let namespace = "mutation { createNamespace(name: \"east\") { __typename } }";
    desk.ask(namespace, json!({})).await;
    let mut calendar = weekends();
    calendar["namespace"] = json!("east");
    make(&desk, calendar).await;
    let mut input = nine_oclock(&["weekends"]);
    (input["name"], input["namespace"]) = (json!("d"), json!("east"));
    desk.ask(CREATE, json!({ "input": input })).await;
    let all = "query($name: String) { schedules(namespace: null, filter: { calendar: $name }) {
        nodes { name } totalCount } }";
    let found = desk.ask(all, json!({ "name": "weekends" })).await;
    let three =
        json!({ "nodes": [{ "name": "a" }, { "name": "b" }, { "name": "d" }], "totalCount": 3 });
    assert_eq!(found["schedules"], three);
    let none = desk.ask(all, json!({ "name": "nothing" })).await;
    assert_eq!(none["schedules"]["totalCount"], 0);
}

async fn a_calendar_is_made_changed_and_deleted(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let input = json!({
        "name": "holidays", "mode": "EXCLUDE", "dates": ["2026-12-24"], "yearly": ["12-25"],
        "weekdays": ["SUN"], "ranges": [{ "from": "2026-07-01", "to": "2026-07-31" }],
        "windows": [{ "from": "22:00", "to": "06:00" }],
    });
    let made = make(&desk, input.clone()).await;
    let id = made["id"].clone();
    assert_eq!((&made["version"], &made["module"]), (&json!(1), &Value::Null));
    for field in ["name", "mode", "dates", "yearly", "weekdays", "ranges"] {
        assert_eq!(made[field], input[field], "{field}");
    }
    assert_eq!(made["windows"], json!([{ "from": "22:00", "to": "06:00", "weekdays": [] }]));
    let again = desk.refused(MAKE, json!({ "input": input })).await;
    assert_eq!(again["extensions"]["field"], "name", "{again}");

    let edit = |version: i32| json!({ "input": { "id": id, "expectedVersion": version, "dates": ["2026-12-31"] } });
    let changed = desk.ask(CHANGE, edit(1)).await;
    assert_eq!(
        changed["updateCalendar"],
        json!({
            "calendar": { "version": 2, "dates": ["2026-12-31"], "weekdays": ["SUN"] },
        })
    );
    let stale = desk.refused(CHANGE, edit(1)).await;
    assert_eq!(stale["extensions"]["code"], "CONFLICT");
    assert_eq!(stale["extensions"]["currentVersion"], 2);
    // Saving the same definition again changes nothing.
    assert_eq!(desk.ask(CHANGE, edit(2)).await["updateCalendar"]["calendar"]["version"], 2);

    desk.ask(CREATE, json!({ "input": nine_oclock(&["holidays"]) })).await;
    let in_use = desk.refused(DELETE, json!({ "id": id, "version": 2 })).await;
    assert_eq!(in_use["extensions"]["code"], "CONFLICT");
    assert!(in_use["message"].as_str().unwrap().contains("report"), "{in_use}");
    let found = "{ schedule(name: \"report\") { id } }";
    let schedule = desk.ask(found, json!({})).await["schedule"]["id"].clone();
    let free = "mutation($id: UUID!) { updateSchedule(input: {
        id: $id, expectedVersion: 1, calendars: [] }) { schedule { calendars { name } } } }";
    desk.ask(free, json!({ "id": schedule })).await;
    let stale = desk.refused(DELETE, json!({ "id": id, "version": 1 })).await;
    assert_eq!(stale["extensions"]["code"], "CONFLICT");
    desk.ask(DELETE, json!({ "id": id, "version": 2 })).await;
    let list =
        desk.ask("{ calendars { nodes { name } } calendar(name: \"holidays\") { id } }", json!({}));
    assert_eq!(list.await, json!({ "calendars": { "nodes": [] }, "calendar": null }));
    // After its deletion, the calendar's name is free again.
    make(&desk, json!({ "name": "holidays", "mode": "EXCLUDE" })).await;
}

async fn a_schedule_obeys_the_calendars_that_it_names(database: TestDatabase) {
    let desk = Desk::open(database).await;
    make(&desk, weekends()).await;
    let office = json!({
        "name": "office", "mode": "ONLY",
        "windows": [{ "from": "08:00", "to": "18:00", "weekdays": ["MON", "TUE", "WED"] }],
    });
    make(&desk, office).await;
    // It is noon on Sunday, 1 March 2026.
    let made = desk.ask(CREATE, json!({ "input": nine_oclock(&["weekends", "office"]) })).await;
    let id = made["createSchedule"]["schedule"]["id"].clone();
    let query = "query($id: UUID!) { schedule(id: $id) { nextFireAt state calendars { name mode }
        timing { description } nextFires(count: 6) { local suppressedBy } } }";
    let answer = desk.ask(query, json!({ "id": id })).await;
    let schedule = &answer["schedule"];
    assert_eq!(schedule["nextFireAt"], "2026-03-02T08:00:00Z");
    assert_eq!(
        schedule["calendars"],
        json!([{ "name": "weekends", "mode": "EXCLUDE" }, { "name": "office", "mode": "ONLY" }])
    );
    let words = schedule["timing"]["description"].as_str().unwrap();
    assert!(
        words.ends_with("Not in the calendar `weekends`. Only in the calendar `office`."),
        "{words}"
    );
    let suppressed: Vec<&Value> = schedule["nextFires"]
        .as_array()
        .unwrap()
        .iter()
        .map(|fire| &fire["suppressedBy"])
        .collect();
    assert_eq!(json!(suppressed), json!([null, null, null, "office", "office", "weekends"]));

    let preview = "query($timing: TimingInput!, $calendars: [String!], $id: UUID) {
        schedulePreview(timing: $timing, count: 2, calendars: $calendars, scheduleId: $id) {
            fires { suppressedBy } firesPerYear problem { field value } } }";
    let timing = json!({ "expressions": ["0 12 * * *"], "zone": "UTC" });
    let plain = desk.ask(preview, json!({ "timing": timing })).await;
    assert_eq!(
        plain["schedulePreview"],
        json!({ "fires": [{ "suppressedBy": null }, { "suppressedBy": null }],
            "firesPerYear": 365, "problem": null })
    );
    let with = json!({ "timing": timing, "calendars": ["weekends"] });
    let with = desk.ask(preview, with).await;
    assert_eq!(with["schedulePreview"]["firesPerYear"], 261);
    let like = desk.ask(preview, json!({ "timing": timing, "id": id })).await;
    assert_eq!(like["schedulePreview"]["firesPerYear"], 157, "those of the edited schedule");
    let unknown = json!({ "timing": timing, "calendars": ["weekend"] });
    let unknown = desk.ask(preview, unknown).await;
    assert_eq!(
        unknown["schedulePreview"]["problem"],
        json!({ "field": "calendars[0]", "value": "weekend" })
    );

    let edit = "mutation($id: UUID!) { updateSchedule(input: {
        id: $id, expectedVersion: 1, calendars: [\"weekends\"] }) {
        schedule { nextFireAt versions { nodes { change } } } } }";
    let edited = desk.ask(edit, json!({ "id": id })).await;
    assert_eq!(
        edited["updateSchedule"]["schedule"]["versions"]["nodes"][0]["change"],
        "calendars: `weekends, office` -> `weekends`"
    );
}

async fn a_changed_calendar_is_obeyed_at_once(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let calendar = make(&desk, weekends()).await;
    let made = desk.ask(CREATE, json!({ "input": nine_oclock(&["weekends"]) })).await;
    let id = made["createSchedule"]["schedule"]["id"].clone();
    let next = "query($id: UUID!) { schedule(id: $id) { version nextFireAt } }";
    let before = desk.ask(next, json!({ "id": id })).await;
    assert_eq!(before["schedule"]["nextFireAt"], "2026-03-02T08:00:00Z");
    let monday = json!({ "id": calendar["id"], "expectedVersion": 1, "dates": ["2026-03-02"] });
    desk.ask(CHANGE, json!({ "input": monday })).await;
    let after = desk.ask(next, json!({ "id": id })).await;
    assert_eq!(after["schedule"], json!({ "version": 1, "nextFireAt": "2026-03-03T08:00:00Z" }));
    // A change that makes the calendar suppress all fires of a schedule is refused, just like
    // creating such a schedule.
    let whole = json!({ "id": calendar["id"], "expectedVersion": 2,
        "weekdays": ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"] });
    let error = desk.refused(CHANGE, json!({ "input": whole })).await;
    assert_eq!(error["extensions"]["code"], "CONFLICT", "{error}");
    assert!(error["message"].as_str().unwrap().contains("every fire of report"), "{error}");
    assert_eq!(desk.ask(next, json!({ "id": id })).await, after, "nothing is half done");
}

async fn a_change_decides_nothing_of_what_came_before_it(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let windows = |from: &str, to: &str| json!([{ "from": from, "to": to }]);
    let input = json!({ "name": "off", "mode": "EXCLUDE", "windows": windows("12:00", "12:15") });
    let calendar = make(&desk, input).await;
    let every = json!({
        "name": "every", "timing": { "expressions": ["*/10 * * * *"], "zone": "UTC" },
        "task": { "target": { "noop": {} } }, "calendars": ["off"],
    });
    let made = desk.ask(CREATE, json!({ "input": every })).await;
    let id = made["createSchedule"]["schedule"]["id"].clone();
    let reasons = async || {
        let mut rows = fire::Entity::find().all(desk.database.store.read()).await.unwrap();
        rows.sort_by_key(|row| row.scheduled_at);
        rows.iter().map(|row| row.reason).collect::<Vec<_>>()
    };
    // Nothing has been claimed yet. Two changes of the calendar leave the instants to the next
    // claim.
    for (version, now, from, to) in [(1, "12:25", "12:15", "12:25"), (2, "12:35", "12:45", "12:55")]
    {
        desk.clock.set(format!("2026-03-01T{now}:00Z").parse().unwrap());
        let edit = json!({ "id": calendar["id"], "expectedVersion": version,
            "windows": windows(from, to) });
        desk.ask(CHANGE, json!({ "input": edit })).await;
        assert_eq!(reasons().await, []);
    }
    desk.clock.set("2026-03-01T13:02:00Z".parse().unwrap());
    let delete = "mutation($id: UUID!) { deleteSchedule(id: $id) { id } }";
    desk.ask(delete, json!({ "id": id })).await;
    let expected = [
        Reason::Calendar,
        Reason::Outage,
        Reason::Outage,
        Reason::Outage,
        Reason::Calendar,
        Reason::Deleted,
    ];
    assert_eq!(reasons().await, expected);
}

const SOURCE: &str = r#"
module: demo
calendars:
  holidays:
    mode: exclude
    dates: [2026-12-24]
    yearly: [12-25]
    ranges: [{ from: 2026-07-01, to: 2026-07-31 }]
  office:
    mode: only
    windows: [{ from: "08:00", to: "18:00", weekdays: [mon, tuesday] }]
schedules:
  report:
    when: "0 9 * * *"
    calendars: [holidays, office]
    max_fires: 10
    task: { target: { noop: {} } }
"#;

async fn a_module_declares_calendars_and_takes_them_away(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let deploy = "mutation($source: String!, $dryRun: Boolean! = false) {
        deployModule(source: $source, dryRun: $dryRun) { changes { action kind name detail } } }";
    let changes = |answer: Value| -> Vec<String> {
        let changes = answer["deployModule"]["changes"].as_array().unwrap().clone();
        let words = |change: &Value| {
            let word = |key: &str| change[key].as_str().unwrap().to_owned();
            format!("{} {} {}", word("action"), word("kind"), word("name"))
        };
        changes.iter().map(words).collect()
    };
    let first = desk.ask(deploy, json!({ "source": SOURCE })).await;
    assert_eq!(
        changes(first)[..2],
        ["CREATE calendar holidays".to_owned(), "CREATE calendar office".to_owned()]
    );
    let again = changes(desk.ask(deploy, json!({ "source": SOURCE })).await);
    assert!(again.iter().all(|change| change.starts_with("UNCHANGED")), "{again:?}");
    let query = "{ schedule(name: \"report\") { version maxFires fireCount nextFireAt
        calendars { name module version } } }";
    let found = desk.ask(query, json!({})).await;
    assert_eq!(
        found["schedule"],
        json!({
            "version": 1, "maxFires": 10, "fireCount": 0, "nextFireAt": "2026-03-02T09:00:00Z",
            "calendars": [
                { "name": "holidays", "module": "demo", "version": 1 },
                { "name": "office", "module": "demo", "version": 1 },
            ],
        })
    );

    // A dry run of a change leaves no trace, not even in a cache.
    let monday_off = SOURCE.replace("dates: [2026-12-24]", "dates: [2026-03-02]");
    let dry = desk.ask(deploy, json!({ "source": monday_off, "dryRun": true })).await;
    assert_eq!(changes(dry)[0], "UPDATE calendar holidays");
    assert_eq!(desk.ask(query, json!({})).await, found);
    let tuesday_off = SOURCE.replace("dates: [2026-12-24]", "dates: [2026-03-03]");
    desk.ask(deploy, json!({ "source": tuesday_off })).await;
    let found = desk.ask(query, json!({})).await;
    assert_eq!(found["schedule"]["nextFireAt"], "2026-03-02T09:00:00Z");
    assert_eq!(found["schedule"]["calendars"][0]["version"], 2);

    // Only the module may change the objects that it declares.
    let id = desk.ask("{ calendar(name: \"office\") { id } }", json!({})).await;
    let owned = json!({ "id": id["calendar"]["id"], "expectedVersion": 1, "mode": "EXCLUDE" });
    let error = desk.refused(CHANGE, json!({ "input": owned })).await;
    assert!(error["message"].as_str().unwrap().contains("demo"), "{error}");

    let bad = SOURCE.replace("yearly: [12-25]", "yearly: [25-12]");
    let error = desk.refused(deploy, json!({ "source": bad })).await;
    assert_eq!(error["extensions"]["field"], "calendars.holidays.yearly[0]", "{error}");
    let less = "module: demo\nschedules: {report: {when: '@daily', task: {target: {noop: {}}}}}";
    let gone = changes(desk.ask(deploy, json!({ "source": less })).await);
    assert!(gone.contains(&"DELETE calendar office".to_owned()), "{gone:?}");
    let list = desk.ask("{ calendars { nodes { name } } }", json!({})).await;
    assert_eq!(list["calendars"]["nodes"], json!([]));
}

/// The deployment changes the module's own calendar, or a calendar with another owner. Either
/// change would keep a schedule from ever firing again.
async fn a_deployment_that_silences_a_schedule_is_refused(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let deploy = "mutation($source: String!, $dryRun: Boolean! = false) {
        deployModule(source: $source, dryRun: $dryRun) { changes { action name } } }";
    let source = |days: &str, when: &str| {
        let task = "task: { target: { noop: {} } }";
        format!(
            "module: demo\ncalendars:\n  office: {{ mode: only, weekdays: [{days}] }}\nschedules:\n  \
             report: {{ when: '{when}', calendars: [office], {task} }}\n"
        )
    };
    let workdays = "mon, tue, wed, thu, fri";
    desk.ask(deploy, json!({ "source": source(workdays, "0 9 * * MON") })).await;
    let calendar = "{ calendar(name: \"office\") { version weekdays } }";
    let before = desk.ask(calendar, json!({})).await;
    for dry_run in [true, false] {
        let silent = json!({ "source": source("sat", "0 9 * * MON"), "dryRun": dry_run });
        let error = desk.refused(deploy, silent).await;
        assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{error}");
        assert_eq!(error["extensions"]["field"], "calendars.office", "{error}");
        assert!(error["message"].as_str().unwrap().contains("every fire of report"), "{error}");
        assert_eq!(desk.ask(calendar, json!({})).await, before, "nothing is half done");
    }
    // If the deployment changes the schedule as well, so that it still fires, the calendar may
    // change.
    desk.ask(deploy, json!({ "source": source("sat", "0 9 * * SAT") })).await;

    let mut other = nine_oclock(&["office"]);
    other["name"] = json!("of-somebody-else");
    other["timing"] = json!({ "expressions": ["0 9 * * SAT"] });
    desk.ask(CREATE, json!({ "input": other })).await;
    let error = desk.refused(deploy, json!({ "source": source(workdays, "0 9 * * MON") })).await;
    assert!(error["message"].as_str().unwrap().contains("of-somebody-else"), "{error}");
    let both = source(&format!("{workdays}, sat"), "0 9 * * MON");
    desk.ask(deploy, json!({ "source": both })).await;
}

#[tokio::test]
async fn each_bad_calendar_is_refused_with_its_field() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    for (field, change) in [
        ("name", json!({ "name": "no spaces" })),
        ("dates[0]", json!({ "dates": ["24.12.2026"] })),
        ("yearly[1]", json!({ "yearly": ["12-25", "02-30"] })),
        ("ranges[0].to", json!({ "ranges": [{ "from": "2026-07-02", "to": "2026-07-01" }] })),
        ("windows[0].from", json!({ "windows": [{ "from": "8:00", "to": "18:00" }] })),
        ("windows[0].to", json!({ "windows": [{ "from": "08:00", "to": "08:00" }] })),
        ("dates", json!({ "dates": vec!["2026-01-01"; 2_001] })),
        ("windows", json!({ "windows": vec![json!({ "from": "08:00", "to": "09:00" }); 101] })),
        ("dates", json!({ "mode": "ONLY" })),
    ] {
        let mut input = json!({ "name": "x", "mode": "EXCLUDE" });
        for (key, value) in change.as_object().unwrap() {
            input[key] = value.clone();
        }
        let error = desk.refused(MAKE, json!({ "input": input })).await;
        assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{error}");
        assert_eq!(error["extensions"]["field"], field, "{error}");
    }
}

/// So many names that comparing each with each would take minutes, and that no statement takes so
/// many values.
#[tokio::test]
async fn a_list_of_very_many_calendars_is_refused_by_its_length() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    let names: Vec<String> = (0..300_000).map(|number| format!("c{number}")).collect();
    let mut input = nine_oclock(&[]);
    let made = desk.ask(CREATE, json!({ "input": input })).await;
    let id = &made["createSchedule"]["schedule"]["id"];
    input["name"] = json!("other");
    input["calendars"] = json!(names);
    let many = "mutation($inputs: [CreateScheduleInput!]!) {
        createSchedules(inputs: $inputs) { id } }";
    let update = "mutation($id: UUID!, $calendars: [String!]) { updateSchedule(input: {
        id: $id, expectedVersion: 1, calendars: $calendars }) { schedule { id } } }";
    let deploy =
        "mutation($source: String!) { deployModule(source: $source) { changes { action } } }";
    // JSON is YAML, too. A file has at most 1 MiB.
    let task = json!({ "target": { "noop": {} } });
    let entry = json!({ "when": "@daily", "calendars": &names[..20_000], "task": task });
    let source = json!({ "module": "dated", "schedules": { "other": entry } }).to_string();
    for (query, variables) in [
        (CREATE, json!({ "input": input })),
        (many, json!({ "inputs": [input] })),
        (update, json!({ "id": id, "calendars": names })),
        (deploy, json!({ "source": source })),
    ] {
        let error = desk.refused(query, variables).await;
        let field = error["extensions"]["field"].as_str().unwrap_or_default();
        assert!(field.ends_with("calendars"), "{query}: {error}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("000 calendars; give at most 8 calendars"), "{query}: {message}");
    }
}

#[tokio::test]
async fn each_bad_use_of_calendars_is_refused_with_its_field() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    make(&desk, weekends()).await;
    make(&desk, json!({ "name": "saturdays", "mode": "ONLY", "weekdays": ["SAT"] })).await;
    let many: Vec<String> = (0..9).map(|index| format!("c{index}")).collect();
    for name in &many {
        make(&desk, json!({ "name": name, "mode": "EXCLUDE" })).await;
    }
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    for (field, change) in [
        ("calendars[1]", nine_oclock(&["weekends", "missing"])),
        ("calendars[1]", nine_oclock(&["weekends", "weekends"])),
        ("calendars", nine_oclock(&many)),
        // Together the calendars suppress every fire.
        ("calendars", nine_oclock(&["saturdays", "weekends"])),
        ("maxFires", {
            let mut input = nine_oclock(&[]);
            input["maxFires"] = json!(0);
            input
        }),
    ] {
        let error = desk.refused(CREATE, json!({ "input": change })).await;
        assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{error}");
        assert_eq!(error["extensions"]["field"], field, "{error}");
    }
    let list = desk.ask("{ schedules { totalCount } workflows { nodes { id } } }", json!({})).await;
    assert_eq!(list, json!({ "schedules": { "totalCount": 0 }, "workflows": { "nodes": [] } }));
    // If all fires are in the past anyway, the calendar is not to blame, and the schedule is
    // accepted.
    let mut past = nine_oclock(&["saturdays"]);
    past["timing"] = json!({ "expressions": ["@at 0"] });
    desk.ask(CREATE, json!({ "input": past })).await;
}
