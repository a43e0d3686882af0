use serde_json::Value;

use crate::support::{Command, TestDatabase, on_both};

on_both!(
    users_come_and_go,
    tokens_come_and_go,
    members_come_and_go,
    namespaces_are_made_and_renamed,
    the_last_administrator_stays_unless_forced,
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
    assert!(again.contains("the user 'ada'") && again.contains("one of that name"), "{again}");
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

async fn namespaces_are_made_and_renamed(database: TestDatabase) {
    let create = ["namespace", "create", "billing", "--reason", "a team of its own"];
    let said = carillon(&database, &create).run().done();
    assert_eq!(said, "made the namespace 'billing'\n");
    let again = carillon(&database, &create).run().refused(1);
    assert!(again.contains("is the name of a namespace that is there"), "{again}");
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

#[tokio::test]
async fn bad_people_are_refused_and_nothing_is_kept() {
    let database = TestDatabase::sqlite().await;
    for (args, input, part) in [
        (&["user", "add", "ada", "--role", "viewer"][..], "short\n", "the least is 12"),
        (&["user", "add", "a b", "--role", "viewer"], "correct horse battery\n", "letters"),
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
