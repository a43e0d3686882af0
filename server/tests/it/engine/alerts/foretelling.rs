//! The preview of a rule over the past reports the same alerts as the rule did.

use carillon::engine::alerting::alerts::{
    AlertEvent::{Failed, Late, Losing, Missed, Recovered, Skipped},
    QuietPeriods, Rule, RulePreview,
};
use entity::{Timestamp, fire, run};
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
    a_schedule_that_has_never_succeeded_is_read_once,
);

async fn foretold(watch: &Watch, rule: Rule) -> Vec<String> {
    let store = &watch.world.database.store;
    let (namespace, now) = (watch.world.namespace, watch.clock.now());
    let preview = RulePreview::of(store, namespace, "test", rule, now, 7).await.unwrap();
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
