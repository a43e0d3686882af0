use serde_json::{Value, json};

use crate::support::{Command, Server, TestDatabase};

#[tokio::test]
async fn a_channel_is_tried_out_from_the_command_line() {
    let database = TestDatabase::sqlite().await;
    let create = ["token", "create", "ci", "--role", "editor"];
    let token = Command::new(&create).on(&database).run().done().trim().to_owned();
    let key = Command::new(&["secret", "new-key"]).run().done();
    let key = format!("[secrets]\nkey = {:?}\n", key.trim());
    let server = Server::start_configured(&database, &key);
    let query = json!({ "query": "mutation { createAlertChannel(input: {
        name: \"ops\", kind: SLACK, url: \"https://hooks.example/services/hush\" }) {
        channel { id } } }" });
    let made = server.post("/graphql").bearer_auth(&token).json(&query).send().await.unwrap();
    assert!(made.text().await.unwrap().contains("\"channel\""));
    let alerts = |args: &[&str]| {
        let args = [&["alerts"], args, &["--server", &server.url]].concat();
        Command::new(&args).env("CARILLON_TOKEN", &token).run()
    };
    let said = alerts(&["test", "ops"]).done();
    assert!(said.starts_with("A message is on its way: "), "{said}");
    assert!(alerts(&["test", "oops"]).refused(1).contains("no channel 'oops'"));
    let dump = database.dump().await;
    assert!(dump.contains("https://hooks.example") && !dump.contains("services/hush"));
    let listed: Value = serde_json::from_str(&alerts(&["list", "--all", "--json"]).done()).unwrap();
    assert_eq!(listed, json!([]));
    assert!(alerts(&["list"]).done().starts_with("ALERT"));
    assert_eq!(server.stop(), 0);
}

/// The example of docs/modules.md.
fn example() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/modules.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, section) = text.split_once("## Alert channels and rules").unwrap();
    let (_, block) = section.split_once("```yaml\n").unwrap();
    block.split_once("```").unwrap().0.to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_of_alerts_as_code_is_applied_and_exported() {
    let database = TestDatabase::sqlite().await;
    let create = ["token", "create", "ci", "--role", "editor"];
    let token = Command::new(&create).on(&database).run().done().trim().to_owned();
    let key = Command::new(&["secret", "new-key"]).run().done();
    let key = key.trim();
    let config = format!(
        "[secrets]\nkey = {key:?}\n[smtp]\nhost = \"127.0.0.1\"\ntls = \"none\"\n\
         from = \"carillon@example.org\"\n"
    );
    let server = Server::start_configured(&database, &config);
    let ask = |args: &[&str]| {
        Command::new(args).env("CARILLON_SERVER", &server.url).env("CARILLON_TOKEN", &token)
    };
    let apply = |args: &[&str], text: &str| {
        ask(&[&["apply", "alerts.yaml", "--exit-code"], args].concat())
            .file("alerts.yaml", text)
            .run()
    };
    let secret = Command::new(&["secret", "set", "slack_billing"]).on(&database);
    secret.env("CARILLON_SECRETS__KEY", key).input("T0/open-sesame\n").run().done();
    let planned = apply(&["--dry-run"], &example());
    assert_eq!(planned.code, 3, "{planned:?}");
    assert_eq!(
        planned.out.lines().collect::<Vec<_>>()[..7],
        [
            "module billing-alerts (nothing was changed)",
            "  create alert channel accountants: made",
            "  create alert channel on-call: made; its messages wait until these secrets are set: \
             on_call_key",
            "  create alert channel team: made",
            "  create alert rule invoices: made",
            "  create alert rule month-end-is-late: made",
            "  5 to create",
        ]
    );
    assert_eq!(apply(&[], &example()).code, 3);
    assert_eq!(apply(&[], &example()).code, 0, "the second time");
    let misspelt = example().replace("losing_after", "loosing_after");
    let refused = apply(&[], &misspelt).refused(1);
    assert!(refused.contains("line 20, column 5"), "{refused}");
    let clear = example().replace("{{ secrets.slack_billing }}", "T0/open-sesame");
    let refused = apply(&[], &clear).refused(1);
    assert!(refused.contains("alert_channels.team.url") && refused.contains("secret set"));
    assert!(!refused.contains("open-sesame"), "{refused}");

    let exported = ask(&["export", "--module", "billing-alerts"]).run().done();
    assert!(exported.contains("{{ secrets.slack_billing }}"), "{exported}");
    assert!(exported.contains("https://hooks.example.org/***"), "{exported}");
    let again = apply(&["--dry-run"], &exported);
    assert_eq!(again.code, 0, "{exported}\n{again:?}");
    let drift = apply(&["--drift"], &example());
    assert_eq!(drift.code, 0, "{drift:?}");
    assert!(!database.dump().await.contains("open-sesame"));
    assert_eq!(server.stop(), 0);
}
