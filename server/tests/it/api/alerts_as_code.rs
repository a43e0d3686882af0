//! Alert rules and channels declared by a module's file: planned, created, owned, exported and
//! deleted.

use serde_json::{Value, json};

use super::{desk::Desk, planning};
use crate::support::{TestDatabase, on_both};

on_both!(
    rules_and_channels_of_a_file_are_planned_made_changed_and_pruned,
    code_owns_rules_and_channels_and_operators_the_mute,
    an_export_of_rules_and_channels_holds_no_secret_and_changes_nothing,
    an_export_of_rules_and_channels_is_the_same_when_it_was_applied_elsewhere,
    a_mistake_about_alerts_changes_nothing_and_names_its_place,
    one_deployment_may_replace_all_channels_of_a_namespace,
);

const DEPLOY: &str = "mutation($source: String!, $dryRun: Boolean! = false,
    $adopt: Boolean! = false, $format: ModuleFormat! = YAML) {
    deployModule(source: $source, dryRun: $dryRun, adopt: $adopt, format: $format) {
        changes { action kind name detail fields { path before after } } } }";
const THERE: &str = "{ alertChannels { name kind origin signed module }
    alertRules { name module enabled channels { name } digestSeconds } }";
const MAKE: &str = "mutation($input: CreateAlertChannelInput!) {
    createAlertChannel(input: $input) { channel { id } } }";
const RULE: &str = "mutation($input: CreateAlertRuleInput!) { createAlertRule(input: $input) {
    rule { id } } }";
const DRIFT: &str = "{ moduleDrift(name: \"watch\") { drifted {
    kind name side by reason fields { path before after } } } }";

const SOURCE: &str = r#"
module: watch
alert_channels:
  ops:
    kind: webhook
    url: https://hooks.example/carillon
    signing_secret: "{{ secrets.ops_key }}"
  team: { kind: slack, url: "https://slack.example/services/{{ secrets.team_path }}" }
alert_rules:
  billing:
    on: [failed, recovered, missed]
    channels: [ops, team]
    search: tag:billing
    grace: 5m
    quiet: { zone: Europe/Berlin, windows: [{ from: "22:00", to: "06:00" }] }
  everything: { on: [losing], channels: [team] }
"#;

async fn told(desk: &Desk, variables: Value) -> Vec<String> {
    planning::told(&desk.ask(DEPLOY, variables).await["deployModule"])
}

async fn deploy(desk: &Desk, source: &str) -> Vec<String> {
    told(desk, json!({ "source": source })).await
}

async fn set(desk: &Desk, name: &str) {
    let query = "mutation($name: String!) {
        setSecret(input: { name: $name, value: \"open-sesame\" }) { secret { name } } }";
    desk.ask(query, json!({ "name": name })).await;
}

/// A channel with its own secrets, created by hand.
async fn by_hand(desk: &Desk) -> Value {
    let input = json!({ "name": "ops", "kind": "WEBHOOK", "url": "https://hooks.example/hush",
        "signingSecret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" });
    let made = desk.ask(MAKE, json!({ "input": input })).await;
    made["createAlertChannel"]["channel"]["id"].clone()
}

async fn rules_and_channels_of_a_file_are_planned_made_changed_and_pruned(database: TestDatabase) {
    let desk = Desk::open(database).await;
    set(&desk, "ops_key").await;
    let made = [
        "CREATE alert_channel ops",
        "CREATE alert_channel team",
        "CREATE alert_rule billing",
        "CREATE alert_rule everything",
    ];
    let dry = json!({ "source": SOURCE, "dryRun": true });
    let plan = desk.ask(DEPLOY, dry.clone()).await;
    // The plan warns of secrets that are not set: messages would wait for them.
    let detail = &plan["deployModule"]["changes"][1]["detail"];
    assert_eq!(detail, "made; its messages wait until these secrets are set: team_path");
    assert_eq!(plan["deployModule"]["changes"][0]["detail"], "made");
    assert_eq!(told(&desk, dry).await, made);
    let nothing = desk.ask(THERE, json!({})).await;
    assert_eq!(nothing, json!({ "alertChannels": [], "alertRules": [] }));

    assert_eq!(deploy(&desk, SOURCE).await, made);
    assert_eq!(deploy(&desk, SOURCE).await, [""; 0], "the second time");
    assert_eq!(
        desk.ask(THERE, json!({})).await,
        json!({
            "alertChannels": [
                { "name": "ops", "kind": "WEBHOOK", "origin": "https://hooks.example",
                    "signed": true, "module": "watch" },
                { "name": "team", "kind": "SLACK", "origin": "https://slack.example",
                    "signed": false, "module": "watch" }],
            "alertRules": [
                { "name": "billing", "module": "watch", "enabled": true, "digestSeconds": 30,
                    "channels": [{ "name": "ops" }, { "name": "team" }] },
                { "name": "everything", "module": "watch", "enabled": true, "digestSeconds": 30,
                    "channels": [{ "name": "team" }] }],
        })
    );
    // A field that the file omits gets the API's default.
    let ids = desk.ask("{ alertChannels { id } }", json!({})).await;
    let input =
        json!({ "name": "api", "on": ["LOSING"], "channelIds": [ids["alertChannels"][1]["id"]] });
    desk.ask(RULE, json!({ "input": input })).await;
    let rules = desk
        .ask(
            "{ alertRules { name search graceSeconds losingAfter skippedAfter lateAfterSeconds
        stalledAfterSeconds digestSeconds includeErrors enabled quiet { zone } } }",
            json!({}),
        )
        .await;
    let mut rules = rules["alertRules"].as_array().unwrap().clone();
    rules.retain(|rule| rule["name"] != "billing");
    rules.iter_mut().for_each(|rule| rule["name"] = json!("x"));
    assert_eq!(rules[0], rules[1]);
    let modules = desk.ask("{ modules { nodes { name schedules } } }", json!({})).await;
    assert_eq!(modules["modules"]["nodes"], json!([{ "name": "watch", "schedules": 0 }]));

    let changed = SOURCE
        .replace("grace: 5m", "digest: 1m")
        .replace("hooks.example/carillon", "hooks.example/other")
        .replace("{{ secrets.team_path }}", "{{ secrets.new_path }}")
        .replace("  everything: { on: [losing], channels: [team] }\n", "");
    assert_eq!(
        deploy(&desk, &changed).await,
        [
            "DELETE alert_rule everything",
            "UPDATE alert_channel ops",
            "  url: https://hooks.example/*** -> https://hooks.example/***",
            "UPDATE alert_channel team",
            "  url: https://slack.example/services/{{ secrets.team_path }} -> \
             https://slack.example/services/{{ secrets.new_path }}",
            "UPDATE alert_rule billing",
            "  digest: - -> 1m",
            "  grace: 5m -> -",
        ]
    );
    // A channel that another rule uses cannot be deleted: the whole deployment is refused.
    let refused = desk.refused(DEPLOY, json!({ "source": "module: watch" })).await;
    assert_eq!(refused["extensions"]["code"], "CONFLICT", "{refused}");
    assert!(refused["message"].as_str().unwrap().contains("\"api\""), "{refused}");
    let drop = "mutation($id: UUID!) { deleteAlertRule(id: $id) { id } }";
    let rules = desk.ask("{ alertRules { id name } }", json!({})).await;
    assert_eq!(rules["alertRules"][1]["name"], "billing");
    desk.ask(drop, json!({ "id": rules["alertRules"][0]["id"] })).await;
    assert_eq!(
        deploy(&desk, "module: watch").await,
        ["DELETE alert_rule billing", "DELETE alert_channel ops", "DELETE alert_channel team"]
    );
    assert_eq!(desk.ask(THERE, json!({})).await, nothing);

    let audit = desk.ask("{ auditEvents { nodes { action before after } } }", json!({})).await;
    let audit = audit.to_string();
    for action in ["channel.create", "channel.update", "channel.delete", "rule.create"] {
        assert!(audit.contains(&format!("alert_{action}")), "{action}");
    }
    assert!(audit.contains("secrets.team_path"), "{audit}");
    assert!(!audit.contains("hooks.example/carillon") && !audit.contains("/other"), "{audit}");
}

async fn code_owns_rules_and_channels_and_operators_the_mute(database: TestDatabase) {
    let desk = Desk::open(database).await;
    deploy(&desk, SOURCE).await;
    let there = desk.ask("{ alertChannels { id } alertRules { id } }", json!({})).await;
    let (channel, rule) = (&there["alertChannels"][0]["id"], &there["alertRules"][0]["id"]);
    for (query, id) in [
        (
            "mutation($id: UUID!) { updateAlertChannel(input: { id: $id, expectedVersion: 1,
            name: \"x\" }) { channel { id } } }",
            channel,
        ),
        ("mutation($id: UUID!) { deleteAlertChannel(id: $id) { id } }", channel),
        (
            "mutation($id: UUID!) { updateAlertRule(input: { id: $id, expectedVersion: 1,
            enabled: false }) { rule { id } } }",
            rule,
        ),
        ("mutation($id: UUID!) { deleteAlertRule(id: $id) { id } }", rule),
    ] {
        let error = desk.refused(query, json!({ "id": id })).await;
        assert_eq!(error["extensions"]["code"], "CONFLICT", "{error}");
        assert!(error["message"].as_str().unwrap().contains("the module \"watch\""), "{error}");
    }
    let test = "mutation($id: UUID!) { testAlertChannel(id: $id) { notification { state } } }";
    desk.ask(test, json!({ "id": channel })).await;
    let clean = desk.ask(DRIFT, json!({})).await;
    assert_eq!(clean["moduleDrift"]["drifted"], json!([]));
    let mute = "mutation($id: UUID!) { muteAlertRule(id: $id, until: \"2026-03-01T13:00:00Z\",
        reason: \"release\") { rule { version } } }";
    desk.ask(mute, json!({ "id": rule })).await;
    assert_eq!(
        desk.ask(DRIFT, json!({})).await["moduleDrift"]["drifted"],
        json!([{ "kind": "alert_rule", "name": "billing", "side": "OPERATORS", "by": "ada",
            "reason": "release", "fields": [
                { "path": "muted_until", "before": null, "after": "2026-03-01T13:00:00Z" }] }])
    );
    // A deployment keeps the mute, whatever else it changes about the rule.
    let changed = SOURCE.replace("grace: 5m", "grace: 6m");
    assert_eq!(deploy(&desk, &changed).await, ["UPDATE alert_rule billing", "  grace: 5m -> 6m"]);
    let muted = desk.ask("{ alertRules { mutedUntil version } }", json!({})).await;
    assert_eq!(
        muted["alertRules"][0],
        json!({ "mutedUntil": "2026-03-01T13:00:00Z", "version": 2 })
    );
}

async fn an_export_of_rules_and_channels_holds_no_secret_and_changes_nothing(
    database: TestDatabase,
) {
    const EXPORT: &str = "query($format: ModuleFormat!) {
        exportModules(format: $format) { module isByHand source } }";
    let desk = Desk::open(database).await;
    let channel = by_hand(&desk).await;
    let input = json!({ "name": "mine", "on": ["LATE"], "channelIds": [channel],
        "lateAfterSeconds": 600, "enabled": false, "includeErrors": false });
    desk.ask(RULE, json!({ "input": input })).await;
    let source = SOURCE.replace("ops:", "on-call:").replace("[ops,", "[on-call,");
    deploy(&desk, &source).await;
    for format in ["YAML", "TOML"] {
        let answer = desk.ask(EXPORT, json!({ "format": format })).await;
        let files = answer["exportModules"].as_array().unwrap();
        assert_eq!(files.len(), 2, "{answer}");
        for file in files {
            let text = file["source"].as_str().unwrap();
            for secret in ["hush", "MfKQ9r8", "hooks.example/carillon"] {
                assert!(!text.contains(secret), "{text}");
            }
            let adopt = file["isByHand"] == true;
            let again = json!({ "source": text, "format": format, "adopt": adopt, "dryRun": true });
            let expected: &[&str] =
                if adopt { &["ADOPT alert_channel ops", "ADOPT alert_rule mine"] } else { &[] };
            assert_eq!(told(&desk, again).await, expected, "{text}");
            if !adopt {
                assert!(text.contains("{{ secrets.team_path }}"), "{text}");
            }
        }
    }
    // An adopted channel keeps its secrets. If the file omits the mask, the channel's address
    // changes.
    let answer = desk.ask(EXPORT, json!({ "format": "YAML" })).await;
    let files = answer["exportModules"].as_array().unwrap();
    let file = files.iter().find(|file| file["isByHand"] == true).unwrap();
    let text = file["source"].as_str().unwrap();
    assert!(text.contains("late_after: 10m") && text.contains("enabled: false"), "{text}");
    let refused = desk.refused(DEPLOY, json!({ "source": text })).await;
    assert!(refused["message"].as_str().unwrap().contains("adopt it"), "{refused}");
    told(&desk, json!({ "source": text, "adopt": true })).await;
    let elsewhere = text.replace("https://hooks.example/", "https://evil.example/");
    let refused = desk.refused(DEPLOY, json!({ "source": elsewhere })).await;
    assert_eq!(refused["extensions"]["field"], "alert_channels.ops.url", "{refused}");
    let channels = desk.ask("{ alertChannels { name module signed version } }", json!({})).await;
    assert_eq!(
        channels["alertChannels"][1],
        json!({ "name": "ops", "module": "exported", "signed": true, "version": 1 })
    );
}

/// The module's declarations, as a file.
async fn exported(desk: &Desk, format: &str) -> String {
    let query = "query($format: ModuleFormat!) {
        exportModules(module: \"watch\", format: $format) { source } }";
    let answer = desk.ask(query, json!({ "format": format })).await;
    answer["exportModules"][0]["source"].as_str().unwrap().to_owned()
}

async fn an_export_of_rules_and_channels_is_the_same_when_it_was_applied_elsewhere(
    database: TestDatabase,
) {
    let elsewhere = if database.store.dialect().is_postgres() {
        TestDatabase::postgres().await
    } else {
        TestDatabase::sqlite().await
    };
    let (here, there) = (Desk::open(database).await, Desk::open(elsewhere).await);
    // An address is exported as a mask even if the API shows it in plain text: the file must give it
    // as the name of a secret.
    let source = SOURCE.replace("/carillon\n", "/{{ secrets.ops_path }}\n");
    deploy(&here, &source).await;
    let made = [
        "CREATE alert_channel ops",
        "CREATE alert_channel team",
        "CREATE alert_rule billing",
        "CREATE alert_rule everything",
    ];
    for (format, expected) in [("YAML", &made[..]), ("TOML", &[])] {
        let text = exported(&here, format).await;
        assert_eq!(told(&there, json!({ "source": text, "format": format })).await, expected);
        assert_eq!(exported(&there, format).await, text);
    }
    for query in [THERE, DRIFT] {
        assert_eq!(here.ask(query, json!({})).await, there.ask(query, json!({})).await);
    }
    // A mask stands for the stored value of the position from which it was exported, and is refused
    // in any other.
    let masked = SOURCE.replace("/carillon\n", "/***\n");
    let refused = there.refused(DEPLOY, json!({ "source": masked })).await;
    assert_eq!(refused["extensions"]["field"], "alert_channels.ops.url", "{refused}");
}

async fn one_deployment_may_replace_all_channels_of_a_namespace(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let source = |prefix: &str, count: usize| {
        let mut text = "module: watch\nalert_channels:\n".to_owned();
        for index in 0..count {
            let url = "https://slack.example/services/{{ secrets.team_path }}";
            text.push_str(&format!("  {prefix}{index}: {{ kind: slack, url: \"{url}\" }}\n"));
        }
        format!("{text}alert_rules:\n  all: {{ on: [failed], channels: [{prefix}0] }}\n")
    };
    deploy(&desk, &source("old", 50)).await;
    let changes = deploy(&desk, &source("new", 50)).await;
    let count = |action: &str| changes.iter().filter(|line| line.starts_with(action)).count();
    let (made, removed) = (count("CREATE alert_channel new"), count("DELETE alert_channel old"));
    assert_eq!((made, removed), (50, 50), "{changes:?}");
    let refused = desk.refused(DEPLOY, json!({ "source": source("more", 51) })).await;
    assert!(refused["message"].as_str().unwrap().contains("50 channels"), "{refused}");
}

async fn a_mistake_about_alerts_changes_nothing_and_names_its_place(database: TestDatabase) {
    let desk = Desk::open(database).await;
    by_hand(&desk).await;
    let before = desk.ask(THERE, json!({})).await;
    let source = SOURCE.replace("ops:", "on-call:").replace("[ops,", "[on-call,");
    let key = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let with = |from: &str, to: &str| {
        assert!(source.contains(from), "{from}");
        source.replacen(from, to, 1)
    };
    let (channel, rule) = ("alert_channels.on-call", "alert_rules.billing");
    for (bad, field, said) in [
        (with("grace:", "garce:"), "source".to_owned(), "line 14, column 5"),
        (with("signing_secret:", "password:"), "source".to_owned(), "line 7, column 5"),
        (with("kind: webhook", "kind: pager"), "source".to_owned(), "line 5"),
        (with("{{ secrets.ops_key }}", key), format!("{channel}.signing_secret"), "in plain text"),
        (with("{{ secrets.team_path }}", "T0/hush"), "alert_channels.team.url".to_owned(), "plain"),
        (with("/carillon", "/?key=hush"), format!("{channel}.url"), "carillon secret set"),
        (with("/carillon", "/***"), format!("{channel}.url"), "mask"),
        (with("hooks.example/carillon", "169.254.169.254/"), format!("{channel}.url"), "never"),
        (
            with("https://hooks.example/carillon", "'{{ secrets.all }}'"),
            format!("{channel}.url"),
            "choose the server",
        ),
        (with("/carillon", "/{{ context.hush }}"), format!("{channel}.url"), "secrets alone"),
        (
            with("    url: https://hooks.example/carillon\n", ""),
            format!("{channel}.url"),
            "missing",
        ),
        (with("kind: webhook", "kind: slack"), format!("{channel}.url"), "in plain text"),
        (
            with("kind: slack,", "kind: slack, to: [a@b.example],"),
            "alert_channels.team.to".to_owned(),
            "email",
        ),
        (with("on-call:\n", "ops:\n"), "alert_channels.ops".to_owned(), "by hand"),
        (with("[on-call, team]", "[nobody]"), format!("{rule}.channels[0]"), "\"nobody\""),
        (with("[on-call, team]", "[]"), format!("{rule}.channels"), "1 to 10"),
        (with("tag:billing", "tga:billing"), format!("{rule}.search"), "tag"),
        (with("grace: 5m", "grace: 8d"), format!("{rule}.grace"), "604800"),
        (with("grace: 5m", "late_after: 59s"), format!("{rule}.late_after"), "60 to"),
        (with("grace: 5m", "losing_after: 1"), format!("{rule}.losing_after"), "2 to 50"),
        (with("Europe/Berlin", "Mars"), format!("{rule}.quiet.zone"), "zone"),
        (with("\"06:00\"", "\"25:00\""), format!("{rule}.quiet.windows[0].to"), ""),
    ] {
        let error = desk.refused(DEPLOY, json!({ "source": bad })).await;
        assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{error}");
        let named = error["extensions"]["field"].as_str().unwrap();
        assert!(named.starts_with(&field), "{field}: {error}");
        assert!(error["message"].as_str().unwrap().contains(said), "{said}: {error}");
        for secret in ["T0/hush", "key=hush", "MfKQ9r8"] {
            assert!(!error.to_string().contains(secret), "{error}");
        }
        assert_eq!(desk.ask(THERE, json!({})).await, before, "{error}");
    }
}
