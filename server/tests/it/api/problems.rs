//! Grouped problems, and how to resolve them.

use std::time::Duration;

use entity::{
    fire::{self, Reason, Verdict},
    problem_acknowledgement as acknowledgement,
    run::{self, State},
    user::Role,
};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, sea_query::Expr};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    desk::Desk,
    ledger::{plant, planted_fire},
    sorting::settle,
    walking::{member_of, namespace},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    failures_are_grouped_by_schedule_and_first_line,
    a_success_before_the_last_run_that_failed_ends_no_problem,
    a_backfill_that_succeeds_ends_only_a_problem_of_a_backfill,
    lost_fires_are_a_problem_until_a_later_one_has_started,
    many_skipped_fires_are_a_problem_until_the_schedule_starts_them_again,
    a_problem_is_acknowledged_until_it_is_over_or_for_a_while,
    of_two_who_acknowledge_a_problem_at_once_the_second_finds_the_first,
    an_acknowledgement_does_not_count_once_its_problem_is_no_longer_stored,
    a_finding_says_what_to_do_and_whom_it_counts,
);

const PROBLEMS: &str = "query($in: String) { problems(namespace: $in) {
    kind count since last error reason isOpen schedule { name } lastRun { id } } }";

/// A run of the schedule that failed with this error.
pub(super) async fn failed(desk: &Desk, schedule: &str, error: &str, took_ms: i64) -> String {
    let run = desk.trigger(schedule).await;
    settle(desk, &run, State::Failed, took_ms).await;
    let tx = desk.database.store.begin().await.unwrap();
    run::Entity::update_many()
        .col_expr(run::Column::Error, Expr::value(error))
        .filter(run::Column::Id.eq(run.parse::<Uuid>().unwrap()))
        .exec(&tx)
        .await
        .unwrap();
    desk.database.store.commit(tx).await.unwrap();
    run
}

async fn failures_are_grouped_by_schedule_and_first_line(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let (one, other) =
        (desk.schedule("one", "@hourly").await, desk.schedule("two", "@hourly").await);
    failed(&desk, &one, "exit code 1: no disk\nat line 3", 10).await;
    // Keys are ordered by their time, so the next run must be created later.
    desk.clock.pass(Duration::from_millis(10));
    let last = failed(&desk, &one, "exit code 1: no disk\nat line 9", 20).await;
    failed(&desk, &one, "timed out", 30).await;
    failed(&desk, &other, "exit code 1: no disk", 40).await;
    desk.clock.pass(Duration::from_millis(10));
    let mended = desk.trigger(&other).await;
    settle(&desk, &mended, State::Succeeded, 10).await;
    let problems = desk.ask(PROBLEMS, json!({})).await["problems"].clone();
    let of = |name: &str, error: &str| {
        let all = problems.as_array().unwrap().iter();
        let mut found = all.filter(|one| one["schedule"]["name"] == name && one["error"] == error);
        found.next().unwrap_or_else(|| panic!("{name} {error}: {problems}")).clone()
    };
    assert_eq!(problems.as_array().unwrap().len(), 3);
    let disk = of("one", "exit code 1: no disk");
    assert_eq!((&disk["kind"], &disk["count"]), (&json!("FAILING"), &json!(2)));
    assert_eq!((&disk["isOpen"], &disk["lastRun"]["id"]), (&json!(true), &json!(last)));
    assert_eq!(of("one", "timed out")["count"], 1);
    assert_eq!(of("two", "exit code 1: no disk")["isOpen"], false);

    // Error texts may repeat a program's output, so viewers do not see them.
    let viewer = member_of(namespace(&desk, "default").await, Role::Viewer);
    let seen = desk.send_as(&viewer, PROBLEMS, json!({ "in": "default" })).await;
    let seen = seen.data.into_json().unwrap();
    assert!(seen["problems"].as_array().unwrap().iter().all(|one| one["error"] == "***"), "{seen}");
    let long = "{ problems(since: \"2026-01-01T00:00:00Z\") { count } }";
    assert_eq!(desk.refused(long, json!({})).await["extensions"]["field"], "since");
}

async fn a_success_before_the_last_run_that_failed_ends_no_problem(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let schedule = desk.schedule("one", "@hourly").await;
    let passes = || desk.clock.pass(Duration::from_millis(10));
    // The first run fails after the last one has failed.
    failed(&desk, &schedule, "exit code 1", 5_000).await;
    passes();
    let good = desk.trigger(&schedule).await;
    settle(&desk, &good, State::Succeeded, 10).await;
    passes();
    let last = failed(&desk, &schedule, "exit code 1", 20).await;
    let problem = desk.ask(PROBLEMS, json!({})).await["problems"][0].clone();
    assert_eq!((&problem["count"], &problem["isOpen"]), (&json!(2), &json!(true)));
    assert_eq!(problem["lastRun"]["id"], json!(last));
}

async fn a_backfill_that_succeeds_ends_only_a_problem_of_a_backfill(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let schedule = desk.schedule("one", "@hourly").await;
    let of_backfill = async |run: &str| {
        let tx = desk.database.store.begin().await.unwrap();
        run::Entity::update_many()
            .col_expr(run::Column::Trigger, Expr::value("backfill"))
            .filter(run::Column::Id.eq(run.parse::<Uuid>().unwrap()))
            .exec(&tx)
            .await
            .unwrap();
        desk.database.store.commit(tx).await.unwrap();
    };
    let is_open = async || desk.ask(PROBLEMS, json!({})).await["problems"][0]["isOpen"].clone();
    let last = failed(&desk, &schedule, "exit code 1", 10).await;
    desk.clock.pass(Duration::from_millis(10));
    let good = desk.trigger(&schedule).await;
    settle(&desk, &good, State::Succeeded, 10).await;
    of_backfill(&good).await;
    assert_eq!(is_open().await, true);
    of_backfill(&last).await;
    assert_eq!(is_open().await, false);
}

async fn lost_fires_are_a_problem_until_a_later_one_has_started(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let home = namespace(&desk, "default").await;
    let (losing, mended) =
        (desk.schedule("losing", "@hourly").await, desk.schedule("mended", "@hourly").await);
    let missed = (Verdict::Missed, Reason::Outage);
    let given_up = (Verdict::Abandoned, Reason::TooOld);
    let rows = [
        fire::Model { count: 5, ..planted_fire(&losing, home, 9, missed) },
        planted_fire(&losing, home, 8, missed),
        planted_fire(&losing, home, 7, given_up),
        planted_fire(&mended, home, 6, missed),
        planted_fire(&mended, home, 5, (Verdict::Started, Reason::OnTime)),
    ];
    plant(&desk, rows).await;
    let problems = desk.ask(PROBLEMS, json!({})).await["problems"].clone();
    let told: Vec<Value> = problems
        .as_array()
        .unwrap()
        .iter()
        .map(|one| json!([one["schedule"]["name"], one["reason"], one["count"], one["isOpen"]]))
        .collect();
    assert_eq!(
        told,
        [
            json!(["mended", "OUTAGE", 1, false]),
            json!(["losing", "TOO_OLD", 1, true]),
            json!(["losing", "OUTAGE", 6, true]),
        ]
    );
    assert_eq!(problems[2]["since"], "2026-03-01T11:51:00Z");
    assert_eq!(problems[2]["lastRun"], Value::Null);
}

async fn many_skipped_fires_are_a_problem_until_the_schedule_starts_them_again(
    database: TestDatabase,
) {
    let desk = Desk::open(database).await;
    let home = namespace(&desk, "default").await;
    let (busy, mended) =
        (desk.schedule("busy", "@hourly").await, desk.schedule("mended", "@hourly").await);
    let (calm, rare) =
        (desk.schedule("calm", "@hourly").await, desk.schedule("rare", "@hourly").await);
    let started = (Verdict::Started, Reason::OnTime);
    let overlap = (Verdict::Skipped, Reason::Overlap);
    let deadline = (Verdict::Skipped, Reason::Deadline);
    let calendar = (Verdict::Skipped, Reason::Calendar);
    let rows = [
        planted_fire(&busy, home, 60, started),
        planted_fire(&busy, home, 50, overlap),
        planted_fire(&busy, home, 40, overlap),
        planted_fire(&busy, home, 30, started),
        planted_fire(&busy, home, 20, overlap),
        planted_fire(&busy, home, 10, deadline),
        planted_fire(&busy, home, 5, started),
        // A fire that started less than an hour later does not end the problem; one that started
        // more than an hour later does.
        fire::Model { count: 2, ..planted_fire(&mended, home, 200, overlap) },
        planted_fire(&mended, home, 180, overlap),
        planted_fire(&mended, home, 170, started),
        planted_fire(&mended, home, 110, started),
        // Two fires are not enough, and what a calendar suppresses does not count.
        fire::Model { count: 2, ..planted_fire(&calm, home, 9, overlap) },
        fire::Model { count: 9, ..planted_fire(&calm, home, 8, calendar) },
        // Three of 403 fires are not enough, either.
        fire::Model { count: 400, ..planted_fire(&rare, home, 9, started) },
        fire::Model { count: 3, ..planted_fire(&rare, home, 8, overlap) },
    ];
    plant(&desk, rows).await;
    let query = "{ problems { id kind count expected reason isOpen since schedule { name }
        lastRun { id } acknowledgement { by } } }";
    let problems = desk.ask(query, json!({})).await["problems"].clone();
    let told: Vec<Value> = problems
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            let name = &one["schedule"]["name"];
            json!([name, one["reason"], one["count"], one["expected"], one["isOpen"]])
        })
        .collect();
    assert_eq!(
        told,
        [
            json!(["busy", "DEADLINE", 1, 7, true]),
            json!(["busy", "OVERLAP", 3, 7, true]),
            json!(["mended", "OVERLAP", 3, 5, false]),
        ]
    );
    let one = &problems[1];
    assert_eq!(
        (&one["kind"], &one["since"]),
        (&json!("SKIPPING_FIRES"), &json!("2026-03-01T11:10:00Z"))
    );
    assert_eq!(one["lastRun"], Value::Null);

    let acknowledge = "mutation($schedule: UUID!, $id: UUID!) {
        acknowledgeProblem(scheduleId: $schedule, id: $id) { id } }";
    desk.ask(acknowledge, json!({ "schedule": busy, "id": one["id"] })).await;
    let acknowledged = async || {
        let problems = desk.ask(query, json!({})).await["problems"].clone();
        let mut all = problems.as_array().unwrap().iter();
        let found = all.find(|one| one["schedule"]["name"] == "busy" && one["reason"] == "OVERLAP");
        let found = found.unwrap_or_else(|| panic!("{problems}"));
        assert_eq!(found["isOpen"], true, "{found}");
        found["acknowledgement"].clone()
    };
    assert_eq!(acknowledged().await, json!({ "by": "ada" }));
    // A schedule that fires often is a problem of today, although it skipped hardly any fire of the
    // month.
    let often = desk.schedule("often", "* * * * * *").await;
    let rows = [
        fire::Model { count: 1_000_000, ..planted_fire(&often, home, 20 * 1_440, started) },
        fire::Model { count: 9, ..planted_fire(&often, home, 15, overlap) },
    ];
    plant(&desk, rows).await;
    let problems = desk.ask(query, json!({})).await["problems"].clone();
    let mut all = problems.as_array().unwrap().iter();
    let today = all.find(|one| one["schedule"]["name"] == "often").unwrap();
    desk.ask(acknowledge, json!({ "schedule": often, "id": today["id"] })).await;
    // The schedule starts its fires for a while, and then skips them again.
    desk.clock.pass(Duration::from_secs(3 * 3_600));
    plant(&desk, [-90, -120].map(|minutes| planted_fire(&busy, home, minutes, started))).await;
    plant(&desk, [-130, -140].map(|minutes| planted_fire(&busy, home, minutes, overlap))).await;
    assert_eq!(acknowledged().await, Value::Null);
}

async fn a_problem_is_acknowledged_until_it_is_over_or_for_a_while(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let schedule = desk.schedule("one", "@hourly").await;
    failed(&desk, &schedule, "no disk", 10).await;
    let query = "{ problems { id isOpen acknowledgement { at by note until } } }";
    let problem = async || desk.ask(query, json!({})).await["problems"][0].clone();
    let id = problem().await["id"].clone();
    let acknowledge = "mutation($schedule: UUID!, $id: UUID!, $note: String, $until: DateTime) {
        acknowledgeProblem(scheduleId: $schedule, id: $id, note: $note, until: $until) {
            id acknowledgement { by note until } } }";
    let asked = json!({ "schedule": schedule, "id": id, "note": " the disk is ordered " });
    let done = desk.ask(acknowledge, asked.clone()).await["acknowledgeProblem"].clone();
    let seen = json!({ "by": "ada", "note": "the disk is ordered", "until": null });
    assert_eq!(done, json!({ "id": id, "acknowledgement": seen }));
    // The acknowledgement lasts for as long as the problem does.
    desk.clock.pass(Duration::from_secs(60));
    failed(&desk, &schedule, "no disk", 20).await;
    // A second acknowledgement without a note leaves the first user's in place.
    let plain = json!({ "schedule": schedule, "id": id });
    desk.ask(acknowledge, plain.clone()).await;
    let kept = problem().await["acknowledgement"].clone();
    assert_eq!(
        (&kept["at"], &kept["note"]),
        (&json!("2026-03-01T12:00:00Z"), &json!("the disk is ordered"))
    );
    // If the problem ends and occurs again, it counts as a new problem.
    desk.clock.pass(Duration::from_secs(60));
    let mended = desk.trigger(&schedule).await;
    settle(&desk, &mended, State::Succeeded, 10).await;
    let over = problem().await;
    assert_eq!((&over["isOpen"], &over["acknowledgement"]["by"]), (&json!(false), &json!("ada")));
    desk.clock.pass(Duration::from_secs(60));
    failed(&desk, &schedule, "no disk", 30).await;
    let again = problem().await;
    assert_eq!((&again["id"], &again["acknowledgement"]), (&id, &Value::Null));
    desk.ask(acknowledge, plain.clone()).await;
    assert_eq!(problem().await["acknowledgement"]["at"], "2026-03-01T12:03:00Z");

    let hour = json!({ "schedule": schedule, "id": id, "until": "2026-03-01T13:00:00Z" });
    desk.ask(acknowledge, hour).await;
    assert_eq!(problem().await["acknowledgement"]["until"], "2026-03-01T13:00:00Z");
    desk.ask(acknowledge, plain).await;
    assert_eq!(problem().await["acknowledgement"]["until"], Value::Null);
    let take_back = "mutation($schedule: UUID!, $id: UUID!) {
        unacknowledgeProblem(scheduleId: $schedule, id: $id) { acknowledgement { by } } }";
    let taken = desk.ask(take_back, json!({ "schedule": schedule, "id": id })).await;
    assert_eq!(taken["unacknowledgeProblem"]["acknowledgement"], Value::Null);
    assert_eq!(problem().await["acknowledgement"], Value::Null);
    let hour = json!({ "schedule": schedule, "id": id, "until": "2026-03-01T13:00:00Z" });
    desk.ask(acknowledge, hour).await;
    desk.clock.pass(Duration::from_secs(3_600));
    assert_eq!(problem().await["acknowledgement"], Value::Null);
    let late = json!({ "schedule": schedule, "id": id, "until": "2026-03-01T13:00:00Z" });
    assert_eq!(desk.refused(acknowledge, late).await["extensions"]["field"], "until");
    let other = json!({ "schedule": schedule, "id": schedule });
    assert_eq!(desk.refused(acknowledge, other).await["extensions"]["code"], "NOT_FOUND");

    let audit = "{ auditEvents { nodes { action reason subject after } } }";
    let audit = desk.ask(audit, json!({})).await["auditEvents"]["nodes"].clone();
    let done = audit.as_array().unwrap().iter();
    let done: Vec<_> = done.filter(|one| one["action"] == "problem.acknowledge").collect();
    assert_eq!(done.len(), 5);
    assert_eq!(
        (&done[4]["reason"], &done[4]["subject"]),
        (&json!("the disk is ordered"), &json!("one"))
    );
    assert!(!audit.to_string().contains("no disk"), "{audit}");
}

async fn of_two_who_acknowledge_a_problem_at_once_the_second_finds_the_first(
    database: TestDatabase,
) {
    let desk = Desk::open(database).await;
    let schedule = desk.schedule("one", "@hourly").await;
    failed(&desk, &schedule, "no disk", 10).await;
    let problems = desk.ask("{ problems { id } }", json!({})).await["problems"].clone();
    let asked = json!({ "schedule": schedule, "id": problems[0]["id"] });
    let acknowledge = "mutation($schedule: UUID!, $id: UUID!) {
        acknowledgeProblem(scheduleId: $schedule, id: $id) { acknowledgement { by } } }";
    let take_back = "mutation($schedule: UUID!, $id: UUID!) {
        unacknowledgeProblem(scheduleId: $schedule, id: $id) { acknowledgement { by } } }";
    for round in 1..=25 {
        let answers = desk.ask_at_once(acknowledge, &asked).await;
        let [one, other] =
            answers.map(|answer| answer["acknowledgeProblem"]["acknowledgement"]["by"].clone());
        assert!(one.is_string() && one == other, "{one} and {other} in round {round}");
        assert_eq!(desk.audited("problem.acknowledge").await, round);
        desk.ask_at_once(take_back, &asked).await;
        assert_eq!(desk.audited("problem.unacknowledge").await, round);
    }
}

async fn an_acknowledgement_does_not_count_once_its_problem_is_no_longer_stored(
    database: TestDatabase,
) {
    let desk = Desk::open(database).await;
    let home = namespace(&desk, "default").await;
    let (failing, losing) =
        (desk.schedule("failing", "@hourly").await, desk.schedule("losing", "@hourly").await);
    failed(&desk, &failing, "no disk", 10).await;
    plant(&desk, [planted_fire(&losing, home, 9, (Verdict::Missed, Reason::Outage))]).await;
    let query = "{ problems { id schedule { id } acknowledgement { by } } }";
    let problems = async || desk.ask(query, json!({})).await["problems"].clone();
    let by = async || {
        let problems = problems().await;
        let all = problems.as_array().unwrap().iter();
        all.map(|one| one["acknowledgement"]["by"].clone()).collect::<Vec<_>>()
    };
    let acknowledge = "mutation($schedule: UUID!, $id: UUID!) {
        acknowledgeProblem(scheduleId: $schedule, id: $id) { id } }";
    for one in problems().await.as_array().unwrap() {
        let asked = json!({ "schedule": one["schedule"]["id"], "id": one["id"] });
        desk.ask(acknowledge, asked).await;
    }
    assert_eq!(by().await, ["ada", "ada"]);
    // Makes the acknowledgements look as if retention had removed all runs before the problem
    // recurred.
    let tx = desk.database.store.begin().await.unwrap();
    let old = desk.clock.now() - chrono::TimeDelta::days(31);
    acknowledgement::Entity::update_many()
        .col_expr(acknowledgement::Column::LastAt, Expr::value(old.timestamp_millis()))
        .filter(acknowledgement::Column::LastRunId.is_null())
        .exec(&tx)
        .await
        .unwrap();
    acknowledgement::Entity::update_many()
        .col_expr(acknowledgement::Column::LastRunId, Expr::value(Uuid::nil()))
        .filter(acknowledgement::Column::LastRunId.is_not_null())
        .exec(&tx)
        .await
        .unwrap();
    desk.database.store.commit(tx).await.unwrap();
    assert_eq!(by().await, [Value::Null, Value::Null]);
}

async fn a_finding_says_what_to_do_and_whom_it_counts(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let home = namespace(&desk, "default").await;
    let (much, little) =
        (desk.schedule("much", "@hourly").await, desk.schedule("little", "@hourly").await);
    let missed = (Verdict::Missed, Reason::Outage);
    let rows = [
        fire::Model { count: 20, ..planted_fire(&much, home, 30, missed) },
        planted_fire(&little, home, 40, missed),
        planted_fire(&little, home, 90, missed),
    ];
    plant(&desk, rows).await;
    let query = "query($in: String) { health(namespace: $in) { issues findings {
        code severity message help value limit namespace nodes since schedules { name } } } }";
    let finding = async |answer: Value, code: &str| {
        let findings = answer["health"]["findings"].as_array().unwrap().clone();
        let issues = answer["health"]["issues"].as_array().unwrap();
        assert_eq!(findings.len(), issues.len());
        assert!(findings.iter().all(|one| issues.contains(&one["message"])), "{findings:?}");
        findings.into_iter().find(|one| one["code"] == code).unwrap()
    };
    let lost = finding(desk.ask(query, json!({ "in": "default" })).await, "missed").await;
    assert_eq!(lost["schedules"], json!([{ "name": "much" }, { "name": "little" }]));
    assert_eq!((&lost["value"], &lost["limit"]), (&json!("21"), &json!("10")));
    assert_eq!((&lost["severity"], &lost["namespace"]), (&json!("CRITICAL"), &json!("default")));
    assert_eq!(lost["since"], "2026-03-01T11:20:00Z");
    assert!(lost["help"].as_str().unwrap().contains("ledger"), "{lost}");

    desk.clock.pass(Duration::from_secs(2 * 60 * 60));
    let due = finding(desk.ask(query, json!({})).await, "scheduler").await;
    assert_eq!((&due["namespace"], &due["since"]), (&Value::Null, &json!("2026-03-01T13:00:00Z")));
    assert_eq!(due["schedules"].as_array().unwrap().len(), 2);
}
