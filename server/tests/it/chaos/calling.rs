//! The answers that callers get while the database is down or locked.

use std::time::Duration;

use carillon::clock::Clock;
use reqwest::StatusCode;
use sea_orm::{ConnectionTrait, Database};
use serde_json::{Value, json};

use super::{
    field::Field,
    node::Node,
    postgres::Postgres,
    proxy::{Proxy, Way},
};
use crate::support::Command;

const LEASE: Duration = Duration::from_secs(3);

/// The longest time that a caller waits for an answer, plus what a busy machine adds.
const ANSWERED: Duration = Duration::from_millis(2_000 + 500);

/// Long enough for every service to fail more than once, and for both probes to notice.
const OUTAGE: Duration = Duration::from_secs(12);

const LIST: &str = "{ schedules { totalCount } }";
const CREATE: &str = "mutation { createSchedule(input: { name: \"new\", \
    timing: { expressions: [\"@daily\"] }, task: { target: { noop: {} } } }) { schedule { id } } }";

/// Sends a query that must be answered as unavailable within the time limit.
async fn is_unavailable(node: &Node, token: &str, query: &str, said: &str) {
    let asked = Clock::system().instant();
    let answer = ask(node, token, query).await;
    let took = asked.elapsed();
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE, "{query}");
    assert!(answer.headers().contains_key("retry-after"));
    let told = answer.json::<Value>().await.unwrap().to_string();
    assert!(told.contains(said) && told.contains("UNAVAILABLE"), "{told}");
    assert!(took < ANSWERED, "{query}: {took:?}: {told}");
}

async fn ask(node: &Node, token: &str, query: &str) -> reqwest::Response {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let url = format!("{}/graphql", node.url());
    let post = reqwest::Client::new().post(url).bearer_auth(token);
    post.json(&json!({ "query": query })).send().await.unwrap()
}

fn token(url: &str) -> String {
    let create = ["token", "create", "ci", "--role", "editor"];
    let made = Command::new(&create).env("CARILLON_DATABASE__URL", url).run().done();
    made.trim().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_while_postgres_is_away_or_locked_is_answered_within_two_seconds() {
    let postgres = Postgres::start(&[]).await;
    let field = Field::new("calling", &postgres.url(), LEASE, 1, 1).await;
    let token = token(&postgres.url());
    let way = Proxy::to(postgres.port).await;
    let mut nodes = [field.node_by("one", &way.url(), &[])];
    nodes[0].is_ready().await;
    assert_eq!(ask(&nodes[0], &token, LIST).await.status(), StatusCode::OK);

    let locker = Database::connect(postgres.url()).await.unwrap();
    let lock = "BEGIN; LOCK TABLE schedule, fire IN ACCESS EXCLUSIVE MODE";
    locker.execute_unprepared(lock).await.unwrap();
    for query in [LIST, CREATE] {
        is_unavailable(&nodes[0], &token, query, "").await;
    }
    locker.execute_unprepared("ROLLBACK").await.unwrap();
    locker.close().await.unwrap();

    for outage in [Way::Cut, Way::Dead] {
        until_it_answers(&nodes[0], &token).await;
        way.becomes(outage);
        for query in [LIST, CREATE] {
            is_unavailable(&nodes[0], &token, query, "the database does not answer").await;
        }
        way.becomes(Way::Open);
    }
    until_it_answers(&nodes[0], &token).await;
    field.ends(&mut nodes).await;
}

async fn until_it_answers(node: &Node, token: &str) {
    let clock = Clock::system();
    for _ in 0..600 {
        if ask(node, token, LIST).await.status() == StatusCode::OK {
            return;
        }
        clock.sleep(Duration::from_millis(100)).await;
    }
    panic!("the database is back, and calls are not answered: {}", node.log());
}

/// The log has one error about the outage, and one line per service, however often services and
/// probes retry.
async fn an_outage_is_logged_once(name: &'static str, outage: Way) {
    let postgres = Postgres::start(&[]).await;
    let mut field = Field::new(name, &postgres.url(), LEASE, 20, 18).await;
    let way = Proxy::to(postgres.port).await;
    let mut nodes = [field.node_by("one", &way.url(), &[])];
    nodes[0].is_ready().await;
    field.begins().await;
    field.pass(Duration::from_secs(2)).await;
    let before = nodes[0].log().len();
    let clock = field.clock.clone();
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (client, url) = (reqwest::Client::new(), nodes[0].url());
    let outage = async {
        way.becomes(outage);
        let began = clock.instant();
        while began.elapsed() < OUTAGE {
            for probe in ["/healthz", "/readyz"] {
                client.get(format!("{url}{probe}")).send().await.unwrap();
            }
            clock.sleep(Duration::from_millis(500)).await;
        }
        way.becomes(Way::Open);
    };
    field.while_hit(outage).await;
    nodes[0].says("the database answers again", 1).await;
    field.ends(&mut nodes).await;
    let log = nodes[0].log();
    let lines: Vec<&str> = log[before..].lines().collect();
    let errors: Vec<_> = lines.iter().filter(|line| line.contains("ERROR")).collect();
    let warnings: Vec<_> = lines.iter().filter(|line| line.contains(" WARN")).collect();
    println!("chaos {name}: {} errors, {} warnings", errors.len(), warnings.len());
    assert_eq!(errors.len(), 1, "{errors:#?}");
    assert!(errors[0].contains("the database does not answer"), "{errors:#?}");
    assert!(warnings.len() <= 25, "{warnings:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_cut_off_is_logged_once() {
    an_outage_is_logged_once("telling", Way::Cut).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frozen_database_is_logged_once() {
    an_outage_is_logged_once("frozen", Way::Dead).await;
}
