//! Processes that share one database.

use carillon::store::nodes::JoiningNode;
use entity::node::BeatsIn;
use sea_orm::ConnectionTrait;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::{Command, Server, TestDatabase, on_both};

on_both!(
    a_process_that_was_killed_is_replaced_at_once_under_its_name,
    a_node_is_drained_and_put_back_from_the_command_line,
    a_node_among_others_that_differ_says_so_when_it_starts_on_healthz_and_to_the_console,
);

#[test]
fn roles_that_are_none_are_refused_with_the_choices() {
    let refused = |roles: &str| Command::new(&["serve", "--roles", roles]).run().refused(1);
    let line = refused("api,sheduler");
    assert!(line.contains("node.roles: 'sheduler' is not a role"), "{line}");
    assert!(line.contains("api, scheduler, worker"), "{line}");
    let line = refused("");
    assert!(line.contains("node.roles: '' is an empty list"), "{line}");
    let file = Command::new(&["serve"]).file("carillon.toml", "[node]\nroles = [\"work\"]");
    let line = file.run().refused(1);
    assert!(line.contains("node.roles: 'work' is not a role"), "{line}");
    assert_eq!(line.lines().count(), 1, "{line}");
    let line = Command::new(&["serve"]).env("CARILLON_NODE__ROLES", "api,worker").run().refused(1);
    assert!(line.contains("leaves no process to claim what is due"), "{line}");
    let line = Command::new(&["serve", "--node-tags", "a b"]).run().refused(1);
    assert!(line.contains("node.tags: 'a b' is not a valid tag"), "{line}");
}

/// The first process must not be driven out, and the two must not restart one another forever.
#[tokio::test]
async fn a_second_process_of_the_same_name_is_refused_while_the_first_lives() {
    let database = TestDatabase::postgres().await;
    let first = Server::start_with(&database, &["--node-name", "twin"]);
    let args = ["serve", "--listen", "127.0.0.1:0", "--node-name", "twin"];
    let line = Command::new(&args).on(&database).run().refused(1);
    assert!(line.contains("node.name 'twin' is another process's, which lives"), "{line}");
    assert!(line.contains("--node-name"), "{line}");
    assert!(first.get("/healthz").send().await.unwrap().status().is_success());
    assert_eq!(first.stop(), 0);
}

async fn a_process_that_was_killed_is_replaced_at_once_under_its_name(database: TestDatabase) {
    // Dropping the server kills it.
    drop(Server::start_with(&database, &["--node-name", "phoenix"]));
    let again = Server::start_with(&database, &["--node-name", "phoenix"]);
    assert!(again.get("/healthz").send().await.unwrap().status().is_success());
    assert_eq!(again.stop(), 0);
}

async fn a_node_is_drained_and_put_back_from_the_command_line(database: TestDatabase) {
    let create = ["token", "create", "ops", "--role", "admin"];
    let token = Command::new(&create).on(&database).run().done().trim().to_owned();
    let server = Server::start_with(&database, &["--node-name", "first"]);
    let asked = |args: &[&str]| {
        let command = Command::new(args).env("CARILLON_SERVER", &server.url);
        command.env("CARILLON_TOKEN", &token).run()
    };
    let state = || {
        let nodes: Value = serde_json::from_str(&asked(&["nodes", "--json"]).done()).unwrap();
        nodes[0]["state"].clone()
    };
    let said = asked(&["nodes", "drain", "first", "--reason", "a new disk"]).done();
    assert_eq!(said, "drained first: it finishes the 0 runs that it holds\n");
    assert_eq!(state(), "DRAINED");
    let audit = Command::new(&["audit", "--action", "node.drain", "--format", "jsonl"]);
    let audit = audit.on(&database).run().done();
    assert!(audit.contains("a new disk"), "{audit}");
    let refused = asked(&["nodes", "drain", "second", "--reason", "a typo"]).refused(1);
    assert!(refused.ends_with("there is no node 'second'; there are first"), "{refused}");
    let node: Value =
        serde_json::from_str(&asked(&["nodes", "undrain", "first", "--json"]).done()).unwrap();
    assert_eq!((&node["name"], &node["state"]), (&json!("first"), &json!("ALIVE")));
    assert_eq!(state(), "ALIVE");
    assert_eq!(server.stop(), 0);
}

#[tokio::test]
async fn a_node_without_the_role_api_is_watched_and_answers_nothing_else() {
    let database = TestDatabase::postgres().await;
    let worker = Server::start_with(&database, &["--roles", "worker", "--node-name", "w"]);
    for path in ["/livez", "/readyz", "/metrics"] {
        assert!(worker.get(path).send().await.unwrap().status().is_success(), "{path}");
    }
    let health = worker.get("/healthz").send().await.unwrap();
    assert_eq!(health.status(), 503);
    let health: Value = health.json().await.unwrap();
    assert!(health["issues"][0].as_str().unwrap().contains("the role 'scheduler'"), "{health}");
    assert_eq!(health["checks"]["schedulers"]["healthy"], false, "{health}");
    for path in ["/graphiql", "/", "/graphql"] {
        let answer = worker.get(path).send().await.unwrap();
        assert_eq!(answer.status(), 404, "{path}");
        assert!(answer.text().await.unwrap().contains("role 'api'"), "{path}");
    }
    let query = worker.post("/graphql").json(&json!({ "query": "{ me { name } }" }));
    assert_eq!(query.send().await.unwrap().status(), 404);

    let rest = ["--roles", "api,scheduler", "--node-name", "s"];
    let rest = Server::start_with(&database, &rest);
    assert!(worker.get("/healthz").send().await.unwrap().status().is_success());
    assert_eq!((rest.stop(), worker.stop()), (0, 0));
}

async fn a_node_among_others_that_differ_says_so_when_it_starts_on_healthz_and_to_the_console(
    database: TestDatabase,
) {
    let token = Command::new(&["token", "create", "ci", "--role", "viewer"]).on(&database);
    let token = token.run().done().trim().to_owned();
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let old = JoiningNode {
        id: Uuid::now_v7(),
        name: "old".to_owned(),
        version: "0.0.9".to_owned(),
        zone_data: "1999z".to_owned(),
        roles: words(&["scheduler", "worker"]),
        clock_offset_ms: 6_000,
        beats_in: BeatsIn::Redis,
        ..JoiningNode::default()
    };
    let store = &database.store;
    store.join(&old).await.unwrap();
    let tx = store.begin().await.unwrap();
    // The heartbeat lies in the future, so the first node counts as alive for the rest of the test.
    let sql = "UPDATE node SET schema = 'm0001_people', redis_problem = 'nobody answers', \
        heartbeat_at = heartbeat_at + 3600000";
    tx.execute_unprepared(sql).await.unwrap();
    store.commit(tx).await.unwrap();

    let server = Server::start_with(&database, &["--node-name", "new"]);
    let names = [
        "the clock of 'old' is 6 s ahead of the database's",
        "different zone data",
        "1999z on old",
        "last known migrations: upgrade",
        "m0001_people on old",
        "versions of Carillon",
        "Redis cannot be reached by 'old' (nobody answers)",
    ];
    let log = server.logged("Redis cannot be reached").await;
    for part in names {
        assert!(log.contains(part), "{part}: {log}");
    }
    let answer = server.get("/healthz").bearer_auth(&token).send().await.unwrap();
    assert_eq!(answer.status(), 503);
    let health: Value = answer.json().await.unwrap();
    let issues = health["issues"].to_string();
    for (check, is_well) in [("clocks", false), ("zone_data", false), ("redis", false)]
        .into_iter()
        .chain([("schemas", true), ("versions", true)])
    {
        // Different schemas and versions are normal during a rolling upgrade, so these checks stay
        // healthy.
        assert_eq!(health["checks"][check]["healthy"], is_well, "{check}: {health}");
    }
    let query = "{ health { issues } nodes: serverNodes {
        name version zoneData schema clockOffsetMs heartbeats redisProblem } }";
    let ask = server.post("/graphql").bearer_auth(&token).json(&json!({ "query": query }));
    let told: Value = ask.send().await.unwrap().json().await.unwrap();
    let told_issues = told["data"]["health"]["issues"].to_string();
    for part in names {
        assert!(issues.contains(part) && told_issues.contains(part), "{part}: {told} {health}");
    }
    let nodes = told["data"]["nodes"].as_array().unwrap();
    let seen = nodes.iter().find(|node| node["name"] == "old").unwrap();
    let expected = json!({
        "name": "old", "version": "0.0.9", "zoneData": "1999z", "schema": "m0001_people",
        "clockOffsetMs": 6_000, "heartbeats": "REDIS", "redisProblem": "nobody answers",
    });
    assert_eq!(*seen, expected);
    assert_eq!(server.stop(), 0);
}
