//! The preview of a rule over the past reports the same alerts as the rule did.

use carillon::engine::alerting::alerts::{
    AlertEvent::{
        ClockChange, Failed, Late, Losing, Missed, NodeLost, Recovered, Skipped, Slow, Stalled,
    },
    QuietPeriods, Rule, RulePreview,
};
use entity::{Strings, Timestamp, fire, run, schedule};
use sea_orm::{IdenStatic, Iterable};
use timetable::TimeWindow;
use uuid::Uuid;

use super::watch::{Watch, rule};
use crate::{
    engine::forge,
    support::{TestDatabase, on_both},
};

on_both!(
    the_preview_of_a_rule_matches_its_reports,
    the_preview_of_skipped_fires_matches_the_reports,
    the_preview_of_slow_runs_matches_the_reports,
    the_preview_announces_the_clock_changes_of_present_definitions,
    the_preview_of_lost_nodes_leaves_out_those_that_were_restarted,
    a_schedule_that_has_never_succeeded_is_read_once,
);

async fn foretold(watch: &Watch, rule: Rule) -> Vec<String> {
    let (store, timings) = (&watch.world.database.store, timetable::Cache::new(10));
    let (namespace, now) = (watch.world.namespace, watch.clock.now());
    let preview = RulePreview::of(store, &timings, namespace, "test", rule, now, 7).await.unwrap();
    assert!(!preview.is_cut);
    preview.messages.into_iter().map(|message| message.subject).collect()
}

async fn the_preview_of_a_rule_matches_its_reports(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let channel = watch.idle_channel().await;
    let all = rule(&[Failed, Recovered, Late, Missed], channel);
    watch.rule(all.clone()).await;
    let mut node = watch.node("a").await;
    node.look(&watch).await;
    let nightly = watch.schedule(|row| row.name = "nightly".to_owned()).await;
    let hourly = watch.schedule(|row| row.name = "hourly".to_owned()).await;
    watch.ends(&nightly, run::State::Failed).await;
    node.tells(&watch, 1).await;
    watch.ends(&nightly, run::State::TimedOut).await;
    watch.ends(&nightly, run::State::Failed).await;
    let three = async || (watch.alerts().await[0].count == 3).then_some(());
    node.looks_until(&watch, "three failures", three).await;
    watch.ends(&nightly, run::State::Succeeded).await;
    node.tells(&watch, 2).await;
    let late = |_: &mut fire::Model, run: &mut run::Model| {
        run.started_at = Some(Timestamp(run.due_at.0 + 360_000));
        run.finished_at = run.started_at;
    };
    watch.ends_as(&hourly, late).await;
    watch.pass(400);
    node.tells(&watch, 3).await;
    forge::intent(&watch.world, &hourly, |fire| {
        (fire.verdict, fire.reason) = (fire::Verdict::Missed, fire::Reason::Outage);
        (fire.decided_at, fire.count) = (Some(watch.now()), 4);
    })
    .await;
    let told = node.tells(&watch, 4).await;
    assert_eq!(
        told,
        [
            "[test] nightly failed",
            "[test] nightly has recovered",
            "[test] hourly started 6 min late",
            "[test] hourly missed 4 fires",
        ]
    );
    assert_eq!(foretold(&watch, all.clone()).await, told);

    // Other rules are applied to the same past.
    let losing = rule(&[Losing], channel);
    assert_eq!(foretold(&watch, losing.clone()).await, ["[test] nightly failed 3 times in a row"]);
    assert!(foretold(&watch, Rule { losing_after: 4, ..losing }).await.is_empty());
    let elsewhere = Rule { search: "schedule:hourly".to_owned(), ..all.clone() };
    assert_eq!(foretold(&watch, elsewhere).await, told[2..]);
    let patient = Rule { grace_seconds: 3_600, ..rule(&[Failed, Recovered], channel) };
    assert!(foretold(&watch, patient).await.is_empty());
    let digest = Rule { digest_seconds: 240, ..rule(&[Failed, Recovered], channel) };
    let said = "[test] nightly failed 3 times in a row, and has recovered since";
    assert_eq!(foretold(&watch, digest).await, [said]);
    // An hour later the quiet hours are over, and the preview reports the alerts that they held
    // back.
    let morning = TimeWindow { from: "11:00".to_owned(), to: "12:20".to_owned(), weekdays: vec![] };
    let quiet = QuietPeriods { zone: "UTC".to_owned(), windows: vec![morning] };
    watch.pass(3_600);
    let quiet = foretold(&watch, Rule { quiet: Some(quiet), ..all }).await;
    assert_eq!(quiet, ["[test] 1 failed, 1 late, 1 missed"]);
}

async fn the_preview_of_skipped_fires_matches_the_reports(database: TestDatabase) {
    use fire::{Reason, Verdict};
    let mut watch = Watch::begin(database).await;
    let channel = watch.idle_channel().await;
    let all = rule(&[Skipped, Recovered], channel);
    watch.rule(all.clone()).await;
    let mut node = watch.node("a").await;
    node.look(&watch).await;
    let busy = watch.schedule(|row| row.name = "busy".to_owned()).await;
    // The schedule skips fires twice, and recovers between the two.
    for _ in 0..2 {
        for reason in [Reason::Overlap, Reason::Quota, Reason::Overlap, Reason::Overlap] {
            watch.fires(&busy, Verdict::Skipped, reason).await;
            node.look(&watch).await;
        }
        for _ in 0..8 {
            watch.fires(&busy, Verdict::Started, Reason::OnTime).await;
            node.look(&watch).await;
        }
    }
    let told = watch.subjects().await;
    let twice = [
        "[test] busy skipped 3 fires within an hour (overlap, quota)",
        "[test] busy no longer skips fires",
    ];
    assert_eq!(told, [twice; 2].concat());
    assert_eq!(foretold(&watch, all.clone()).await, told);
    let patient = Rule { skipped_after: 5, ..all.clone() };
    assert!(foretold(&watch, patient).await.is_empty());
    let calm = Rule { grace_seconds: 7_200, ..all };
    assert!(foretold(&watch, calm).await.is_empty(), "each ended within two hours");
}

async fn the_preview_of_slow_runs_matches_the_reports(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let channel = watch.idle_channel().await;
    let all = rule(&[Slow, Recovered], channel);
    watch.rule(all.clone()).await;
    let mut node = watch.node("a").await;
    node.look(&watch).await;
    let nightly = watch.schedule(|row| row.name = "nightly".to_owned()).await;
    let young = watch.schedule(|row| row.name = "young".to_owned()).await;
    let takes = |seconds: i64| {
        move |_: &mut fire::Model, run: &mut run::Model| {
            run.started_at = Some(run.created_at);
            run.finished_at = Some(Timestamp(run.created_at.0 + seconds * 1_000));
            run.state = run::State::Succeeded;
        }
    };
    for _ in 0..5 {
        watch.ends_as(&nightly, takes(600)).await;
    }
    // A run of which no earlier run shows what is usual.
    watch.ends_as(&young, takes(7_200)).await;
    watch.pass(1_200);
    let begins = |_: &mut fire::Model, run: &mut run::Model| {
        (run.state, run.started_at, run.finished_at) =
            (run::State::Running, Some(run.created_at), None);
    };
    // By the second slow run, the first one is among the earlier runs.
    let mut told = Vec::new();
    for (count, seconds) in [(1, 1_810), (3, 1_900)] {
        let run = watch.ends_as(&nightly, begins).await;
        watch.pass(seconds);
        told = node.tells(&watch, count).await;
        assert_eq!(foretold(&watch, rule(&[Slow], channel)).await.len(), count.div_ceil(2));
        let sql = "UPDATE run SET state = 'succeeded', finished_at = $2 WHERE id = $1";
        watch.world.write(sql, [run.into(), watch.now().0.into()]).await;
        if count == 1 {
            told = node.tells(&watch, 2).await;
        }
        watch.pass(1_200);
    }
    assert_eq!(told.len(), 3);
    let begun = "[test] nightly has a slow run: running for 30 min, 3.0 times its usual 10 min";
    let foretold_all = foretold(&watch, all.clone()).await;
    assert_eq!(foretold_all[..2], [begun, "[test] the slow run of nightly has ended"]);
    assert_eq!(foretold_all.len(), 4);
    assert_eq!(told[1], foretold_all[1]);

    let patient = Rule { slow_after_times: 4, ..all.clone() };
    assert!(foretold(&watch, patient).await.is_empty());
    let elsewhere = Rule { search: "schedule:young".to_owned(), ..all };
    assert!(foretold(&watch, elsewhere).await.is_empty());
}

async fn the_preview_announces_the_clock_changes_of_present_definitions(database: TestDatabase) {
    // The clocks of Berlin go forward on 29 March, at 01:00 UTC.
    let watch = Watch::begin_at(database, "2026-03-17T12:00:00Z").await;
    let channel = watch.idle_channel().await;
    for (name, expression, zone) in [
        ("nightly", "30 2 * * *", "Europe/Berlin"),
        ("daily", "30 12 * * *", "Europe/Berlin"),
        ("elsewhere", "30 2 * * *", "UTC"),
    ] {
        let change = |row: &mut schedule::Model| {
            (row.name, row.zone) = (name.to_owned(), zone.to_owned());
            row.expressions = Strings(vec![expression.to_owned()]);
            row.end_at = None;
        };
        watch.schedule(change).await;
    }
    let sql = "UPDATE schedule SET created_at = 0, next_fire_at = $1";
    watch.world.write(sql, [(watch.now().0 + 86_400_000).into()]).await;
    let announces = rule(&[ClockChange], channel);
    let told = foretold(&watch, announces.clone()).await;
    let begins = "[test] the clocks change for nightly: 02:30 does not exist on 2026-03-29";
    assert!(told.len() == 1 && told[0].starts_with(begins), "{told:?}");
    // This rule would announce the change only in two days.
    let later = Rule { clock_change_days: 9, ..announces.clone() };
    assert!(foretold(&watch, later).await.is_empty());
    // A rule with a long notice announces the change at the beginning of the period.
    let early = Rule { clock_change_days: 60, ..announces.clone() };
    assert_eq!(foretold(&watch, early).await, told);
    let elsewhere = Rule { search: "name:daily".to_owned(), ..announces };
    assert!(foretold(&watch, elsewhere).await.is_empty());
    // A schedule that did not exist yet is announced when it is created.
    watch.pass(86_400);
    watch.world.write("UPDATE schedule SET created_at = $1", [watch.now().0.into()]).await;
    assert_eq!(foretold(&watch, rule(&[ClockChange], channel)).await, told);
}

async fn the_preview_of_lost_nodes_leaves_out_those_that_were_restarted(database: TestDatabase) {
    let watch = Watch::begin(database).await;
    let channel = watch.idle_channel().await;
    let now = watch.now().0;
    // How many minutes ago each node died, and how many seconds later it came back.
    for (name, minutes, back) in [
        ("older", 60 * 24 * 8, None),
        ("lost", 50, None),
        ("restarted", 40, Some(0)),
        ("returned", 30, Some(600)),
    ] {
        let died = now - minutes * 60_000;
        let first = forge::node(&watch.world).await;
        let sql = "UPDATE node SET name = $2, state = 'dead', started_at = $3, ended_at = $4 \
             WHERE id = $1";
        let values = [first.into(), name.into(), (died - 60_000).into(), died.into()];
        watch.world.write(sql, values).await;
        if let Some(seconds) = back {
            let second = forge::node(&watch.world).await;
            let sql = "UPDATE node SET name = $2, incarnation = 2, started_at = $3 WHERE id = $1";
            let begun = died + seconds * 1_000;
            watch.world.write(sql, [second.into(), name.into(), begun.into()]).await;
        }
    }
    let told = foretold(&watch, rule(&[NodeLost, Recovered], channel)).await;
    let expected = [
        "[test] node lost is lost",
        "[test] node returned is lost",
        "[test] node returned is back",
    ];
    assert_eq!(told, expected);
    let patient = Rule { grace_seconds: 1_200, ..rule(&[NodeLost, Recovered], channel) };
    assert_eq!(foretold(&watch, patient).await, expected[..1]);
    // Nothing records which work was stalled.
    assert!(foretold(&watch, rule(&[Stalled], channel)).await.is_empty());
}

/// Adds this many runs of a schedule after all others, copies of its last one.
async fn add_later(watch: &Watch, count: i64) {
    let columns: Vec<&str> = run::Column::iter().map(|column| column.as_str()).collect();
    let id = if watch.world.database.store.dialect().is_postgres() {
        "CAST('02' || lpad(to_hex(n.i), 30, '0') AS uuid)"
    } else {
        "unhex(printf('02%030x', n.i))"
    };
    let copied = columns.iter().map(|column| if *column == "id" { id } else { *column });
    let sql = format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count}) \
         INSERT INTO run ({}) SELECT {} FROM (SELECT * FROM run ORDER BY id DESC LIMIT 1) r, n",
        columns.join(", "),
        copied.collect::<Vec<_>>().join(", "),
    );
    watch.world.write(&sql, []).await;
}

async fn a_schedule_that_has_never_succeeded_is_read_once(database: TestDatabase) {
    let watch = Watch::begin(database).await;
    let channel = watch.idle_channel().await;
    let nightly = watch.schedule(|row| row.name = "nightly".to_owned()).await;
    watch.world.long_past(&nightly, 1, 2_500).await;
    add_later(&watch, 30_000).await;
    let sql = "UPDATE run SET state = CASE WHEN id < $1 THEN 'failed' ELSE 'cancelled' END, \
         error = 'exit code 1'";
    watch.world.write(sql, [Uuid::from_u128(2 << 120).into()]).await;
    // The preview finishes within the time limit of a search. If it read all later runs for each
    // failure, it would not.
    let told = foretold(&watch, rule(&[Failed, Losing, Recovered], channel)).await;
    assert_eq!(told, ["[test] nightly failed", "[test] nightly failed 3 times in a row"]);

    // The schedule recovered four times.
    for place in [500_i64, 1_000, 1_500, 2_250] {
        let sql = "UPDATE run SET state = 'succeeded', error = NULL WHERE scheduled_at IN ( \
             SELECT scheduled_at FROM run ORDER BY scheduled_at LIMIT 1 OFFSET $1)";
        watch.world.write(sql, [place.into()]).await;
    }
    let told = foretold(&watch, rule(&[Failed, Recovered], channel)).await;
    let twice = ["[test] nightly failed", "[test] nightly has recovered"];
    assert_eq!(told, [twice; 5].concat()[..9]);
}
