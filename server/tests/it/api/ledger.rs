use chrono::TimeDelta;
use entity::{
    Timestamp,
    fire::{self, Reason, Verdict},
    user::Role,
};
use sea_orm::{ActiveModelTrait, IntoActiveModel};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    desk::{CREATE, Desk, noon},
    walking::{member_of, namespace},
};
use crate::support::{TestDatabase, fire_row, on_both};

on_both!(
    a_ledger_is_read_newest_first_and_counted,
    the_ledger_of_all_namespaces_is_paged_in_the_order_of_time,
    totals_add_up_to_what_was_due,
    the_ledger_is_filtered_as_requested,
    values_that_a_filter_repeats_count_once,
    the_newest_fires_of_a_page_of_schedules_are_read_at_once,
);

/// A ledger row for an instant that many minutes before noon.
pub(super) fn planted_fire(
    schedule: &str,
    namespace_id: Uuid,
    minutes: i64,
    (verdict, reason): (Verdict, Reason),
) -> fire::Model {
    let at = Timestamp::from(noon() - TimeDelta::minutes(minutes));
    fire::Model {
        verdict,
        reason,
        decided_at: Some(at),
        ..fire_row(namespace_id, schedule.parse().unwrap(), at)
    }
}

/// Writes these rows.
pub(super) async fn plant(desk: &Desk, rows: impl IntoIterator<Item = fire::Model>) {
    let tx = desk.database.store.begin().await.unwrap();
    for row in rows {
        row.into_active_model().insert(&tx).await.unwrap();
    }
    desk.database.store.commit(tx).await.unwrap();
}

/// A schedule in its own namespace, and that namespace.
async fn elsewhere(desk: &Desk) -> (String, Uuid) {
    desk.ask("mutation { createNamespace(name: \"other\") { namespace { id } } }", json!({})).await;
    let input = json!({
        "namespace": "other", "name": "theirs", "tags": ["billing"],
        "timing": { "expressions": ["@hourly"] }, "task": { "target": { "noop": {} } },
    });
    let made = desk.ask(CREATE, json!({ "input": input })).await;
    let id = made["createSchedule"]["schedule"]["id"].as_str().unwrap().to_owned();
    (id, namespace(desk, "other").await)
}

const STARTED: (Verdict, Reason) = (Verdict::Started, Reason::OnTime);
const SKIPPED: (Verdict, Reason) = (Verdict::Skipped, Reason::Overlap);
const LOST: (Verdict, Reason) = (Verdict::Missed, Reason::Outage);

const LEDGER: &str = "query($in: String, $filter: LedgerFilter, $search: String, $first: Int,
    $after: String, $last: Int, $before: String) {
    ledger(namespace: $in, filter: $filter, search: $search, first: $first, after: $after,
        last: $last, before: $before) {
        totalCount nodes { namespace verdict scheduledAt schedule { name } }
        pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } }";

fn names_of(answer: &Value) -> Vec<&str> {
    let nodes = answer["ledger"]["nodes"].as_array().unwrap();
    nodes.iter().map(|node| node["schedule"]["name"].as_str().unwrap()).collect()
}

async fn the_ledger_of_all_namespaces_is_paged_in_the_order_of_time(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let mine = desk.schedule("mine", "@hourly").await;
    let home = namespace(&desk, "default").await;
    let (theirs, other) = elsewhere(&desk).await;
    let of_mine = [1, 3, 5, 7].map(|minutes| planted_fire(&mine, home, minutes, STARTED));
    // One of the other schedule's rows has the same instant as a row of this schedule.
    let of_theirs = [2, 3, 4].map(|minutes| planted_fire(&theirs, other, minutes, SKIPPED));
    plant(&desk, of_mine.into_iter().chain(of_theirs)).await;

    let all = desk.ask(LEDGER, json!({})).await;
    assert_eq!(all["ledger"]["totalCount"], 7);
    let whole = all["ledger"]["nodes"].as_array().unwrap().clone();
    let instants: Vec<&str> = whole.iter().map(|n| n["scheduledAt"].as_str().unwrap()).collect();
    assert!(instants.is_sorted_by(|one, next| one >= next), "{instants:?}");
    let (mut forward, mut after) = (Vec::new(), Value::Null);
    for left in [true, true, false] {
        let page = desk.ask(LEDGER, json!({ "first": 3, "after": after })).await;
        forward.extend(page["ledger"]["nodes"].as_array().unwrap().clone());
        assert_eq!(page["ledger"]["pageInfo"]["hasNextPage"], left);
        after = page["ledger"]["pageInfo"]["endCursor"].clone();
    }
    assert_eq!(forward, whole);
    let last = desk.ask(LEDGER, json!({ "last": 3, "before": after })).await;
    assert_eq!(last["ledger"]["nodes"].as_array().unwrap()[..], whole[3..6]);

    // The other namespace's rows: asked for by its name, and by a caller who may see only that one.
    let answer = desk.ask(LEDGER, json!({ "in": "other" })).await;
    assert_eq!(names_of(&answer), ["theirs"; 3]);
    let eve = member_of(other, Role::Viewer);
    let seen = desk.send_as(&eve, LEDGER, json!({})).await.data.into_json().unwrap();
    assert_eq!(names_of(&seen), ["theirs"; 3]);
    assert_eq!(desk.code_for(&eve, LEDGER, json!({ "in": "default" })).await, "NOT_FOUND");
    let error = desk.refused(LEDGER, json!({ "after": "x" })).await;
    assert_eq!(error["extensions"]["field"], "after");
}

async fn totals_add_up_to_what_was_due(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let mine = desk.schedule("mine", "@hourly").await;
    let home = namespace(&desk, "default").await;
    let waiting = (Verdict::Pending, Reason::AwaitingHandoff);
    let collapsed = (Verdict::Collapsed, Reason::Outage);
    let of = |minutes, what| planted_fire(&mine, home, minutes, what);
    let many = fire::Model { count: 90, ..of(6, LOST) };
    let old = of(25 * 60, LOST);
    let rows = [of(1, STARTED), of(2, STARTED), of(3, SKIPPED), of(4, waiting), of(5, collapsed)];
    plant(&desk, rows.into_iter().chain([many, old])).await;
    let query = "query($filter: LedgerFilter) { ledgerTotals(filter: $filter) {
        from until expected ran skipped missed open isComplete groups { verdict reason count } } }";
    let answer = desk.ask(query, json!({})).await;
    let totals = &answer["ledgerTotals"];
    let groups = totals["groups"].as_array().unwrap();
    assert_eq!(groups[0], json!({ "verdict": "MISSED", "reason": "OUTAGE", "count": 90 }));
    assert_eq!(groups.iter().map(|group| group["count"].as_i64().unwrap()).sum::<i64>(), 95);
    let figures = ["expected", "ran", "skipped", "missed", "open"].map(|of| totals[of].clone());
    assert_eq!(figures, [95, 2, 1, 91, 1].map(Value::from));
    assert_eq!(totals["from"], "2026-02-28T12:00:00Z");
    assert_eq!((&totals["until"], &totals["isComplete"]), (&Value::Null, &json!(true)));

    let filter = json!({ "verdicts": ["MISSED"], "after": "2026-02-01T00:00:00Z" });
    let answer = desk.ask(query, json!({ "filter": filter })).await;
    assert_eq!(
        (&answer["ledgerTotals"]["expected"], &answer["ledgerTotals"]["missed"]),
        (&json!(91), &json!(91))
    );
}

async fn the_ledger_is_filtered_as_requested(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let mine = desk.schedule("mine", "@hourly").await;
    let home = namespace(&desk, "default").await;
    let (theirs, other) = elsewhere(&desk).await;
    let rows = [
        planted_fire(&mine, home, 1, STARTED),
        planted_fire(&mine, home, 2, LOST),
        planted_fire(&theirs, other, 3, LOST),
        planted_fire(&theirs, other, 4, SKIPPED),
    ];
    plant(&desk, rows).await;
    for (filter, search, found) in [
        (json!({ "verdicts": ["MISSED"] }), None, vec!["mine", "theirs"]),
        (json!({ "reasons": ["OVERLAP"] }), None, vec!["theirs"]),
        (json!({ "scheduleIds": [mine] }), None, vec!["mine", "mine"]),
        (json!({}), Some("tag:billing"), vec!["theirs", "theirs"]),
        (json!({ "verdicts": ["MISSED"] }), Some("-tag:billing"), vec!["mine"]),
        (json!({}), Some("workflow:theirs"), vec!["theirs", "theirs"]),
        (json!({ "before": "2026-03-01T11:58:30Z" }), None, vec!["mine", "theirs", "theirs"]),
        (json!({ "after": "2026-03-01T11:59:00Z" }), None, vec!["mine"]),
    ] {
        let answer = desk.ask(LEDGER, json!({ "filter": filter, "search": search })).await;
        assert_eq!(names_of(&answer), found, "{filter} {search:?}");
        assert_eq!(answer["ledger"]["totalCount"], found.len());
    }
    let none = json!({ "filter": { "scheduleIds": [] } });
    assert_eq!(desk.refused(LEDGER, none).await["extensions"]["field"], "scheduleIds");
    let eve = member_of(other, Role::Viewer);
    let foreign = json!({ "filter": { "scheduleIds": [mine] } });
    assert_eq!(desk.code_for(&eve, LEDGER, foreign).await, "NOT_FOUND");
}

/// More values than a statement of either database takes.
async fn values_that_a_filter_repeats_count_once(database: TestDatabase) {
    const REPEATED: usize = 70_000;
    let desk = Desk::open(database).await;
    let mine = desk.schedule("mine", "@hourly").await;
    let home = namespace(&desk, "default").await;
    plant(&desk, [planted_fire(&mine, home, 1, STARTED), planted_fire(&mine, home, 2, LOST)]).await;
    let query = "query($id: UUID!, $ledger: LedgerFilter, $fires: FireFilter, $runs: RunFilter) {
        ledger(filter: $ledger) { nodes { id } }
        fires(scheduleId: $id, filter: $fires) { nodes { id } }
        runs(filter: $runs) { nodes { id } } }";
    let verdicts = vec!["MISSED"; REPEATED];
    let variables = json!({
        "id": mine,
        "ledger": { "verdicts": verdicts },
        "fires": { "verdicts": verdicts },
        "runs": { "states": vec!["QUEUED"; REPEATED] },
    });
    let found = desk.ask(query, variables).await;
    let count = |list: &str| found[list]["nodes"].as_array().unwrap().len();
    assert_eq!([count("ledger"), count("fires"), count("runs")], [1, 1, 0]);
}

async fn the_newest_fires_of_a_page_of_schedules_are_read_at_once(database: TestDatabase) {
    let statements = std::sync::Arc::new(std::sync::Mutex::new(0_usize));
    let seen = statements.clone();
    let desk = Desk::with(database, carillon::target::Policy::default(), |store| {
        store.with_observer(move |sql| {
            *seen.lock().unwrap() += usize::from(sql.contains("fire.schedule_id = v.id"))
        })
    })
    .await;
    let home = namespace(&desk, "default").await;
    let mut rows = Vec::new();
    for name in ["a", "b", "c"] {
        let id = desk.schedule(name, "@hourly").await;
        rows.extend((1..=5).map(|minutes| planted_fire(&id, home, minutes, STARTED)));
    }
    plant(&desk, rows).await;
    *statements.lock().unwrap() = 0;
    let query = "{ schedules { nodes { recentFires(first: 3) { scheduledAt verdict } } } }";
    let answer = desk.ask_in_place(query, json!({})).await;
    assert_eq!(*statements.lock().unwrap(), 1);
    for schedule in answer["schedules"]["nodes"].as_array().unwrap() {
        let instants = schedule["recentFires"].as_array().unwrap().iter();
        let instants: Vec<_> = instants.map(|fire| fire["scheduledAt"].as_str().unwrap()).collect();
        let newest = ["2026-03-01T11:59:00Z", "2026-03-01T11:58:00Z", "2026-03-01T11:57:00Z"];
        assert_eq!(instants, newest);
    }
}

async fn a_ledger_is_read_newest_first_and_counted(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("tick", "@hourly").await;
    let schedule: Uuid = id.parse().unwrap();
    let tx = desk.database.store.begin().await.unwrap();
    let verdicts = [
        (Verdict::Skipped, Reason::Overlap),
        (Verdict::Missed, Reason::Outage),
        (Verdict::Skipped, Reason::Deadline),
        (Verdict::Pending, Reason::AwaitingHandoff),
    ];
    for (hours, (verdict, reason)) in (1..).zip(verdicts) {
        let at = Timestamp::from(noon() - TimeDelta::hours(hours));
        let row = fire::Model {
            count: if verdict == Verdict::Missed { 7 } else { 1 },
            verdict,
            reason,
            claimed_at: Timestamp(at.0 + 61_000),
            ..fire_row(Uuid::nil(), schedule, at)
        };
        row.into_active_model().insert(&tx).await.unwrap();
    }
    desk.database.store.commit(tx).await.unwrap();

    let query = "query($id: UUID!, $filter: FireFilter, $first: Int, $after: String) {
        fires(scheduleId: $id, filter: $filter, first: $first, after: $after) {
            nodes { scheduledAt verdict reason { text } run { id } } pageInfo { endCursor hasNextPage } }
        schedule(id: $id) { tally { succeeded failed running skipped missed } } }";
    let page = desk.ask(query, json!({ "id": id, "first": 2 })).await;
    assert_eq!(verdicts_of(&page), ["SKIPPED", "MISSED"]);
    assert_eq!(
        page["fires"]["nodes"][1]["reason"]["text"],
        "7 fires were missed: no scheduler claimed it for 1 min 1 s."
    );
    let after = &page["fires"]["pageInfo"]["endCursor"];
    let rest = desk.ask(query, json!({ "id": id, "first": 2, "after": after })).await;
    assert_eq!(verdicts_of(&rest), ["SKIPPED", "PENDING"]);
    assert_eq!(rest["fires"]["pageInfo"]["hasNextPage"], false);
    let filter = json!({ "verdicts": ["SKIPPED"], "before": "2026-03-01T11:00:00Z" });
    let some = desk.ask(query, json!({ "id": id, "filter": filter })).await;
    assert_eq!(some["fires"]["nodes"][0]["scheduledAt"], "2026-03-01T09:00:00Z");
    assert_eq!(
        some["schedule"]["tally"],
        json!({ "succeeded": 0, "failed": 0, "running": 1, "skipped": 2, "missed": 7 })
    );
}

fn verdicts_of(answer: &Value) -> Vec<&str> {
    let nodes = answer["fires"]["nodes"].as_array().unwrap();
    nodes.iter().map(|node| node["verdict"].as_str().unwrap()).collect()
}
