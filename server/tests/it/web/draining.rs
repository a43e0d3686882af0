use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use super::workers::{Desk, task};
use crate::support::{Command, Server, TestDatabase, on_both};

on_both!(
    probes_answer_until_the_end_of_a_drain,
    a_worker_reports_on_its_job_until_the_end_of_a_drain,
);

async fn probes_answer_until_the_end_of_a_drain(database: TestDatabase) {
    let create = ["token", "create", "ci", "--role", "admin"];
    let token = Command::new(&create).on(&database).run().done().trim().to_owned();
    let target = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let config = "egress.private_addresses = true\nshutdown_grace = \"5m\"";
    let server = Server::start_configured(&database, config);
    let graphql = |query: String| {
        let query = json!({ "query": query });
        server.post("/graphql").bearer_auth(&token).json(&query).send()
    };
    let create = format!(
        "mutation {{ createSchedule(input: {{ name: \"slow\", timing: {{ expressions: [\"@yearly\"] }}, \
         task: {{ target: {{ http: {{ url: \"http://{}/\" }} }} }} }}) {{ schedule {{ id }} }} }}",
        target.local_addr().unwrap()
    );
    let made: Value = graphql(create).await.unwrap().json().await.unwrap();
    let id = made["data"]["createSchedule"]["schedule"]["id"].as_str();
    let id = id.unwrap_or_else(|| panic!("{made}"));
    let trigger = format!("mutation {{ triggerSchedule(id: \"{id}\") {{ run {{ id }} }} }}");
    let begun: Value = graphql(trigger).await.unwrap().json().await.unwrap();
    assert!(begun["errors"].is_null(), "{begun}");
    // The run is in progress, so the shutdown has to wait for it.
    let (mut work, _) = target.accept().await.unwrap();
    work.read_u8().await.unwrap();
    server.ask_to_stop();
    let ask = async |path: &str| server.get(path).send().await.unwrap().status();
    while ask("/readyz").await != StatusCode::SERVICE_UNAVAILABLE {
        tokio::task::yield_now().await;
    }
    for probe in ["/livez", "/metrics"] {
        assert_eq!(ask(probe).await, StatusCode::OK, "{probe}");
    }
    // `/healthz` says that nothing is scheduled, because the only node is draining.
    let health: Value = server.get("/healthz").send().await.unwrap().json().await.unwrap();
    assert!(health["checks"]["database"].is_null() && health["checks"].is_object(), "{health}");
    let refused = graphql("{ me { name } }".to_owned()).await.unwrap();
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(refused.headers().contains_key("retry-after"), "{refused:?}");
    // New connections are refused, too.
    let http = reqwest::Client::new();
    let asked = |path: &str| http.get(format!("{}{path}", server.url)).send();
    assert_eq!(asked("/livez").await.unwrap().status(), StatusCode::OK);
    assert_eq!(asked("/").await.unwrap().status(), StatusCode::SERVICE_UNAVAILABLE);
    work.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await.unwrap();
    assert_eq!(server.ended(), 0);
}

async fn a_worker_reports_on_its_job_until_the_end_of_a_drain(database: TestDatabase) {
    let desk = Desk::open(&database);
    let worker = desk.worker("mailer", 1).await;
    let run = desk.run("nightly", task(json!({}))).await;
    let job = desk.job(&worker).await;
    desk.server.ask_to_stop();
    let ready = async || desk.server.get("/readyz").send().await.unwrap().status();
    while ready().await != StatusCode::SERVICE_UNAVAILABLE {
        tokio::task::yield_now().await;
    }
    let (status, answer) = desk.word("poll", json!({ "workerId": worker, "free": 1 })).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{answer}");
    let named = json!([{ "id": job["id"], "token": job["token"] }]);
    let beat = desk.ok("heartbeat", json!({ "workerId": worker, "jobs": named })).await;
    assert_eq!(beat, json!({ "lost": [], "stop": [], "drain": true }));
    let end = json!({ "id": job["id"], "token": job["token"], "output": { "sent": 3 } });
    let told = desk.ok("report", json!({ "workerId": worker, "ends": [end] })).await;
    assert_eq!(told, json!({ "answers": [{ "status": 200 }] }));
    let Desk { server, token } = desk;
    assert_eq!(server.ended(), 0);

    let desk = Desk { server: Server::start(&database), token };
    let ended = desk.ended(&run).await;
    assert_eq!((&ended["state"], &ended["attempt"]), (&json!("SUCCEEDED"), &json!(1)), "{ended}");
    assert_eq!(ended["output"]["sent"], 3, "{ended}");
}
