//! Mails, received by a real server: over TLS, with authentication.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use carillon::{
    commands::{Call, ChannelInput},
    config::{Smtp, SmtpTls},
    engine::alerting::alerts::AlertEvent::Failed,
    target::Mailer,
};
use entity::{alert_channel::Kind, notification::State, run};
use serde_json::Value;

use super::watch::{Watch, editor, rule};
use crate::support::TestDatabase;

/// A mail server for the test. When it is dropped, its standard input is closed, which ends it.
pub(crate) struct MailServer {
    pub(crate) port: u16,
    pub(crate) pem: String,
    lines: BufReader<ChildStdout>,
    input: ChildStdin,
    process: Child,
    _folder: tempfile::TempDir,
}

impl MailServer {
    pub(crate) fn start(manner: &str) -> Self {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let pem = made.cert.pem();
        let certificate = file("certificate.pem", &pem);
        let key = file("key.pem", &made.signing_key.serialize_pem());
        let e2e = Path::new(env!("CARGO_MANIFEST_DIR")).join("../e2e");
        assert!(e2e.join("node_modules/smtp-server").exists(), "run 'npm ci' in e2e first");
        // If the test is killed, the kernel stops the server.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "node"]).arg(e2e.join("support/smtp.mjs"));
        command.arg(certificate).arg(key).arg(manner);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("start node");
        let input = process.stdin.take().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap());
        let mut server = Self { port: 0, pem, lines, input, process, _folder: folder };
        server.port = server.line()["port"].as_u64().unwrap().try_into().unwrap();
        server
    }

    /// The server's next line of output.
    fn line(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("the mail server ended: {line:?}"))
    }

    /// Makes the server behave like this from now on.
    fn becomes(&mut self, manner: &str) {
        writeln!(self.input, "{manner}").unwrap();
        assert_eq!(self.line()["manner"], manner);
    }

    fn mailer(&self, password: &str) -> Mailer {
        let smtp = Smtp {
            host: Some("localhost".to_owned()),
            port: self.port,
            tls: SmtpTls::Starttls,
            username: Some("carillon".to_owned()),
            password: Some(password.to_owned().into()),
            from: Some("carillon@example.com".to_owned()),
        };
        Mailer::new(&smtp, Some(&self.pem)).unwrap().unwrap()
    }
}

impl Drop for MailServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn to(addresses: &[&str]) -> ChannelInput {
    let to = addresses.iter().map(|address| (*address).to_owned()).collect();
    ChannelInput { to: Some(to), ..ChannelInput::default() }
}

#[tokio::test]
async fn a_mail_is_taken_by_a_real_server_and_a_busy_one_is_asked_again() {
    let mut server = MailServer::start("busy");
    let mut watch = Watch::begin(TestDatabase::sqlite().await).await;
    watch.mailer = Some(server.mailer("hush hush"));
    let channel = watch.channel(Kind::Email, to(&["ada@example.com", "bob@example.com"])).await;
    watch.rule(rule(&[Failed], channel)).await;
    let mut node = watch.node("a").await;
    node.look(&watch).await;
    let schedule = watch.schedule(|row| row.name = "nightly".to_owned()).await;
    watch
        .ends_as(&schedule, |_, run| {
            run.state = run::State::Failed;
            run.error = Some("päng\r\nBcc: eve@example.com\r\n.\r\nQUIT".to_owned());
        })
        .await;
    node.tells(&watch, 1).await;
    node.send(&watch).await;
    assert_eq!(server.line()["refused"], true);
    assert_eq!(server.line()["to"], serde_json::json!(["bob@example.com"]), "not held up by ada");
    let message = watch.messages().await.remove(0);
    assert_eq!(message.state, State::Pending);
    assert!(message.error.unwrap().contains("Insufficient system storage"));

    watch.pass(30);
    node.send(&watch).await;
    let mail = server.line();
    assert_eq!((&mail["secure"], &mail["user"]), (&true.into(), &"carillon".into()));
    assert_eq!(mail["from"], "carillon@example.com");
    assert_eq!(mail["to"], serde_json::json!(["ada@example.com"]), "bob has it");
    let raw = mail["raw"].as_str().unwrap();
    let (heads, _) = raw.split_once("\r\n\r\n").unwrap();
    assert!(heads.contains("Subject: [test] nightly failed"), "{heads}");
    assert!(heads.contains(&format!("Message-ID: <{}@example.com>", message.id)), "{heads}");
    assert!(!heads.contains("eve@example.com"), "{raw}");
    assert_eq!(watch.messages().await[0].state, State::Sent);
}

#[tokio::test]
async fn a_recipient_who_is_refused_for_good_silences_nobody_else() {
    let mut server = MailServer::start("");
    let mut watch = Watch::begin(TestDatabase::sqlite().await).await;
    watch.mailer = Some(server.mailer("hush hush"));
    let mut node = watch.node("a").await;
    let commands = watch.commands();
    let (gone, bob) = ("gone@example.com", "bob@example.com");
    for (recipients, state) in [(&[gone, bob][..], State::Sent), (&[gone][..], State::Dead)] {
        watch.pass(1);
        let channel = watch.channel(Kind::Email, to(recipients)).await;
        commands.test_alert_channel(&editor(), channel, &Call::once()).await.unwrap();
        node.send(&watch).await;
        let message = watch.messages().await.pop().unwrap();
        assert_eq!((message.state, message.attempts), (state, 1));
        let error = message.error.unwrap();
        assert!(error.contains(gone) && error.contains("No such user"), "{error}");
    }
    let mail = server.line();
    assert_eq!(mail["to"], serde_json::json!([bob]));
    let raw = mail["raw"].as_str().unwrap();
    assert!(raw.contains("To: gone@example.com, bob@example.com"), "{raw}");
}

#[tokio::test]
async fn what_a_mail_server_says_before_it_knows_the_recipient_is_held_against_nobody() {
    let mut server = MailServer::start("closed");
    let mut watch = Watch::begin(TestDatabase::sqlite().await).await;
    watch.mailer = Some(server.mailer("hush hush"));
    let mut node = watch.node("a").await;
    let channel = watch.channel(Kind::Email, to(&["ada@example.com"])).await;
    watch.commands().test_alert_channel(&editor(), channel, &Call::once()).await.unwrap();
    for (attempts, said) in [(1, "No SMTP service here"), (2, "Sender rejected")] {
        node.send(&watch).await;
        let message = watch.messages().await.remove(0);
        assert_eq!((message.state, message.attempts), (State::Pending, attempts));
        assert!(message.error.as_ref().unwrap().contains(said), "{message:?}");
        assert_eq!(message.progress.unwrap()["refused"], serde_json::json!({}));
        watch.pass(60);
        server.becomes("stranger");
    }
    server.becomes("");
    node.send(&watch).await;
    assert_eq!(server.line()["to"], serde_json::json!(["ada@example.com"]));
    assert_eq!(watch.messages().await[0].state, State::Sent);
}

#[tokio::test]
async fn an_attempt_that_reaches_one_more_recipient_is_none_of_the_last() {
    let mut server = MailServer::start("");
    let mut watch = Watch::begin(TestDatabase::sqlite().await).await;
    watch.mailer = Some(server.mailer("hush hush"));
    let mut node = watch.node("a").await;
    let recipients: Vec<String> = (1..=11).map(|n| format!("{n}@example.com")).collect();
    let recipients: Vec<&str> = recipients.iter().map(String::as_str).collect();
    let channel = watch.channel(Kind::Email, to(&recipients)).await;
    watch.commands().test_alert_channel(&editor(), channel, &Call::once()).await.unwrap();
    let mut reached = Vec::new();
    for left in (0..recipients.len()).rev() {
        server.becomes("scarce 1");
        node.send(&watch).await;
        reached.push(server.line()["to"][0].as_str().unwrap().to_owned());
        let message = watch.messages().await.remove(0);
        let state = if left == 0 { State::Sent } else { State::Pending };
        assert_eq!(message.state, state, "{message:?}");
        watch.pass(60);
    }
    // Each recipient was reached once, and none of these attempts failed.
    assert_eq!(reached, recipients);
    let message = watch.messages().await.remove(0);
    assert_eq!((message.attempts, message.error), (1, None));
}

#[tokio::test]
async fn a_mail_server_that_is_not_trusted_or_refuses_to_sign_in_says_why() {
    let server = MailServer::start("");
    let mut watch = Watch::begin(TestDatabase::sqlite().await).await;
    let strange = Smtp {
        host: Some("localhost".to_owned()),
        port: server.port,
        from: Some("carillon@example.com".to_owned()),
        ..Smtp::default()
    };
    for (name, mailer, said) in [
        ("a", server.mailer("wrong"), "Invalid username or password"),
        ("b", Mailer::new(&strange, None).unwrap().unwrap(), "certificate"),
    ] {
        watch.pass(1);
        watch.mailer = Some(mailer);
        let channel = watch.channel(Kind::Email, to(&["ada@example.com"])).await;
        let mut node = watch.node(name).await;
        let commands = watch.commands();
        commands.test_alert_channel(&editor(), channel, &Call::once()).await.unwrap();
        node.send(&watch).await;
        let message = watch.messages().await.pop().unwrap();
        let error = message.error.unwrap();
        assert!(error.contains(said) && !error.contains("wrong"), "{error}");
        assert_eq!(message.state, State::Pending);
    }
}
