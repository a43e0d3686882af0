use std::time::Duration;

use carillon::{
    store::{Migrations, Options, Store, namespaces},
    target::Policy,
};
use entity::fire::{Reason, Verdict};
use sea_orm::ConnectionTrait;
use serde_json::{Value, json};

use super::{
    desk::{CREATE, Desk},
    ledger::{plant, planted_fire},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    schedules_are_found_by_the_search_language,
    a_text_that_is_too_long_to_be_searched_for_is_refused,
    schedules_are_counted_by_tag_and_by_module,
    a_group_is_found_by_a_part_of_its_name_however_many_there_are,
    calendars_are_found_by_a_part_of_their_names,
    schedules_are_found_by_their_calendars,
    runs_are_found_by_the_search_language,
    what_a_search_holds_is_never_sql_nor_a_pattern,
    a_note_with_an_umlaut_is_found_by_itself,
    a_search_that_takes_too_long_is_given_up_and_says_what_to_narrow,
);

const SCHEDULES: &str = "query($search: String, $filter: ScheduleFilter) {
    schedules(search: $search, filter: $filter) { nodes { name } totalCount } }";
const RUNS: &str = "query($search: String) { runs(search: $search) { nodes { id } } }";

async fn make(desk: &Desk, name: &str, input: Value) -> String {
    let mut all = json!({
        "name": name, "timing": { "expressions": ["@daily"] },
        "task": { "target": { "noop": {} } },
    });
    all.as_object_mut().unwrap().extend(input.as_object().unwrap().clone());
    let made = desk.ask(CREATE, json!({ "input": all })).await;
    made["createSchedule"]["schedule"]["id"].as_str().unwrap().to_owned()
}

async fn found(desk: &Desk, search: &str) -> Vec<String> {
    let answer = desk.ask(SCHEDULES, json!({ "search": search })).await;
    let nodes = answer["schedules"]["nodes"].as_array().unwrap();
    assert_eq!(answer["schedules"]["totalCount"], nodes.len(), "{search}");
    nodes.iter().map(|node| node["name"].as_str().unwrap().to_owned()).collect()
}

async fn a_text_that_is_too_long_to_be_searched_for_is_refused(database: TestDatabase) {
    let desk = Desk::open(database).await;
    desk.schedule("nightly", "@daily").await;
    let filter = |length: usize| json!({ "filter": { "text": "ü".repeat(length) } });
    assert_eq!(desk.ask(SCHEDULES, filter(200)).await["schedules"]["totalCount"], 0);
    // SQLite has no patterns of more than 50,000 bytes.
    for length in [201, 60_000] {
        let error = desk.refused(SCHEDULES, filter(length)).await;
        assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{error}");
        assert_eq!(error["extensions"]["field"], "text", "{error}");
    }
}

async fn schedules_are_counted_by_tag_and_by_module(database: TestDatabase) {
    let desk = Desk::open(database).await;
    make(&desk, "backup", json!({ "tags": ["ops", "db"] })).await;
    make(&desk, "report", json!({ "tags": ["billing"], "note": "ops" })).await;
    make(&desk, "once", json!({ "tags": ["ops"] })).await;
    make(&desk, "bare", json!({})).await;
    let module = "module: shop\nschedules:\n  nightly: { when: '@daily', tags: [db], task: { target: { noop: {} } } }\n";
    let deploy = "mutation($source: String!) { deployModule(source: $source) { module } }";
    desk.ask(deploy, json!({ "source": module })).await;
    let query = "query($by: ScheduleGrouping!, $search: String, $filter: ScheduleFilter) {
        scheduleGroups(by: $by, search: $search, filter: $filter) {
            groups { name schedules } without isCut } }";
    let groups =
        async |variables: Value| desk.ask(query, variables).await["scheduleGroups"].clone();
    let group = |name: &str, schedules: i64| json!({ "name": name, "schedules": schedules });
    let by_tag = [group("billing", 1), group("db", 2), group("ops", 2)];
    assert_eq!(
        groups(json!({ "by": "TAG" })).await,
        json!({ "groups": by_tag, "without": 1, "isCut": false })
    );
    assert_eq!(
        groups(json!({ "by": "MODULE" })).await,
        json!({ "groups": [group("shop", 1)], "without": 4, "isCut": false })
    );
    // The schedules that a search finds, with all of their tags.
    assert_eq!(
        groups(json!({ "by": "TAG", "search": "tag:ops" })).await,
        json!({ "groups": [group("db", 1), group("ops", 2)], "without": 0, "isCut": false })
    );
    // Searching for schedules without a tag finds as many as the counts say.
    assert_eq!(found(&desk, "no:tag").await, ["bare"]);
    assert_eq!(found(&desk, "no:module").await, ["backup", "bare", "once", "report"]);
    assert_eq!(found(&desk, "-no:module").await, ["nightly"]);
    let filter = json!({ "tag": "db", "declared": true });
    assert_eq!(
        groups(json!({ "by": "MODULE", "filter": filter })).await,
        json!({ "groups": [group("shop", 1)], "without": 0, "isCut": false })
    );
    for (by, filter) in
        [("TAG", json!({ "tagged": true })), ("MODULE", json!({ "declared": true }))]
    {
        assert_eq!(groups(json!({ "by": by, "filter": filter })).await["without"], 0, "{by}");
    }
    let bare = desk.ask(SCHEDULES, json!({ "filter": { "tagged": false } })).await;
    assert_eq!(bare["schedules"]["nodes"], json!([{ "name": "bare" }]));
    let other = "{ scheduleGroups(by: TAG, namespace: \"other\") { without } }";
    assert_eq!(desk.refused(other, json!({})).await["extensions"]["code"], "NOT_FOUND");
}

async fn a_group_is_found_by_a_part_of_its_name_however_many_there_are(database: TestDatabase) {
    let desk = Desk::open(database).await;
    // More tags than an answer has, each of which is more frequent than the others.
    for batch in 0..7 {
        let tags: Vec<_> =
            (0..32).map(|number| format!("frequent-{}", batch * 32 + number)).collect();
        for copy in 0..2 {
            make(&desk, &format!("many-{batch}-{copy}"), json!({ "tags": tags })).await;
        }
    }
    make(&desk, "few", json!({ "tags": ["Quent_1", "quent.x"] })).await;
    let query = "query($text: String, $by: ScheduleGrouping! = TAG) {
        scheduleGroups(by: $by, text: $text) { groups { name } isCut } }";
    let groups = async |text: &str| {
        let found = desk.ask(query, json!({ "text": text })).await["scheduleGroups"].clone();
        let groups = found["groups"].as_array().unwrap().iter();
        let names: Vec<_> =
            groups.map(|group| group["name"].as_str().unwrap().to_owned()).collect();
        (names, found["isCut"].as_bool().unwrap())
    };
    let (names, is_cut) = groups("").await;
    assert_eq!((names.len(), is_cut), (200, true));
    assert!(!names.iter().any(|name| name.to_lowercase().starts_with("quent")), "{names:?}");
    let total = "query($text: String) { scheduleGroups(by: TAG, text: $text) { total } }";
    for (text, groups) in [("", 226), ("QUENT", 226), ("quent.x", 1), ("no such tag", 0)] {
        let answer = desk.ask(total, json!({ "text": text })).await;
        assert_eq!(answer["scheduleGroups"]["total"], groups, "{text}");
    }
    // The others contain the text, too, but these begin with it.
    let (names, is_cut) = groups("QUENT").await;
    assert_eq!((names.len(), is_cut), (200, true));
    assert!(["Quent_1", "quent.x"].iter().all(|name| names.iter().any(|n| n == name)), "{names:?}");
    // A text is no pattern: it does not find `frequent-1`.
    assert_eq!(groups("t_1").await, (vec!["Quent_1".to_owned()], false));
    for text in ["%", "quent%", "\\", "no such tag"] {
        assert_eq!(groups(text).await, (vec![], false), "{text}");
    }
    let modules = json!({ "by": "MODULE", "text": "x" });
    assert_eq!(desk.ask(query, modules).await["scheduleGroups"]["groups"], json!([]));
    let error = desk.refused(query, json!({ "text": "x".repeat(201) })).await;
    assert_eq!(error["extensions"]["field"], "text");
}

async fn calendars_are_found_by_a_part_of_their_names(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let create = "mutation($input: CreateCalendarInput!) {
        createCalendar(input: $input) { calendar { id } } }";
    for name in ["DE-holidays", "de_closed", "dexclosed", "night"] {
        desk.ask(create, json!({ "input": { "name": name, "mode": "EXCLUDE" } })).await;
    }
    let query = "query($text: String, $first: Int, $after: String) {
        calendars(text: $text, first: $first, after: $after) {
            totalCount nodes { name } pageInfo { endCursor hasNextPage } } }";
    let found = async |variables: Value| {
        let page = desk.ask(query, variables).await["calendars"].clone();
        let nodes = page["nodes"].as_array().unwrap().iter();
        let names = nodes.map(|node| node["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
        (names, page)
    };
    let (names, all) = found(json!({ "text": "de" })).await;
    assert_eq!(names, ["DE-holidays", "de_closed", "dexclosed"]);
    assert_eq!(all["totalCount"], 3);
    // An underscore is no wildcard.
    assert_eq!(found(json!({ "text": "E_C" })).await.0, ["de_closed"]);
    assert_eq!(found(json!({ "text": "" })).await.0.len(), 4);
    assert!(found(json!({ "text": "%" })).await.0.is_empty());
    let (first, page) = found(json!({ "text": "closed", "first": 1 })).await;
    let after = &page["pageInfo"]["endCursor"];
    let (second, last) = found(json!({ "text": "closed", "first": 1, "after": after })).await;
    assert_eq!([first, second].concat(), ["de_closed", "dexclosed"]);
    assert_eq!(last["pageInfo"]["hasNextPage"], false);
    let error = desk.refused(query, json!({ "text": "x".repeat(201) })).await;
    assert_eq!(error["extensions"]["field"], "text");
}

async fn schedules_are_found_by_their_calendars(database: TestDatabase) {
    let desk = Desk::open(database).await;
    desk.ask("mutation { createNamespace(name: \"other\") { namespace { id } } }", json!({})).await;
    let create = "mutation($input: CreateCalendarInput!) {
        createCalendar(input: $input) { calendar { id } } }";
    // A schedule may name both: Sundays are left.
    for (namespace, name, mode, weekday) in [
        ("default", "DE-holidays", "EXCLUDE", "SAT"),
        ("default", "long-nights", "ONLY", "SUN"),
        ("default", "unused", "EXCLUDE", "SAT"),
        ("other", "DE-holidays", "EXCLUDE", "SAT"),
    ] {
        let input = json!({ "namespace": namespace, "name": name, "mode": mode,
            "weekdays": [weekday] });
        desk.ask(create, json!({ "input": input })).await;
    }
    for (name, calendars) in [
        ("both", &["DE-holidays", "long-nights"][..]),
        ("closed", &["DE-holidays"]),
        ("dark", &["long-nights"]),
        ("plain", &[]),
    ] {
        make(&desk, name, json!({ "calendars": calendars })).await;
    }
    let elsewhere = json!({ "namespace": "other", "calendars": ["DE-holidays"] });
    make(&desk, "elsewhere", elsewhere).await;
    for (search, expected) in [
        ("calendar:de-HOLIDAYS", &["both", "closed"][..]),
        ("calendar:LONG-nights", &["both", "dark"]),
        ("calendar:DE-holidays,long-nights", &["both", "closed", "dark"]),
        ("calendar:DE-holidays calendar:long-nights", &["both"]),
        ("calendar:DE-holidays -calendar:long-nights closed", &["closed"]),
        ("-calendar:DE-holidays", &["dark", "plain"]),
        // A part of a name is not enough, and a name is no pattern.
        ("calendar:holidays", &[]),
        ("calendar:DE_holidays", &[]),
        ("calendar:unused", &[]),
        ("no:calendar", &["plain"]),
        ("-no:calendar", &["both", "closed", "dark"]),
    ] {
        assert_eq!(found(&desk, search).await, expected, "{search}");
    }
    // Calendars of other namespaces are found only with their own schedules.
    let query = "query($namespace: String, $search: String) {
        schedules(namespace: $namespace, search: $search) { nodes { name } totalCount } }";
    let of_holidays = async |namespace: Option<&str>| {
        let search = json!({ "namespace": namespace, "search": "calendar:DE-holidays" });
        desk.ask(query, search).await["schedules"]["totalCount"].clone()
    };
    assert_eq!(of_holidays(Some("other")).await, 1);
    assert_eq!(of_holidays(Some("default")).await, 2);
    assert_eq!(of_holidays(None).await, 3);
}

async fn schedules_are_found_by_the_search_language(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let when = |expression: &str| json!({ "expressions": [expression], "zone": "Europe/Berlin" });
    let backup = json!({ "tags": ["ops", "db"], "note": "50% of all" });
    let backup = make(&desk, "backup", backup).await;
    let hourly = json!({ "tags": ["billing"], "timing": when("@hourly"), "note": "free text" });
    let hourly = make(&desk, "report", hourly).await;
    make(&desk, "Once", json!({ "tags": ["ops"], "timing": when("@at 0") })).await;
    let paused = make(&desk, "cleanup", json!({})).await;
    let pause =
        "mutation($id: UUID!) { pauseSchedule(id: $id, reason: \"x\") { schedule { id } } }";
    desk.ask(pause, json!({ "id": paused })).await;
    let run = desk.trigger(&hourly).await;
    let cancel = "mutation($id: UUID!) { cancelRun(id: $id) { run { state } } }";
    desk.ask(cancel, json!({ "id": run })).await;
    desk.trigger(&paused).await;
    let home = namespaces::by_name(desk.database.store.read(), "default").await.unwrap().unwrap();
    let lost = [(10, Verdict::Missed), (90, Verdict::Abandoned), (5, Verdict::Skipped)];
    let lost = lost.map(|(minutes, verdict)| {
        planted_fire(&hourly, home.id, minutes, (verdict, Reason::Outage))
    });
    plant(&desk, lost).await;
    // Skipped fires were dropped for load, or on purpose.
    let skipped = [
        (&backup, 15, Reason::Overlap),
        (&backup, 100, Reason::Quota),
        (&hourly, 70, Reason::Deadline),
        (&hourly, 6, Reason::Calendar),
        (&paused, 7, Reason::ByRequest),
    ];
    let skipped = skipped.map(|(id, minutes, reason)| {
        planted_fire(id, home.id, minutes, (Verdict::Skipped, reason))
    });
    plant(&desk, skipped).await;
    desk.clock.advance(Duration::from_secs(1_200));

    for (search, expected) in [
        ("", vec!["backup", "cleanup", "Once", "report"]),
        ("state:active", vec!["backup", "report"]),
        ("state:Paused,finished", vec!["cleanup", "Once"]),
        ("-state:active", vec!["cleanup", "Once"]),
        ("state:exhausted", vec![]),
        // `state:` also compares the state of a schedule's newest run.
        ("state:cancelled", vec!["report"]),
        ("state:queued", vec!["cleanup"]),
        ("state:succeeded", vec![]),
        ("-state:cancelled,queued", vec!["backup", "Once"]),
        ("tag:ops", vec!["backup", "Once"]),
        ("tag:ops -tag:db", vec!["Once"]),
        ("tag:billing,db", vec!["backup", "report"]),
        ("workflow:REPORT", vec!["report"]),
        ("schedule:once", vec!["Once"]),
        ("name:up", vec!["backup", "cleanup"]),
        ("note:50%", vec!["backup"]),
        ("up", vec!["backup", "cleanup"]),
        ("up -clean", vec!["backup"]),
        ("\"free text\"", vec!["report"]),
        ("zone:europe/berlin", vec!["Once", "report"]),
        ("module:x", vec![]),
        ("-module:x", vec!["backup", "cleanup", "Once", "report"]),
        ("-group:x name:b", vec!["backup"]),
        ("no:tag", vec!["cleanup"]),
        ("-no:tag", vec!["backup", "Once", "report"]),
        ("no:note", vec!["cleanup", "Once"]),
        ("no:tag,note", vec!["cleanup", "Once"]),
        ("no:group no:module -no:note", vec!["backup", "report"]),
        ("-no:module,group", vec![]),
        ("next:<1h", vec!["report"]),
        ("next:>1h", vec!["backup"]),
        // `-next:<1h` also finds schedules that have no next fire.
        ("-next:<1h", vec!["backup", "cleanup", "Once"]),
        ("next:never", vec!["cleanup", "Once"]),
        ("next:2026-03-02", vec!["backup"]),
        ("next:<2026-03-01T14:00:00Z", vec!["report"]),
        ("paused:>10m", vec!["cleanup"]),
        ("paused:<10m", vec![]),
        ("created:2026-03-01 -paused:never", vec!["cleanup"]),
        ("created:<2026-03-01", vec![]),
        ("last:>2d", vec![]),
        // Fires were lost 30 and 110 minutes ago: the search compares the last one. Skipped fires
        // are not lost.
        ("lost:<1h", vec!["report"]),
        ("lost:>1h", vec![]),
        ("lost:>20m", vec!["report"]),
        ("-lost:<1h", vec!["backup", "cleanup", "Once"]),
        ("lost:never", vec!["backup", "cleanup", "Once"]),
        ("-lost:never", vec!["report"]),
        ("lost:2026-03-01", vec!["report"]),
        ("lost:<2026-03-01T11:50:00Z", vec![]),
        ("lost:<=2026-03-01T11:50:00Z", vec!["report"]),
        ("lost:>=2026-03-01T11:50:00Z", vec!["report"]),
        ("lost:>2026-03-01T11:50:00Z", vec![]),
        // Fires were skipped for load 35 and 120 minutes ago, and 90 minutes ago. What a calendar
        // or a user suppresses does not count.
        ("skipped:<1h", vec!["backup"]),
        ("skipped:<2h", vec!["backup", "report"]),
        ("skipped:>1h", vec!["report"]),
        ("-skipped:<1h", vec!["cleanup", "Once", "report"]),
        ("skipped:never", vec!["cleanup", "Once"]),
        ("-skipped:never", vec!["backup", "report"]),
        ("skipped:2026-03-01", vec!["backup", "report"]),
        ("skipped:<2026-03-01T11:00:00Z", vec!["report"]),
        // The newest run of `cleanup` has waited for 20 minutes; that of `report` was stopped at
        // once.
        ("late:>10m", vec!["cleanup"]),
        ("late:<10m", vec!["report"]),
        ("-late:>10m", vec!["backup", "Once", "report"]),
        ("-late:<10m", vec!["backup", "cleanup", "Once"]),
        ("state:cancelled tag:billing workflow:report \"free text\" next:<1h", vec!["report"]),
    ] {
        assert_eq!(found(&desk, search).await, expected, "{search}");
    }
    // If a call has a search and a filter, both apply.
    let both = json!({ "search": "up", "filter": { "tag": "ops" } });
    let answer = desk.ask(SCHEDULES, both).await;
    assert_eq!(answer["schedules"]["nodes"], json!([{ "name": "backup" }]));
}

async fn runs_are_found_by_the_search_language(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let report = make(&desk, "report", json!({ "tags": ["billing"] })).await;
    let other = make(&desk, "Backup_1", json!({})).await;
    let first = desk.trigger(&report).await;
    desk.clock.advance(Duration::from_secs(86_400));
    let second = desk.trigger(&report).await;
    // Keys of the same millisecond have no order.
    desk.clock.advance(Duration::from_secs(1));
    let third = desk.trigger(&other).await;
    desk.clock.advance(Duration::from_secs(1));
    let cancel = "mutation($id: UUID!) { cancelRun(id: $id, reason: \"x\") { run { id } } }";
    desk.ask(cancel, json!({ "id": first })).await;
    let retry = "mutation($id: UUID!) { retryRun(id: $id) { run { id } } }";
    let again = desk.ask(retry, json!({ "id": first })).await;
    let again = again["retryRun"]["run"]["id"].as_str().unwrap().to_owned();

    let (two, either) = (format!("id:{first},{third}"), format!("-id:{}", third.to_uppercase()));
    for (search, expected) in [
        ("", vec![&again, &third, &second, &first]),
        (&*two, vec![&third, &first]),
        (&*either, vec![&again, &second, &first]),
        ("id:00000000-0000-0000-0000-000000000000", vec![]),
        ("state:cancelled", vec![&first]),
        ("-state:cancelled", vec![&again, &third, &second]),
        ("state:queued,failed", vec![&again, &third, &second]),
        ("trigger:retry", vec![&again]),
        ("trigger:manual -state:cancelled", vec![&third, &second]),
        ("tag:billing", vec![&again, &second, &first]),
        ("-tag:billing", vec![&third]),
        ("workflow:report", vec![&again, &second, &first]),
        ("schedule:backup_1", vec![&third]),
        ("schedule:backup%1", vec![]),
        ("name:up_", vec![&third]),
        ("up_1", vec![&third]),
        ("-report", vec![&third]),
        ("no:tag", vec![&third]),
        ("-no:tag", vec![&again, &second, &first]),
        ("no:module no:group no:node", vec![&again, &third, &second, &first]),
        ("-no:module,group", vec![]),
        ("node:x", vec![]),
        ("-node:x", vec![&again, &third, &second, &first]),
        ("error:boom", vec![]),
        ("created:<1h", vec![&again, &third, &second]),
        ("scheduled:>=1d", vec![&again, &first]),
        ("created:2026-03-01", vec![&first]),
        ("started:never", vec![&again, &third, &second, &first]),
        ("late:>5s", vec![]),
        ("-took:>5s state:cancelled", vec![&first]),
        ("next:<1d tag:billing state:cancelled", vec![&first]),
    ] {
        let answer = desk.ask(RUNS, json!({ "search": search })).await;
        let nodes = answer["runs"]["nodes"].as_array().unwrap();
        let ids: Vec<_> = nodes.iter().map(|node| node["id"].as_str().unwrap()).collect();
        assert_eq!(ids, expected, "{search}");
    }
}

async fn a_note_with_an_umlaut_is_found_by_itself(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = make(&desk, "drill", json!({ "note": "Übung im Ärger" })).await;
    for search in ["Übung", "ÜbUNG", "note:Üb", "note:Ärg", "Ärger", "-x"] {
        assert_eq!(found(&desk, search).await, ["drill"], "{search}");
    }
    let run = desk.trigger(&id).await;
    let answer = desk.ask(RUNS, json!({ "search": "schedule:DRILL" })).await;
    assert_eq!(answer["runs"]["nodes"], json!([{ "id": run }]));
    let filtered = desk.ask(SCHEDULES, json!({ "filter": { "text": "Übung" } })).await;
    assert_eq!(filtered["schedules"]["totalCount"], 1);
}

async fn what_a_search_holds_is_never_sql_nor_a_pattern(database: TestDatabase) {
    let desk = Desk::open(database).await;
    make(&desk, "plain", json!({ "tags": ["a"] })).await;
    for attack in ["' OR '1'='1", "x'); DROP TABLE schedule; --", "%", "_____", "\\", "$1", "?"] {
        let quoted = format!("\"{}\"", attack.replace('\\', "\\\\"));
        for field in
            ["", "name:", "note:", "tag:", "workflow:", "module:", "zone:", "group:", "calendar:"]
        {
            let search = format!("{field}{quoted}");
            assert_eq!(found(&desk, &search).await, [""; 0], "{search}");
            assert_eq!(found(&desk, &format!("-{search}")).await, ["plain"], "{search}");
        }
        for field in ["", "error:", "node:", "name:", "tag:"] {
            desk.ask(RUNS, json!({ "search": format!("{field}{quoted}") })).await;
        }
    }
    assert_eq!(found(&desk, "").await, ["plain"]);
}

#[tokio::test]
async fn a_search_that_is_refused_says_where_and_what_would_fit() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    for (query, search, start, end, help) in [
        (SCHEDULES, "up stat:failed", 3, 7, "did you mean 'state'?"),
        (RUNS, "late:5s", 5, 7, "compare with a duration, as in >5s"),
        (RUNS, "state:active", 6, 12, "queued"),
        (RUNS, "id:7", 3, 4, "give a whole id"),
    ] {
        let error = desk.refused(query, json!({ "search": search })).await;
        let told = &error["extensions"];
        assert_eq!((&told["code"], &told["field"]), (&json!("BAD_USER_INPUT"), &json!("search")));
        assert_eq!((&told["start"], &told["end"]), (&json!(start), &json!(end)), "{error}");
        assert!(told["help"].as_str().unwrap().contains(help), "{error}");
    }
}

/// A search that cannot use an index, over more rows than can be scanned within the time limit.
async fn a_search_that_takes_too_long_is_given_up_and_says_what_to_narrow(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let schedule = desk.schedule("much", "@daily").await;
    let run = desk.trigger(&schedule).await;
    let store = &desk.database.store;
    let columns = "namespace_id, schedule_id, fire_id, workflow_id, workflow_version, trigger, \
        state, scheduled_at, due_at, available_at, priority, attempt, max_attempts, \
        recovery_attempts, is_recovery, epoch, context, idempotency_key, created_at, changed";
    let id = if store.dialect().is_postgres() { "gen_random_uuid()" } else { "randomblob(16)" };
    let tx = store.begin().await.unwrap();
    let sql = format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) \
         INSERT INTO run (id, {columns}) SELECT {id}, {columns} FROM run, n"
    );
    tx.execute_unprepared(&sql).await.unwrap();
    store.commit(tx).await.unwrap();

    let hasty = Options {
        migrations: Migrations::Refuse,
        search_limit: Duration::ZERO,
        ..Options::new(&desk.database.url)
    };
    let hasty = Store::open(&hasty).await.unwrap();
    let hasty = Desk::with(desk.database, Policy::default(), |_| hasty).await;
    for search in ["took:>1h", "-state:queued late:>1h much"] {
        let refused = hasty.refused(RUNS, json!({ "search": search })).await;
        let extensions = &refused["extensions"];
        assert_eq!(extensions["code"], "BAD_USER_INPUT", "{refused}");
        assert_eq!(extensions["field"], "search", "{refused}");
        assert_eq!(extensions["problem"], "took longer than 0 s and was stopped");
        assert!(extensions["help"].as_str().unwrap().starts_with("narrow it"), "{refused}");
    }
    // Other queries continue as before, and so do searches that use an index.
    let answer = hasty.ask("{ runs(first: 1) { nodes { id } } }", json!({})).await;
    assert_eq!(answer["runs"]["nodes"].as_array().unwrap().len(), 1);
    let cancel = "mutation($id: UUID!) { cancelRun(id: $id) { run { state } } }";
    hasty.ask(cancel, json!({ "id": run })).await;
}
