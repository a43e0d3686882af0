//! Secrets over the API: set and deleted, listed by name, and never read.

use std::sync::Arc;

use carillon::{
    access::{Grant, Grants, Viewer, ViewerKind},
    commands::{Call, CommandError, Commands, NewSecret},
    engine::Signals,
    store::secrets,
    target::{Executor, Policy},
    vault::{EncryptionKey, SecretScope, Vault},
};
use entity::{secret, user::Role};
use sea_orm::{ActiveModelTrait, IntoActiveModel};
use serde_json::json;
use uuid::Uuid;

use super::desk::{Desk, viewer};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_secret_is_set_listed_and_deleted_and_its_value_is_nowhere,
    who_may_set_and_who_may_list,
    a_repeated_call_of_a_former_administrator_does_not_test_the_value,
    a_rotation_that_was_broken_off_is_called_again,
    of_two_keys_one_seals_the_first_secret,
    a_server_says_whether_it_has_a_key_for_secrets,
);

const SET: &str = "mutation ($name: String!, $value: String!, $key: String) {
    setSecret(input: { name: $name, value: $value, reason: \"moved\" }, idempotencyKey: $key) {
        secret { id name namespace version setBy keyId } } }";
const LIST: &str = "query ($after: String) { secrets(first: 1, after: $after) {
    nodes { name version } pageInfo { endCursor hasNextPage } } }";

async fn a_secret_is_set_listed_and_deleted_and_its_value_is_nowhere(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let set = |value: &str| json!({ "name": "smtp", "value": value, "key": "k1" });
    let made = desk.ask(SET, set("open-sesame")).await["setSecret"]["secret"].take();
    assert_eq!((&made["version"], &made["setBy"]), (&json!(1), &json!("ada")));
    // A repeated call gets the first answer. With another value, it is refused.
    let again = desk.ask(SET, set("open-sesame")).await["setSecret"]["secret"].take();
    assert_eq!(again, made);
    let refused = desk.refused(SET, set("open-barley")).await;
    assert_eq!(refused["extensions"]["code"], "CONFLICT", "{refused}");
    let other = json!({ "name": "smtp", "value": "open-barley" });
    let changed = desk.ask(SET, other).await["setSecret"]["secret"].take();
    assert_eq!((&changed["version"], &changed["id"]), (&json!(2), &made["id"]));
    desk.ask(SET, json!({ "name": "api_key", "value": "third-value" })).await;

    let first = desk.ask(LIST, json!({})).await["secrets"].take();
    assert_eq!(first["nodes"], json!([{ "name": "api_key", "version": 1 }]));
    let after = &first["pageInfo"]["endCursor"];
    let second = desk.ask(LIST, json!({ "after": after })).await["secrets"].take();
    assert_eq!(second["nodes"], json!([{ "name": "smtp", "version": 2 }]));
    assert_eq!(second["pageInfo"]["hasNextPage"], false);

    for (name, value, field) in [
        ("smtp", "tiny!", "value"),
        ("smtp", &*"x".repeat(65 * 1024), "value"),
        ("smtp", "nul\0inside", "value"),
        ("smtp", &*"line\n".repeat(501), "value"),
        ("a-b", "long enough", "name"),
        ("1a", "long enough", "name"),
        ("", "long enough", "name"),
    ] {
        let refused = desk.refused(SET, json!({ "name": name, "value": value })).await;
        assert_eq!(refused["extensions"]["field"], field, "{refused}");
        assert!(field == "name" || !refused.to_string().contains(value), "{refused}");
    }

    let delete = "mutation { deleteSecret(name: \"api_key\") { id } }";
    desk.ask(delete, json!({})).await;
    assert_eq!(desk.refused(delete, json!({})).await["extensions"]["code"], "NOT_FOUND");
    let audit = "{ auditEvents(namespace: \"default\") {
        nodes { action subject reason before after } } }";
    let told = desk.ask(audit, json!({})).await["auditEvents"]["nodes"].take();
    let told = told.as_array().unwrap();
    // The test's clock stands still, so the order of the two entries is unknown.
    let mut actions: Vec<&str> =
        told.iter().map(|event| event["action"].as_str().unwrap()).collect();
    actions.sort_unstable();
    assert_eq!(actions, ["secret.delete", "secret.set", "secret.set", "secret.set"]);
    assert!(told.iter().any(|event| event["before"]["version"] == 1 && event["reason"] == "moved"));
    let dump = desk.database.dump().await;
    assert!(dump.contains("smtp") && dump.contains("secret.set"));
    for value in ["open-sesame", "open-barley", "third-value", "b3Blbi1"] {
        assert!(!dump.contains(value), "{value} is in the database");
        assert!(!format!("{told:?}{made}").contains(value), "{value} was told");
    }
}

async fn who_may_set_and_who_may_list(database: TestDatabase) {
    let desk = Desk::open(database).await;
    desk.ask("mutation { createNamespace(name: \"other\") { namespace { id } } }", json!({})).await;
    let home = carillon::store::namespaces::by_name(desk.database.store.read(), "default");
    let home = home.await.unwrap().unwrap().id;
    let member = |namespace: Uuid, role: Role| {
        let grants = Grants::new(None, [(namespace, Grant { role, sees_payloads: true })]);
        Viewer::new(Uuid::from_u128(8), "eve", ViewerKind::User, grants, "192.0.2.8")
    };
    let set =
        "mutation { setSecret(input: { name: \"a\", value: \"open-sesame\" }) { secret { id } } }";
    let (list, delete) =
        ("{ secrets { nodes { name } } }", "mutation { deleteSecret(name: \"a\") { id } }");
    for (role, may_set, may_list) in [
        (Role::Viewer, "FORBIDDEN", "FORBIDDEN"),
        (Role::Operator, "FORBIDDEN", "FORBIDDEN"),
        (Role::Editor, "FORBIDDEN", ""),
        (Role::Admin, "", ""),
    ] {
        let who = member(home, role);
        assert_eq!(desk.code_for(&who, set, json!({})).await, may_set, "{role:?}");
        assert_eq!(desk.code_for(&who, list, json!({})).await, may_list, "{role:?}");
    }
    for role in [Role::Viewer, Role::Operator, Role::Editor] {
        let code = desk.code_for(&member(home, role), delete, json!({})).await;
        assert_eq!(code, "FORBIDDEN", "{role:?}");
    }
    let other = carillon::store::namespaces::by_name(desk.database.store.read(), "other");
    let stranger = member(other.await.unwrap().unwrap().id, Role::Admin);
    for order in [set, list, delete] {
        assert_eq!(desk.code_for(&stranger, order, json!({})).await, "NOT_FOUND", "{order}");
    }
    // The caller who triggers a run cannot choose the server that secrets are sent to.
    let open = "mutation { createSchedule(input: {
        name: \"x\", timing: { expressions: [\"@daily\"] },
        task: { target: { http: { url: \"https://{{ context.host }}/\", body: \"{{ secrets.a }}\" } } }
    }) { schedule { id } } }";
    let refused = desk.refused(open, json!({})).await;
    assert_eq!(refused["extensions"]["field"], "task.target.http.url", "{refused}");
    let all = open.replace("{{ context.host }}", "a.example").replace("secrets.a", "secrets");
    let refused = desk.refused(&all, json!({})).await;
    assert!(refused["message"].as_str().unwrap().contains("without their names"), "{refused}");
}

async fn a_repeated_call_of_a_former_administrator_does_not_test_the_value(database: TestDatabase) {
    let desk = Desk::open(database).await;
    desk.ask("mutation { createNamespace(name: \"other\") { namespace { id } } }", json!({})).await;
    let namespace = async |name: &str| {
        let found = carillon::store::namespaces::by_name(desk.database.store.read(), name);
        found.await.unwrap().unwrap().id
    };
    let (home, other) = (namespace("default").await, namespace("other").await);
    let member = |at_home: Option<Role>| {
        let grants = [(home, at_home), (other, Some(Role::Admin))].into_iter();
        let grants = grants.filter_map(|(namespace, role)| Some((namespace, role?)));
        let grants = grants.map(|(id, role)| (id, Grant { role, sees_payloads: true }));
        let grants = Grants::new(None, grants);
        Viewer::new(Uuid::from_u128(8), "eve", ViewerKind::User, grants, "192.0.2.8")
    };
    let set = |value: &str| json!({ "name": "smtp", "value": value, "key": "k1" });
    for (at_home, right, wrong) in [
        (Some(Role::Admin), "", "CONFLICT"),
        (Some(Role::Viewer), "FORBIDDEN", "FORBIDDEN"),
        (None, "NOT_FOUND", "NOT_FOUND"),
    ] {
        let eve = member(at_home);
        assert_eq!(desk.code_for(&eve, SET, set("open-sesame")).await, right, "{at_home:?}");
        assert_eq!(desk.code_for(&eve, SET, set("open-barley")).await, wrong, "{at_home:?}");
    }
}

async fn a_rotation_that_was_broken_off_is_called_again(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let (store, clock) = (&desk.database.store, desk.clock.clock());
    let home = carillon::store::namespaces::by_name(store.read(), "default");
    let home = home.await.unwrap().unwrap().id;
    let key = |text: &str| EncryptionKey::read(&text.repeat(32)).unwrap();
    let old = Vault::new(key("ab"), None);
    let tx = store.begin().await.unwrap();
    for index in 0..105 {
        let name = format!("s{index}");
        // One value is sealed for another name, so it cannot be opened under its own.
        let belongs = if index == 3 { "other" } else { &name };
        let place = SecretScope::Secret { namespace: home, name: belongs };
        let sealed = old.seal(place, &format!("value of {name}").into()).unwrap();
        let row = secret::Model {
            id: Uuid::from_u128(index + 1),
            namespace_id: home,
            name,
            key_id: sealed.key_id,
            sealed: sealed.text,
            version: 1,
            set_by: "ada".to_owned(),
            created_at: clock.now().into(),
            updated_at: clock.now().into(),
        };
        row.into_active_model().insert(&tx).await.unwrap();
    }
    store.commit(tx).await.unwrap();

    let both = Vault::new(key("cd"), Some(key("ab")));
    let executor = Arc::new(Executor::new(Policy::default(), clock.clone()).unwrap());
    let cache = Arc::new(timetable::Cache::new(1));
    let commands = Commands::new(store.clone(), clock.clone(), cache, executor, Signals::default());
    let commands = commands.with_vault(both);
    let owner = viewer(Role::Admin).owner().unwrap();
    let first = commands.rotate_secrets(&owner, None).await.unwrap();
    assert_eq!((first.done, first.failed.len()), (99, 1), "{first:?}");
    assert!(first.failed[0].contains("'s3'") && first.next.is_some(), "{first:?}");
    // The rotation stops at the broken value; the next attempt continues from there, and stops
    // again.
    let again = commands.rotate_secrets(&owner, None).await.unwrap();
    assert_eq!((again.done, again.failed.len()), (5, 1), "{again:?}");
    let last = commands.rotate_secrets(&owner, again.next).await.unwrap();
    assert_eq!((last.done, last.failed.len(), last.next), (0, 0, None));
    let new = Vault::new(key("cd"), None);
    let rows = secrets::list(store.read()).await.unwrap();
    let opens = rows.iter().filter(|row| row.key_id == new.current().unwrap());
    assert_eq!((rows.len(), opens.count()), (105, 104));
}

async fn of_two_keys_one_seals_the_first_secret(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let (store, clock) = (&desk.database.store, desk.clock.clock());
    let commands = |text: &str| {
        let executor = Arc::new(Executor::new(Policy::default(), clock.clone()).unwrap());
        let cache = Arc::new(timetable::Cache::new(1));
        let of = Commands::new(store.clone(), clock.clone(), cache, executor, Signals::default());
        of.with_vault(Vault::new(EncryptionKey::read(&text.repeat(32)).unwrap(), None))
    };
    let (one, other) = (commands("ab"), commands("cd"));
    let admin = viewer(Role::Admin).admin().unwrap();
    let set = async |commands: &Commands, name: &str| {
        let value = "open-sesame".into();
        let (namespace, name) = ("default".to_owned(), name.to_owned());
        let new = NewSecret { namespace, name, value, reason: None };
        commands.set_secret(&admin, new, &Call::once()).await
    };
    // In each round both callers set the first secret at once, and both see that none exists yet.
    for round in 0..8 {
        let (first, second) = tokio::join!(set(&one, "first"), set(&other, "second"));
        let (kept, refused) = match (first, second) {
            (Ok(_), Err(refused)) => ("first", refused),
            (Err(refused), Ok(_)) => ("second", refused),
            both => panic!("round {round}: {both:?}"),
        };
        assert!(matches!(refused, CommandError::Conflict { .. }), "round {round}: {refused:?}");
        one.delete_secret(&admin, "default", kept, None, &Call::once()).await.unwrap();
    }
}

async fn a_server_says_whether_it_has_a_key_for_secrets(database: TestDatabase) {
    let query = "{ namespaces { nodes { secretsAvailable } } }";
    let desk = Desk::open(database).await;
    let shown = desk.ask(query, json!({})).await;
    assert_eq!(shown["namespaces"]["nodes"], json!([{ "secretsAvailable": true }]));

    let desk = Desk::without_key(desk.database);
    let shown = desk.ask(query, json!({})).await;
    assert_eq!(shown["namespaces"]["nodes"], json!([{ "secretsAvailable": false }]));
    let refused = desk.refused(SET, json!({ "name": "smtp", "value": "open-sesame" })).await;
    assert_eq!(refused["extensions"]["code"], "CONFLICT", "{refused}");
    assert!(refused["message"].as_str().unwrap().contains("secrets.key_file"), "{refused}");
    let create = "mutation ($input: CreateAlertChannelInput!) {
        createAlertChannel(input: $input) { channel { id } } }";
    let hook = json!({ "name": "hook", "kind": "WEBHOOK", "url": "https://hooks.example.org/" });
    let refused = desk.refused(create, json!({ "input": hook })).await;
    assert!(refused["message"].as_str().unwrap().contains("secrets.key_file"), "{refused}");
}
