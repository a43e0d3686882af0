//! The budget of a tag from outside: `/healthz`, `/metrics` and a badge.

use std::time::Duration;

use carillon::{clock::Clock, store::namespaces};
use entity::{
    Timestamp,
    fire::{self, Reason, Verdict},
};
use reqwest::StatusCode;
use sea_orm::{ActiveModelTrait, IntoActiveModel};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::{Command, Server, TestDatabase, cookie, fire_row, on_both};

on_both!(
    a_tag_is_judged_by_its_budget_everywhere,
    a_budget_of_a_deleted_namespace_makes_no_tag_exist,
);

const PASSWORD: &str = "correct horse battery";
const SET: &str = "mutation ($limits: HealthBudgetInput!) {
    setHealthBudget(tag: \"billing\", limits: $limits) { budget { healthy } } }";

/// A server, and the cookie of an administrator.
struct Asker {
    server: Server,
    cookie: String,
}

impl Asker {
    async fn open(database: &TestDatabase) -> Self {
        let add = ["user", "add", "ada", "--role", "admin", "--password-stdin", "--own-password"];
        Command::new(&add).on(database).input(format!("{PASSWORD}\n")).run().done();
        let server = Server::start(database);
        let cookie = cookie(&server.sign_in("ada", PASSWORD).await);
        Self { server, cookie }
    }

    async fn ask(&self, query: &str, variables: Value) -> Value {
        let body = json!({ "query": query, "variables": variables });
        let request = self.server.post("/graphql").header("cookie", &self.cookie).json(&body);
        let answer: Value = request.send().await.unwrap().json().await.unwrap();
        assert!(answer["errors"].is_null(), "{query}: {answer}");
        answer["data"].clone()
    }

    /// The answer of `/healthz` to the administrator.
    async fn health(&self, query: &str) -> (StatusCode, Value) {
        let path = format!("/healthz{query}");
        let answer = self.server.get(&path).header("cookie", &self.cookie).send().await.unwrap();
        (answer.status(), answer.json().await.unwrap())
    }

    /// The message and the colour of a badge.
    async fn badge(&self, path: &str) -> (Value, Value) {
        let path = path.replace("badge.svg", "badge.json");
        let said: Value = self.server.get(&path).send().await.unwrap().json().await.unwrap();
        (said["message"].clone(), said["color"].clone())
    }
}

async fn a_tag_is_judged_by_its_budget_everywhere(database: TestDatabase) {
    let asker = Asker::open(&database).await;
    let create = "mutation { createSchedule(input: { name: \"invoices\", tags: [\"billing\"],
        timing: { expressions: [\"0 0 1 1 *\"] }, task: { target: { noop: {} } } }) {
        schedule { id } } }";
    let made = asker.ask(create, json!({})).await;
    let schedule = made["createSchedule"]["schedule"]["id"].as_str().unwrap().parse().unwrap();
    let create = "mutation { createCalendarFeed(input: { name: \"billing\", kind: BADGE,
        search: \"tag:billing\" }) { path } }";
    let badge = asker.ask(create, json!({})).await["createCalendarFeed"]["path"].take();
    let badge = badge.as_str().unwrap();
    lose_three(&database, schedule).await;

    // Without a budget, the server's thresholds decide.
    let (status, health) = asker.health("?tag=billing").await;
    assert_eq!((status, &health["checks"]["missed"]["limit"]), (StatusCode::OK, &json!("10")));
    asker.ask(SET, json!({ "limits": { "missed": 3, "failed": 0 } })).await;
    for narrow in ["?tag=billing", "?tag=billing&namespace=default"] {
        let (status, health) = asker.health(narrow).await;
        assert_eq!(status, StatusCode::OK, "{health}");
        let missed = json!({ "healthy": true, "value": "3", "limit": "3" });
        assert_eq!(health["checks"]["missed"], missed, "{narrow}");
    }
    assert_eq!(asker.badge(badge).await, (json!("within budget"), json!("success")));

    asker.ask(SET, json!({ "limits": { "missed": 2, "spanMinutes": 120 } })).await;
    for narrow in ["?tag=billing", "?tag=billing&namespace=default"] {
        let (status, health) = asker.health(narrow).await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{health}");
        let issue = "3 fires with the tag billing of the namespace default were missed in the \
                     last 2 hours, more than 2";
        assert_eq!(health["issues"], json!([issue]), "{narrow}");
    }
    assert_eq!(asker.badge(badge).await, (json!("over budget: 3 missed"), json!("critical")));
    let picture = asker.server.get(badge).send().await.unwrap().text().await.unwrap();
    assert!(picture.contains("over budget: 3 missed"), "{picture}");
    // The whole server is healthy, and names the budget to those who may know.
    let whole = until(async || {
        let (status, health) = asker.health("").await;
        (health["checks"]["budgets"]["value"] == "1").then_some((status, health))
    });
    let (status, health) = whole.await;
    assert_eq!(status, StatusCode::OK, "{health}");
    assert!(health["issues"].to_string().contains("with the tag billing"), "{health}");
    let nobody = asker.server.get("/healthz").send().await.unwrap().text().await.unwrap();
    assert!(nobody.contains("1 budget of a tag is exceeded"), "{nobody}");
    assert!(!nobody.contains("billing"), "{nobody}");
    let shown = until(async || {
        let text = asker.server.get("/metrics").send().await.unwrap().text().await.unwrap();
        text.contains("carillon_budget_limit{").then_some(text)
    });
    let shown = shown.await;
    for (gauge, value) in [("value", "3"), ("limit", "2")] {
        let series = shown.lines().find(|line| {
            line.starts_with(&format!("carillon_budget_{gauge}{{"))
                && line.contains("figure=\"missed\"")
        });
        let series = series.unwrap_or_else(|| panic!("{shown}"));
        assert!(series.contains("tag=\"billing\"") && series.ends_with(value), "{series}");
    }

    let remove = "mutation { removeHealthBudget(tag: \"billing\") { id } }";
    asker.ask(remove, json!({})).await;
    assert_eq!(asker.health("?tag=billing").await.0, StatusCode::OK);
    // A budget makes a tag exist that no schedule has yet.
    assert_eq!(asker.health("?tag=later").await.0, StatusCode::NOT_FOUND);
    let later = SET.replace("billing", "later");
    asker.ask(&later, json!({ "limits": { "missed": 0 } })).await;
    assert_eq!(asker.health("?tag=later").await.0, StatusCode::OK);
}

async fn a_budget_of_a_deleted_namespace_makes_no_tag_exist(database: TestDatabase) {
    let asker = Asker::open(&database).await;
    let make = "mutation { createNamespace(name: \"shop\") { namespace { id } }
        setHealthBudget(namespace: \"shop\", tag: \"orders\", limits: { missed: 0 }) {
            budget { healthy } } }";
    asker.ask(make, json!({})).await;
    assert_eq!(asker.health("?tag=orders").await.0, StatusCode::OK);
    let delete = "mutation { deleteNamespace(name: \"shop\", reason: \"closed\") { id } }";
    asker.ask(delete, json!({})).await;
    let (status, health) = asker.health("?tag=orders").await;
    assert_eq!(status, StatusCode::NOT_FOUND, "{health}");
    let restore = "mutation { undeleteNamespace(name: \"shop\") { namespace { id } } }";
    asker.ask(restore, json!({})).await;
    assert_eq!(asker.health("?tag=orders").await.0, StatusCode::OK);
}

/// Adds a row of three fires that were missed a moment ago.
async fn lose_three(database: &TestDatabase, schedule: Uuid) {
    let store = &database.store;
    let home = namespaces::by_name(store.read(), "default").await.unwrap().unwrap();
    let now = Timestamp::from(Clock::system().now());
    let row = fire::Model {
        count: 3,
        verdict: Verdict::Missed,
        reason: Reason::Outage,
        decided_at: Some(now),
        ..fire_row(home.id, schedule, now)
    };
    let tx = store.begin().await.unwrap();
    row.into_active_model().insert(&tx).await.unwrap();
    store.commit(tx).await.unwrap();
}

/// The first answer of that kind: what is cached may be a moment old.
async fn until<T>(look: impl AsyncFn() -> Option<T>) -> T {
    let found = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), found).await.expect("it comes")
}
