//! When messages are sent: digest, quiet hours and mute.

use std::time::Duration;

use carillon::{
    commands::Call,
    engine::alerting::alerts::{
        AlertEvent::{Failed, Missed, Recovered},
        QuietPeriods, Rule,
    },
    store::{PageWindow, alerts::notes, reads::within::Within},
};
use chrono::TimeDelta;
use entity::{Timestamp, alert, run, schedule};
use sea_orm::{EntityTrait, IntoActiveModel};
use timetable::TimeWindow;
use uuid::Uuid;

use super::watch::{Watch, rule};
use crate::{
    engine::{
        forge,
        past::succeeded,
        world::{at, noop},
    },
    support::{TestDatabase, on_both},
};

on_both!(
    a_storm_of_failures_is_one_message,
    what_one_message_does_not_hold_is_the_next_ones_and_goes_with_its_rule,
    a_digest_waits_for_what_comes_after_the_first,
    quiet_hours_hold_until_they_end_on_a_night_on_which_the_clock_changes,
    a_rule_reports_open_alerts_after_its_mute,
    an_acknowledged_alert_reports_its_end_or_outlasts_the_acknowledgement,
    a_withdrawn_acknowledgement_reports_an_unreported_beginning,
);

async fn a_storm_of_failures_is_one_message(database: TestDatabase) {
    const MANY: usize = 2_500;
    let mut watch = Watch::begin(database).await;
    let channel = watch.idle_channel().await;
    watch.rule(Rule { digest_seconds: 30, ..rule(&[Failed, Recovered], channel) }).await;
    let mut node = watch.node("a").await;
    node.look(&watch).await;
    watch.world.schedules_with(MANY, noop(), |_, _| {}).await;
    watch.pass(60);
    let store = &watch.world.database.store;
    let rows = schedule::Entity::find().all(store.read()).await.unwrap();
    let runs: Vec<_> = rows
        .iter()
        .map(|row| {
            let mut run = succeeded(row, watch.clock.now() - TimeDelta::seconds(10)).1;
            (run.state, run.changed) = (run::State::Failed, 0);
            run.into_active_model()
        })
        .collect();
    let tx = store.begin().await.unwrap();
    for some in runs.chunks(500) {
        run::Entity::insert_many(some.to_vec()).exec_without_returning(&tx).await.unwrap();
    }
    store.commit(tx).await.unwrap();
    // One transaction settles all these runs, so they have the same stamp.
    let stamp = store.dialect().stamp("run");
    watch.world.write(&format!("UPDATE run SET changed = {stamp}"), []).await;
    let noted = async || (watch.alerts().await.len() == MANY).then_some(());
    node.looks_until(&watch, "all failures", noted).await;
    watch.pass(31);
    node.look(&watch).await;
    let messages = watch.messages().await;
    assert_eq!(messages.len(), 1);
    assert_eq!(messages[0].subject, "[test] 2500 failed");
    assert_eq!(messages[0].body["alerts"].as_array().unwrap().len(), 50);
    assert_eq!(messages[0].body["left_out"], 2_450);
}

async fn what_one_message_does_not_hold_is_the_next_ones_and_goes_with_its_rule(
    database: TestDatabase,
) {
    const MANY: usize = 10_600;
    let mut watch = Watch::begin(database).await;
    let channel = watch.idle_channel().await;
    let id = watch.rule(rule(&[Missed], channel)).await;
    let mut node = watch.node("a").await;
    node.look(&watch).await;
    let now = watch.now();
    let missed = |key: usize| alert::Model {
        id: Uuid::now_v7(),
        namespace_id: watch.world.namespace,
        rule_id: id,
        kind: alert::Kind::Missed,
        occurrence: format!("missed:{key}"),
        schedule_id: None,
        subject: "nightly".to_owned(),
        run_id: None,
        fire_id: None,
        detail: None,
        count: 1,
        began_at: now,
        last_at: now,
        ended_at: Some(now),
        tell_at: Some(now),
        told_at: None,
        acknowledged_at: None,
        acknowledged_by: None,
        acknowledged_note: None,
        acknowledged_until: None,
        withdrawn_at: None,
        changed: 0,
    };
    let store = &watch.world.database.store;
    let note = async |alerts: std::ops::Range<usize>| {
        let tx = store.begin().await.unwrap();
        notes::add_new(store, &tx, alerts.map(missed).collect()).await.unwrap();
        store.commit(tx).await.unwrap();
    };
    note(0..MANY).await;
    let mut told = node.tells(&watch, 2).await;
    told.sort_unstable();
    assert_eq!(told, ["[test] 10000 missed", "[test] 600 missed"]);
    let (editor, call) = (super::watch::editor(), Call::once());
    watch.commands().delete_alert_rule(&editor, id, &call).await.unwrap();
    assert!(watch.alerts().await.is_empty());
    // A round that read the rule before it was muted still writes a message, but the message is not
    // sent.
    note(0..1).await;
    let within = Within::One(watch.world.namespace);
    let (filter, window) = (notes::Filter::default(), PageWindow::first(10));
    let seen = notes::page(store, &within, &filter, &window).await.unwrap();
    assert!(seen.rows.is_empty());
}

async fn a_digest_waits_for_what_comes_after_the_first(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let channel = watch.idle_channel().await;
    watch.rule(Rule { digest_seconds: 300, ..rule(&[Failed, Recovered], channel) }).await;
    let mut node = watch.node("a").await;
    node.look(&watch).await;
    let first = watch.schedule(|row| row.name = "first".to_owned()).await;
    let second = watch.schedule(|row| row.name = "second".to_owned()).await;
    watch.ends(&first, run::State::Failed).await;
    let one = async || (watch.alerts().await.len() == 1).then_some(());
    node.looks_until(&watch, "the first", one).await;
    watch.ends(&second, run::State::Failed).await;
    watch.ends(&first, run::State::Succeeded).await;
    let mended = async || {
        let alerts = watch.alerts().await;
        (alerts.len() == 2 && alerts[0].ended_at.is_some()).then_some(())
    };
    node.looks_until(&watch, "the second, and the end of the first", mended).await;
    assert!(watch.subjects().await.is_empty());
    watch.pass(181);
    assert_eq!(node.tells(&watch, 1).await, ["[test] 2 failed"]);
    let body = watch.messages().await.remove(0).body;
    let texts: Vec<&str> =
        body["alerts"].as_array().unwrap().iter().filter_map(|one| one["text"].as_str()).collect();
    assert_eq!(texts, ["first failed, and has recovered since", "second failed"]);
}

async fn quiet_hours_hold_until_they_end_on_a_night_on_which_the_clock_changes(
    database: TestDatabase,
) {
    // In Berlin it is 21:00, on the evening before the clocks go forward.
    let mut watch = Watch::begin_at(database, "2026-03-28T20:00:00Z").await;
    let channel = watch.idle_channel().await;
    let night = TimeWindow { from: "22:00".to_owned(), to: "06:00".to_owned(), weekdays: vec![] };
    let quiet = QuietPeriods { zone: "Europe/Berlin".to_owned(), windows: vec![night] };
    watch.rule(Rule { quiet: Some(quiet), ..rule(&[Failed, Recovered], channel) }).await;
    let mut node = watch.node("a").await;
    node.look(&watch).await;
    let (early, late) = (
        watch.schedule(|row| row.name = "early".to_owned()).await,
        watch.schedule(|row| row.name = "late".to_owned()).await,
    );
    watch.ends(&early, run::State::Failed).await;
    node.tells(&watch, 1).await;
    watch.clock.pass(Duration::from_secs(2 * 3_600));
    watch.ends(&late, run::State::Failed).await;
    watch.ends(&early, run::State::Succeeded).await;
    let noted = async || {
        let alerts = watch.alerts().await;
        (alerts.len() == 2 && alerts[0].ended_at.is_some()).then_some(())
    };
    node.looks_until(&watch, "what happened in the night", noted).await;
    // 06:00 in Berlin is 04:00 UTC, because the night was an hour shorter.
    for (now, count) in [("2026-03-29T03:59:59Z", 1), ("2026-03-29T04:00:00Z", 2)] {
        watch.clock.pass((at(now) - watch.clock.now()).to_std().unwrap());
        node.look(&watch).await;
        assert_eq!(watch.subjects().await.len(), count, "at {now}");
    }
    assert_eq!(watch.subjects().await[1], "[test] 1 failed, 1 recovered");
}

async fn a_rule_reports_open_alerts_after_its_mute(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let channel = watch.idle_channel().await;
    let id = watch.rule(rule(&[Failed, Recovered, Missed], channel)).await;
    let mut node = watch.node("a").await;
    node.look(&watch).await;
    watch.mute(id, 3_600).await;
    let (over, on) = (
        watch.schedule(|row| row.name = "over".to_owned()).await,
        watch.schedule(|row| row.name = "on".to_owned()).await,
    );
    watch.ends(&over, run::State::Failed).await;
    watch.ends(&on, run::State::Failed).await;
    watch.pass(5);
    forge::intent(&watch.world, &on, |fire| {
        fire.verdict = entity::fire::Verdict::Missed;
        fire.decided_at = Some(fire.claimed_at);
    })
    .await;
    let three = async || (watch.alerts().await.len() == 3).then_some(());
    node.looks_until(&watch, "three alerts", three).await;
    watch.ends(&over, run::State::Succeeded).await;
    let hushed = async || {
        let to_tell = watch.alerts().await.into_iter().filter(|alert| alert.tell_at.is_some());
        (to_tell.count() == 1).then_some(())
    };
    node.looks_until(&watch, "what is over to be let go of", hushed).await;
    assert!(watch.subjects().await.is_empty());
    watch.pass(3_600);
    assert_eq!(node.tells(&watch, 1).await, ["[test] on failed"]);
}

async fn an_acknowledged_alert_reports_its_end_or_outlasts_the_acknowledgement(
    database: TestDatabase,
) {
    let mut watch = Watch::begin(database).await;
    let channel = watch.idle_channel().await;
    watch.rule(Rule { digest_seconds: 300, ..rule(&[Failed, Recovered], channel) }).await;
    let mut node = watch.node("a").await;
    node.look(&watch).await;
    let (mended, lasting) = (
        watch.schedule(|row| row.name = "mended".to_owned()).await,
        watch.schedule(|row| row.name = "lasting".to_owned()).await,
    );
    watch.ends(&mended, run::State::Failed).await;
    watch.ends(&lasting, run::State::Failed).await;
    let two = async || (watch.alerts().await.len() == 2).then_some(());
    node.looks_until(&watch, "two alerts", two).await;
    for alert in watch.alerts().await {
        let hours = if alert.subject == "lasting" { Some(2) } else { None };
        watch.acknowledge(alert.id, hours).await;
    }
    // Neither failure was reported before its acknowledgement, and neither is reported now.
    watch.pass(600);
    node.look(&watch).await;
    assert!(watch.subjects().await.is_empty());
    watch.ends(&mended, run::State::Succeeded).await;
    let over = async || {
        let alerts = watch.alerts().await;
        alerts.iter().any(|alert| alert.ended_at.is_some()).then_some(())
    };
    node.looks_until(&watch, "the end of one", over).await;
    watch.pass(300);
    assert_eq!(node.tells(&watch, 1).await, ["[test] mended has recovered"]);
    watch.pass(2 * 3_600);
    assert_eq!(node.tells(&watch, 2).await[1], "[test] lasting failed");
    watch.ends(&lasting, run::State::Succeeded).await;
    let over = async || {
        let alerts = watch.alerts().await;
        alerts.iter().all(|alert| alert.ended_at.is_some()).then_some(())
    };
    node.looks_until(&watch, "the end of the other", over).await;
    watch.pass(300);
    assert_eq!(node.tells(&watch, 3).await[2], "[test] lasting has recovered");
}

async fn a_withdrawn_acknowledgement_reports_an_unreported_beginning(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let channel = watch.idle_channel().await;
    let all = Rule { digest_seconds: 300, ..rule(&[Failed, Recovered], channel) };
    watch.rule(Rule { grace_seconds: 1_200, ..all }).await;
    let mut node = watch.node("a").await;
    node.look(&watch).await;
    let schedule = watch.schedule(|row| row.name = "lasting".to_owned()).await;
    watch.ends(&schedule, run::State::Failed).await;
    let one = async || watch.alerts().await.pop();
    node.looks_until(&watch, "an alert", one).await;
    let id = watch.alerts().await[0].id;
    // During its grace period, the alert is acknowledged twice, and then the acknowledgement is
    // withdrawn.
    watch.acknowledge(id, None).await;
    watch.pass(60);
    watch.acknowledge(id, Some(8)).await;
    watch.pass(60);
    watch.unacknowledge(id).await;
    let alert = watch.alerts().await.remove(0);
    let ripe = Timestamp(alert.began_at.0 + 1_200_000);
    assert_eq!((alert.told_at, alert.tell_at), (None, Some(ripe)));
    watch.pass(400);
    node.look(&watch).await;
    assert!(watch.subjects().await.is_empty());
    watch.pass(1_200);
    assert_eq!(node.tells(&watch, 1).await, ["[test] lasting failed"]);
    // A reported alert is not reported again.
    watch.pass(60);
    watch.acknowledge(id, None).await;
    watch.pass(60);
    watch.unacknowledge(id).await;
    let alert = watch.alerts().await.remove(0);
    assert_eq!((alert.told_at.is_some(), alert.tell_at), (true, None));
    // An alert that lasts longer than its acknowledgement is reported again.
    watch.acknowledge(id, Some(1)).await;
    watch.pass(3_600 + 301);
    node.tells(&watch, 2).await;
    watch.unacknowledge(id).await;
    assert_eq!(watch.alerts().await[0].tell_at, None);
}
