//! A node that dies between two steps: nothing is lost, and only messages in transit are sent
//! again.

use std::time::Duration;

use carillon::{commands::ChannelInput, engine::alerting::alerts::AlertEvent::Failed};
use entity::{alert_channel::Kind, notification::State, run};
use uuid::Uuid;

use super::{
    inbox::Inbox,
    watch::{Node, Watch, rule},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    who_takes_over_goes_on_where_the_last_one_committed,
    a_message_whose_sender_died_is_sent_again_under_the_same_key,
);

/// Ends the node as a crash does: nothing is settled, and its lease expires on its own.
fn dies(node: Node) {
    node.stepwise.abandon();
}

async fn hook(watch: &Watch, inbox: &Inbox) -> Uuid {
    let url = Some(inbox.url().as_str().into());
    watch.channel(Kind::Webhook, ChannelInput { url, ..ChannelInput::default() }).await
}

async fn who_takes_over_goes_on_where_the_last_one_committed(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let inbox = Inbox::open().await;
    let channel = hook(&watch, &inbox).await;
    watch.rule(rule(&[Failed], channel)).await;
    let (mut first, mut second) = (watch.node("a").await, watch.node("b").await);
    first.look(&watch).await;
    let (one, two) = (watch.schedule(|_| {}).await, watch.schedule(|_| {}).await);
    watch.ends(&one, run::State::Failed).await;
    first.tells(&watch, 1).await;
    // The node dies after it has written the message and before it sends it. Then another event
    // occurs.
    dies(first);
    watch.ends(&two, run::State::Failed).await;
    // By then the first node's lease has expired.
    watch.pass(60);
    assert_eq!(second.tells(&watch, 2).await.len(), 2);
    for _ in 0..3 {
        second.look(&watch).await;
        second.send(&watch).await;
    }
    assert_eq!((watch.alerts().await.len(), watch.messages().await.len()), (2, 2));
    let mut keys: Vec<String> =
        inbox.arrived().iter().map(|one| one.header("idempotency-key")).collect();
    keys.sort();
    let ids: Vec<String> = watch.messages().await.iter().map(|m| m.id.to_string()).collect();
    assert_eq!(keys, ids, "each once");
}

async fn a_message_whose_sender_died_is_sent_again_under_the_same_key(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let inbox = Inbox::open().await;
    let channel = hook(&watch, &inbox).await;
    watch.rule(rule(&[Failed], channel)).await;
    let (mut first, mut second) = (watch.node("a").await, watch.node("b").await);
    first.look(&watch).await;
    let schedule = watch.schedule(|_| {}).await;
    watch.ends(&schedule, run::State::Failed).await;
    first.tells(&watch, 1).await;
    // The node takes the message and sends it, and dies before it can record that.
    let store = watch.world.database.store.clone();
    let (now, until) = (watch.now(), (watch.clock.now() + Duration::from_secs(120)).into());
    let taken = carillon::store::alerts::outbox::take(&store, now, until, 9, 10).await;
    let taken = taken.unwrap().messages;
    assert_eq!(taken.len(), 1);
    dies(first);
    second.send(&watch).await;
    assert!(inbox.arrived().is_empty(), "it is another's for as long as an attempt may last");
    watch.pass(121);
    second.send(&watch).await;
    let message = watch.messages().await.remove(0);
    assert_eq!((message.id, message.state, message.attempts), (taken[0].id, State::Sent, 2));
    assert_eq!(inbox.arrived()[0].header("idempotency-key"), taken[0].id.to_string());
}
