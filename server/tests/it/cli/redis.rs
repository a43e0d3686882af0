//! Processes that exchange heartbeats through Redis.

use serde_json::Value;

use crate::support::{Command, Redis, Server, TestDatabase};

const SECRET: &str = "open-sesame";

fn serve(database: &TestDatabase, url: &str) -> String {
    let command = Command::new(&["serve", "--listen", "127.0.0.1:0"]).on(database);
    let command = command.env("CARILLON_CLUSTER__BACKEND", "redis");
    let line = command.env("CARILLON_CLUSTER__REDIS_URL", url).run().refused(1);
    assert_eq!(line.lines().count(), 1, "{line}");
    assert!(!line.contains(SECRET), "{line}");
    line
}

#[test]
fn settings_that_do_not_lead_to_a_redis_are_refused() {
    let refused = |file: &str| {
        let line = Command::new(&["serve"]).file("carillon.toml", file).run().refused(1);
        assert!(!line.contains(SECRET), "{line}");
        line
    };
    let line = refused("[cluster]\nbackend = \"etcd\"");
    assert!(line.contains("cluster.backend") && line.contains("database` or `redis"), "{line}");
    let line = refused("[cluster]\nbackend = \"redis\"\nredis_url = \"redis://h\"");
    assert!(line.contains("cluster.backend: 'redis' is for several processes"), "{line}");
    let line = refused("[cluster]\nredis_url = \"http://:open-sesame@h\"");
    assert!(line.contains("cluster.redis_url: this begins with neither redis://"), "{line}");
    let line = refused("[database]\nurl = \"postgres://h/d\"\n[cluster]\nbackend = \"redis\"");
    assert!(line.contains("cluster.redis_url: '' is not given"), "{line}");
    let line = refused("[cluster]\nredis_prefix = \"\"");
    assert!(line.contains("cluster.redis_prefix: '' is not a prefix of keys"), "{line}");
}

#[tokio::test]
async fn a_redis_that_cannot_be_reached_or_used_stops_the_start() {
    let database = TestDatabase::postgres().await;
    let mut redis = Redis::with_password(SECRET).await;
    let address = format!("redis://127.0.0.1:{}", redis.port);
    let wrong = format!("redis://:{SECRET}-not@127.0.0.1:{}/0", redis.port);
    let line = serve(&database, &wrong);
    assert!(line.contains(&format!("reach Redis at {address}/0 (cluster.redis_url)")), "{line}");
    assert!(line.contains("Password authentication failed"), "{line}");
    // The start also fails without the password, and if Redis is a replica, which accepts no
    // writes.
    let line = serve(&database, &address);
    assert!(line.contains("Authentication required"), "{line}");
    assert_eq!(redis.say("REPLICAOF 127.0.0.1 1"), "+OK");
    let line = serve(&database, &redis.url());
    assert!(line.contains("replica"), "{line}");
    redis.kill();
    let line = serve(&database, &redis.url());
    assert!(line.contains(&format!("reach Redis at {address}/0")), "{line}");
    assert!(line.contains("refused") && line.contains("start it, correct the address"), "{line}");
}

#[tokio::test]
async fn a_redis_behind_tls_is_reached_if_the_system_trusts_it() {
    let database = TestDatabase::postgres().await;
    let folder = tempfile::tempdir().unwrap();
    let (pem, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(&pem, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let (redis, port) = Redis::with_tls(&pem, &key).await;
    let url = format!("rediss://localhost:{port}");
    let line = serve(&database, &url);
    assert!(line.contains(&format!("reach Redis at {url}")) && line.contains("cert"), "{line}");
    // Once Redis's certificate is trusted, the server fails for another reason.
    let command = Command::new(&["serve", "--listen", "127.0.0.1:0"]).on(&database);
    let command = command.env("SSL_CERT_FILE", pem.to_str().unwrap());
    let command = command.env("CARILLON_CLUSTER__BACKEND", "redis");
    let command = command.env("CARILLON_DATABASE__URL", "postgres://127.0.0.1:1/none");
    let ended = command.env("CARILLON_CLUSTER__REDIS_URL", &url).run();
    assert!(ended.err.contains("failed to reach the database"), "{ended:?}");
    assert_eq!(redis.say("EXISTS carillon:probe"), ":1");
}

/// Waits until `/healthz` says this about Redis; returns the status and the answer.
async fn until_redis_is(server: &Server, well: bool) -> (u16, Value) {
    let clock = carillon::clock::Clock::system();
    for _ in 0..600 {
        let answer = server.get("/healthz").send().await.unwrap();
        let status = answer.status().as_u16();
        let health: Value = answer.json().await.unwrap();
        if health["checks"]["redis"]["healthy"] == well {
            return (status, health);
        }
        clock.sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("/healthz did not say within half a minute that Redis is well: {well}");
}

#[tokio::test]
async fn a_server_says_while_redis_is_away_and_goes_on() {
    let database = TestDatabase::postgres().await;
    let mut redis = Redis::with_password(SECRET).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("redis.toml");
    let settings = format!(
        "[cluster]\nbackend = \"redis\"\nredis_url = \"{}\"\n\
         [engine]\nheartbeat_interval = \"200ms\"\nheartbeat_expiry = \"3s\"",
        redis.url()
    );
    std::fs::write(&file, settings).unwrap();
    let flags = ["--config", file.to_str().unwrap(), "--node-name", "a"];
    let server = Server::start_with(&database, &flags);
    assert_eq!(until_redis_is(&server, true).await.0, 200);
    redis.kill();
    let (status, health) = until_redis_is(&server, false).await;
    assert_eq!(status, 503);
    let issue = health["issues"][0].as_str().unwrap();
    assert!(issue.starts_with("Redis cannot be reached by 1 nodes; "), "{issue}");
    assert!(
        !health.to_string().contains("127.0.0.1"),
        "who is not known hears no address: {health}"
    );
    assert!(!health.to_string().contains(SECRET), "{health}");
    redis.go_on().await;
    assert_eq!(until_redis_is(&server, true).await.0, 200);
    assert_eq!(server.stop(), 0);
}
