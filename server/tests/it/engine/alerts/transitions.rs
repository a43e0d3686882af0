//! Only transitions are reported: the beginning of a problem once, and its end once.

use carillon::{
    commands::{Call, RuleEdit, RuleSpec},
    engine::alerting::alerts::AlertEvent::{
        ClockChange, Failed, Late, Losing, Missed, NodeLost, Recovered, Slow, Stalled,
    },
};
use entity::{Strings, Timestamp, alert, alert_cursor, fire, job, run, worker};
use sea_orm::{ActiveModelBehavior, ActiveModelTrait, EntityTrait, IntoActiveModel, QueryOrder};
use serde_json::json;
use uuid::Uuid;

use super::watch::{Watch, editor, rule};
use crate::{
    engine::forge,
    support::{TestDatabase, on_both},
};

on_both!(
    a_schedule_that_fails_is_told_once_and_so_is_its_recovery,
    a_failure_right_after_the_first_rule_is_told_and_nothing_older,
    a_failure_that_ends_after_a_later_success_is_reported,
    a_problem_that_ends_within_its_grace_is_not_recorded,
    enough_failures_in_a_row_are_reported,
    enough_failures_in_a_row_are_reported_although_a_success_follows_at_once,
    what_ran_late_or_not_at_all_is_told_each_time,
    a_late_run_that_outlasts_its_alert_is_reported_once,
    a_stalled_schedule_is_reported_until_a_node_takes_it,
    an_edit_of_a_rule_does_not_report_that_stalled_work_was_taken,
    a_schedule_whose_planned_pause_begins_late_has_not_stalled,
    a_queue_without_a_worker_is_reported_until_one_pulls,
    a_run_that_takes_much_longer_than_usual_is_reported_until_it_ends,
    a_change_of_the_clocks_that_touches_a_time_is_reported_once,
    a_long_queue_of_one_schedule_hides_no_other,
    a_lost_node_is_reported_unless_it_is_back,
    a_rule_is_about_the_schedules_that_its_search_finds,
);

async fn a_schedule_that_fails_is_told_once_and_so_is_its_recovery(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let channel = watch.idle_channel().await;
    let schedule = watch.schedule(|row| row.name = "nightly".to_owned()).await;
    // The run failed before the rule existed.
    watch.ends(&schedule, run::State::Failed).await;
    watch.ends(&schedule, run::State::Succeeded).await;
    watch.rule(rule(&[Failed, Recovered], channel)).await;
    let mut node = watch.node("a").await;
    node.look(&watch).await;
    assert!(watch.alerts().await.is_empty());

    let first = watch.ends(&schedule, run::State::Failed).await;
    assert_eq!(node.tells(&watch, 1).await, ["[test] nightly failed"]);
    let body = watch.messages().await.remove(0).body;
    let told = &body["alerts"][0];
    assert_eq!((&told["kind"], &told["error"]), (&"failed".into(), &"exit code 1".into()));
    assert_eq!(told["run_id"], first.to_string());
    assert_eq!(told["schedule"]["name"], "nightly");

    let second = watch.ends(&schedule, run::State::TimedOut).await;
    node.looks_until(&watch, "the second failure", async || {
        (watch.alerts().await[0].run_id == Some(second)).then_some(())
    })
    .await;
    assert_eq!((watch.alerts().await.len(), watch.alerts().await[0].count), (1, 2));
    // A cancelled run is not reported, and neither is a run of a backfill.
    watch.ends(&schedule, run::State::Cancelled).await;
    watch
        .ends_as(&schedule, |_, run| {
            (run.state, run.trigger) = (run::State::Succeeded, run::Trigger::Backfill);
        })
        .await;
    node.look(&watch).await;
    assert_eq!(watch.subjects().await.len(), 1);

    watch.ends(&schedule, run::State::Succeeded).await;
    let told = node.tells(&watch, 2).await;
    assert_eq!(told[1], "[test] nightly has recovered");
    watch.ends(&schedule, run::State::Failed).await;
    assert_eq!(node.tells(&watch, 3).await[2], "[test] nightly failed", "another time");
}

async fn a_failure_right_after_the_first_rule_is_told_and_nothing_older(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let channel = watch.idle_channel().await;
    let mut node = watch.node("a").await;
    let schedule = watch.schedule(|row| row.name = "nightly".to_owned()).await;
    let cursors = async || {
        let rows = alert_cursor::Entity::find().order_by_asc(alert_cursor::Column::Feed);
        rows.all(watch.world.database.store.read()).await.unwrap()
    };
    watch.ends(&schedule, run::State::Failed).await;
    let first = watch.rule(rule(&[Failed], channel)).await;
    let begun = cursors().await;
    assert_eq!(begun.len(), 4, "before anybody looks");
    watch.ends(&schedule, run::State::Failed).await;
    assert_eq!(node.tells(&watch, 1).await, ["[test] nightly failed 2 times in a row"]);
    assert_eq!(watch.alerts().await[0].count, 2, "the streak, as the ledger has it");

    // While there is no rule, the feed is not read. The next rule begins now, not where the deleted
    // rule had stopped.
    let editor = editor();
    watch.commands().delete_alert_rule(&editor, first, &Call::once()).await.unwrap();
    assert!(watch.alerts().await.is_empty(), "they go with their rule");
    let other = watch.schedule(|row| row.name = "other".to_owned()).await;
    let older = watch.ends(&other, run::State::Failed).await;
    watch.passes_by(older).await;
    let left = cursors().await;
    watch.rule(rule(&[Failed], channel)).await;
    let moved = cursors().await;
    assert!(moved.iter().zip(&left).all(|(now, then)| now.changed >= then.changed));
    assert!(moved.iter().zip(&left).any(|(now, then)| now.changed > then.changed));
    // A second rule does not move the cursors, because the first rule has not read up to now.
    watch.pass(1);
    watch.rule(rule(&[Failed], channel)).await;
    assert_eq!(cursors().await, moved);
    watch.ends(&schedule, run::State::Failed).await;
    assert_eq!(node.tells(&watch, 3).await[1..], ["[test] nightly failed 3 times in a row"; 2]);
}

async fn a_failure_that_ends_after_a_later_success_is_reported(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let channel = watch.idle_channel().await;
    watch.rule(rule(&[Failed, Recovered], channel)).await;
    let mut node = watch.node("a").await;
    let schedule = watch.schedule(|row| row.name = "nightly".to_owned()).await;
    let failed = watch
        .ends_as(&schedule, |_, run| {
            run.state = run::State::Failed;
            // This run ends long after the next one.
            run.finished_at = run.finished_at.map(|at| Timestamp(at.0 + 3_600_000));
        })
        .await;
    watch.ends(&schedule, run::State::Succeeded).await;
    watch.pass(7_200);
    let subjects = node.tells(&watch, 1).await;
    assert_eq!(subjects, ["[test] nightly failed, and has recovered since"]);
    let alert = watch.alerts().await.remove(0);
    assert_eq!((alert.run_id, alert.ended_at), (Some(failed), Some(alert.began_at)));
}

async fn a_problem_that_ends_within_its_grace_is_not_recorded(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let channel = watch.idle_channel().await;
    let grace = carillon::engine::alerting::alerts::Rule {
        grace_seconds: 600,
        ..rule(&[Failed, Recovered], channel)
    };
    watch.rule(grace).await;
    let mut node = watch.node("a").await;
    node.look(&watch).await;
    let schedule = watch.schedule(|_| {}).await;
    watch.ends(&schedule, run::State::Failed).await;
    let noted = async || (!watch.alerts().await.is_empty()).then_some(());
    node.looks_until(&watch, "the failure", noted).await;
    watch.ends(&schedule, run::State::Succeeded).await;
    let gone = async || watch.alerts().await.is_empty().then_some(());
    node.looks_until(&watch, "nothing", gone).await;
    watch.pass(700);
    node.look(&watch).await;
    assert!(watch.subjects().await.is_empty());

    watch.ends(&schedule, run::State::Failed).await;
    node.looks_until(&watch, "the next failure", noted).await;
    watch.pass(599);
    node.look(&watch).await;
    assert!(watch.subjects().await.is_empty());
    watch.pass(2);
    node.tells(&watch, 1).await;
}

async fn enough_failures_in_a_row_are_reported(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let channel = watch.idle_channel().await;
    watch.rule(rule(&[Losing, Recovered], channel)).await;
    let mut node = watch.node("a").await;
    node.look(&watch).await;
    let schedule = watch.schedule(|row| row.name = "nightly".to_owned()).await;
    for state in [run::State::Failed, run::State::Failed, run::State::Succeeded] {
        watch.ends(&schedule, state).await;
    }
    for _ in 0..2 {
        watch.ends(&schedule, run::State::Failed).await;
        node.look(&watch).await;
    }
    assert!(watch.subjects().await.is_empty());
    watch.ends(&schedule, run::State::TimedOut).await;
    assert_eq!(node.tells(&watch, 1).await, ["[test] nightly failed 3 times in a row"]);
    watch.ends(&schedule, run::State::Succeeded).await;
    assert_eq!(node.tells(&watch, 2).await[1], "[test] nightly has recovered");
}

/// The failures and the success are read in one round.
async fn enough_failures_in_a_row_are_reported_although_a_success_follows_at_once(
    database: TestDatabase,
) {
    let mut watch = Watch::begin(database).await;
    let channel = watch.idle_channel().await;
    watch.rule(rule(&[Losing, Recovered], channel)).await;
    let mut node = watch.node("a").await;
    node.look(&watch).await;
    let schedule = watch.schedule(|row| row.name = "nightly".to_owned()).await;
    for _ in 0..3 {
        watch.ends(&schedule, run::State::Failed).await;
    }
    watch.ends(&schedule, run::State::Succeeded).await;
    let told = "[test] nightly failed 3 times in a row, and has recovered since";
    assert_eq!(node.tells(&watch, 1).await, [told]);
    let alert = watch.alerts().await.remove(0);
    assert_eq!((alert.kind, alert.count), (alert::Kind::Losing, 3));
    assert!(alert.ended_at.is_some());
}

async fn what_ran_late_or_not_at_all_is_told_each_time(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let channel = watch.idle_channel().await;
    watch.rule(rule(&[Missed, Late], channel)).await;
    let mut node = watch.node("a").await;
    node.look(&watch).await;
    let schedule = watch.schedule(|row| row.name = "nightly".to_owned()).await;
    let seconds_late = |run: &mut run::Model, seconds: i64| {
        run.started_at = Some(Timestamp(run.due_at.0 + seconds * 1_000));
    };
    watch.ends_as(&schedule, |_, run| seconds_late(run, 299)).await;
    watch.ends_as(&schedule, |_, run| seconds_late(run, 360)).await;
    assert_eq!(node.tells(&watch, 1).await, ["[test] nightly started 6 min late"]);

    let missed = |fire: &mut fire::Model| {
        (fire.verdict, fire.reason) = (fire::Verdict::Missed, fire::Reason::Outage);
        (fire.decided_at, fire.count) = (Some(fire.claimed_at), 4);
    };
    watch.pass(3_600);
    forge::intent(&watch.world, &schedule, missed).await;
    assert_eq!(node.tells(&watch, 2).await[1], "[test] nightly missed 4 fires");
    // The verdict is committed some time after its instant, which the cursor has already passed. It
    // is reported all the same.
    let late = forge::intent(&watch.world, &schedule, |fire| {
        missed(fire);
        fire.verdict = fire::Verdict::Abandoned;
        fire.scheduled_at.0 -= 7;
        fire.decided_at = Some(Timestamp(fire.claimed_at.0 - 300_000));
    })
    .await;
    node.look(&watch).await;
    assert_eq!(watch.subjects().await.len(), 2);
    watch.pass(61);
    node.tells(&watch, 3).await;
    let alerts = watch.alerts().await;
    assert_eq!(alerts.iter().filter(|alert| alert.fire_id == Some(late.id)).count(), 1);
    // Later rounds report nothing twice.
    watch.pass(61);
    node.look(&watch).await;
    assert_eq!((watch.alerts().await.len(), watch.subjects().await.len()), (3, 3));
}

async fn a_late_run_that_outlasts_its_alert_is_reported_once(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let channel = watch.idle_channel().await;
    watch.rule(rule(&[Late], channel)).await;
    let mut node = watch.node("a").await;
    node.look(&watch).await;
    let schedule = watch.schedule(|row| row.name = "nightly".to_owned()).await;
    let begins = |_: &mut fire::Model, run: &mut run::Model| {
        run.started_at = Some(Timestamp(run.due_at.0 + 360_000));
        (run.state, run.finished_at) = (run::State::Running, None);
    };
    let run = watch.ends_as(&schedule, begins).await;
    node.tells(&watch, 1).await;
    // Retention keeps history for a day, and the run takes three.
    watch.pass(3 * 86_400);
    watch.world.retain(1).await;
    let sql = "UPDATE run SET state = 'succeeded', finished_at = $2 WHERE id = $1";
    watch.world.write(sql, [run.into(), watch.now().0.into()]).await;
    watch.stamp(&[run]).await;
    watch.passes_by(run).await;
    // Retention may come before the alert service reads that the run has settled.
    watch.world.retain(1).await;
    node.look(&watch).await;
    assert_eq!(watch.subjects().await, ["[test] nightly started 6 min late"]);
}

async fn a_stalled_schedule_is_reported_until_a_node_takes_it(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let channel = watch.idle_channel().await;
    watch.rule(rule(&[Stalled, Recovered], channel)).await;
    let mut node = watch.node("a").await;
    node.look(&watch).await;
    let due = watch.schedule(|row| row.name = "due".to_owned()).await;
    let queued = watch.schedule(|row| row.name = "queued".to_owned()).await;
    let now = watch.now();
    let sql = "UPDATE schedule SET next_fire_at = $2 WHERE id = $1";
    watch.world.write(sql, [due.id.into(), now.0.into()]).await;
    let run = watch
        .ends_as(&queued, |_, run| {
            (run.state, run.finished_at, run.started_at) = (run::State::Queued, None, None);
        })
        .await;
    watch.pass(200);
    node.look(&watch).await;
    assert!(watch.subjects().await.is_empty());
    watch.pass(50);
    node.look(&watch).await;
    node.look(&watch).await;
    assert_eq!(
        watch.subjects().await,
        ["[test] due is due, and no node claims it"],
        "the run has not waited for long enough"
    );
    watch.pass(60);
    let told = node.tells(&watch, 2).await;
    assert_eq!(told[1], "[test] queued has a run that waits, and no node takes it");
    assert_eq!(watch.alerts().await[1].run_id, Some(run));

    let sql = "UPDATE schedule SET next_fire_at = NULL WHERE id = $1";
    watch.world.write(sql, [due.id.into()]).await;
    assert_eq!(node.tells(&watch, 3).await[2], "[test] due is running again");
}

async fn an_edit_of_a_rule_does_not_report_that_stalled_work_was_taken(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let channel = watch.idle_channel().await;
    let id = watch.rule(rule(&[Stalled, Recovered], channel)).await;
    let mut node = watch.node("a").await;
    node.look(&watch).await;
    let due = watch.schedule(|row| row.name = "due".to_owned()).await;
    let sql = "UPDATE schedule SET next_fire_at = $2 WHERE id = $1";
    watch.world.write(sql, [due.id.into(), watch.now().0.into()]).await;
    watch.pass(310);
    assert_eq!(node.tells(&watch, 1).await, ["[test] due is due, and no node claims it"]);

    let edit = async |expected_version: i32, change: fn(&mut RuleSpec)| {
        let edit = RuleEdit { id, expected_version, apply: Box::new(change) };
        watch.commands().update_alert_rule(&editor(), edit, &Call::once()).await.unwrap();
    };
    // No node has taken the work, although it has waited for less than the new limit.
    edit(1, |spec| spec.rule.stalled_after_seconds = 3_600).await;
    node.look(&watch).await;
    assert_eq!(watch.alerts().await[0].ended_at, None);
    edit(2, |spec| spec.rule.on = vec![Failed, Recovered]).await;
    node.look(&watch).await;
    assert_eq!(watch.alerts().await[0].ended_at, Some(watch.now()));
    assert_eq!(watch.subjects().await.len(), 1, "the schedule is not running again");
}

async fn a_schedule_whose_planned_pause_begins_late_has_not_stalled(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let channel = watch.idle_channel().await;
    watch.rule(rule(&[Stalled, Recovered], channel)).await;
    let mut node = watch.node("a").await;
    node.look(&watch).await;
    let due = watch.schedule(|row| row.name = "due".to_owned()).await;
    let sql = "UPDATE schedule SET next_fire_at = $2, pause_from = $3 WHERE id = $1";
    let (now, id) = (watch.now().0, due.id);
    watch.world.write(sql, [id.into(), now.into(), now.into()]).await;
    watch.pass(310);
    node.look(&watch).await;
    assert!(watch.alerts().await.is_empty(), "no node may claim it");
    watch.world.write(sql, [id.into(), now.into(), (now + 1).into()]).await;
    assert_eq!(node.tells(&watch, 1).await, ["[test] due is due, and no node claims it"]);
    // The instant from before the pause was claimed, and the next one belongs to the pause.
    watch.world.write(sql, [id.into(), (now + 1).into(), (now + 1).into()]).await;
    assert_eq!(node.tells(&watch, 2).await[1], "[test] due is running again");
}

async fn a_run_that_takes_much_longer_than_usual_is_reported_until_it_ends(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let channel = watch.idle_channel().await;
    watch.rule(rule(&[Slow, Recovered], channel)).await;
    let mut node = watch.node("a").await;
    node.look(&watch).await;
    let nightly = watch.schedule(|row| row.name = "nightly".to_owned()).await;
    let young = watch.schedule(|row| row.name = "young".to_owned()).await;
    let usual = |_: &mut fire::Model, run: &mut run::Model| {
        let started = run.created_at;
        run.started_at = Some(started);
        run.finished_at = Some(Timestamp(started.0 + 600_000));
        run.state = run::State::Succeeded;
    };
    for _ in 0..5 {
        watch.ends_as(&nightly, usual).await;
    }
    watch.ends_as(&young, usual).await;
    watch.pass(1_200);
    let begins = |_: &mut fire::Model, run: &mut run::Model| {
        (run.state, run.started_at, run.finished_at) =
            (run::State::Running, Some(run.created_at), None);
    };
    let run = watch.ends_as(&nightly, begins).await;
    // This schedule has too few runs for a usual duration.
    watch.ends_as(&young, begins).await;
    watch.pass(1_700);
    node.look(&watch).await;
    assert!(watch.subjects().await.is_empty(), "less than three times the usual 10 minutes");
    watch.pass(300);
    let told = node.tells(&watch, 1).await;
    assert!(told[0].starts_with("[test] nightly has a slow run: running for 3"), "{told:?}");
    assert!(told[0].ends_with("times its usual 10 min"), "{told:?}");
    watch.pass(600);
    node.look(&watch).await;
    assert_eq!((watch.alerts().await.len(), watch.alerts().await[0].run_id), (1, Some(run)));
    let sql = "UPDATE run SET state = 'succeeded', finished_at = $2 WHERE id = $1";
    watch.world.write(sql, [run.into(), watch.now().0.into()]).await;
    assert_eq!(node.tells(&watch, 2).await[1], "[test] the slow run of nightly has ended");
}

async fn a_change_of_the_clocks_that_touches_a_time_is_reported_once(database: TestDatabase) {
    // The clocks of Berlin go forward on 29 March.
    let mut watch = Watch::begin_at(database, "2026-03-15T00:30:00Z").await;
    let channel = watch.idle_channel().await;
    watch.rule(rule(&[ClockChange], channel)).await;
    let mut node = watch.node("a").await;
    for (name, expression, zone) in [
        ("nightly", "30 2 * * *", "Europe/Berlin"),
        ("daily", "30 12 * * *", "Europe/Berlin"),
        ("elsewhere", "30 2 * * *", "UTC"),
    ] {
        let change = |row: &mut entity::schedule::Model| {
            (row.name, row.zone) = (name.to_owned(), zone.to_owned());
            row.expressions = Strings(vec![expression.to_owned()]);
            row.end_at = None;
        };
        watch.schedule(change).await;
    }
    node.look(&watch).await;
    assert!(watch.alerts().await.is_empty(), "that is more than 14 days ahead");
    // Clock changes are checked every hour.
    watch.pass(2_000);
    node.look(&watch).await;
    watch.pass(2_000);
    let told = node.tells(&watch, 1).await;
    let begins = "[test] the clocks change for nightly: 02:30 does not exist on 2026-03-29";
    assert!(told[0].starts_with(begins), "{told:?}");
    for _ in 0..2 {
        watch.pass(2_000);
        node.look(&watch).await;
    }
    assert_eq!(watch.alerts().await.len(), 1);
    // Retention keeps history for a day, and the change is still ahead.
    watch.pass(3 * 86_400);
    watch.world.retain(1).await;
    node.look(&watch).await;
    assert_eq!(watch.subjects().await.len(), 1, "the change was reported");
    watch.pass(70 * 86_400);
    watch.world.retain(1).await;
    assert!(watch.alerts().await.is_empty());
}

async fn add<M, A>(watch: &Watch, row: M)
where
    M: IntoActiveModel<A>,
    A: ActiveModelTrait + ActiveModelBehavior + Send,
    <A::Entity as EntityTrait>::Model: IntoActiveModel<A>,
{
    let store = &watch.world.database.store;
    let tx = store.begin().await.unwrap();
    row.into_active_model().insert(&tx).await.unwrap();
    store.commit(tx).await.unwrap();
}

async fn a_queue_without_a_worker_is_reported_until_one_pulls(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let channel = watch.idle_channel().await;
    watch.rule(rule(&[Stalled, Recovered], channel)).await;
    let mut node = watch.node("a").await;
    node.look(&watch).await;
    let mails = watch.schedule(|row| row.name = "mails".to_owned()).await;
    let run = watch
        .ends_as(&mails, |_, run| (run.state, run.finished_at) = (run::State::Running, None))
        .await;
    let now = watch.now();
    let job = job::Model {
        id: Uuid::now_v7(),
        namespace_id: mails.namespace_id,
        run_id: run,
        run_task: "main".to_owned(),
        attempt: 1,
        state: job::State::Waiting,
        queue: "emails".to_owned(),
        task: "send".to_owned(),
        tags: Some(Strings(vec!["eu".to_owned()])),
        input: json!({}),
        about: json!({}),
        priority: 0,
        timeout_ms: 3_600_000,
        created_at: now,
        awaited_until: Timestamp(now.0 + 3_600_000),
        worker_id: None,
        token: None,
        taken_at: None,
        lease_until: None,
        lease_ms: 30_000,
        stop: false,
        lines: 0,
        line_bytes: 0,
        head_lines: None,
        head_bytes: None,
        output: None,
        error: None,
        is_final: false,
        ended_at: None,
    };
    add(&watch, job).await;
    watch.pass(290);
    node.look(&watch).await;
    assert!(watch.subjects().await.is_empty());
    watch.pass(20);
    let told = node.tells(&watch, 1).await;
    assert_eq!(told, ["[test] mails has a run that waits: no worker of the queue emails takes it"]);
    // A worker that lacks the job's tags cannot take the job.
    let worker = |tag: &str| worker::Model {
        id: Uuid::now_v7(),
        namespace_id: mails.namespace_id,
        name: "mailer".to_owned(),
        queues: Strings(vec!["invoices".to_owned(), "emails".to_owned()]),
        tags: Strings(vec![tag.to_owned()]),
        capacity: 1,
        version: String::new(),
        client: String::new(),
        token_id: Uuid::nil(),
        token: String::new(),
        draining: false,
        registered_at: now,
        heartbeat_at: watch.now(),
    };
    add(&watch, worker("us")).await;
    node.look(&watch).await;
    assert_eq!(watch.subjects().await.len(), 1);
    add(&watch, worker("eu")).await;
    assert_eq!(node.tells(&watch, 2).await[1], "[test] mails is running again");
}

async fn a_long_queue_of_one_schedule_hides_no_other(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let channel = watch.idle_channel().await;
    watch.rule(rule(&[Stalled, Recovered], channel)).await;
    let mut node = watch.node("a").await;
    node.look(&watch).await;
    let waits = |_: &mut fire::Model, run: &mut run::Model| {
        (run.state, run.finished_at, run.started_at) = (run::State::Queued, None, None);
    };
    let long = watch.schedule(|row| row.name = "long".to_owned()).await;
    let first = watch.ends_as(&long, waits).await;
    // Creates as many waiting runs as one round checks in a namespace. All of them have waited
    // longer than the run of the schedule `other`.
    let store = &watch.world.database.store;
    let row = run::Entity::find_by_id(first).one(store.read()).await.unwrap().unwrap();
    let many: Vec<_> = (0..600)
        .map(|_| run::Model { id: Uuid::now_v7(), ..row.clone() }.into_active_model())
        .collect();
    let tx = store.begin().await.unwrap();
    run::Entity::insert_many(many).exec_without_returning(&tx).await.unwrap();
    store.commit(tx).await.unwrap();
    let other = watch.schedule(|row| row.name = "other".to_owned()).await;
    let last = watch.ends_as(&other, waits).await;
    watch.pass(400);
    let told = node.tells(&watch, 1).await;
    assert_eq!(told, ["[test] 2 stalled"]);
    // One of the runs resumes while the other still waits.
    watch.world.write("DELETE FROM run WHERE id = $1", [last.into()]).await;
    assert_eq!(node.tells(&watch, 2).await[1], "[test] other is running again");
}

async fn a_lost_node_is_reported_unless_it_is_back(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let channel = watch.idle_channel().await;
    watch.rule(rule(&[NodeLost, Recovered], channel)).await;
    let mut node = watch.node("a").await;
    node.look(&watch).await;
    let other = forge::node(&watch.world).await;
    node.look(&watch).await;
    let died = async |id: Uuid| {
        let stamp = watch.world.database.store.dialect().stamp("node");
        let sql = format!(
            "UPDATE node SET state = 'dead', ended_at = $2, changed = {stamp} WHERE id = $1"
        );
        watch.world.write(&sql, [id.into(), watch.now().0.into()]).await;
    };
    died(other).await;
    assert_eq!(node.tells(&watch, 1).await, ["[test] node other is lost"]);
    let back = forge::node(&watch.world).await;
    assert_eq!(node.tells(&watch, 2).await[1], "[test] node other is back");
    // A node that was restarted under its name before the next round is not reported.
    died(back).await;
    forge::node(&watch.world).await;
    node.look(&watch).await;
    node.look(&watch).await;
    assert_eq!(watch.subjects().await.len(), 2);
}

async fn a_rule_is_about_the_schedules_that_its_search_finds(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let channel = watch.idle_channel().await;
    let mut billing = rule(&[Failed], channel);
    billing.search = "tag:billing -name:test".to_owned();
    let billing = watch.rule(billing).await;
    let all = watch.rule(rule(&[Failed], channel)).await;
    // A rule of another namespace reports the same events.
    let other = Uuid::now_v7();
    let sql = "INSERT INTO namespace (id, name, created_at) VALUES ($1, 'other', 0)";
    watch.world.write(sql, [other.into()]).await;
    let sql = "INSERT INTO alert_rule (id, namespace_id, name, definition, enabled, since, version, \
        created_at, updated_at) SELECT $1, $2, name, definition, enabled, since, version, \
        created_at, updated_at FROM alert_rule WHERE id = $3";
    watch.world.write(sql, [Uuid::now_v7().into(), other.into(), all.into()]).await;

    let mut node = watch.node("a").await;
    node.look(&watch).await;
    let tagged = |name: &str| {
        let name = name.to_owned();
        move |row: &mut entity::schedule::Model| {
            (row.name, row.tags.0) = (name, vec!["billing".to_owned()]);
        }
    };
    for schedule in [
        watch.schedule(tagged("invoices")).await,
        watch.schedule(tagged("invoices-test")).await,
        watch.schedule(|row| row.name = "report".to_owned()).await,
    ] {
        watch.ends(&schedule, run::State::Failed).await;
    }
    let four = async || (watch.alerts().await.len() == 4).then_some(());
    node.looks_until(&watch, "four alerts", four).await;
    let of = |rule: Uuid, alerts: &[alert::Model]| {
        let of_rule = alerts.iter().filter(|alert| alert.rule_id == rule);
        let mut names: Vec<String> = of_rule.map(|alert| alert.subject.clone()).collect();
        names.sort();
        names
    };
    let alerts = watch.alerts().await;
    assert_eq!(of(billing, &alerts), ["invoices"]);
    assert_eq!(of(all, &alerts), ["invoices", "invoices-test", "report"]);
}
