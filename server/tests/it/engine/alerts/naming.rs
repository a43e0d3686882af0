//! Channels that name secrets: filled in when a message is sent, and nowhere else.

use carillon::{
    commands::{Call, ChannelInput, CommandError, DeploymentSource, NewChannel, NewSecret},
    engine::alerting::alerts::AlertEvent::Failed,
};
use entity::{alert_channel::Kind, notification::State, run};
use sea_orm::EntityTrait;

use super::{
    inbox::Inbox,
    sending::{today, verified},
    watch::{Watch, editor, rule},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_channel_of_a_module_waits_for_its_secrets_and_sends_them_to_nobody_else,
    a_channel_names_secrets_and_nothing_else_behind_the_host,
);

const KEY: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

async fn set(watch: &Watch, name: &str, value: &str) {
    let (namespace, name) = ("test".to_owned(), name.to_owned());
    let new = NewSecret { namespace, name, value: value.into(), reason: None };
    let admin = editor().who().admin().unwrap();
    watch.commands().set_secret(&admin, new, &Call::once()).await.unwrap();
}

async fn a_channel_of_a_module_waits_for_its_secrets_and_sends_them_to_nobody_else(
    database: TestDatabase,
) {
    let mut watch = today(database).await;
    let inbox = Inbox::open().await;
    let source = format!(
        "module: watch\nnamespace: test\nalert_channels:\n  ops:\n    kind: webhook\n    \
         url: http://{}/{{{{ secrets.place }}}}\n    signing_secret: '{{{{ secrets.key }}}}'\n\
         alert_rules:\n  all: {{ on: [failed], channels: [ops], digest: 0s }}\n",
        inbox.address
    );
    let deployed =
        watch.commands().deploy(&editor(), DeploymentSource::yaml(&source), &Call::once()).await;
    assert_eq!(deployed.unwrap().changes.len(), 2);
    let mut node = watch.node("a").await;
    node.look(&watch).await;
    let schedule = watch.schedule(|row| row.name = "nightly".to_owned()).await;
    // The output of a program is never treated as a template.
    let said = "{{ secrets.place }} {{ secrets.key }}";
    watch
        .ends_as(&schedule, |_, run| {
            run.state = run::State::Failed;
            run.error = Some(said.to_owned());
        })
        .await;
    node.tells(&watch, 1).await;
    // A message without its secrets waits: no attempt is counted, however many rounds pass.
    for _ in 0..3 {
        node.send(&watch).await;
        watch.pass(10);
    }
    let message = watch.messages().await.remove(0);
    assert_eq!((message.state, message.attempts), (State::Pending, 0));
    let error = message.error.unwrap();
    assert!(error.contains("find the secret 'key'"), "{error}");
    assert!(inbox.arrived().is_empty());

    set(&watch, "place", "open-sesame").await;
    set(&watch, "key", KEY).await;
    inbox.answers(500);
    watch.pass(60);
    node.send(&watch).await;
    assert_eq!(watch.messages().await[0].attempts, 1);
    inbox.answers(200);
    watch.pass(60);
    node.send(&watch).await;
    assert_eq!(watch.messages().await[0].state, State::Sent);
    let arrived = inbox.arrived();
    assert_eq!(arrived[1].place(), "/open-sesame");
    assert_eq!(arrived[1].json()["data"]["alerts"][0]["error"], said);
    verified(KEY, &arrived[1].signed(), arrived[1].text()).unwrap();
    let dump = watch.world.database.dump().await;
    assert!(dump.contains("secrets.place") && !dump.contains("open-sesame"));
    assert!(!dump.contains("MfKQ9r8"));

    // The next message uses the new values.
    set(&watch, "place", "shut-sesame").await;
    let rows = entity::alert_channel::Entity::find().all(watch.world.database.store.read()).await;
    let channel = rows.unwrap()[0].id;
    watch.commands().test_alert_channel(&editor(), channel, &Call::once()).await.unwrap();
    node.send(&watch).await;
    assert_eq!(inbox.places(3).await[2], "/shut-sesame");
}

async fn a_channel_names_secrets_and_nothing_else_behind_the_host(database: TestDatabase) {
    let watch = Watch::begin(database).await;
    let make = async |url: &str, key: Option<&str>| {
        let input = ChannelInput {
            url: Some(url.into()),
            signing_secret: key.map(Into::into),
            ..ChannelInput::default()
        };
        let name = format!("channel-{}", uuid::Uuid::now_v7().simple());
        let (namespace, kind) = ("test".to_owned(), Kind::Webhook);
        let new = NewChannel { namespace, name, kind, input };
        watch.commands().create_alert_channel(&editor(), new, &Call::once()).await
    };
    make("https://a.example/{{ secrets.place }}", Some("{{ secrets.key }}")).await.unwrap();
    for (url, key, field) in [
        ("https://{{ secrets.host }}/", None, "url"),
        ("https://a.example/{{ run_id }}", None, "url"),
        ("https://a.example/{{ secrets }}", None, "url"),
        ("https://a.example/{{ secrets.a", None, "url"),
        ("https://a.example/", Some("{{ context.key }}"), "signingSecret"),
    ] {
        let Err(CommandError::BadInput(bad)) = make(url, key).await else { panic!("{url}") };
        assert_eq!(bad.field, field, "{bad}");
    }
    // A rule with such a channel works like any other.
    let channel = make("https://a.example/{{ secrets.other }}", None).await.unwrap();
    watch.rule(rule(&[Failed], channel.id)).await;
}
