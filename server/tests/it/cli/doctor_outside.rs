//! The doctor beside the real things that a server asks: an identity provider, a mail server, and
//! secrets that some key has sealed.

use std::fs;

use super::doctor::{assert_check, doctor, examined};
use crate::{
    engine::alerts::mailing::MailServer,
    support::{Command, TestDatabase, on_both},
    web::oidc::provider::Provider,
};

on_both!(the_key_of_what_is_stored_is_missed);

fn key() -> String {
    Command::new(&["secret", "new-key"]).run().done().trim().to_owned()
}

const KEY: &str = "CARILLON_SECRETS__KEY";

async fn the_key_of_what_is_stored_is_missed(database: TestDatabase) {
    let (old, new) = (key(), key());
    let doctor = || doctor(&[]).on(&database);
    assert_check(&examined(doctor()).0, "secrets", "ok", "no key for them");
    assert_check(&examined(doctor().env(KEY, &old)).0, "secrets", "ok", "none yet");
    let set = Command::new(&["secret", "set", "smtp"]).on(&database).env(KEY, &old);
    set.input("open-sesame\n").run().done();
    assert_check(&examined(doctor().env(KEY, &old)).0, "secrets", "ok", "opens all of them");
    for command in [doctor(), doctor().env(KEY, &new)] {
        let (found, code) = examined(command);
        assert_eq!(code, 1);
        assert_check(&found, "secrets", "error", "open the secret 'smtp': it is sealed with");
    }
    let both = doctor().env(KEY, &new).env("CARILLON_SECRETS__PREVIOUS_KEY", &old);
    assert_check(&examined(both).0, "secrets", "warning", "still sealed with the previous key");
    let (found, code) = examined(doctor().env(KEY, "no key at all"));
    assert_eq!(code, 1);
    assert_check(&found, "secrets", "error", "secrets.key");
    for text in [&*old, &*new, "no key at all", "open-sesame"] {
        assert!(!found.to_string().contains(text), "{found:#}");
    }
    let text = "[secrets]\nkey_file = \"open.key\"";
    let command = doctor().file("carillon.toml", text).file("open.key", &old);
    // A database in a file may have something of its own to say of permissions.
    let (found, _) = examined(command);
    let mut checks = found["checks"].as_array().unwrap().iter();
    let of_key = checks.find(|check| check["found"].as_str().unwrap().contains("open.key"));
    assert_eq!(of_key.unwrap()["level"], "warning", "{found:#}");
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

    // Beside each other: what is wrong with one hides nothing of the other.
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
