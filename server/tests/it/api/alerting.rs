//! Rules and channels over the API: the API accepts secrets and never returns them, and no caller
//! reaches another namespace's objects.

use std::time::Duration;

use carillon::access::{Grant, Grants, Viewer, ViewerKind};
use entity::user::Role;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{desk::Desk, planted::one_of_each};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_channels_secrets_are_nowhere_to_be_read,
    a_rule_is_made_changed_muted_and_deleted,
    an_invalid_input_is_refused_with_its_field_and_the_limit,
    nobody_uses_or_sees_objects_of_another_namespace,
    an_alert_is_acknowledged_with_a_note_and_an_end,
    of_two_who_acknowledge_an_alert_at_once_the_second_finds_the_first,
    alerts_are_selected_by_their_acknowledgement_and_by_the_mute_of_their_rule,
);

const MAKE: &str = "mutation($input: CreateAlertChannelInput!, $key: String) {
    createAlertChannel(input: $input, idempotencyKey: $key) {
        channel { id name kind origin signed to version } } }";
const CHANGE: &str = "mutation($input: UpdateAlertChannelInput!) {
    updateAlertChannel(input: $input) { channel { name origin signed version } } }";
const RULE: &str = "mutation($input: CreateAlertRuleInput!) { createAlertRule(input: $input) {
    rule { id name enabled on search graceSeconds losingAfter digestSeconds includeErrors version
        quiet { zone windows { from to } } channels { name } } } }";
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

async fn hook(desk: &Desk, name: &str) -> Value {
    let input = json!({ "name": name, "kind": "WEBHOOK", "url": "https://hooks.example/x?t=hush",
        "signingSecret": SECRET });
    let made = desk.ask(MAKE, json!({ "input": input })).await;
    made["createAlertChannel"]["channel"].clone()
}

async fn all_that_was_written(desk: &Desk) -> String {
    let query = "{ auditEvents { nodes { action before after } }
        alertChannels { name origin signed to kind } notifications { nodes { subject error } } }";
    desk.ask(query, json!({})).await.to_string()
}

async fn a_channels_secrets_are_nowhere_to_be_read(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let made = hook(&desk, "ops").await;
    assert_eq!(
        made,
        json!({ "id": made["id"], "name": "ops", "kind": "WEBHOOK", "version": 1,
            "origin": "https://hooks.example", "signed": true, "to": [] })
    );
    let edit = |version: i32, more: Value| {
        let mut input = json!({ "id": made["id"], "expectedVersion": version });
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "input": input })
    };
    let kept = desk.ask(CHANGE, edit(1, json!({ "url": "https://hooks.example/y" }))).await;
    assert_eq!(kept["updateAlertChannel"]["channel"]["signed"], true);
    // If only the address changes, the key must be given again.
    let moved = json!({ "url": "https://evil.example/" });
    let refused = desk.refused(CHANGE, edit(2, moved.clone())).await;
    assert_eq!(refused["extensions"]["field"], "signingSecret", "{refused}");
    let stale = desk.refused(CHANGE, edit(1, json!({ "name": "x" }))).await;
    assert_eq!(stale["extensions"]["code"], "CONFLICT");
    let without = json!({ "url": "https://other.example/", "signingSecret": "" });
    let changed = desk.ask(CHANGE, edit(2, without)).await;
    assert_eq!(
        changed["updateAlertChannel"]["channel"],
        json!({ "name": "ops", "origin": "https://other.example", "signed": false, "version": 3 })
    );
    // An invalid value is not repeated in the error either.
    let bad = json!({ "signingSecret": "whsec_hush", "url": "https://h.example/?t=hush" });
    let refused = desk.refused(CHANGE, edit(3, bad)).await;
    assert_eq!(refused["extensions"]["field"], "signingSecret");
    let test = "mutation($id: UUID!) { testAlertChannel(id: $id) {
        notification { state subject channel { name } rule { name } } } }";
    let sent = desk.ask(test, json!({ "id": made["id"] })).await;
    assert_eq!(
        sent["testAlertChannel"]["notification"],
        json!({ "state": "PENDING", "channel": { "name": "ops" }, "rule": null,
            "subject": "[default] a test of the channel ops, requested by ada" })
    );
    let seen = all_that_was_written(&desk).await + &refused.to_string();
    assert!(seen.contains("alert_channel.update") && seen.contains("https://other.example"));
    for secret in ["hush", "MfKQ9r8", "/y"] {
        assert!(!seen.contains(secret), "{secret} in {seen}");
    }
}

async fn a_rule_is_made_changed_muted_and_deleted(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let channel = hook(&desk, "ops").await;
    let input = json!({
        "name": "all", "on": ["FAILED", "RECOVERED"], "search": "tag:billing",
        "channelIds": [channel["id"]],
        "quiet": { "zone": "Europe/Berlin", "windows": [{ "from": "22:00", "to": "06:00" }] },
    });
    let made = desk.ask(RULE, json!({ "input": input })).await;
    let rule = &made["createAlertRule"]["rule"];
    assert_eq!(
        *rule,
        json!({ "id": rule["id"], "name": "all", "enabled": true, "on": ["FAILED", "RECOVERED"],
            "search": "tag:billing", "graceSeconds": 0, "losingAfter": 3, "digestSeconds": 30,
            "includeErrors": true, "version": 1, "channels": [{ "name": "ops" }],
            "quiet": { "zone": "Europe/Berlin", "windows": [{ "from": "22:00", "to": "06:00" }] } })
    );
    let again = desk.refused(RULE, json!({ "input": input })).await;
    assert_eq!(again["extensions"]["field"], "name", "{again}");
    let drop = "mutation($id: UUID!) { deleteAlertChannel(id: $id) { id } }";
    let used = desk.refused(drop, json!({ "id": channel["id"] })).await;
    assert_eq!(used["extensions"]["code"], "CONFLICT");
    assert!(used["message"].as_str().unwrap().contains("\"all\""), "{used}");

    let change = "mutation($input: UpdateAlertRuleInput!) { updateAlertRule(input: $input) {
        rule { version digestSeconds quiet { zone } search } } }";
    let edit = json!({ "id": rule["id"], "expectedVersion": 1, "digestSeconds": 0, "quiet": null });
    let changed = desk.ask(change, json!({ "input": edit })).await;
    assert_eq!(
        changed["updateAlertRule"]["rule"],
        json!({ "version": 2, "digestSeconds": 0, "quiet": null, "search": "tag:billing" })
    );
    let stale = desk.refused(change, json!({ "input": edit })).await;
    assert_eq!(stale["extensions"]["code"], "CONFLICT");

    let mute = "mutation($id: UUID!, $until: DateTime) {
        muteAlertRule(id: $id, until: $until, reason: \"release\") {
            rule { mutedUntil mutedBy mutedReason version } } }";
    let late = json!({ "id": rule["id"], "until": "2027-03-01T12:00:00Z" });
    assert_eq!(desk.refused(mute, late).await["extensions"]["field"], "until");
    let hour = json!({ "id": rule["id"], "until": "2026-03-01T13:00:00Z" });
    let muted = desk.ask(mute, hour).await;
    assert_eq!(
        muted["muteAlertRule"]["rule"],
        json!({ "mutedUntil": "2026-03-01T13:00:00Z", "mutedBy": "ada",
            "mutedReason": "release", "version": 2 })
    );
    let spoken = desk.ask(mute, json!({ "id": rule["id"] })).await;
    assert_eq!(spoken["muteAlertRule"]["rule"]["mutedUntil"], Value::Null);
    let gone = "mutation($id: UUID!) { deleteAlertRule(id: $id) { id } }";
    desk.ask(gone, json!({ "id": rule["id"] })).await;
    desk.ask(drop, json!({ "id": channel["id"] })).await;
    let none = desk.ask("{ alertRules { id } alertChannels { id } }", json!({})).await;
    assert_eq!(none, json!({ "alertRules": [], "alertChannels": [] }));
    let audit = all_that_was_written(&desk).await;
    for action in ["rule.create", "rule.update", "rule.mute", "rule.unmute", "rule.delete"] {
        assert!(audit.contains(&format!("alert_{action}")), "{action}");
    }
}

async fn an_invalid_input_is_refused_with_its_field_and_the_limit(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let channel = hook(&desk, "ops").await;
    let webhook = |more: Value| {
        let mut input = json!({ "name": "x", "kind": "WEBHOOK", "url": "https://a.example/" });
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        (MAKE, input)
    };
    let rule = |more: Value| {
        let mut input = json!({ "name": "x", "on": ["FAILED"], "channelIds": [channel["id"]] });
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        (RULE, input)
    };
    let window = json!([{ "from": "22:00", "to": "25:00" }]);
    let night = json!([{ "from": "22:00", "to": "06:00" }]);
    for ((query, input), field, said) in [
        (webhook(json!({ "name": "x\r\nBcc: y" })), "name", "letter or digit first and last"),
        (webhook(json!({ "url": "http://169.254.169.254/" })), "url", "never reached"),
        (webhook(json!({ "url": "http://127.0.0.1/" })), "url", "private addresses"),
        (webhook(json!({ "url": "file:///etc/passwd" })), "url", "its scheme is `file`"),
        (webhook(json!({ "url": null })), "url", "is missing"),
        (webhook(json!({ "signingSecret": "x" })), "signingSecret", "24 to 64 random bytes"),
        (webhook(json!({ "to": ["a@b.example"] })), "to", "for email channels only"),
        (webhook(json!({ "kind": "SLACK", "signingSecret": SECRET })), "signingSecret", "webhook"),
        (webhook(json!({ "kind": "EMAIL", "url": null })), "kind", "set smtp.host"),
        (rule(json!({ "on": [] })), "on", "at least one"),
        (rule(json!({ "on": ["LATE", "LATE"] })), "on", "twice"),
        (rule(json!({ "channelIds": [] })), "channelIds", "1 to 10"),
        (rule(json!({ "channelIds": [Uuid::nil()] })), "channelIds[0]", "does not exist"),
        (rule(json!({ "search": "tga:x" })), "search", "tag"),
        (rule(json!({ "search": "x".repeat(2_001) })), "search", "the limit is 1000"),
        (rule(json!({ "graceSeconds": 604_801 })), "graceSeconds", "0 to 604800"),
        (rule(json!({ "losingAfter": 1 })), "losingAfter", "2 to 50"),
        (rule(json!({ "skippedAfter": 0 })), "skippedAfter", "1 to 1000"),
        (rule(json!({ "lateAfterSeconds": 59 })), "lateAfterSeconds", "60 to"),
        (rule(json!({ "digestSeconds": -1 })), "digestSeconds", "0 to"),
        (rule(json!({ "quiet": { "zone": "Mars", "windows": night } })), "quiet.zone", "zone"),
        (rule(json!({ "quiet": { "zone": "UTC", "windows": window } })), "quiet.windows[0].to", ""),
        (rule(json!({ "quiet": { "zone": "UTC", "windows": [] } })), "quiet.windows", "1 to 50"),
    ] {
        let refused = desk.refused(query, json!({ "input": input })).await;
        assert_eq!(refused["extensions"]["code"], "BAD_USER_INPUT", "{input}: {refused}");
        assert_eq!(refused["extensions"]["field"], field, "{input}: {refused}");
        assert!(refused["message"].as_str().unwrap().contains(said), "{input}: {refused}");
    }
}

async fn nobody_uses_or_sees_objects_of_another_namespace(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let channel = hook(&desk, "ops").await;
    let namespace = "mutation { createNamespace(name: \"other\") { namespace { id } } }";
    desk.ask(namespace, json!({})).await;
    let found = carillon::store::namespaces::by_name(desk.database.store.read(), "other").await;
    let grant = Grant { role: Role::Admin, sees_payloads: true };
    let grants = Grants::new(None, [(found.unwrap().unwrap().id, grant)]);
    let eve = Viewer::new(Uuid::from_u128(8), "eve", ViewerKind::User, grants, "192.0.2.8");
    // The other namespace's rule cannot use our channel: callers there do not see that it exists.
    let input = json!({ "namespace": "other", "name": "x", "on": ["FAILED"],
        "channelIds": [channel["id"]] });
    let response = desk.send_as(&eve, RULE, json!({ "input": input })).await;
    let refused = serde_json::to_value(&response.errors[0]).unwrap();
    assert_eq!(refused["extensions"]["field"], "channelIds[0]");
    assert!(refused["message"].as_str().unwrap().contains("does not exist"), "{refused}");
    for (query, variables) in [
        ("mutation($id: UUID!) { testAlertChannel(id: $id) { notification { id } } }", &channel),
        ("mutation($id: UUID!) { deleteAlertChannel(id: $id) { id } }", &channel),
    ] {
        let code = desk.code_for(&eve, query, json!({ "id": variables["id"] })).await;
        assert_eq!(code, "NOT_FOUND", "{query}");
    }
    for query in [
        "{ alertChannels { id } }",
        "{ alertRules { id } }",
        "{ alerts { nodes { id } } }",
        "{ notifications { nodes { id } } }",
    ] {
        assert_eq!(desk.code_for(&eve, query, json!({})).await, "NOT_FOUND", "{query}");
    }
    let own = "{ alertChannels(namespace: \"other\") { id } }";
    assert_eq!(desk.code_for(&eve, own, json!({})).await, "");
    // In the same namespace, operators may mute rules and read them, but create nothing.
    let operator = Viewer::new(
        Uuid::from_u128(9),
        "bob",
        ViewerKind::User,
        Grants::everywhere(Role::Operator),
        "192.0.2.9",
    );
    let input = json!({ "name": "mine", "kind": "WEBHOOK", "url": "https://a.example/" });
    let code = desk.code_for(&operator, MAKE, json!({ "input": input })).await;
    assert_eq!(code, "FORBIDDEN");
    assert_eq!(desk.code_for(&operator, "{ alertChannels { origin } }", json!({})).await, "");
}

async fn an_alert_is_acknowledged_with_a_note_and_an_end(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let keys = one_of_each(&desk, "default").await;
    let id = &keys.iter().find(|(of, _)| *of == "alert").unwrap().1;
    let acknowledge = "mutation($id: UUID!, $note: String, $until: DateTime) {
        acknowledgeAlert(id: $id, note: $note, until: $until) { alert {
            acknowledgedAt acknowledgedBy acknowledgedNote acknowledgedUntil } } }";
    let seen = async |answer: Value| answer["acknowledgeAlert"]["alert"].clone();
    let done = seen(desk.ask(acknowledge, json!({ "id": id, "note": "on it" })).await).await;
    let by_ada = json!({ "acknowledgedAt": "2026-03-01T12:00:00Z", "acknowledgedBy": "ada",
        "acknowledgedNote": "on it", "acknowledgedUntil": null });
    assert_eq!(done, by_ada);
    // A second acknowledgement without a note leaves the first user's in place.
    desk.clock.pass(Duration::from_secs(60));
    assert_eq!(seen(desk.ask(acknowledge, json!({ "id": id })).await).await, by_ada);
    let hour = json!({ "id": id, "until": "2026-03-01T13:00:00Z" });
    let hour = seen(desk.ask(acknowledge, hour).await).await;
    assert_eq!(hour["acknowledgedUntil"], "2026-03-01T13:00:00Z");
    // Without an end, the acknowledgement now lasts as long as the alert.
    let endless = seen(desk.ask(acknowledge, json!({ "id": id })).await).await;
    assert_eq!(endless["acknowledgedUntil"], Value::Null);
    desk.ask(acknowledge, json!({ "id": id, "until": "2026-03-01T13:00:00Z" })).await;
    for until in ["2026-03-01T12:00:00Z", "2027-03-01T12:00:00Z"] {
        let refused = desk.refused(acknowledge, json!({ "id": id, "until": until })).await;
        assert_eq!(refused["extensions"]["field"], "until", "{until}");
    }
    let long = json!({ "id": id, "note": "x".repeat(501) });
    assert_eq!(desk.refused(acknowledge, long).await["extensions"]["field"], "note");
    let list = "{ alerts { nodes { acknowledgedBy acknowledgedNote } } }";
    desk.clock.pass(Duration::from_secs(3_600));
    let ended = desk.ask(list, json!({})).await["alerts"]["nodes"][0].clone();
    assert_eq!(ended, json!({ "acknowledgedBy": null, "acknowledgedNote": null }));
    desk.ask(acknowledge, json!({ "id": id })).await;
    let take_back = "mutation($id: UUID!) { unacknowledgeAlert(id: $id) {
        alert { acknowledgedBy } } }";
    let taken = desk.ask(take_back, json!({ "id": id })).await;
    assert_eq!(taken["unacknowledgeAlert"]["alert"]["acknowledgedBy"], Value::Null);
    let audit = all_that_was_written(&desk).await;
    for action in ["alert.acknowledge", "alert.unacknowledge"] {
        assert!(audit.contains(&format!("\"{action}\"")), "{action}");
    }
}

async fn of_two_who_acknowledge_an_alert_at_once_the_second_finds_the_first(
    database: TestDatabase,
) {
    let desk = Desk::open(database).await;
    let keys = one_of_each(&desk, "default").await;
    let asked = json!({ "id": keys.iter().find(|(of, _)| *of == "alert").unwrap().1 });
    let acknowledge = "mutation($id: UUID!) {
        acknowledgeAlert(id: $id) { alert { acknowledgedBy } } }";
    let take_back = "mutation($id: UUID!) {
        unacknowledgeAlert(id: $id) { alert { acknowledgedBy } } }";
    for round in 1..=25 {
        let answers = desk.ask_at_once(acknowledge, &asked).await;
        let [one, other] =
            answers.map(|answer| answer["acknowledgeAlert"]["alert"]["acknowledgedBy"].clone());
        assert!(one.is_string() && one == other, "{one} and {other} in round {round}");
        assert_eq!(desk.audited("alert.acknowledge").await, round);
        desk.ask_at_once(take_back, &asked).await;
        assert_eq!(desk.audited("alert.unacknowledge").await, round);
    }
}

async fn alerts_are_selected_by_their_acknowledgement_and_by_the_mute_of_their_rule(
    database: TestDatabase,
) {
    let desk = Desk::open(database).await;
    let keys = one_of_each(&desk, "default").await;
    let id = &keys.iter().find(|(of, _)| *of == "alert").unwrap().1;
    let list = "query($acknowledged: Boolean, $muted: Boolean) {
        alerts(filter: { open: true, acknowledged: $acknowledged, muted: $muted }) {
            totalCount nodes { id rule { id } } } }";
    let found = async |variables: Value| {
        let alerts = desk.ask(list, variables).await["alerts"].clone();
        // The length is counted by the same conditions.
        assert_eq!(alerts["totalCount"], alerts["nodes"].as_array().unwrap().len(), "{alerts}");
        alerts
    };
    let counts = async || {
        let mut counts = Vec::new();
        for filter in [
            json!({ "acknowledged": true }),
            json!({ "acknowledged": false }),
            json!({ "muted": true }),
            json!({ "muted": false }),
        ] {
            counts.push(found(filter).await["totalCount"].as_i64().unwrap());
        }
        counts
    };
    let rule = found(json!({})).await["nodes"][0]["rule"]["id"].clone();
    assert_eq!(counts().await, [0, 1, 0, 1]);
    let hour = "2026-03-01T13:00:00Z";
    let acknowledge = "mutation($id: UUID!, $until: DateTime) {
        acknowledgeAlert(id: $id, until: $until) { alert { id } } }";
    desk.ask(acknowledge, json!({ "id": id, "until": hour })).await;
    assert_eq!(counts().await, [1, 0, 0, 1]);
    let mute = "mutation($id: UUID!, $until: DateTime) {
        muteAlertRule(id: $id, until: $until, reason: \"release\") { rule { id } } }";
    desk.ask(mute, json!({ "id": rule, "until": hour })).await;
    assert_eq!(counts().await, [1, 0, 1, 0]);
    // Both end at the same time.
    desk.clock.pass(Duration::from_secs(3_600));
    assert_eq!(counts().await, [0, 1, 0, 1]);
}
