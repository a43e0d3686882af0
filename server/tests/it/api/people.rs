use std::time::Duration;

use carillon::{
    access as people,
    access::{
        GroupGrantLimits, Viewer, ViewerKind,
        oidc::{Identity, SignInOutcome, join},
    },
    config::{GroupGrant, GroupRole},
    target::{CommandPolicy, Policy},
};
use entity::user::Role;
use serde_json::{Value, json};
use uuid::Uuid;

use super::desk::Desk;
use crate::support::{TestDatabase, on_both};

on_both!(
    people_come_change_and_go,
    one_administrator_who_can_sign_in_always_remains,
    an_administrator_of_a_namespace_manages_its_members,
    a_member_sees_and_does_what_the_membership_says,
    a_token_has_no_more_than_its_owner,
    what_groups_gave_outlives_neither_the_sign_in_for_long_nor_the_provider,
    a_token_is_shown_once,
    namespaces_are_made_and_renamed,
    a_namespace_says_whether_its_tasks_may_run_programs,
    names_pass_for_nothing_else,
    a_repeated_call_does_not_answer_for_another_password,
    a_name_of_a_token_is_its_owners_own,
);

const ADD: &str = "mutation ($name: String!, $role: Role) {
    createUser(input: { name: $name, password: \"correct horse battery\", role: $role }) {
        user { id name role isServiceAccount }
    } }";
const MEMBER: &str =
    "mutation ($user: String!, $namespace: String!, $role: Role!, $sees: Boolean!) {
    setMembership(input: { user: $user, namespace: $namespace, role: $role, seesPayloads: $sees }) {
        membership { user namespace role seesPayloads }
    } }";
const TOKEN: &str = "mutation ($input: CreateApiTokenInput!, $key: String) {
    createApiToken(input: $input, idempotencyKey: $key) {
        secret apiToken { id name owner namespace role }
    } }";

async fn member(desk: &Desk, user: &str, namespace: &str, role: &str, sees: bool) {
    let variables = json!({ "user": user, "namespace": namespace, "role": role, "sees": sees });
    desk.ask(MEMBER, variables).await;
}

async fn namespace(desk: &Desk, name: &str) {
    let query = "mutation ($name: String!) { createNamespace(name: $name) { namespace { id } } }";
    desk.ask(query, json!({ "name": name })).await;
}

/// The viewer with that token.
async fn bearer(desk: &Desk, secret: &str) -> Option<Viewer> {
    let (store, clock) = (&desk.database.store, desk.clock.clock());
    let elsewhere = GroupGrantLimits::default();
    let hash = people::token_hash(secret)?;
    let holder = people::token_holder(store, &clock, elsewhere, &hash).await.unwrap()?;
    Some(holder.viewer("192.0.2.9".to_owned()))
}

async fn people_come_change_and_go(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let made = desk.ask(ADD, json!({ "name": "ada", "role": "OPERATOR" })).await;
    let user = &made["createUser"]["user"];
    assert_eq!((&user["role"], &user["isServiceAccount"]), (&json!("OPERATOR"), &json!(false)));
    let taken = desk.refused(ADD, json!({ "name": "ada", "role": null })).await;
    assert_eq!(taken["extensions"]["field"], "name", "{taken}");
    let id = json!({ "id": user["id"] });
    let disable = "mutation ($id: UUID!) { disableUser(userId: $id) { user { disabledAt } } }";
    let disabled = desk.ask(disable, id.clone()).await;
    assert!(disabled["disableUser"]["user"]["disabledAt"].is_string());
    let role = "mutation ($id: UUID!) { setUserRole(userId: $id, role: null) { user { role } } }";
    assert_eq!(desk.ask(role, id.clone()).await["setUserRole"]["user"]["role"], Value::Null);
    namespace(&desk, "other").await;
    member(&desk, "ada", "other", "EDITOR", false).await;
    let list = "{ users { nodes { name memberships { namespace role } } } }";
    let listed = desk.ask(list, json!({})).await;
    let expected = json!([{
        "name": "ada", "memberships": [{ "namespace": "other", "role": "EDITOR" }]
    }]);
    assert_eq!(listed["users"]["nodes"], expected);
    desk.ask("mutation ($id: UUID!) { deleteUser(userId: $id) { id } }", id.clone()).await;
    assert_eq!(desk.ask(list, json!({})).await["users"]["nodes"], json!([]));
    let members = "{ memberships(namespace: \"other\") { nodes { user } } }";
    assert_eq!(desk.ask(members, json!({})).await["memberships"]["nodes"], json!([]));
    let gone = desk.refused(disable, id).await;
    assert_eq!(gone["extensions"]["code"], "NOT_FOUND");
}

async fn one_administrator_who_can_sign_in_always_remains(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let made = desk.ask(ADD, json!({ "name": "ada", "role": "ADMIN" })).await;
    let ada = json!({ "id": made["createUser"]["user"]["id"] });
    // A service account does not count as an administrator: no one could sign in with it.
    desk.account("robot", Some("ADMIN")).await;
    // An administrator who signs in only through a provider does not count either: the provider may
    // be down.
    let grace = joined(&desk).await;
    let raise = "mutation ($id: UUID!) { setUserRole(userId: $id, role: ADMIN) { user { id } } }";
    desk.ask(raise, json!({ "id": grace.id })).await;
    for order in [
        "mutation ($id: UUID!) { deleteUser(userId: $id) { id } }",
        "mutation ($id: UUID!) { disableUser(userId: $id) { user { id } } }",
        "mutation ($id: UUID!) { setUserRole(userId: $id, role: EDITOR) { user { id } } }",
    ] {
        let refused = desk.refused(order, ada.clone()).await;
        assert_eq!(refused["extensions"]["code"], "CONFLICT", "{order}: {refused}");
    }
    desk.ask(ADD, json!({ "name": "bob", "role": "ADMIN" })).await;
    desk.ask("mutation ($id: UUID!) { deleteUser(userId: $id) { id } }", ada).await;
}

const ISSUER: &str = "https://id.example.org";

/// Signs a user in through the provider; returns the user's row.
async fn joined(desk: &Desk) -> entity::user::Model {
    let identity = Identity {
        issuer: ISSUER.to_owned(),
        subject: "u1".to_owned(),
        name: Some("grace".to_owned()),
        groups: vec!["ops".to_owned()],
        id_token: String::new(),
    };
    let mapping = [GroupGrant {
        group: "ops".to_owned(),
        namespace: Some("default".to_owned()),
        role: GroupRole::Operator,
        sees_payloads: false,
    }];
    let (store, clock) = (&desk.database.store, desk.clock.clock());
    match join(store, &clock, &identity, &mapping, "192.0.2.7").await.unwrap() {
        SignInOutcome::User(user) => *user,
        SignInOutcome::Disabled | SignInOutcome::NoGroup => panic!("their group lets them in"),
    }
}

async fn what_groups_gave_outlives_neither_the_sign_in_for_long_nor_the_provider(
    database: TestDatabase,
) {
    let desk = Desk::open(database).await;
    let grace = joined(&desk).await;
    let elsewhere = |issuer| GroupGrantLimits { issuer, lasts: Duration::from_hours(24) };
    let (ours, clock) = (elsewhere(Some("https://id.example.org/")), desk.clock.clock());
    let store = &desk.database.store;
    let who =
        people::user_viewer(store, &clock, ours, grace, "192.0.2.7".to_owned()).await.unwrap();
    let input = json!({ "input": { "name": "ci", "role": "OPERATOR" } });
    let made = desk.send_as(&who, TOKEN, input).await.data.into_json().unwrap();
    let secret = made["createApiToken"]["secret"].as_str().unwrap().to_owned();
    let roles = async |elsewhere: GroupGrantLimits<'_>| {
        let hash = people::token_hash(&secret).unwrap();
        let holder = people::token_holder(store, &clock, elsewhere, &hash).await.unwrap().unwrap();
        let who = holder.viewer("192.0.2.9".to_owned());
        let answer = desk.send_as(&who, "{ namespaces { nodes { role } } }", json!({})).await;
        answer.data.into_json().unwrap()["namespaces"]["nodes"].take()
    };
    let operator = json!([{ "role": "OPERATOR" }]);
    assert_eq!(roles(ours).await, operator);
    for gone in [None, Some("https://other.example.org")] {
        assert_eq!(roles(elsewhere(gone)).await, Value::Null, "{gone:?}");
    }
    desk.clock.advance(Duration::from_hours(24));
    assert_eq!(roles(ours).await, operator);
    desk.clock.advance(Duration::from_secs(1));
    assert_eq!(roles(ours).await, Value::Null);
    // Signing in again makes the grant valid again.
    joined(&desk).await;
    assert_eq!(roles(ours).await, operator);
}

async fn an_administrator_of_a_namespace_manages_its_members(database: TestDatabase) {
    let desk = Desk::open(database).await;
    namespace(&desk, "mine").await;
    namespace(&desk, "theirs").await;
    let (_, ada) = desk.account("ada", None).await;
    desk.account("bob", None).await;
    member(&desk, "ada", "mine", "ADMIN", false).await;
    let ada = desk.person(ada).await;
    let of = |namespace: &str| json!({ "user": "bob", "namespace": namespace, "role": "EDITOR", "sees": false });
    assert_eq!(desk.code_for(&ada, MEMBER, of("mine")).await, "");
    assert_eq!(desk.code_for(&ada, MEMBER, of("theirs")).await, "NOT_FOUND");
    let list = "query ($namespace: String!) {
        memberships(namespace: $namespace) { nodes { user role } }
    }";
    let listed = desk.send_as(&ada, list, json!({ "namespace": "mine" })).await;
    let listed = listed.data.into_json().unwrap();
    assert_eq!(listed["memberships"]["nodes"].as_array().unwrap().len(), 2, "{listed}");
    assert_eq!(desk.code_for(&ada, list, json!({ "namespace": "theirs" })).await, "NOT_FOUND");
    // Administrators of one namespace may see and change nothing of the instance.
    for query in [
        "{ users { nodes { id } } }",
        "{ auditEvents { nodes { id } } }",
        "{ apiTokens(all: true) { nodes { id } } }",
        "mutation { createNamespace(name: \"more\") { namespace { id } } }",
        "mutation { createServiceAccount(input: { name: \"x\" }) { user { id } } }",
        "mutation { createApiToken(input: { name: \"x\", role: VIEWER, serviceAccount: \"bob\" })
            { secret } }",
    ] {
        assert_eq!(desk.code_for(&ada, query, json!({})).await, "FORBIDDEN", "{query}");
    }
    let remove = "mutation ($namespace: String!) {
        removeMembership(user: \"bob\", namespace: $namespace) { userId } }";
    assert_eq!(desk.code_for(&ada, remove, json!({ "namespace": "mine" })).await, "");
    assert_eq!(desk.code_for(&ada, remove, json!({ "namespace": "mine" })).await, "NOT_FOUND");
}

async fn a_member_sees_and_does_what_the_membership_says(database: TestDatabase) {
    let desk = Desk::open(database).await;
    namespace(&desk, "other").await;
    let schedule = desk.schedule("nightly", "0 2 * * *").await;
    let query = "mutation ($id: UUID!) {
        triggerSchedule(id: $id, context: { region: \"eu\" }) { run { id } } }";
    let run = desk.ask(query, json!({ "id": schedule })).await;
    let run = run["triggerSchedule"]["run"]["id"].clone();
    let (_, ada) = desk.account("ada", None).await;
    let look = "query ($run: UUID!) { run(id: $run) { context output tasks { output } } }";
    let seen = async || {
        let answer = desk.send_as(&desk.person(ada).await, look, json!({ "run": run })).await;
        answer.data.into_json().unwrap()["run"]["context"].clone()
    };
    member(&desk, "ada", "other", "ADMIN", true).await;
    let who = desk.person(ada).await;
    let foreign = desk.send_as(&who, look, json!({ "run": run })).await;
    assert_eq!(foreign.data.into_json().unwrap(), json!({ "run": null }));
    member(&desk, "ada", "default", "OPERATOR", false).await;
    assert_eq!(seen().await, "***");
    let log = "query ($run: UUID!) { taskLog(runId: $run) { nodes { text } } }";
    let who = desk.person(ada).await;
    assert_eq!(desk.code_for(&who, log, json!({ "run": run })).await, "FORBIDDEN");
    member(&desk, "ada", "default", "OPERATOR", true).await;
    assert_eq!(seen().await, json!({ "region": "eu" }));
    // Editors see payloads in any case, because they decide where payloads are sent.
    member(&desk, "ada", "default", "EDITOR", false).await;
    assert_eq!(seen().await, json!({ "region": "eu" }));
    member(&desk, "ada", "default", "VIEWER", true).await;
    let who = desk.person(ada).await;
    let pause =
        "mutation ($id: UUID!) { pauseSchedule(id: $id, reason: \"x\") { schedule { id } } }";
    let refused = desk.send_as(&who, pause, json!({ "id": schedule })).await;
    let refused = serde_json::to_value(&refused.errors[0]).unwrap();
    // An administrator of another namespace is refused here, and the refusal names the role that
    // this user has here.
    assert_eq!(refused["extensions"]["code"], "FORBIDDEN");
    assert_eq!(refused["extensions"]["has"], "VIEWER");
    let namespaces = desk.send_as(&who, "{ namespaces { nodes { name role } } }", json!({})).await;
    let expected = json!([
        { "name": "default", "role": "VIEWER" }, { "name": "other", "role": "ADMIN" }
    ]);
    assert_eq!(namespaces.data.into_json().unwrap()["namespaces"]["nodes"], expected);
}

async fn a_token_has_no_more_than_its_owner(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let (_, ada) = desk.account("ada", None).await;
    member(&desk, "ada", "default", "OPERATOR", true).await;
    let who = desk.person(ada).await;
    let input = |role: &str, namespace: Value| json!({ "input": { "name": "ci", "role": role, "namespace": namespace } });
    for (variables, code) in [
        (input("EDITOR", Value::Null), "FORBIDDEN"),
        (input("EDITOR", json!("default")), "FORBIDDEN"),
        (input("VIEWER", json!("elsewhere")), "NOT_FOUND"),
        (json!({ "input": { "name": "ci", "role": "VIEWER", "owner": "bob" } }), "BAD_USER_INPUT"),
        (
            json!({ "input": {
                "name": "ci", "role": "VIEWER", "expiresAt": "2020-01-01T00:00:00Z"
            } }),
            "BAD_USER_INPUT",
        ),
    ] {
        assert_eq!(desk.code_for(&who, TOKEN, variables.clone()).await, code, "{variables}");
    }
    let made = desk.send_as(&who, TOKEN, input("OPERATOR", json!("default"))).await;
    assert!(made.errors.is_empty(), "{:?}", made.errors);
    let made = made.data.into_json().unwrap()["createApiToken"].take();
    let token = json!({
        "id": made["apiToken"]["id"], "name": "ci", "owner": "ada", "namespace": "default",
        "role": "OPERATOR"
    });
    assert_eq!(made["apiToken"], token);
    let secret = made["secret"].as_str().unwrap();
    let program = bearer(&desk, secret).await.unwrap();
    // A token acts under its owner's name and its own, so it cannot pass for another user.
    assert_eq!((&*program.name, program.kind), ("ada/ci", ViewerKind::Token));
    assert_eq!(program.grants.strongest(), Some(Role::Operator));
    let more = json!({ "input": { "name": "more", "role": "VIEWER" } });
    assert_eq!(desk.code_for(&program, TOKEN, more).await, "FORBIDDEN");

    // Deleting a user also deletes the user's tokens.
    member(&desk, "ada", "default", "VIEWER", true).await;
    let program = bearer(&desk, secret).await.unwrap();
    assert_eq!(program.grants.strongest(), Some(Role::Viewer));
    let id = json!({ "id": ada });
    desk.ask("mutation ($id: UUID!) { disableUser(userId: $id) { user { id } } }", id.clone())
        .await;
    assert!(bearer(&desk, secret).await.is_none());
    desk.ask("mutation ($id: UUID!) { enableUser(userId: $id) { user { id } } }", id.clone()).await;
    assert!(bearer(&desk, secret).await.is_some());
    desk.ask("mutation ($id: UUID!) { deleteUser(userId: $id) { id } }", id).await;
    assert!(bearer(&desk, secret).await.is_none());
}

async fn a_token_is_shown_once(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let (_, robot) = desk.account("robot", Some("VIEWER")).await;
    let input = json!({
        "name": "ci", "role": "VIEWER", "serviceAccount": "robot",
        "expiresAt": "2026-03-01T13:00:00Z"
    });
    let variables = json!({ "input": input, "key": "k1" });
    let made = desk.ask(TOKEN, variables.clone()).await["createApiToken"].take();
    let secret = made["secret"].as_str().unwrap();
    assert!(secret.starts_with("car_"), "{secret}");
    let again = desk.ask(TOKEN, variables).await["createApiToken"].take();
    assert_eq!(again["secret"], Value::Null);
    assert_eq!(again["apiToken"], made["apiToken"]);
    let rows = <entity::api_token::Entity as sea_orm::EntityTrait>::find();
    let rows = rows.all(desk.database.store.read()).await.unwrap();
    let kept = <entity::idempotency::Entity as sea_orm::EntityTrait>::find();
    let kept = kept.all(desk.database.store.read()).await.unwrap();
    assert!(!format!("{rows:?}{kept:?}").contains(secret));
    assert_eq!(bearer(&desk, secret).await.unwrap().name, "robot/ci");

    // The token's owner may revoke it; other users do not see that it exists.
    let revoke = "mutation ($id: UUID!) { revokeApiToken(id: $id) { id } }";
    let id = json!({ "id": made["apiToken"]["id"] });
    let (_, eve) = desk.account("eve", Some("EDITOR")).await;
    assert_eq!(desk.code_for(&desk.person(eve).await, revoke, id.clone()).await, "NOT_FOUND");
    assert_eq!(desk.code_for(&desk.person(robot).await, revoke, id).await, "");
    assert!(bearer(&desk, secret).await.is_none());

    // An expired token is treated like a missing one.
    let input = json!({
        "name": "brief", "role": "VIEWER", "serviceAccount": "robot",
        "expiresAt": "2026-03-01T13:00:00Z"
    });
    let made = desk.ask(TOKEN, json!({ "input": input })).await["createApiToken"].take();
    desk.clock.advance(Duration::from_secs(3_601));
    assert!(bearer(&desk, made["secret"].as_str().unwrap()).await.is_none());
}

async fn namespaces_are_made_and_renamed(database: TestDatabase) {
    let desk = Desk::open(database).await;
    namespace(&desk, "a").await;
    let create = "mutation { createNamespace(name: \"a\") { namespace { id } } }";
    let taken = desk.refused(create, json!({})).await;
    assert_eq!(taken["extensions"]["field"], "name", "{taken}");
    let rename = "mutation ($to: String!) {
        renameNamespace(name: \"a\", newName: $to, reason: \"tidy\") { namespace { name role } } }";
    let bad = desk.refused(rename, json!({ "to": "a b" })).await;
    assert_eq!(bad["extensions"]["field"], "newName", "{bad}");
    let renamed = desk.ask(rename, json!({ "to": "b" })).await;
    let expected = json!({ "name": "b", "role": "ADMIN" });
    assert_eq!(renamed["renameNamespace"]["namespace"], expected);
    let gone = desk.refused(rename, json!({ "to": "c" })).await;
    assert_eq!(gone["extensions"]["code"], "NOT_FOUND");
    let _: Uuid = desk.account("x", None).await.1;
}

async fn names_pass_for_nothing_else(database: TestDatabase) {
    let desk = Desk::open(database).await;
    for bad in ["cli", "System", "token", "ada/ci", "a b", "a\u{202e}b", "a\u{200b}", ""] {
        let refused = desk.refused(ADD, json!({ "name": bad, "role": null })).await;
        assert_eq!(refused["extensions"]["field"], "name", "{bad:?}: {refused}");
    }
    for good in ["jürgen", "ada.l+x@example.org", "a_b-1"] {
        desk.ask(ADD, json!({ "name": good, "role": null })).await;
    }
}

async fn a_repeated_call_does_not_answer_for_another_password(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let add = "mutation ($password: String!) {
        createUser(input: { name: \"ada\", password: $password }, idempotencyKey: \"k1\") {
            user { id } } }";
    let (one, other) = ("correct horse battery", "staple battery horse");
    let made = desk.ask(add, json!({ "password": one })).await;
    assert_eq!(desk.ask(add, json!({ "password": one })).await, made);
    let refused = desk.refused(add, json!({ "password": other })).await;
    assert_eq!(refused["extensions"]["code"], "CONFLICT", "{refused}");

    let id = &made["createUser"]["user"]["id"];
    let reset = "mutation ($id: UUID!, $password: String!) {
        resetPassword(userId: $id, password: $password, idempotencyKey: \"k2\") { user { id } } }";
    desk.ask(reset, json!({ "id": id, "password": other })).await;
    desk.ask(reset, json!({ "id": id, "password": other })).await;
    let refused = desk.refused(reset, json!({ "id": id, "password": one })).await;
    assert_eq!(refused["extensions"]["code"], "CONFLICT", "{refused}");

    // The repeated call gives the old password, which is already replaced by then.
    let ada = desk.person(id.as_str().unwrap().parse().unwrap()).await;
    let change = "mutation ($old: String!, $new: String!) {
        changePassword(oldPassword: $old, newPassword: $new, idempotencyKey: \"k3\") {
            user { id } } }";
    let order = json!({ "old": other, "new": one });
    assert_eq!(desk.code_for(&ada, change, order.clone()).await, "");
    assert_eq!(desk.code_for(&ada, change, order).await, "");
    let another = json!({ "old": other, "new": "yet another password" });
    assert_eq!(desk.code_for(&ada, change, another).await, "CONFLICT");
}

async fn a_name_of_a_token_is_its_owners_own(database: TestDatabase) {
    let desk = Desk::open(database).await;
    desk.account("a", Some("VIEWER")).await;
    desk.account("b", Some("VIEWER")).await;
    let of = |owner: &str| json!({ "input": { "name": "ci", "role": "VIEWER", "serviceAccount": owner } });
    desk.ask(TOKEN, of("a")).await;
    desk.ask(TOKEN, of("b")).await;
    let refused = desk.refused(TOKEN, of("a")).await;
    assert_eq!(refused["extensions"]["field"], "name", "{refused}");
}

async fn a_namespace_says_whether_its_tasks_may_run_programs(database: TestDatabase) {
    let namespaces = Some(vec!["default".to_owned()]);
    let command = CommandPolicy { namespaces, ..CommandPolicy::default() };
    let policy = Policy { commands: true, command, ..Policy::default() };
    let desk = Desk::with(database, policy, |store| store).await;
    desk.ask("mutation { createNamespace(name: \"more\") { namespace { id } } }", json!({})).await;
    let query = "{ namespaces { nodes { name runsPrograms } } }";
    let shown = desk.ask(query, json!({})).await;
    assert_eq!(
        shown["namespaces"]["nodes"],
        json!([{ "name": "default", "runsPrograms": true }, { "name": "more", "runsPrograms": false }])
    );
}

#[tokio::test]
async fn no_namespace_runs_programs_on_a_server_that_permits_none() {
    let desk = Desk::with(TestDatabase::sqlite().await, Policy::default(), |store| store).await;
    let shown = desk.ask("{ namespaces { nodes { runsPrograms } } }", json!({})).await;
    assert_eq!(shown["namespaces"]["nodes"], json!([{ "runsPrograms": false }]));
}
