//! Requests to incident services, and to a chat that accepts cards. Each alert is one incident,
//! which ends with the alert; accepted requests are not repeated.

use std::collections::BTreeSet;

use carillon::{
    commands::{
        Call, ChannelEdit, ChannelInput, CommandError, DeploymentSource, NewChannel, NewSecret,
    },
    engine::alerting::alerts::AlertEvent::{Failed, Recovered},
};
use entity::{alert_channel::Kind, notification::State, run};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    inbox::Inbox,
    watch::{Watch, editor, rule},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    an_incident_begins_with_an_alert_and_ends_with_it,
    an_alert_is_closed_by_its_alias,
    accepted_parts_of_a_message_are_not_sent_again,
    a_part_of_a_message_that_is_refused_holds_up_no_other,
    a_test_whose_incident_is_not_opened_does_not_close_it,
    the_end_of_a_storm_closes_every_incident,
    a_card_says_what_happened,
    a_key_belongs_to_its_kind_and_to_its_address,
    a_module_names_the_key_of_an_incident_service,
);

const KEY: &str = "0123456789abcdef0123456789abcdef";

fn keyed(inbox: &Inbox, path: &str) -> ChannelInput {
    let url = format!("http://{}{path}", inbox.address);
    ChannelInput {
        url: Some(url.as_str().into()),
        key: Some(KEY.into()),
        ..ChannelInput::default()
    }
}

/// A world whose schedule `nightly` failed and then succeeded, with a channel of that kind that got
/// both messages.
async fn fails_and_recovers(database: TestDatabase, kind: Kind, path: &str) -> (Watch, Inbox) {
    let mut watch = Watch::begin(database).await;
    watch.world.settings.public_url = Some("https://cron.example".to_owned());
    let inbox = Inbox::open().await;
    inbox.answers(202);
    let channel = watch.channel(kind, keyed(&inbox, path)).await;
    watch.rule(rule(&[Failed, Recovered], channel)).await;
    let mut node = watch.node("a").await;
    node.look(&watch).await;
    let schedule = watch.schedule(|row| row.name = "nightly".to_owned()).await;
    for state in [run::State::Failed, run::State::Succeeded] {
        watch.ends(&schedule, state).await;
        node.tells(&watch, 1).await;
        node.send(&watch).await;
        watch.pass(60);
    }
    (watch, inbox)
}

async fn an_incident_begins_with_an_alert_and_ends_with_it(database: TestDatabase) {
    let (watch, inbox) = fails_and_recovers(database, Kind::Pagerduty, "/v2/enqueue").await;
    let told: Vec<Value> = inbox.arrived().iter().map(|one| one.json()).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    let actions: Vec<&Value> = told.iter().map(|event| &event["event_action"]).collect();
    assert_eq!(actions, ["trigger", "resolve"]);
    assert_eq!(told[0]["dedup_key"], told[1]["dedup_key"]);
    assert!(told.iter().all(|event| event["routing_key"] == KEY));
    assert_eq!(told[0]["payload"]["summary"], "nightly failed");
    assert_eq!(told[0]["payload"]["component"], "nightly");
    assert_eq!(told[0]["payload"]["source"], "carillon/test");
    assert!(told[0]["client_url"].as_str().unwrap().starts_with("https://cron.example/"));
    assert_eq!(inbox.arrived()[0].place(), "/v2/enqueue");
    let dump = watch.world.database.dump().await;
    assert!(!dump.contains(KEY), "the key is sealed");
}

async fn an_alert_is_closed_by_its_alias(database: TestDatabase) {
    let (_, inbox) = fails_and_recovers(database, Kind::Opsgenie, "/v2/alerts").await;
    let arrived = inbox.arrived();
    assert_eq!(arrived.len(), 2);
    let alias = arrived[0].json()["alias"].as_str().unwrap().to_owned();
    assert_eq!(arrived[0].place(), "/v2/alerts");
    let close = format!("/v2/alerts/{alias}/close?identifierType=alias");
    assert_eq!(arrived[1].place(), close);
    assert!(arrived.iter().all(|one| one.header("authorization") == format!("GenieKey {KEY}")));
}

async fn accepted_parts_of_a_message_are_not_sent_again(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let inbox = Inbox::open().await;
    let channel = watch.channel(Kind::Pagerduty, keyed(&inbox, "/v2/enqueue")).await;
    watch.rule(rule(&[Failed], channel)).await;
    let mut node = watch.node("a").await;
    node.look(&watch).await;
    for name in ["one", "two", "three"] {
        let schedule = watch.schedule(|row| row.name = name.to_owned()).await;
        watch.ends(&schedule, run::State::Failed).await;
    }
    node.tells(&watch, 1).await;
    // The service answers the second request with "too many requests".
    inbox.answers_in_turn(&[202, 429]);
    node.send(&watch).await;
    let message = watch.messages().await.remove(0);
    assert_eq!(message.state, State::Pending);
    assert!(message.error.unwrap().contains("429"));
    inbox.answers(202);
    watch.pass(60);
    node.send(&watch).await;
    assert_eq!(watch.messages().await[0].state, State::Sent);
    let keys: Vec<Value> =
        inbox.arrived().iter().map(|one| one.json()["dedup_key"].clone()).collect();
    assert_eq!(keys.len(), 4);
    assert_eq!(keys[1], keys[2], "the one that was refused is sent again, and no other");
    assert!(keys[0] != keys[1] && keys[3] != keys[2]);
}

async fn a_part_of_a_message_that_is_refused_holds_up_no_other(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let inbox = Inbox::open().await;
    let channel = watch.channel(Kind::Pagerduty, keyed(&inbox, "/v2/enqueue")).await;
    watch.rule(rule(&[Failed], channel)).await;
    let mut node = watch.node("a").await;
    node.look(&watch).await;
    for name in ["one", "two", "three"] {
        let schedule = watch.schedule(|row| row.name = name.to_owned()).await;
        watch.ends(&schedule, run::State::Failed).await;
    }
    node.tells(&watch, 1).await;
    inbox.answers_in_turn(&[202, 400, 202]);
    node.send(&watch).await;
    assert_eq!(inbox.arrived().len(), 3);
    for (status, state) in [(400, State::Pending), (202, State::Sent)] {
        let message = watch.messages().await.remove(0);
        assert_eq!(message.state, State::Pending);
        assert!(message.error.unwrap().contains("400"));
        inbox.answers(status);
        watch.pass(60);
        node.send(&watch).await;
        assert_eq!(watch.messages().await[0].state, state);
    }
    let keys: Vec<Value> =
        inbox.arrived().iter().map(|one| one.json()["dedup_key"].clone()).collect();
    assert_eq!(keys.len(), 5, "the one that was refused is sent again, and no other");
    assert!(keys[3] == keys[1] && keys[4] == keys[1], "{keys:?}");
}

async fn a_test_whose_incident_is_not_opened_does_not_close_it(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let inbox = Inbox::open().await;
    let channel = watch.channel(Kind::Pagerduty, keyed(&inbox, "/v2/enqueue")).await;
    let mut node = watch.node("a").await;
    watch.commands().test_alert_channel(&editor(), channel, &Call::once()).await.unwrap();
    inbox.answers_in_turn(&[400, 202]);
    node.send(&watch).await;
    assert_eq!(watch.messages().await[0].state, State::Pending);
    watch.pass(60);
    node.send(&watch).await;
    assert_eq!(watch.messages().await[0].state, State::Sent);
    let actions: Vec<Value> =
        inbox.arrived().iter().map(|one| one.json()["event_action"].clone()).collect();
    assert_eq!(actions, ["trigger", "trigger", "resolve"]);
}

async fn the_end_of_a_storm_closes_every_incident(database: TestDatabase) {
    // More than a message lists.
    const MANY: usize = 52;
    let mut watch = Watch::begin(database).await;
    let inbox = Inbox::open().await;
    inbox.answers(202);
    let channel = watch.channel(Kind::Pagerduty, keyed(&inbox, "/v2/enqueue")).await;
    let id = watch.rule(rule(&[Failed, Recovered], channel)).await;
    let mut node = watch.node("a").await;
    node.look(&watch).await;
    // The failures are reported in one message, after the mute.
    watch.mute(id, 7_200).await;
    let mut schedules = Vec::new();
    for number in 0..MANY {
        let schedule = watch.schedule(|row| row.name = format!("job-{number}")).await;
        watch.ends(&schedule, run::State::Failed).await;
        schedules.push(schedule);
    }
    let are_there = async || (watch.alerts().await.len() == MANY).then_some(());
    node.looks_until(&watch, "all failures", are_there).await;
    watch.pass(7_200);
    node.tells(&watch, 1).await;
    node.send(&watch).await;
    let begun = inbox.arrived().len();
    for schedule in &schedules {
        watch.ends(schedule, run::State::Succeeded).await;
    }
    node.tells(&watch, 2).await;
    node.send(&watch).await;
    let told: Vec<Value> = inbox.arrived()[begun..].iter().map(|one| one.json()).collect();
    assert!(told.iter().all(|event| event["event_action"] == "resolve"), "{told:?}");
    let closed: BTreeSet<String> =
        told.iter().map(|event| event["dedup_key"].as_str().unwrap().to_owned()).collect();
    let alerts = watch.alerts().await;
    let all: BTreeSet<String> =
        alerts.iter().map(|alert| format!("carillon-{}", alert.id)).collect();
    assert_eq!(closed, all);
}

async fn a_card_says_what_happened(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let inbox = Inbox::open().await;
    let url = Some(inbox.url().as_str().into());
    let channel = watch.channel(Kind::Teams, ChannelInput { url, ..ChannelInput::default() });
    watch.rule(rule(&[Failed], channel.await)).await;
    let mut node = watch.node("a").await;
    node.look(&watch).await;
    let schedule = watch.schedule(|row| row.name = "nightly".to_owned()).await;
    watch.ends(&schedule, run::State::Failed).await;
    node.tells(&watch, 1).await;
    node.send(&watch).await;
    let card = inbox.arrived()[0].json();
    assert_eq!(card["type"], "message");
    let body = &card["attachments"][0]["content"]["body"];
    assert!(body[0]["text"].as_str().unwrap().ends_with("nightly failed"), "{card}");
    assert_eq!(body[1]["text"], "- nightly failed");
}

async fn a_key_belongs_to_its_kind_and_to_its_address(database: TestDatabase) {
    let watch = Watch::begin(database).await;
    let commands = watch.commands();
    let make = async |kind: Kind, input: ChannelInput| {
        let (namespace, name) = ("test".to_owned(), format!("channel-{}", Uuid::now_v7().simple()));
        let new = NewChannel { namespace, name, kind, input };
        commands.create_alert_channel(&editor(), new, &Call::once()).await
    };
    let key = |key: &str| ChannelInput { key: Some(key.into()), ..ChannelInput::default() };
    for (kind, input, said) in [
        (Kind::Pagerduty, ChannelInput::default(), "is missing"),
        (Kind::Pagerduty, key("short"), "is not 8 to 200"),
        (Kind::Pagerduty, key("{{ context.key_of_mine }}"), "is not 8 to 200"),
        (Kind::Opsgenie, key("0123456789\r\nx: y"), "is not 8 to 200"),
        (Kind::Webhook, key(KEY), "pagerduty and opsgenie"),
        (Kind::Email, key(KEY), "pagerduty and opsgenie"),
    ] {
        let Err(CommandError::BadInput(bad)) = make(kind, input).await else { panic!("{said}") };
        assert_eq!(bad.field, "key", "{bad}");
        assert!(bad.problem.contains(said) && !bad.to_string().contains(KEY), "{bad}");
    }
    let url = Some("https://a.example/v2/alerts?team=x".into());
    let open = ChannelInput { url, ..key("{{ secrets.opsgenie }}") };
    let Err(CommandError::BadInput(bad)) = make(Kind::Opsgenie, open).await else { panic!("?") };
    assert_eq!(bad.field, "url", "{bad}");
    make(Kind::Opsgenie, key("{{ secrets.opsgenie }}")).await.unwrap();
    // A channel without an address uses the default address of its service.
    let made = make(Kind::Pagerduty, key("{{ secrets.pagerduty }}")).await.unwrap();
    let edit = |url: &str, key: Option<&str>| ChannelEdit {
        id: made.id,
        expected_version: 1,
        name: None,
        input: ChannelInput {
            url: Some(url.into()),
            key: key.map(Into::into),
            ..ChannelInput::default()
        },
    };
    let elsewhere = edit("https://evil.example/", None);
    let moved = commands.update_alert_channel(&editor(), elsewhere, &Call::once()).await;
    let Err(CommandError::BadInput(bad)) = moved else { panic!("the key went along") };
    assert_eq!(
        (bad.field.as_str(), bad.problem.as_str()),
        ("key", "was given for another address")
    );
    let again = edit("https://events.eu.pagerduty.com/v2/enqueue", Some(KEY));
    commands.update_alert_channel(&editor(), again, &Call::once()).await.unwrap();
}

async fn a_module_names_the_key_of_an_incident_service(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let inbox = Inbox::open().await;
    inbox.answers(202);
    let source = |key: &str| {
        format!(
            "module: watch\nnamespace: test\nalert_channels:\n  pager:\n    kind: pagerduty\n    \
             url: http://{}/v2/enqueue\n    key: '{key}'\nalert_rules:\n  all: {{ on: [failed], \
             channels: [pager], digest: 0s }}\n",
            inbox.address
        )
    };
    let deploy = async |source: &str| {
        watch.commands().deploy(&editor(), DeploymentSource::yaml(source), &Call::once()).await
    };
    let Err(CommandError::BadInput(bad)) = deploy(&source(KEY)).await else { panic!("in clear") };
    assert_eq!(bad.field, "alert_channels.pager.key");
    let named = source("{{ secrets.pager }}");
    assert_eq!(deploy(&named).await.unwrap().changes.len(), 2);
    let again = deploy(&named).await.unwrap().changes;
    assert!(again.iter().all(|change| change.fields.is_empty()), "{again:?}");

    let (namespace, name) = ("test".to_owned(), "pager".to_owned());
    let new = NewSecret { namespace, name, value: KEY.into(), reason: None };
    let admin = editor().who().admin().unwrap();
    watch.commands().set_secret(&admin, new, &Call::once()).await.unwrap();
    let mut node = watch.node("a").await;
    node.look(&watch).await;
    let schedule = watch.schedule(|row| row.name = "nightly".to_owned()).await;
    watch.ends(&schedule, run::State::Failed).await;
    node.tells(&watch, 1).await;
    node.send(&watch).await;
    assert_eq!(inbox.arrived()[0].json()["routing_key"], json!(KEY));
}
