//! What each catch-up policy would do about an outage, beside what the ledger holds.

use chrono::TimeDelta;
use entity::fire::{Reason, Verdict};
use serde_json::{Value, json};

use super::{
    desk::{Desk, noon},
    ledger::{plant, planted_fire},
    maintenance::{input, mark, plan},
    walking::namespace,
};
use crate::support::{TestDatabase, on_both};

on_both!(
    an_outage_tells_what_each_policy_does_about_it,
    a_planned_window_takes_its_instants_from_an_outage_and_no_others,
    a_past_outage_tells_what_the_ledger_holds,
);

const OUTAGE: &str = "query($id: UUID, $search: String, $from: DateTime!, $to: DateTime!,
    $policies: [CatchUp!], $first: Int! = 50, $after: String) {
    outagePreview(scheduleId: $id, search: $search, from: $from, to: $to, policies: $policies,
        first: $first, after: $after) {
        from to expected hasMore endCursor own { missed }
        totals { catchUp counts { late collapsed missed skipped onTime } }
        schedules { schedule { name misfire { catchUp } } expected suppressed isPaused isComplete
            ledger { started collapsed missed skipped pending isComplete }
            policies { catchUp isOwn counts { late collapsed missed } lastStartAt instantCount
                instants(first: 2) { scheduledAt count startsAt waits isLate verdict } } } } }";

async fn an_outage_tells_what_each_policy_does_about_it(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let hourly = desk.schedule("hourly", "@hourly").await;
    let paused = desk.schedule("paused", "@hourly").await;
    desk.schedule("yearly", "0 0 1 6 *").await;
    let pause =
        "mutation($id: UUID!) { pauseSchedule(id: $id, reason: \"x\") { schedule { id } } }";
    desk.ask(pause, json!({ "id": paused })).await;
    let outage = json!({ "from": "2026-03-01T13:30:00Z", "to": "2026-03-01T16:30:00Z" });
    let with = |more: Value| {
        let mut all = outage.clone();
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    let preview = desk.ask(OUTAGE, outage.clone()).await["outagePreview"].clone();
    assert_eq!((&preview["expected"], &preview["hasMore"]), (&json!(3), &json!(false)));
    let [one, two, three] = [0_usize, 1, 2].map(|index| preview["schedules"][index].clone());
    assert_eq!(one["schedule"]["name"], "hourly");
    let counts = |index: usize| one["policies"][index]["counts"].clone();
    assert_eq!(counts(0), json!({ "late": 0, "collapsed": 0, "missed": 3 }));
    assert_eq!(counts(1), json!({ "late": 1, "collapsed": 2, "missed": 0 }));
    assert_eq!(counts(2), json!({ "late": 3, "collapsed": 0, "missed": 0 }));
    assert_eq!(
        one["policies"][2]["instants"][0],
        json!({ "scheduledAt": "2026-03-01T14:00:00Z", "count": 1, "waits": false, "isLate": true,
            "startsAt": "2026-03-01T16:30:00Z", "verdict": "PENDING" })
    );
    assert_eq!(one["policies"][1]["instants"][0]["startsAt"], Value::Null);
    assert_eq!(one["policies"][1]["lastStartAt"], "2026-03-01T16:30:00Z");
    let own = one["policies"].as_array().unwrap().iter().find(|policy| policy["isOwn"] == true);
    let own = own.unwrap();
    assert_eq!(own["catchUp"], one["schedule"]["misfire"]["catchUp"]);
    assert_eq!(preview["own"]["missed"], own["counts"]["missed"]);
    assert_eq!(preview["totals"][2]["catchUp"], "ALL");
    assert_eq!(preview["totals"][2]["counts"]["late"], 3);
    // A pause that covers the outage loses nothing in it; nor does a schedule that is not due.
    let facts = |of: &Value| ["isPaused", "expected", "isComplete"].map(|name| of[name].clone());
    assert_eq!(facts(&two), [json!(true), json!(0), json!(true)]);
    assert_eq!(facts(&three), [json!(false), json!(0), json!(true)]);
    assert_eq!(one["ledger"], Value::Null, "it is still to come");

    let some = desk.ask(OUTAGE, with(json!({ "id": hourly, "policies": ["ALL", "ALL"] }))).await;
    let some = &some["outagePreview"];
    assert_eq!(some["totals"].as_array().unwrap().len(), 1);
    assert_eq!(some["schedules"].as_array().unwrap().len(), 1);
    let first = desk.ask(OUTAGE, with(json!({ "first": 2 }))).await["outagePreview"].clone();
    assert_eq!(first["hasMore"], true);
    let rest = with(json!({ "first": 2, "after": first["endCursor"] }));
    let rest = desk.ask(OUTAGE, rest).await["outagePreview"].clone();
    assert_eq!(rest["schedules"][0]["schedule"]["name"], "yearly");
    assert_eq!((&rest["hasMore"], &rest["endCursor"]), (&json!(false), &Value::Null));

    for (bad, field) in [
        (json!({ "id": hourly, "search": "x" }), "search"),
        (json!({ "policies": [] }), "policies"),
        (json!({ "to": "2026-03-01T13:30:00Z" }), "to"),
        (json!({ "to": "2026-04-02T13:30:00Z" }), "to"),
        (json!({ "from": "2028-03-01T12:00:00Z", "to": "2028-03-02T12:00:00Z" }), "from"),
        (json!({ "after": "x" }), "after"),
    ] {
        assert_eq!(desk.refused(OUTAGE, with(bad)).await["extensions"]["field"], field);
    }
}

async fn a_planned_window_takes_its_instants_from_an_outage_and_no_others(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("hourly", "@hourly").await;
    let window =
        plan(&desk, &input("Upgrade", "2026-03-01T13:00:00Z", "2026-03-01T15:00:00Z")).await;
    mark(&desk, &id, &window).await;
    for (from, to, expected, suppressed) in [
        // In the window, out of its end, and behind it.
        ("13:10", "14:30", 0, 1),
        ("13:30", "16:30", 2, 1),
        ("15:30", "18:30", 3, 0),
    ] {
        let [from, to] = [from, to].map(|at| format!("2026-03-01T{at}:00Z"));
        let outage = json!({ "id": id, "from": from, "to": to });
        let preview = desk.ask(OUTAGE, outage).await["outagePreview"].clone();
        let one = &preview["schedules"][0];
        let counts = ["expected", "suppressed", "isPaused"].map(|name| one[name].clone());
        assert_eq!(counts, [json!(expected), json!(suppressed), json!(false)], "{from}");
        let lost = json!({ "late": 0, "collapsed": 0, "missed": expected });
        assert_eq!(one["policies"][0]["counts"], lost, "{from}");
        assert_eq!(one["policies"][2]["counts"]["late"], expected, "{from}");
    }
}

async fn a_past_outage_tells_what_the_ledger_holds(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("hourly", "@hourly").await;
    let here = namespace(&desk, "default").await;
    desk.clock.set(noon() + TimeDelta::hours(6));
    let of = |hours: i64, verdict, reason| planted_fire(&id, here, -60 * hours, (verdict, reason));
    let rows = [
        of(1, Verdict::Started, Reason::OnTime),
        of(2, Verdict::Collapsed, Reason::Outage),
        of(3, Verdict::Collapsed, Reason::Outage),
        of(4, Verdict::Started, Reason::CaughtUp),
        of(5, Verdict::Started, Reason::OnTime),
    ];
    plant(&desk, rows).await;
    // The schedule did not exist before noon, so nothing of that time is expected.
    let outage = json!({ "id": id, "from": "2026-03-01T10:30:00Z", "to": "2026-03-01T16:30:00Z" });
    let preview = desk.ask(OUTAGE, outage).await["outagePreview"].clone();
    assert_eq!(preview["schedules"][0]["expected"], 4, "from 13:00 until 16:00");
    let outage = json!({ "id": id, "from": "2026-03-01T13:30:00Z", "to": "2026-03-01T16:30:00Z" });
    let preview = desk.ask(OUTAGE, outage).await["outagePreview"].clone();
    let one = &preview["schedules"][0];
    assert_eq!(one["expected"], 3);
    assert_eq!(one["policies"][0]["counts"]["missed"], 3);
    assert_eq!(
        one["ledger"],
        json!({ "started": 1, "collapsed": 2, "missed": 0, "skipped": 0, "pending": 0,
            "isComplete": true })
    );
}
