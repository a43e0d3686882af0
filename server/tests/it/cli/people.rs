use carillon::{
    access::token_hash,
    store::{namespaces, tokens, users},
};
use entity::{Timestamp, api_token, session, user::Role};
use sea_orm::{ActiveModelTrait, EntityTrait, IntoActiveModel, Set};
use serde_json::Value;
use uuid::Uuid;

use crate::support::{Command, TestDatabase, on_both};

on_both!(
    users_come_and_go,
    a_role_alone_shows_no_payloads,
    a_password_is_for_one_sign_in_unless_it_is_the_users_own,
    tokens_outlive_a_password_and_the_answer_says_so,
    sessions_are_listed_and_ended,
    tokens_come_and_go,
    a_workers_token_names_its_namespace_and_queues,
    members_come_and_go,
    namespaces_are_made_and_renamed,
    the_last_administrator_stays_unless_forced,
    a_role_is_changed_and_a_user_deleted,
);

fn carillon(database: &TestDatabase, args: &[&str]) -> Command {
    Command::new(args).on(database)
}

fn listed(database: &TestDatabase, what: &str) -> Vec<Value> {
    let list = carillon(database, &[what, "list", "--json"]).run().done();
    serde_json::from_str(&list).unwrap()
}

async fn users_come_and_go(database: TestDatabase) {
    let add = ["user", "add", "ada", "--role", "operator", "--password-stdin"];
    carillon(&database, &add).input("correct horse battery\n").run().done();
    let again = carillon(&database, &add).input("correct horse battery\n").run().refused(1);
    assert!(again.contains("the user 'ada'") && again.contains("is taken"), "{again}");
    for alike in ["Ada", "\u{430}da"] {
        let add = ["user", "add", alike, "--role", "viewer", "--random"];
        let refused = carillon(&database, &add).run().refused(1);
        assert!(refused.contains("one that looks like it"), "{refused}");
    }
    let users = listed(&database, "user");
    assert_eq!(users.len(), 1);
    assert_eq!((&users[0]["name"], &users[0]["role"]), (&"ada".into(), &"operator".into()));
    carillon(&database, &["user", "disable", "ada"]).run().done();
    assert!(listed(&database, "user")[0]["disabled_at"].is_string());
    carillon(&database, &["user", "enable", "ada"]).run().done();
    assert!(listed(&database, "user")[0]["disabled_at"].is_null());
    let made = carillon(&database, &["user", "passwd", "ada", "--random"]).run().done();
    assert!(made.contains("password: "), "{made}");
    let missing = carillon(&database, &["user", "disable", "bob"]).run().refused(1);
    assert!(missing.contains("the user 'bob'"), "{missing}");
}

async fn a_role_alone_shows_no_payloads(database: TestDatabase) {
    for (name, role, flag, sees) in [
        ("vera", "viewer", None, false),
        ("otto", "operator", None, false),
        ("paul", "viewer", Some("--sees-payloads"), true),
        ("edda", "editor", None, true),
        ("root", "admin", None, true),
    ] {
        let mut add = vec!["user", "add", name, "--role", role, "--random"];
        add.extend(flag);
        carillon(&database, &add).run().done();
        let row = users::by_name(database.store.read(), name).await.unwrap().unwrap();
        assert_eq!(row.sees_payloads, sees, "{name}");
    }
}

async fn a_password_is_for_one_sign_in_unless_it_is_the_users_own(database: TestDatabase) {
    let typed = |args: &[&str]| {
        let args = [args, &["--password-stdin"]].concat();
        carillon(&database, &args).input("correct horse battery\n").run().done()
    };
    let must_change = |name: &str| {
        let users = listed(&database, "user");
        let user = users.iter().find(|user| user["name"] == name).unwrap();
        user["must_change_password"].as_bool().unwrap()
    };
    // The only person on the server has typed their own password.
    let said = typed(&["user", "add", "root", "--role", "admin"]);
    assert_eq!(said, "added the admin 'root'\n");
    assert!(!must_change("root"));
    typed(&["user", "passwd", "root"]);
    assert!(!must_change("root"));

    let said = typed(&["user", "add", "ada", "--role", "viewer"]);
    assert!(said.contains("'ada' must choose another password at the next sign-in"), "{said}");
    assert!(said.contains("--own-password"), "{said}");
    assert!(must_change("ada"));
    let table = carillon(&database, &["user", "list"]).run().done();
    let line = table.lines().find(|line| line.starts_with("ada ")).unwrap();
    assert!(line.contains("one-time password"), "{table}");
    typed(&["user", "passwd", "ada", "--own-password"]);
    assert!(!must_change("ada"));
    typed(&["user", "passwd", "ada"]);
    assert!(must_change("ada"));
    typed(&["user", "add", "bob", "--role", "viewer", "--own-password"]);
    assert!(!must_change("bob"));

    // A generated password is never the user's own.
    let random = ["user", "passwd", "bob", "--random"];
    let said = carillon(&database, &random).run().done();
    assert!(
        said.contains("password: ") && said.contains("must choose another one at the next sign-in"),
        "{said}"
    );
    assert!(must_change("bob"));
    let both = [&random[..], &["--own-password"]].concat();
    assert!(carillon(&database, &both).run().refused(2).contains("--own-password"));
    let audit = carillon(&database, &["audit", "--action", "user.passwd", "--format", "jsonl"]);
    let audit = audit.run().done();
    assert!(audit.contains("mustChangePassword") && !audit.contains("battery"), "{audit}");
}

#[tokio::test]
async fn a_generated_password_is_for_one_sign_in_even_of_the_first_user() {
    let database = TestDatabase::sqlite().await;
    carillon(&database, &["user", "add", "root", "--role", "admin", "--random"]).run().done();
    assert_eq!(listed(&database, "user")[0]["must_change_password"], true);
}

async fn tokens_outlive_a_password_and_the_answer_says_so(database: TestDatabase) {
    carillon(&database, &["user", "add", "ada", "--role", "admin", "--random"]).run().done();
    let ada = users::by_name(database.store.read(), "ada").await.unwrap().unwrap();
    let row = api_token::ActiveModel {
        id: Set(Uuid::now_v7()),
        name: Set("ci".to_owned()),
        hash: Set("hash".to_owned()),
        user_id: Set(Some(ada.id)),
        namespace_id: Set(None),
        queues: Set(None),
        role: Set(Role::Viewer),
        sees_payloads: Set(false),
        created_by: Set("ada".to_owned()),
        created_at: Set(Timestamp(0)),
        expires_at: Set(None),
        revoked_at: Set(None),
        used_at: Set(None),
    };
    let tx = database.store.begin().await.unwrap();
    tokens::insert(&tx, row).await.unwrap();
    database.store.commit(tx).await.unwrap();
    let passwd = ["user", "passwd", "ada", "--random"];
    let said = carillon(&database, &passwd).run().done();
    assert!(said.contains("'ada' has 1 valid API tokens: --revoke-tokens"), "{said}");
    let said = carillon(&database, &[&passwd[..], &["--revoke-tokens"]].concat()).run().done();
    assert!(!said.contains("API tokens"), "{said}");
    assert_eq!(tokens::count_of(database.store.read(), ada.id).await.unwrap(), 0);
}

async fn sessions_are_listed_and_ended(database: TestDatabase) {
    for name in ["ada", "bob"] {
        let add = ["user", "add", name, "--role", "viewer", "--random"];
        carillon(&database, &add).run().done();
    }
    let ada = users::by_name(database.store.read(), "ada").await.unwrap().unwrap();
    let bob = users::by_name(database.store.read(), "bob").await.unwrap().unwrap();
    let tx = database.store.begin().await.unwrap();
    for (id, user, began_at) in
        [("aa11", ada.id, 1), ("aa22", ada.id, 2), ("bb33", ada.id, 3), ("cc44", bob.id, 4)]
    {
        let row = session::Model {
            id: id.to_owned(),
            user_id: Some(user),
            address: Some("192.0.2.1".to_owned()),
            browser: Some("curl/8.14.1".to_owned()),
            began_at: Some(Timestamp(began_at)),
            used_at: Some(Timestamp(began_at)),
            mark: None,
            data: serde_json::json!({}),
            // In the year 2100.
            expires_at: Timestamp(4_102_444_800_000),
        };
        row.into_active_model().insert(&tx).await.unwrap();
    }
    database.store.commit(tx).await.unwrap();

    let list = ["user", "sessions", "ada"];
    let json = carillon(&database, &[&list[..], &["--json"]].concat()).run().done();
    let sessions: Vec<Value> = serde_json::from_str(&json).unwrap();
    let ids: Vec<_> = sessions.iter().map(|session| session["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["bb33", "aa22", "aa11"]);
    assert_eq!(
        (&sessions[0]["browser"], &sessions[0]["address"]),
        (&"curl/8.14.1".into(), &"192.0.2.1".into())
    );
    let table = carillon(&database, &list).run().done();
    assert!(table.contains("aa22") && table.contains("curl/8.14.1"), "{table}");

    let end = |which: &'static str, name: &'static str| {
        carillon(&database, &["user", "sessions", name, "--end", which, "--reason", "lost"]).run()
    };
    assert!(end("aa", "ada").refused(2).contains("2 sessions begin with 'aa'"));
    assert!(end("cc44", "ada").refused(1).contains("session \"cc44\""));
    assert!(end("all", "eve").refused(1).contains("the user 'eve'"));
    assert_eq!(end("bb", "ada").done(), "ended a session of 'ada'\n");
    assert_eq!(end("all", "ada").done(), "ended all sessions of 'ada': 2\n");
    let left = session::Entity::find().all(database.store.read()).await.unwrap();
    let left: Vec<_> = left.iter().map(|session| session.id.as_str()).collect();
    assert_eq!(left, ["cc44"]);
    let audit = carillon(&database, &["audit"]).run().done();
    assert!(audit.contains("session.revokeAll") && audit.contains("lost"), "{audit}");
}

async fn tokens_come_and_go(database: TestDatabase) {
    let create = ["token", "create", "ci", "--role", "editor", "--expires-in", "30d"];
    let token = carillon(&database, &create).run().done();
    assert!(token.starts_with("car_") && token.trim().len() == 68, "{token}");
    let again = carillon(&database, &create).run().refused(1);
    assert!(again.contains("the token 'ci'"), "{again}");
    let tokens = listed(&database, "token");
    assert_eq!((&tokens[0]["state"], &tokens[0]["role"]), (&"active".into(), &"editor".into()));
    assert!(!tokens[0].to_string().contains(token.trim()));
    carillon(&database, &["token", "revoke", "ci"]).run().done();
    assert_eq!(listed(&database, "token")[0]["state"], "revoked");
}

/// The requests that such a token permits are tested in `web::workers`.
async fn a_workers_token_names_its_namespace_and_queues(database: TestDatabase) {
    carillon(&database, &["namespace", "create", "billing"]).run().done();
    let create = ["token", "create", "mailer", "--role", "operator", "--namespace", "billing"];
    let queues = ["--queue", "emails", "--queue", "letters"];
    let made = carillon(&database, &[&create[..], &queues, &["--json"]].concat()).run().done();
    let made: Value = serde_json::from_str(&made).unwrap();
    let tokens = listed(&database, "token");
    for told in [&made, &tokens[0]] {
        assert_eq!(told["namespace"], "billing", "{told}");
        assert_eq!(told["queues"], serde_json::json!(["emails", "letters"]), "{told}");
    }
    let hash = token_hash(made["token"].as_str().unwrap()).unwrap();
    let now = Timestamp(0);
    let row = tokens::live_by_hash(database.store.read(), &hash, now).await.unwrap().unwrap();
    let billing = namespaces::by_name(database.store.read(), "billing").await.unwrap().unwrap();
    assert_eq!(row.namespace_id, Some(billing.id));
    assert_eq!(row.queues.unwrap().0, ["emails", "letters"]);
    let table = carillon(&database, &["token", "list"]).run().done();
    assert!(table.contains("emails letters") && table.contains("billing"), "{table}");

    let many: Vec<String> = (0..33).map(|number| format!("--queue=q{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    for (role, more, part) in [
        ("operator", &["--namespace", "nowhere"][..], "the namespace 'nowhere'"),
        ("operator", &["--queue", "No!"], "is not a valid queue name"),
        ("viewer", &["--queue", "emails"], "cannot pull tasks"),
        ("operator", &many[..], "name at most 32"),
    ] {
        let create = [&["token", "create", "other", "--role", role][..], more].concat();
        let refused = carillon(&database, &create).run().refused(1);
        assert!(refused.contains(part), "{refused}");
    }
    assert_eq!(listed(&database, "token").len(), 1);
}

async fn namespaces_are_made_and_renamed(database: TestDatabase) {
    let create = ["namespace", "create", "billing", "--reason", "a team of its own"];
    let said = carillon(&database, &create).run().done();
    assert_eq!(said, "created the namespace 'billing'\n");
    let again = carillon(&database, &create).run().refused(1);
    assert!(again.contains("is the name of an existing namespace"), "{again}");
    let rename = ["namespace", "rename", "billing", "accounts"];
    carillon(&database, &rename).run().done();
    let missing = carillon(&database, &rename).run().refused(1);
    assert!(missing.contains("there is no namespace \"billing\""), "{missing}");
    let names: Vec<Value> =
        listed(&database, "namespace").into_iter().map(|mut row| row["name"].take()).collect();
    assert_eq!(names, ["default", "accounts"]);
    let audit = carillon(&database, &["audit"]).run().done();
    assert!(audit.contains("namespace.create") && audit.contains("a team of its own"), "{audit}");
}

async fn members_come_and_go(database: TestDatabase) {
    let add = ["user", "add", "ada", "--role", "viewer", "--random"];
    carillon(&database, &add).run().done();
    let add = ["member", "add", "ada", "--role", "editor"];
    let told = carillon(&database, &add).run().done();
    assert_eq!(told.trim(), "'ada' has the role editor in 'default'");
    let members = listed(&database, "member");
    assert_eq!(
        members,
        [serde_json::json!({ "user": "ada", "role": "editor", "sees_payloads": false })]
    );
    carillon(&database, &["member", "remove", "ada"]).run().done();
    assert!(listed(&database, "member").is_empty());
    let missing = carillon(&database, &["member", "remove", "ada"]).run().refused(1);
    assert!(missing.contains("member \"ada\""), "{missing}");
    let nowhere = ["member", "add", "ada", "--namespace", "nope", "--role", "viewer"];
    assert!(carillon(&database, &nowhere).run().refused(1).contains("namespace \"nope\""));
}

async fn the_last_administrator_stays_unless_forced(database: TestDatabase) {
    for name in ["root", "ada"] {
        carillon(&database, &["user", "add", name, "--role", "admin", "--random"]).run().done();
    }
    carillon(&database, &["user", "disable", "ada"]).run().done();
    let refused = carillon(&database, &["user", "disable", "root"]).run().refused(1);
    assert!(refused.contains("the last administrator who can sign in"), "{refused}");
    assert!(listed(&database, "user").iter().any(|user| user["disabled_at"].is_null()));
    carillon(&database, &["user", "disable", "root", "--force"]).run().done();
    assert!(listed(&database, "user").iter().all(|user| user["disabled_at"].is_string()));
}

async fn a_role_is_changed_and_a_user_deleted(database: TestDatabase) {
    for (name, role) in [("root", "admin"), ("ada", "viewer")] {
        carillon(&database, &["user", "add", name, "--role", role, "--random"]).run().done();
    }
    let row = async |name: &str| users::by_name(database.store.read(), name).await.unwrap();
    let said = carillon(&database, &["user", "role", "ada", "editor", "--reason", "a new job"]);
    assert_eq!(said.run().done(), "the role of 'ada' is editor now\n");
    let ada = row("ada").await.unwrap();
    assert_eq!((ada.role, ada.sees_payloads), (Some(Role::Editor), true));
    carillon(&database, &["user", "role", "ada", "none"]).run().done();
    let ada = row("ada").await.unwrap();
    assert_eq!((ada.role, ada.sees_payloads), (None, false));
    let wrong = carillon(&database, &["user", "role", "ada", "king"]).run().refused(2);
    assert!(wrong.contains("viewer, operator, editor, admin or none"), "{wrong}");
    for last in [&["user", "role", "root", "viewer"][..], &["user", "delete", "root"]] {
        let refused = carillon(&database, last).run().refused(1);
        assert!(refused.contains("administrator"), "{refused}");
    }
    assert_eq!(carillon(&database, &["user", "delete", "ada"]).run().done(), "deleted 'ada'\n");
    assert!(row("ada").await.is_none());
    let missing = carillon(&database, &["user", "delete", "ada"]).run().refused(1);
    assert!(missing.contains("the user 'ada': there is none"), "{missing}");
    let audit = carillon(&database, &["audit", "--action", "user.role"]).run().done();
    assert!(audit.contains("a new job"), "{audit}");
}

#[tokio::test]
async fn bad_people_are_refused_and_nothing_is_kept() {
    let database = TestDatabase::sqlite().await;
    for (args, input, part) in [
        (&["user", "add", "ada", "--role", "viewer"][..], "short\n", "the minimum is 12"),
        (&["user", "add", "a b", "--role", "viewer"], "correct horse battery\n", "letters"),
        (&["user", "add", "ada", "--role", "viewer"], "password1234\n", "easily guessed"),
        (&["user", "add", "", "--role", "viewer"], "correct horse battery\n", "empty"),
    ] {
        let refused = carillon(&database, args).input(input).run().refused(1);
        assert!(refused.contains(part), "{refused}");
    }
    let role = carillon(&database, &["user", "add", "ada", "--role", "king"]).run().refused(2);
    assert!(role.contains("viewer, operator, editor or admin"), "{role}");
    let expiry = ["token", "create", "ci", "--role", "viewer", "--expires-in", "0s"];
    assert!(carillon(&database, &expiry).run().refused(2).contains("--expires-in"));
    assert!(listed(&database, "user").is_empty());
    assert!(listed(&database, "token").is_empty());
}
