//! The confidential parts of a channel in the database, and what happens when the key changes or is
//! lost.

use carillon::{
    commands::{Call, ChannelEdit, ChannelInput, NewChannel},
    engine::alerting::alerts::AlertEvent::Failed,
    vault::Vault,
};
use entity::{alert_channel, alert_channel::Kind, notification::State};
use sea_orm::EntityTrait;
use uuid::Uuid;

use super::{
    inbox::Inbox,
    watch::{Watch, editor, key, rule, vault},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    what_a_channel_hides_is_nowhere_in_the_database_and_outlives_a_rotation,
    messages_wait_while_no_key_opens_their_channel,
    without_a_key_no_address_is_taken,
);

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

fn hook(inbox: &Inbox) -> ChannelInput {
    ChannelInput {
        url: Some(inbox.url().as_str().into()),
        signing_secret: Some(SECRET.into()),
        ..ChannelInput::default()
    }
}

async fn keys_in_use(watch: &Watch) -> Vec<Option<String>> {
    let rows = alert_channel::Entity::find().all(watch.world.database.store.read()).await.unwrap();
    rows.into_iter().map(|row| row.key_id).collect()
}

async fn what_a_channel_hides_is_nowhere_in_the_database_and_outlives_a_rotation(
    database: TestDatabase,
) {
    let mut watch = Watch::begin(database).await;
    let inbox = Inbox::open().await;
    let channel = watch.channel(Kind::Webhook, hook(&inbox)).await;
    watch.rule(rule(&[Failed], channel)).await;
    let commands = watch.commands();
    commands.test_alert_channel(&editor(), channel, &Call::once()).await.unwrap();
    // If the message is refused, its row says so.
    inbox.answers(500);
    let mut node = watch.node("a").await;
    node.send(&watch).await;
    let dump = watch.world.database.dump().await;
    assert!(dump.contains("a test of the channel") && dump.contains("answered 500"));
    for hidden in ["hush", "/hook", "MfKQ9r8"] {
        assert!(!dump.contains(hidden), "{hidden}");
    }

    let (old, new) = (vault("ab"), vault("cd"));
    assert_eq!(keys_in_use(&watch).await, [Some(old.current().unwrap().to_owned())]);
    let owner = editor().who().owner().unwrap();
    // With the new key alone, the command cannot open any value, and changes none.
    let alone = watch.commands().with_vault(new.clone());
    let turn = alone.rotate_channels(&owner, None).await.unwrap();
    assert_eq!((turn.done, turn.failed.len()), (0, 1));
    assert!(turn.failed[0].contains("encrypted with the key"), "{:?}", turn.failed);
    let both = watch.commands().with_vault(Vault::new(key("cd"), Some(key("ab"))));
    let turn = both.rotate_channels(&owner, None).await.unwrap();
    assert_eq!((turn.done, turn.failed.len()), (1, 0));
    assert_eq!(keys_in_use(&watch).await, [Some(new.current().unwrap().to_owned())]);
    let again = both.rotate_channels(&owner, None).await.unwrap();
    assert_eq!((again.done, again.next), (0, None));

    watch.world.settings.vault = new;
    inbox.answers(200);
    let mut node = watch.node("b").await;
    watch.pass(30);
    node.send(&watch).await;
    assert_eq!(watch.messages().await[0].state, State::Sent);
    assert!(inbox.arrived()[1].header("webhook-signature").starts_with("v1,"));
}

async fn messages_wait_while_no_key_opens_their_channel(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let inbox = Inbox::open().await;
    let channel = watch.channel(Kind::Webhook, hook(&inbox)).await;
    let test = async |watch: &Watch| {
        let commands = watch.commands();
        commands.test_alert_channel(&editor(), channel, &Call::once()).await.unwrap();
    };
    test(&watch).await;
    watch.world.settings.vault = vault("cd");
    let mut node = watch.node("a").await;
    // A message that cannot be opened waits: no attempt is counted, however many rounds pass.
    for _ in 0..12 {
        node.send(&watch).await;
        watch.pass(2_400);
    }
    let message = watch.messages().await.remove(0);
    assert_eq!((message.state, message.attempts), (State::Pending, 0));
    let error = message.error.unwrap();
    assert!(
        error.contains("encrypted with the key") && error.contains("previous_key_file"),
        "{error}"
    );
    assert!(!error.contains("hush") && inbox.arrived().is_empty());
    // If existing values cannot be opened with the key, no new value is sealed with it.
    let new = NewChannel {
        namespace: "test".to_owned(),
        name: "second".to_owned(),
        kind: Kind::Webhook,
        input: hook(&inbox),
    };
    let refused = watch.commands().create_alert_channel(&editor(), new, &Call::once()).await;
    assert!(refused.unwrap_err().to_string().contains("encrypted with the key"));

    watch.world.settings.vault = vault("ab");
    let mut keyed = watch.node("b").await;
    keyed.send(&watch).await;
    assert_eq!(watch.messages().await[0].state, State::Sent);

    // After a key is lost, everything that it sealed must be set again.
    watch.world.settings.vault = vault("cd");
    test(&watch).await;
    let edit = async |input: ChannelInput| {
        let edit = ChannelEdit { id: channel, expected_version: 1, name: None, input };
        watch.commands().update_alert_channel(&editor(), edit, &Call::once()).await
    };
    let half = ChannelInput { signing_secret: None, ..hook(&inbox) };
    for input in [ChannelInput::default(), half] {
        let refused = edit(input).await.unwrap_err().to_string();
        assert!(refused.contains("key"), "{refused}");
    }
    edit(hook(&inbox)).await.unwrap();
    node.send(&watch).await;
    assert_eq!(watch.messages().await[1].state, State::Sent);
    assert_eq!(inbox.arrived().len(), 2);
}

async fn without_a_key_no_address_is_taken(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    watch.world.settings.vault = Vault::default();
    let inbox = Inbox::open().await;
    let new = NewChannel {
        namespace: "test".to_owned(),
        name: format!("ops-{}", Uuid::now_v7().simple()),
        kind: Kind::Slack,
        input: ChannelInput { signing_secret: None, ..hook(&inbox) },
    };
    let refused = watch.commands().create_alert_channel(&editor(), new, &Call::once()).await;
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("secrets.key_file") && refused.contains("new-key"), "{refused}");
    assert!(keys_in_use(&watch).await.is_empty());
}
