//! Schedules that skip fires for load are reported until they start their fires again.

use carillon::{
    commands::{Call, RuleEdit},
    engine::alerting::alerts::AlertEvent::{Failed, Recovered, Skipped},
};
use entity::fire::{Reason, Verdict};

use super::watch::{Watch, editor, rule};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_schedule_that_skips_its_fires_is_reported_until_it_starts_them_again,
    a_rule_that_no_longer_reports_skipped_fires_ends_its_alerts,
);

const STARTED: (Verdict, Reason) = (Verdict::Started, Reason::OnTime);
const OVERLAP: (Verdict, Reason) = (Verdict::Skipped, Reason::Overlap);

async fn a_schedule_that_skips_its_fires_is_reported_until_it_starts_them_again(
    database: TestDatabase,
) {
    let mut watch = Watch::begin(database).await;
    let channel = watch.idle_channel().await;
    watch.rule(rule(&[Skipped, Recovered], channel)).await;
    let mut node = watch.node("a").await;
    node.look(&watch).await;
    let busy = watch.schedule(|row| row.name = "busy".to_owned()).await;
    let calm = watch.schedule(|row| row.name = "calm".to_owned()).await;
    // What a calendar or a user suppresses does not count, and two of these are not enough.
    for reason in [Reason::Deadline, Reason::Calendar, Reason::ByRequest, Reason::Quota] {
        watch.fires(&calm, Verdict::Skipped, reason).await;
    }
    // A fire is due every ten minutes, and a run takes thirty.
    for (verdict, reason) in [STARTED, OVERLAP, OVERLAP, STARTED] {
        watch.fires(&busy, verdict, reason).await;
    }
    node.look(&watch).await;
    assert!(watch.alerts().await.is_empty());
    watch.fires(&busy, OVERLAP.0, OVERLAP.1).await;
    let first = "[test] busy skipped 3 fires within an hour (overlap)";
    assert_eq!(node.tells(&watch, 1).await, [first]);
    watch.fires(&busy, OVERLAP.0, OVERLAP.1).await;
    // A fire that starts between skipped ones is no recovery, and neither is one within the hour.
    for _ in 0..6 {
        watch.fires(&busy, STARTED.0, STARTED.1).await;
        node.look(&watch).await;
    }
    let alert = watch.alerts().await.remove(0);
    assert_eq!((alert.ended_at, alert.count), (None, 4), "the most within an hour");
    assert_eq!(watch.subjects().await.len(), 1);
    let started = watch.fires(&busy, STARTED.0, STARTED.1).await;
    assert_eq!(node.tells(&watch, 2).await[1], "[test] busy no longer skips fires");
    assert_eq!(watch.alerts().await[0].ended_at, started.decided_at);

    // Later, the schedule skips fires again.
    for _ in 0..3 {
        watch.fires(&busy, OVERLAP.0, OVERLAP.1).await;
    }
    assert_eq!(node.tells(&watch, 3).await[2], first);
    let sql = "UPDATE schedule SET deleted_at = $2 WHERE id = $1";
    watch.world.write(sql, [busy.id.into(), watch.now().0.into()]).await;
    watch.pass(61);
    node.look(&watch).await;
    let alerts = watch.alerts().await;
    assert!(alerts.iter().all(|alert| alert.ended_at.is_some()), "{alerts:?}");
    assert_eq!(watch.subjects().await.len(), 3, "a deleted schedule has not recovered");
}

async fn a_rule_that_no_longer_reports_skipped_fires_ends_its_alerts(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let channel = watch.idle_channel().await;
    let id = watch.rule(rule(&[Skipped, Recovered], channel)).await;
    let mut node = watch.node("a").await;
    node.look(&watch).await;
    let busy = watch.schedule(|row| row.name = "busy".to_owned()).await;
    for _ in 0..3 {
        watch.fires(&busy, OVERLAP.0, OVERLAP.1).await;
    }
    node.tells(&watch, 1).await;
    let edit = RuleEdit {
        id,
        expected_version: 1,
        apply: Box::new(|spec| spec.rule.on = vec![Failed, Recovered]),
    };
    watch.commands().update_alert_rule(&editor(), edit, &Call::once()).await.unwrap();
    node.look(&watch).await;
    assert_eq!(watch.alerts().await[0].ended_at, Some(watch.now()));
    assert_eq!(watch.subjects().await.len(), 1, "the schedule has not recovered");
}
