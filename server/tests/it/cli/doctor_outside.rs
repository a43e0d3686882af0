//! The doctor with real dependencies: an identity provider, a mail server, and secrets sealed with
//! some key.

use std::fs;

use carillon::store::alerts::outbox;
use entity::{
    Timestamp, alert_channel,
    notification::{ActiveModel, State},
};
use sea_orm::{EntityTrait, Set};
use serde_json::{Value, json};
use uuid::Uuid;

use super::doctor::{assert_check, doctor, examined};
use crate::{
    engine::alerts::mailing::MailServer,
    support::{Command, Server, TestDatabase, on_both},
    web::oidc::provider::Provider,
};

on_both!(the_missing_key_of_stored_values_is_reported, channels_that_reach_nobody_are_named);

fn key() -> String {
    Command::new(&["secret", "new-key"]).run().done().trim().to_owned()
}

const KEY: &str = "CARILLON_SECRETS__KEY";

async fn the_missing_key_of_stored_values_is_reported(database: TestDatabase) {
    let (old, new) = (key(), key());
    let doctor = || doctor(&[]).on(&database);
    assert_check(&examined(doctor()).0, "secrets", "ok", "no key for them");
    assert_check(&examined(doctor().env(KEY, &old)).0, "secrets", "ok", "none yet");
    let set = Command::new(&["secret", "set", "smtp"]).on(&database).env(KEY, &old);
    set.input("open-sesame\n").run().done();
    assert_check(&examined(doctor().env(KEY, &old)).0, "secrets", "ok", "decrypts all of them");
    for command in [doctor(), doctor().env(KEY, &new)] {
        let (found, code) = examined(command);
        assert_eq!(code, 1);
        assert_check(&found, "secrets", "error", "decrypt the secret 'smtp': it is encrypted with");
    }
    let both = doctor().env(KEY, &new).env("CARILLON_SECRETS__PREVIOUS_KEY", &old);
    assert_check(&examined(both).0, "secrets", "warning", "still encrypted with the previous key");
    let (found, code) = examined(doctor().env(KEY, "no key at all"));
    assert_eq!(code, 1);
    assert_check(&found, "secrets", "error", "secrets.key");
    for text in [&*old, &*new, "no key at all", "open-sesame"] {
        assert!(!found.to_string().contains(text), "{found:#}");
    }
    let text = "[secrets]\nkey_file = \"open.key\"";
    let command = doctor().file("carillon.toml", text).file("open.key", &old);
    // A database in a file may add a finding about permissions.
    let (found, _) = examined(command);
    let mut checks = found["checks"].as_array().unwrap().iter();
    let of_key = checks.find(|check| check["found"].as_str().unwrap().contains("open.key"));
    assert_eq!(of_key.unwrap()["level"], "error", "{found:#}");
}

async fn channels_that_reach_nobody_are_named(database: TestDatabase) {
    let (right, wrong) = (key(), key());
    let create = ["token", "create", "ci", "--role", "editor"];
    let token = Command::new(&create).on(&database).run().done().trim().to_owned();
    let examined = |key: &str| {
        let (found, _) = examined(doctor(&[]).on(&database).env(KEY, key));
        assert!(!found.to_string().contains("hush"), "{found:#}");
        found
    };
    assert_check(&examined(&right), "alert channels", "ok", "there are none");
    let server = Server::start_configured(&database, &format!("[secrets]\nkey = {right:?}\n"));
    let query = json!({ "query": "mutation { createAlertChannel(input: {
        name: \"ops\", kind: SLACK, url: \"https://hooks.example/services/hush\" }) {
        channel { id } } }" });
    let made = server.post("/graphql").bearer_auth(&token).json(&query).send().await.unwrap();
    let made: Value = made.json().await.unwrap();
    let id = made["data"]["createAlertChannel"]["channel"]["id"].as_str().unwrap();
    let channel_id: Uuid = id.parse().unwrap();
    assert_eq!(server.stop(), 0);
    assert_check(&examined(&right), "alert channels", "ok", "the only channel can be decrypted");

    let store = &database.store;
    let channel = alert_channel::Entity::find_by_id(channel_id).one(store.read()).await.unwrap();
    let namespace_id = channel.unwrap().namespace_id;
    let message = |(state, error): (State, Option<&str>)| ActiveModel {
        id: Set(Uuid::now_v7()),
        namespace_id: Set(namespace_id),
        rule_id: Set(None),
        channel_id: Set(channel_id),
        state: Set(state),
        subject: Set("A test".to_owned()),
        body: Set(json!({})),
        alerts: Set(0),
        attempts: Set(1),
        next_attempt_at: Set(Timestamp(0)),
        error: Set(error.map(str::to_owned)),
        progress: Set(None),
        created_at: Set(Timestamp(0)),
        settled_at: Set(Some(Timestamp(0))),
    };
    let given_up = (State::Dead, Some("it answered 410"));
    let transaction = store.begin().await.unwrap();
    let messages = [(State::Dead, None), (State::Sent, None), given_up, given_up].map(message);
    outbox::add(&transaction, messages.into()).await.unwrap();
    store.commit(transaction).await.unwrap();
    let said = "'ops' in default: its last 2 messages were not accepted: it answered 410";
    assert_check(&examined(&right), "alert channels", "warning", said);
    assert_check(
        &examined(&wrong),
        "alert channels",
        "error",
        "'ops' in default: failed to decrypt",
    );

    let transaction = store.begin().await.unwrap();
    outbox::add(&transaction, vec![message((State::Sent, None))]).await.unwrap();
    store.commit(transaction).await.unwrap();
    assert_check(&examined(&right), "alert channels", "ok", "its last message was accepted");
}

#[tokio::test]
async fn an_identity_provider_and_a_mail_server_are_asked_whether_they_will_do() {
    let mut provider = Provider::start();
    provider.serve("http://127.0.0.1:8080");
    let mails = MailServer::start("");
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    fs::write(&ca, &mails.pem).unwrap();
    let port = mails.port;
    let configured = |issuer: &str, host: &str, more: &str| {
        let ca = ca.display();
        let text = format!(
            r#"
            egress.ca_file = "{ca}"
            [oidc]
            issuer = "{issuer}"
            client_id = "carillon"
            {more}
            [smtp]
            host = "{host}"
            port = {port}
            username = "carillon"
            from = "carillon@example.com"
            "#
        );
        doctor(&[]).file("carillon.toml", &text)
    };
    let private = "private_addresses = true";
    let with = |command: Command, password: &str| {
        let (found, code) = examined(command.env("CARILLON_SMTP__PASSWORD", password));
        assert!(!found.to_string().contains(password), "{found:#}");
        (found, code)
    };
    let (found, code) = with(configured(&provider.issuer, "localhost", private), "hush hush");
    assert_eq!(code, 0, "{found:#}");
    assert_check(&found, "sign-in", "ok", &provider.issuer);
    assert_check(&found, "mail", "ok", "lets this server sign in");

    // Several problems at once: one finding does not hide another.
    let slash = format!("{}/realms/none", provider.issuer);
    for (issuer, more, why, host, password, problem) in [
        (&*slash, private, "status 404", "localhost", "wrong one", "Invalid username or password"),
        (&*provider.issuer, "", "private", "127.0.0.1", "hush hush", "certificate"),
    ] {
        let (found, code) = with(configured(issuer, host, more), password);
        assert_eq!(code, 1);
        assert_check(&found, "sign-in", "error", why);
        assert_check(&found, "mail", "error", problem);
    }
    provider.stop();
    drop(mails);
    let (found, _) = with(configured(&provider.issuer, "localhost", private), "hush hush");
    assert_check(&found, "sign-in", "error", "onnect");
    assert_check(&found, "mail", "error", "onnect");
}
