use std::time::Duration;

use carillon::store::nodes::JoiningNode;
use reqwest::{StatusCode, header};
use sea_orm::ConnectionTrait;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::{Command, Server, TestDatabase, cookie, on_both};

on_both!(
    a_server_that_runs_is_healthy,
    missed_fires_make_it_unhealthy,
    only_known_callers_see_the_names_of_nodes,
    closed_monitoring_takes_the_watch_token_or_a_role,
);

async fn a_server_that_runs_is_healthy(database: TestDatabase) {
    let server = Server::start(&database);
    for path in ["/livez", "/readyz"] {
        assert_eq!(server.get(path).send().await.unwrap().status(), StatusCode::OK, "{path}");
    }
    let health = server.get("/healthz").send().await.unwrap();
    assert_eq!(health.status(), StatusCode::OK);
    let health: Value = health.json().await.unwrap();
    assert_eq!((&health["status"], &health["issues"]), (&json!("healthy"), &json!([])));
    assert_eq!(health["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(health["database"], database.store.dialect().name());
    assert_eq!(health["zone_data"]["version"], timetable::zone_data().version.as_str());
    assert_eq!(health["checks"]["missed"]["limit"], "10");
    let asked = Command::new(&["healthcheck", "--server", &server.url]).run();
    assert_eq!(asked.done(), "healthy\n");
}

async fn missed_fires_make_it_unhealthy(database: TestDatabase) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("carillon.toml");
    std::fs::write(&file, "health.tags.billing.missed = 0").unwrap();
    let server = Server::start_with(&database, &["--config", file.to_str().unwrap()]);
    let now = chrono_millis();
    let blob = |byte: u8| {
        let hex = format!("{byte:02x}").repeat(16);
        if database.store.dialect().is_postgres() {
            format!("'{hex}'")
        } else {
            format!("x'{hex}'")
        }
    };
    let insert = format!(
        "INSERT INTO fire (id, namespace_id, schedule_id, schedule_version, scheduled_at, due_at, \
         last_scheduled_at, count, kind, verdict, reason, claimed_at, decided_at, \
         recovery_attempts) VALUES ({}, {}, {}, 1, {now}, {now}, {now}, 11, 'normal', 'missed', \
         'outage', {now}, {now}, 0)",
        blob(1),
        blob(2),
        blob(3),
    );
    let transaction = database.store.begin().await.unwrap();
    transaction.execute_unprepared(&insert).await.unwrap();
    database.store.commit(transaction).await.unwrap();

    let health = unhealthy(&server).await;
    assert_eq!(health["status"], "unhealthy");
    assert_eq!(health["checks"]["missed"]["value"], "11");
    let asked = Command::new(&["healthcheck", "--server", &server.url]).run().refused(1);
    assert!(asked.contains("11 fires were missed"), "{asked}");
    // The missed fires belong to no schedule with the tag `billing`.
    let token = Command::new(&["token", "create", "watch", "--role", "viewer"]).on(&database);
    let token = token.run().done().trim().to_owned();
    let narrowed = server.get("/healthz?tag=billing").bearer_auth(token).send().await.unwrap();
    assert_eq!(narrowed.status(), StatusCode::OK);
    let narrowed: Value = narrowed.json().await.unwrap();
    assert_eq!(narrowed["checks"]["missed"]["limit"], "0", "its own: {narrowed}");
    drop(server);

    std::fs::write(&file, "health.missed = 11").unwrap();
    let server = Server::start_with(&database, &["--config", file.to_str().unwrap()]);
    assert_eq!(server.get("/healthz").send().await.unwrap().status(), StatusCode::OK);
}

async fn only_known_callers_see_the_names_of_nodes(database: TestDatabase) {
    const PASSWORD: &str = "correct horse battery";
    let add = ["user", "add", "ada", "--role", "viewer", "--password-stdin", "--own-password"];
    Command::new(&add).on(&database).input(PASSWORD).run().done();
    let token = Command::new(&["token", "create", "watch", "--role", "viewer"]).on(&database);
    let token = token.run().done().trim().to_owned();
    let server = Server::start_with(&database, &["--node-name", "alpha-7"]);
    let member = member_of_shop(&database, &server).await;
    // The other node computes with other zone data.
    let other = JoiningNode {
        id: Uuid::now_v7(),
        name: "beta-9".to_owned(),
        zone_data: "1999a".to_owned(),
        roles: vec!["worker".to_owned()],
        ..JoiningNode::default()
    };
    database.store.join(&other).await.unwrap();
    // The other node sends no heartbeats, but counts as alive for as long as the test takes.
    let alive = "UPDATE node SET heartbeat_at = heartbeat_at + 3600000 WHERE name = 'beta-9'";
    database.store.read().execute_unprepared(alive).await.unwrap();

    let ask = || server.get("/healthz");
    let open = unhealthy(&server).await.to_string();
    assert!(open.contains("the nodes have 2 different zone data"), "{open}");
    let asked = Command::new(&["healthcheck", "--server", &server.url]).run().refused(1);
    for name in ["alpha-7", "beta-9"] {
        assert!(!open.contains(name) && !asked.contains(name), "{open}\n{asked}");
    }

    let cookie = cookie(&server.sign_in("ada", PASSWORD).await);
    for known in [ask().header(header::COOKIE, cookie), ask().bearer_auth(&token)] {
        let known = known.send().await.unwrap();
        assert_eq!(known.status(), StatusCode::SERVICE_UNAVAILABLE);
        let known = known.text().await.unwrap();
        assert!(known.contains("alpha-7") && known.contains("1999a on beta-9"), "{known}");
    }
    let asked = ["healthcheck", "--server", &server.url, "--token", &token];
    let asked = Command::new(&asked).run().refused(1);
    assert!(asked.contains("1999a on beta-9"), "{asked}");
    // Without a namespace, a member of one namespace gets the same answer as an unauthenticated
    // caller. Other namespaces do not exist for members.
    let of_other = server.get("/healthz?namespace=default").bearer_auth(&member);
    assert_eq!(of_other.send().await.unwrap().status(), StatusCode::NOT_FOUND);
    for (path, is_told) in [("/healthz?namespace=shop", true), ("/healthz", false)] {
        let told =
            server.get(path).bearer_auth(&member).send().await.unwrap().text().await.unwrap();
        assert_eq!(told.contains("beta-9"), is_told, "{path}: {told}");
        assert!(told.contains("zone data"), "{path}: {told}");
    }
    // A monitor with an invalid token gets the same answer as one without a token.
    for nobody in [ask().bearer_auth("none"), ask().basic_auth("ada", Some(PASSWORD))] {
        let nobody = nobody.send().await.unwrap();
        assert_eq!(nobody.status(), StatusCode::SERVICE_UNAVAILABLE);
        let nobody = nobody.text().await.unwrap();
        assert!(nobody.contains("zone data") && !nobody.contains("alpha-7"), "{nobody}");
    }
}

/// Creates the namespace `shop` and a user with a role only there; returns a token of that user.
async fn member_of_shop(database: &TestDatabase, server: &Server) -> String {
    let root = Command::new(&["token", "create", "root", "--role", "admin"]).on(database);
    let root = root.run().done().trim().to_owned();
    let query = "mutation {
        createNamespace(name: \"shop\") { namespace { id } }
        createServiceAccount(input: { name: \"monitor\" }) { user { id } }
        setMembership(input: { user: \"monitor\", namespace: \"shop\", role: VIEWER })
            { membership { role } }
        createApiToken(input: { name: \"t\", role: VIEWER, serviceAccount: \"monitor\" }) { secret }
    }";
    let made = server.post("/graphql").bearer_auth(root).json(&json!({ "query": query }));
    let made: Value = made.send().await.unwrap().json().await.unwrap();
    let secret = made["data"]["createApiToken"]["secret"].as_str();
    secret.unwrap_or_else(|| panic!("{made}")).to_owned()
}

async fn closed_monitoring_takes_the_watch_token_or_a_role(database: TestDatabase) {
    const TOKEN: &str = "watchers-alone-know-this";
    let viewer = Command::new(&["token", "create", "watch", "--role", "viewer"]).on(&database);
    let viewer = viewer.run().done().trim().to_owned();
    let config = format!(
        "watch.token = \"{TOKEN}\"\nmetrics.schedules = [\"default/x\"]\n\
                          health.tags.x.missed = 5"
    );
    let server = Server::start_configured(&database, &config);
    let member = member_of_shop(&database, &server).await;
    let ask = async |path: &str, token: Option<&str>| {
        let request = server.get(path);
        let request = token.iter().fold(request, |request, token| request.bearer_auth(token));
        let answer = request.send().await.unwrap();
        (answer.status(), answer.text().await.unwrap())
    };

    // Unauthenticated callers see whether the process is up and ready, and nothing more than one
    // word.
    for path in ["/livez", "/readyz"] {
        assert_eq!(ask(path, None).await.0, StatusCode::OK, "{path}");
    }
    for nobody in [None, Some("none"), Some("")] {
        let (status, text) = ask("/healthz", nobody).await;
        let told: Value = serde_json::from_str(&text).unwrap();
        let word = json!({ "status": "healthy", "issues": [] });
        assert_eq!((status, told), (StatusCode::OK, word));
        // Unauthenticated callers get the same answer for existing and for missing objects.
        let narrowed = ask("/healthz?namespace=default", nobody).await;
        assert_eq!(narrowed.0, StatusCode::UNAUTHORIZED, "{}", narrowed.1);
        for path in ["/healthz?namespace=nowhere", "/healthz?tag=x", "/metrics"] {
            assert_eq!(ask(path, nobody).await, narrowed, "{path}");
        }
    }
    // A member gets the same answer for a namespace that does not exist and for one of others.
    let (status, of_default) = ask("/healthz?namespace=default", Some(&member)).await;
    let (_, of_nowhere) = ask("/healthz?namespace=nowhere", Some(&member)).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert_eq!(of_default.replace("default", "nowhere"), of_nowhere);
    for (path, status) in [
        ("/healthz?namespace=shop", StatusCode::OK),
        ("/healthz?tag=x", StatusCode::FORBIDDEN),
        ("/metrics", StatusCode::FORBIDDEN),
    ] {
        assert_eq!(ask(path, Some(&member)).await.0, status, "{path}");
    }
    assert!(!ask("/healthz", Some(&member)).await.1.contains("checks"));
    // A monitor and a user with a role in all namespaces see everything.
    for known in [TOKEN, &*viewer] {
        for path in ["/healthz", "/healthz?namespace=default", "/healthz?tag=x"] {
            let (status, text) = ask(path, Some(known)).await;
            assert!(status == StatusCode::OK && text.contains("\"missed\""), "{path}: {text}");
        }
        let (status, text) = ask("/metrics", Some(known)).await;
        assert!(status == StatusCode::OK && text.contains("carillon_sign_ins_total{"), "{text}");
    }
    // The monitor's token gives access to nothing else.
    let asked =
        server.post("/graphql").bearer_auth(TOKEN).json(&json!({ "query": "{ me { name } }" }));
    assert_eq!(asked.send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
    // A probe needs no token; with a token, its answer has more details.
    let probe = ["healthcheck", "--server", &server.url];
    assert_eq!(Command::new(&probe).run().done(), "healthy\n");
    let told = [&probe[..], &["--json", "--tag", "x", "--token", TOKEN]].concat();
    assert!(Command::new(&told).run().done().contains("\"checks\""));
    let refused = Command::new(&[&probe[..], &["--tag", "x"]].concat()).run().refused(1);
    assert!(refused.contains("watch.token") && !refused.contains(TOKEN), "{refused}");
}

/// The answer of `/healthz`, once it reports a problem: the cached answer may be a moment old.
async fn unhealthy(server: &Server) -> Value {
    let asked = async {
        loop {
            let health = server.get("/healthz").send().await.unwrap();
            if health.status() == StatusCode::SERVICE_UNAVAILABLE {
                return health.json().await.unwrap();
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), asked).await.expect("all is well")
}

fn chrono_millis() -> i64 {
    carillon::clock::Clock::system().now().timestamp_millis()
}

#[tokio::test]
async fn a_missing_namespace_or_tag_is_not_healthy() {
    let database = TestDatabase::sqlite().await;
    let server = Server::start(&database);
    let token = Command::new(&["token", "create", "watch", "--role", "viewer"]).on(&database);
    let token = token.run().done().trim().to_owned();
    for missing in ["/healthz?namespace=nowhere", "/healthz?tag=typo"] {
        let answer = server.get(missing).bearer_auth(&token).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{missing}");
        // Unauthenticated callers do not learn which objects exist.
        let answer = server.get(missing).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED, "{missing}");
    }
    // For a member of one namespace, objects of other namespaces do not exist.
    let member = member_of_shop(&database, &server).await;
    let admin = Command::new(&["token", "create", "ci", "--role", "admin"]).on(&database);
    let admin = admin.run().done().trim().to_owned();
    for (namespace, tag) in [("default", "theirs"), ("shop", "ours")] {
        let query = "mutation($namespace: String!, $tag: String!) {
            createSchedule(input: { namespace: $namespace, name: \"a\", tags: [$tag],
                timing: { expressions: [\"@daily\"] }, task: { target: { noop: {} } } })
                { schedule { id } } }";
        let made = json!({ "query": query, "variables": { "namespace": namespace, "tag": tag } });
        let made = server.post("/graphql").bearer_auth(&admin).json(&made).send().await.unwrap();
        let made: Value = made.json().await.unwrap();
        assert!(made["errors"].is_null(), "{made}");
    }
    for (tag, status) in [
        ("typo", StatusCode::NOT_FOUND),
        ("theirs", StatusCode::NOT_FOUND),
        ("ours", StatusCode::OK),
    ] {
        let answer = server.get(&format!("/healthz?tag={tag}")).bearer_auth(&member).send().await;
        assert_eq!(answer.unwrap().status(), status, "{tag}");
    }
    let there = server.get("/healthz?namespace=default");
    assert_eq!(there.send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
    let answer = server.get("/healthz?tags=typo").send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::BAD_REQUEST);
    let asked = Command::new(&["healthcheck", "--server", "http://127.0.0.1:1"]).run().refused(1);
    assert!(asked.contains("reach the server at http://127.0.0.1:1"), "{asked}");
}

#[tokio::test]
async fn the_instruments_are_scraped() {
    let database = TestDatabase::sqlite().await;
    let server = Server::start(&database);
    server.sign_in("nobody", "wrong horse battery").await;
    let scraped = server.get("/metrics").send().await.unwrap();
    assert!(scraped.headers()["content-type"].to_str().unwrap().starts_with("text/plain"));
    let text = scraped.text().await.unwrap();
    for line in [
        "carillon_total_schedules 0",
        "carillon_active_schedules 0",
        "carillon_queue_depth 0",
        "carillon_health_check{check=\"database\"} 1",
        "carillon_executions_per_minute 0",
        "carillon_average_execution_time_seconds 0",
        "carillon_failed_executions_rate 0",
        "carillon_sign_ins_total{outcome=\"refused\"} 1",
    ] {
        assert!(text.lines().any(|shown| shown == line), "{line} is not in:\n{text}");
    }
}

#[tokio::test]
async fn probes_answer_from_memory_while_tables_are_locked() {
    let database = TestDatabase::postgres().await;
    let server = Server::start(&database);
    let token = Command::new(&["token", "create", "watch", "--role", "viewer"]).on(&database);
    let token = token.run().done().trim().to_owned();
    let lock = database.store.begin().await.unwrap();
    let held = "SET LOCAL idle_in_transaction_session_timeout = 0";
    lock.execute_unprepared(held).await.unwrap();
    let tables = "LOCK TABLE schedule, fire, run, api_token IN ACCESS EXCLUSIVE MODE";
    lock.execute_unprepared(tables).await.unwrap();
    // Requests are answered quickly, whether or not they have a token, although no token can be
    // looked up.
    let ask = async |path: &str| {
        let ask = server.get(path).bearer_auth(&token).timeout(Duration::from_secs(5));
        let answer = ask.send().await.unwrap();
        (answer.status(), answer.text().await.unwrap())
    };
    let told = async {
        loop {
            let (status, text) = ask("/healthz").await;
            if status == StatusCode::SERVICE_UNAVAILABLE {
                return text;
            }
        }
    };
    let told = tokio::time::timeout(Duration::from_secs(60), told).await.unwrap();
    let told: Value = serde_json::from_str(&told).unwrap();
    let issue = told["issues"][0].as_str().unwrap();
    assert!(issue.starts_with("the database does not answer since 20"), "{told}");
    assert_eq!(ask("/livez").await.0, StatusCode::OK);
    assert_eq!(ask("/readyz").await.0, StatusCode::OK, "what it asks is answered");
    drop(lock);
    let well = async { while ask("/healthz").await.0 != StatusCode::OK {} };
    tokio::time::timeout(Duration::from_secs(60), well).await.unwrap();
    // The log mentions the outage once, however many requests there were.
    let log = server.logged("listening").await;
    assert!(!log.contains("response failed") && !log.contains("failed to answer"), "{log}");
}

#[tokio::test]
async fn a_scrape_does_not_wait_for_a_database_that_does_not_answer() {
    let database = TestDatabase::postgres().await;
    let server = Server::start(&database);
    let lock = database.store.begin().await.unwrap();
    let held = "SET LOCAL idle_in_transaction_session_timeout = 0";
    lock.execute_unprepared(held).await.unwrap();
    lock.execute_unprepared("LOCK TABLE schedule IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let scrape = async || {
        // The test holds the lock for longer than a scrape may take.
        let scraped = server.get("/metrics").timeout(Duration::from_secs(10)).send();
        let text = scraped.await.unwrap().text().await.unwrap();
        assert!(text.contains("carillon_executions_per_minute 0"), "what it knows itself:\n{text}");
        text
    };
    let line = "carillon_health_check{check=\"database\"} 0";
    let silent = async {
        loop {
            let text = scrape().await;
            assert!(!text.contains("carillon_total_schedules"), "what it does not know:\n{text}");
            if text.lines().any(|shown| shown == line) {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), silent).await.expect("it says so");
    drop(lock);
    let counted = async { while !scrape().await.contains("carillon_total_schedules") {} };
    tokio::time::timeout(Duration::from_secs(60), counted).await.expect("it counts again");
}
