//! Messages to webhooks: signed, repeated until the receiver accepts them, and finally given up.

use std::{
    io::Write,
    process::{Command, Stdio},
    time::Duration,
};

use carillon::{
    commands::{Call, ChannelInput},
    engine::alerting::alerts::AlertEvent::Failed,
    target::{Http, Target},
};
use entity::{alert_channel::Kind, alert_cursor, notification::State, run};
use sea_orm::EntityTrait;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    inbox::Inbox,
    watch::{Watch, editor, rule},
};
use crate::{
    engine::world::{World, task},
    support::{TestDatabase, on_both},
};

on_both!(
    a_webhook_is_signed_and_sent_until_it_is_taken,
    what_nobody_takes_is_given_up_and_can_be_sent_again,
    a_message_that_is_sent_again_days_later_is_sent_until_it_is_taken,
    who_is_away_holds_up_nobody_else,
    messages_do_not_pile_up_for_a_receiver_that_stays_away,
    a_message_that_is_refused_holds_up_no_other,
    a_message_in_slacks_form_mentions_nobody,
    a_running_engine_tells_by_itself,
);

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

async fn a_running_engine_tells_by_itself(database: TestDatabase) {
    let mut world = World::new(database).await;
    world.settings.poll = Duration::from_millis(100);
    let watch = Watch::on(world);
    let inbox = Inbox::open().await;
    let url = Some(inbox.url().as_str().into());
    let channel = watch.channel(Kind::Webhook, ChannelInput { url, ..ChannelInput::default() });
    watch.rule(rule(&[Failed], channel.await)).await;
    let world = &watch.world;
    let engine = world.engine().await;
    let begun = || async {
        let cursors = alert_cursor::Entity::find().all(world.database.store.read()).await;
        (cursors.unwrap().len() == 4).then_some(())
    };
    world.until("it looks", begun).await;
    let refused = Target::Http(Http::post("http://127.0.0.1:9/"));
    let schedule = world.due_now(task(refused), |row| row.name = "nightly".to_owned()).await;
    let sent = || async {
        let messages = watch.messages().await;
        messages.into_iter().find(|message| message.state == State::Sent)
    };
    let message = world.until("it has told", sent).await;
    assert_eq!(message.subject, "[test] nightly failed");
    let told = &inbox.arrived()[0].json()["data"]["alerts"][0];
    assert_eq!(told["schedule"]["id"], schedule.id.to_string());
    assert!(told["error"].as_str().unwrap().contains("127.0.0.1:9"), "{told}");
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// Verifies a request with the library of the webhook specification; returns its content.
pub(super) fn verified(secret: &str, headers: &Value, body: &str) -> Result<Value, String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../e2e/support/verify.mjs");
    let mut node = Command::new("node");
    node.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut node = node.spawn().expect("start node");
    let input = json!({ "secret": secret, "headers": headers, "body": body }).to_string();
    node.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = node.wait_with_output().unwrap();
    if !output.status.success() {
        return Err(String::from_utf8(output.stderr).unwrap());
    }
    Ok(serde_json::from_slice(&output.stdout).unwrap())
}

/// A world whose clock shows today, so that the library accepts the signatures as fresh.
pub(super) async fn today(database: TestDatabase) -> Watch {
    let now = carillon::clock::Clock::system().now().to_rfc3339();
    Watch::begin_at(database, &now).await
}

async fn a_webhook_is_signed_and_sent_until_it_is_taken(database: TestDatabase) {
    let mut watch = today(database).await;
    let inbox = Inbox::open().await;
    let input = ChannelInput {
        url: Some(inbox.url().as_str().into()),
        signing_secret: Some(SECRET.into()),
        ..ChannelInput::default()
    };
    let channel = watch.channel(Kind::Webhook, input).await;
    watch.rule(rule(&[Failed], channel)).await;
    let mut node = watch.node("a").await;
    node.look(&watch).await;
    let schedule = watch.schedule(|row| row.name = "nightly".to_owned()).await;
    watch.ends(&schedule, run::State::Failed).await;
    node.tells(&watch, 1).await;

    inbox.answers(503);
    node.send(&watch).await;
    let message = watch.messages().await.remove(0);
    assert_eq!((message.state, message.attempts), (State::Pending, 1));
    let error = message.error.unwrap();
    let expected = format!("{} answered 503 Service Unavailable, expected 200-299", inbox.address);
    assert_eq!(error, expected, "and nothing of its token");
    // The message is not sent before its time.
    node.send(&watch).await;
    assert_eq!(inbox.arrived().len(), 1);
    inbox.answers(200);
    watch.pass(30);
    node.send(&watch).await;
    let message = watch.messages().await.remove(0);
    assert_eq!((message.state, message.attempts, message.error), (State::Sent, 2, None));

    let arrived = inbox.arrived();
    assert_eq!(arrived.len(), 2);
    for one in &arrived {
        assert_eq!(one.header("webhook-id"), message.id.to_string());
        let payload = verified(SECRET, &one.signed(), one.text()).unwrap();
        assert_eq!(payload["type"], "alerts.raised");
        assert_eq!(payload["data"]["alerts"][0]["schedule"]["name"], "nightly");
    }
    let forged = arrived[0].text().replace("nightly", "monthly");
    let refused = verified(SECRET, &arrived[0].signed(), &forged).unwrap_err();
    assert!(refused.contains("No matching signature"), "{refused}");
}

async fn what_nobody_takes_is_given_up_and_can_be_sent_again(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let inbox = Inbox::open().await;
    let url = Some(inbox.url().as_str().into());
    let channel = watch.channel(Kind::Webhook, ChannelInput { url, ..ChannelInput::default() });
    let channel = channel.await;
    let mut node = watch.node("a").await;
    let commands = watch.commands();
    let sent = commands.test_alert_channel(&editor(), channel, &Call::once()).await.unwrap();
    // A redirect is not followed, because it leads to an address that the channel does not name.
    inbox.answers(302);
    for _ in 0..12 {
        node.send(&watch).await;
        watch.pass(2_400);
    }
    let message = watch.messages().await.remove(0);
    assert_eq!((message.id, message.state, message.attempts), (sent.notification, State::Dead, 9));
    assert_eq!(inbox.arrived().len(), 9);
    let operator = editor().who().operator().unwrap();
    inbox.answers(204);
    commands.retry_notification(&operator, message.id, &Call::once()).await.unwrap();
    node.send(&watch).await;
    assert_eq!(watch.messages().await[0].state, State::Sent);
    assert_eq!(inbox.arrived()[9].json()["type"], "alerts.test");
    let again = commands.retry_notification(&operator, message.id, &Call::once()).await;
    assert!(again.unwrap_err().to_string().contains("was not given up"));

    commands.test_alert_channel(&editor(), channel, &Call::once()).await.unwrap();
    commands.delete_alert_channel(&editor(), channel, &Call::once()).await.unwrap();
    node.send(&watch).await;
    let message = watch.messages().await.pop().unwrap();
    assert_eq!(message.state, State::Dead);
    assert_eq!(message.error.unwrap(), "its channel was deleted");
}

async fn a_message_that_is_sent_again_days_later_is_sent_until_it_is_taken(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let inbox = Inbox::open().await;
    let url = Some(inbox.url().as_str().into());
    let channel = watch.channel(Kind::Webhook, ChannelInput { url, ..ChannelInput::default() });
    let channel = channel.await;
    let mut node = watch.node("a").await;
    let commands = watch.commands();
    let sent = commands.test_alert_channel(&editor(), channel, &Call::once()).await.unwrap();
    inbox.answers(503);
    watch.pass(2 * 86_400);
    node.send(&watch).await;
    assert_eq!(watch.messages().await[0].state, State::Dead);
    let operator = editor().who().operator().unwrap();
    commands.retry_notification(&operator, sent.notification, &Call::once()).await.unwrap();
    node.send(&watch).await;
    assert_eq!(watch.messages().await[0].state, State::Pending);
    watch.pass(30);
    inbox.answers(204);
    node.send(&watch).await;
    assert_eq!(watch.messages().await[0].state, State::Sent);
    assert_eq!(inbox.arrived().len(), 3);
}

async fn who_is_away_holds_up_nobody_else(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let (away, there) = (Inbox::open().await, Inbox::open().await);
    away.answers(503);
    let hook = async |inbox: &Inbox| {
        let url = Some(inbox.url().as_str().into());
        watch.channel(Kind::Webhook, ChannelInput { url, ..ChannelInput::default() }).await
    };
    let (first, second) = (hook(&away).await, hook(&there).await);
    let mut node = watch.node("a").await;
    let commands = watch.commands();
    let test = async |channel: Uuid| {
        let call = Call::once();
        commands.test_alert_channel(&editor(), channel, &call).await.map(|sent| sent.notification)
    };
    let message = test(first).await.unwrap();
    // Adds many messages that are older than those of the other channel.
    let sql = "INSERT INTO notification (id, namespace_id, rule_id, channel_id, state, subject, \
        body, alerts, attempts, next_attempt_at, created_at) SELECT $1, namespace_id, $3, \
        channel_id, state, subject, body, alerts, $4, next_attempt_at - 1000, created_at \
        FROM notification WHERE id = $2";
    for attempts in [0, 0, 0, 0, 0, 9] {
        let (id, rule) = (Uuid::now_v7(), Uuid::now_v7());
        watch.world.write(sql, [id.into(), message.into(), rule.into(), attempts.into()]).await;
    }
    let again = test(first).await.unwrap_err().to_string();
    assert!(again.contains("is in progress"), "{again}");
    test(second).await.unwrap();
    node.send(&watch).await;
    assert_eq!((away.arrived().len(), there.arrived().len()), (2, 1));
    let messages = watch.messages().await;
    let of =
        |state: State| messages.iter().filter(|message| message.state == state).collect::<Vec<_>>();
    assert_eq!((of(State::Pending).len(), of(State::Sent).len()), (6, 1));
    let now = watch.now();
    assert!(of(State::Pending).iter().all(|message| message.next_attempt_at > now), "put off");
    // Nine attempts began and never ended, as if the node had died each time.
    assert_eq!(of(State::Dead)[0].error.as_deref(), Some("no attempt has ended"));
    node.send(&watch).await;
    assert_eq!(away.arrived().len(), 2);

    away.answers(200);
    watch.pass(30);
    for _ in 0..3 {
        node.send(&watch).await;
    }
    let messages = watch.messages().await;
    assert_eq!(messages.iter().filter(|message| message.state == State::Sent).count(), 7);
    test(first).await.unwrap();
}

async fn messages_do_not_pile_up_for_a_receiver_that_stays_away(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let away = Inbox::open().await;
    away.answers(503);
    let url = Some(away.url().as_str().into());
    let channel = watch.channel(Kind::Webhook, ChannelInput { url, ..ChannelInput::default() });
    let channel = channel.await;
    let mut node = watch.node("a").await;
    let commands = watch.commands();
    let sent = commands.test_alert_channel(&editor(), channel, &Call::once()).await.unwrap();
    let young = sent.notification;
    // Adds messages that have waited for two days for others of their channel.
    let sql = "INSERT INTO notification (id, namespace_id, rule_id, channel_id, state, subject, \
        body, alerts, attempts, next_attempt_at, created_at) SELECT $1, namespace_id, $3, \
        channel_id, state, subject, body, alerts, 0, next_attempt_at - 1000, $4 \
        FROM notification WHERE id = $2";
    let two_days_ago = watch.now().0 - 2 * 86_400_000;
    for number in 1..=4 {
        let (id, rule) = (Uuid::from_u128(number), Uuid::now_v7());
        let values = [id.into(), young.into(), rule.into(), two_days_ago.into()];
        watch.world.write(sql, values).await;
    }
    for dead in [2, 4, 4] {
        node.send(&watch).await;
        let messages = watch.messages().await;
        let given_up = messages.iter().filter(|message| message.state == State::Dead);
        assert!(given_up.clone().all(|message| message.id != young && message.attempts == 1));
        assert_eq!(given_up.count(), dead);
        watch.pass(30);
    }
    away.answers(200);
    watch.pass(1_800);
    node.send(&watch).await;
    let messages = watch.messages().await;
    let young = messages.iter().find(|message| message.id == young).unwrap();
    assert_eq!(young.state, State::Sent);
}

async fn a_message_that_is_refused_holds_up_no_other(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let inbox = Inbox::open().await;
    let url = Some(inbox.url().as_str().into());
    let channel = watch.channel(Kind::Webhook, ChannelInput { url, ..ChannelInput::default() });
    let channel = channel.await;
    let mut node = watch.node("a").await;
    let commands = watch.commands();
    let sent = commands.test_alert_channel(&editor(), channel, &Call::once()).await.unwrap();
    // Two messages of a channel are sent at once, so the third has to wait for the next round.
    let sql = "INSERT INTO notification (id, namespace_id, rule_id, channel_id, state, subject, \
        body, alerts, attempts, next_attempt_at, created_at) SELECT $1, namespace_id, $3, \
        channel_id, state, subject, body, alerts, 0, next_attempt_at, created_at \
        FROM notification WHERE id = $2";
    for _ in 0..2 {
        let (id, rule) = (Uuid::now_v7(), Uuid::now_v7());
        watch.world.write(sql, [id.into(), sent.notification.into(), rule.into()]).await;
    }
    inbox.answers_in_turn(&[413, 200]);
    node.send(&watch).await;
    node.send(&watch).await;
    assert_eq!(inbox.arrived().len(), 3);
    let messages = watch.messages().await;
    let delivered = messages.iter().filter(|message| message.state == State::Sent).count();
    assert_eq!(delivered, 2);
    let refused = messages.iter().find(|message| message.state == State::Pending).unwrap();
    assert!(refused.error.as_ref().unwrap().contains("413"), "{refused:?}");
}

async fn a_message_in_slacks_form_mentions_nobody(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let inbox = Inbox::open().await;
    let url = Some(inbox.url().as_str().into());
    let channel = watch.channel(Kind::Slack, ChannelInput { url, ..ChannelInput::default() }).await;
    watch.rule(rule(&[Failed], channel)).await;
    watch.world.settings.public_url = Some("https://cron.example".to_owned());
    let mut node = watch.node("a").await;
    node.look(&watch).await;
    let schedule = watch.schedule(|row| row.name = "nightly".to_owned()).await;
    let run = watch
        .ends_as(&schedule, |_, run| {
            run.state = run::State::Failed;
            run.error = Some("<!channel> & <https://evil.example|click>".to_owned());
        })
        .await;
    node.tells(&watch, 1).await;
    node.send(&watch).await;
    let text = inbox.arrived()[0].json()["text"].as_str().unwrap().to_owned();
    assert_eq!(
        text,
        format!(
            "*[\u{200b}test]\u{200b} nightly failed*\n\
             • <https://cron.example/runs/{run}|nightly failed>: &lt;!channel&gt; &amp; \
             &lt;https:\u{200b}//evil.example|click&gt;"
        )
    );
}
