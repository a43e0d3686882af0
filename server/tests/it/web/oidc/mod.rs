//! Signing in through an identity provider, from beginning to end, and the reasons for a refusal.
//!
//! - `provider`: a real one from npm; `browser`: cookies and redirects

mod browser;
pub(crate) mod provider;

use std::time::Duration;

use browser::Browser;
use carillon::clock::Clock;
use entity::session;
use provider::{Provider, SECRET};
use reqwest::{StatusCode, header};
use sea_orm::EntityTrait;
use serde_json::{Value, json};
use url::Url;

use crate::support::{Command, Server, TestDatabase, on_both};

on_both!(groups_decide_at_each_sign_in_what_somebody_may_do);

/// A server with a provider.
fn start(database: &TestDatabase, provider: &mut Provider) -> Server {
    let issuer = &provider.issuer;
    let config = format!(
        r#"
        [oidc]
        issuer = "{issuer}"
        client_id = "carillon"
        client_secret = "{SECRET}"
        name = "the company"
        scopes = ["profile", "groups"]
        private_addresses = true
        grants = [
            {{ group = "ops", namespace = "default", role = "operator" }},
            {{ group = "watchers", namespace = "default", role = "viewer" }},
            {{ group = "root", role = "admin", sees_payloads = true }},
            {{ group = "ops", namespace = "not-there-yet", role = "admin" }},
        ]
        "#
    );
    let server = Server::start_configured(database, &config);
    provider.serve(&server.url);
    server
}

fn carillon(database: &TestDatabase, args: &[&str]) -> String {
    Command::new(args).on(database).input("correct horse battery").run().done()
}

async fn groups_decide_at_each_sign_in_what_somebody_may_do(database: TestDatabase) {
    // A user with this name exists already. It is not the user whom the provider knows by that
    // name.
    carillon(
        &database,
        &["user", "add", "ada", "--role", "admin", "--password-stdin", "--own-password"],
    );
    let mut provider = Provider::start();
    let server = start(&database, &mut provider);
    let mut ada = Browser::new();
    // If a person's groups grant nothing, nothing is stored about the person.
    let (status, told) = ada.fail(&server).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert!(told.contains("none of your groups"), "{told}");
    let users = || carillon(&database, &["user", "list", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&users()).unwrap().as_array().unwrap().len(), 1);

    provider.be(json!({ "claims": { "groups": ["ops", "unknown"] } })).await;
    let back = ada.leave(&server, "/runs?state=failed").await;
    let before = ada.cookies(&server);
    let answer = ada.get(&back).await;
    assert_eq!(answer.headers()[header::LOCATION], "/runs?state=failed");
    let me = ada.me(&server).await;
    let name = me["name"].as_str().unwrap().to_owned();
    assert!(name.starts_with("ada-") && name.len() == 12, "{me}");
    let operator = json!([{ "namespace": "default", "role": "OPERATOR" }]);
    assert_eq!((&me["grants"], &me["roleEverywhere"]), (&operator, &Value::Null));
    // The key of the browser's earlier session is not valid any more.
    assert_ne!(ada.cookies(&server), before);
    let planted = server.post("/graphql").header(header::COOKIE, &before);
    assert_eq!(server.who(planted).await, Value::Null);

    // The same subject signs in again under another name: it is the same user, with other groups.
    let claims = json!({ "preferred_username": "ada.l", "groups": ["watchers"] });
    provider.be(json!({ "claims": claims })).await;
    let mut elsewhere = Browser::new();
    elsewhere.enter(&server, "/").await;
    let now = elsewhere.me(&server).await;
    assert_eq!(now["name"], json!(name));
    assert_eq!(now["grants"], json!([{ "namespace": "default", "role": "VIEWER" }]));
    assert_eq!(ada.me(&server).await["role"], "VIEWER");

    // Rights granted in Carillon are kept separate from those of groups.
    let admin = server.sign_in("ada", "correct horse battery").await;
    let admin = crate::support::cookie(&admin);
    let order = async |query: String| {
        let post = server.post("/graphql").header(header::COOKIE, &admin);
        let answer = post.json(&json!({ "query": query })).send().await.unwrap();
        let answer: Value = answer.json().await.unwrap();
        assert!(answer["errors"].is_null(), "{answer}");
        answer["data"].clone()
    };
    order(format!(
        "mutation {{ setMembership(input: {{ user: \"{name}\", namespace: \"default\", role: EDITOR }})
            {{ membership {{ role }} }} }}"
    ))
    .await;
    provider.be(json!({ "claims": { "groups": [] } })).await;
    elsewhere.enter(&server, "/").await;
    assert_eq!(elsewhere.me(&server).await["role"], "EDITOR");
    let list = "{ users { nodes { id name issuer subject role givenElsewhere { role } } } }";
    let users = order(list.to_owned()).await["users"]["nodes"].take();
    let user = users.as_array().unwrap().iter().find(|user| user["name"] == name.as_str());
    let user = user.unwrap();
    assert_eq!((&user["subject"], &user["issuer"]), (&json!("u1"), &json!(provider.issuer)));
    assert_eq!((&user["role"], &user["givenElsewhere"]), (&Value::Null, &json!([])));
    let audit = carillon(&database, &["audit", "--format", "jsonl", "--actor", &name]);
    let actions: Vec<Value> = audit
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["action"].take())
        .collect();
    assert_eq!(actions, ["user.groups", "user.groups", "user.add"]);

    // Users of the provider cannot sign in with a password, and not at all while they are disabled.
    for password in ["", "correct horse battery"] {
        assert_eq!(server.sign_in(&name, password).await.status(), StatusCode::UNAUTHORIZED);
    }
    carillon(&database, &["user", "disable", &name]);
    assert_eq!(elsewhere.me(&server).await, Value::Null);
    let (status, told) = Browser::new().fail(&server).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{told}");
    carillon(&database, &["user", "enable", &name]);
    Browser::new().enter(&server, "/").await;
    // Another subject with the same name is another user.
    provider.be(json!({ "sub": "u2", "claims": { "groups": ["root"] } })).await;
    let mut other = Browser::new();
    other.enter(&server, "/").await;
    let other = other.me(&server).await;
    assert_eq!((&other["name"], &other["roleEverywhere"]), (&json!("ada.l"), &json!("ADMIN")));
    // Once the provider is not configured any more, rights from groups are not shown.
    let given = "{ users { nodes { name givenElsewhere { role } } } }";
    let shown = order(given.to_owned()).await.to_string();
    assert!(shown.contains(r#"[{"role":"ADMIN"}]"#), "{shown}");
    let methods = format!("{:?}", server.get("/auth/methods").send().await);
    // On SQLite, only one server may use the file.
    server.stop();
    let without = Server::start(&database);
    let admin = crate::support::cookie(&without.sign_in("ada", "correct horse battery").await);
    let asked = without.post("/graphql").header(header::COOKIE, &admin);
    let shown = asked.json(&json!({ "query": given })).send().await.unwrap().text().await.unwrap();
    assert!(shown.contains("ada.l") && !shown.contains("ADMIN"), "{shown}");
    let kept = database.dump().await + &methods;
    assert!(!kept.contains(SECRET));
}

#[tokio::test]
async fn a_token_counts_only_if_it_is_the_providers_and_of_this_sign_in() {
    let database = TestDatabase::sqlite().await;
    let mut provider = Provider::start();
    let server = start(&database, &mut provider);
    provider.be(json!({ "claims": { "groups": ["ops"] } })).await;
    for (tamper, why) in [
        (json!({ "claims": { "nonce": "another" } }), "Invalid nonce"),
        (json!({ "claims": { "nonce": null } }), "Invalid nonce"),
        (json!({ "claims": { "aud": "another" } }), "Invalid audiences"),
        (json!({ "claims": { "aud": ["carillon", "another"] } }), "Invalid audiences"),
        (json!({ "claims": { "iss": "http://127.0.0.1:1" } }), "Invalid issuer"),
        (json!({ "shift": { "exp": -7200 } }), "Expired"),
        (json!({ "shift": { "iat": -3600 } }), "too long ago"),
        (json!({ "shift": { "iat": 3600, "exp": 3600 } }), "it was issued at"),
        (json!({ "foreign": true }), "its signature"),
        (json!({ "header": { "alg": "none" } }), "its signature"),
        (json!({ "header": { "alg": "HS256" } }), "its signature"),
        (json!({ "header": { "kid": "unknown" } }), "its signature"),
    ] {
        provider.be(json!({ "tamper": tamper })).await;
        let (status, told) = Browser::new().fail(&server).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{tamper}: {told}");
        // Only the operator's log has the reason, not the page that the person sees.
        assert!(told.contains("the provider's answer was rejected"), "{tamper}: {told}");
        let log = server.logged("error=accept the token: ").await;
        assert!(log.contains(why) && !told.contains(why), "{tamper}: {log}");
        assert!(!log.contains("eyJ") && !log.contains(SECRET), "{tamper}: {log}");
    }
    // The clocks of server and provider may differ by a minute.
    for shift in [json!({ "iat": 40 }), json!({ "exp": -3630 })] {
        provider.be(json!({ "tamper": { "shift": shift } })).await;
        Browser::new().enter(&server, "/").await;
    }
    let mut ada = Browser::new();
    provider.be(json!({})).await;
    ada.enter(&server, "/").await;
    assert_eq!(ada.me(&server).await["name"], "ada");
}

/// The standard permits this: a provider may keep the ID token short, and return the other claims
/// at its userinfo endpoint.
#[tokio::test]
async fn what_the_token_does_not_say_the_provider_is_asked_for() {
    let database = TestDatabase::sqlite().await;
    let mut provider = Provider::start();
    let server = start(&database, &mut provider);
    let claims = json!({ "groups": ["ops"], "preferred_username": "grace" });
    provider.be(json!({ "claims": claims, "terse": true, "rotate": true })).await;
    let mut grace = Browser::new();
    grace.enter(&server, "/").await;
    let me = grace.me(&server).await;
    assert_eq!((&me["name"], &me["role"]), (&json!("grace"), &json!("OPERATOR")), "{me}");
    // If the userinfo answer is about another user, or is missing, it grants nothing, and no user
    // loses rights.
    for (tamper, status, why) in [
        (json!({ "userinfo": { "sub": "u2" } }), StatusCode::FORBIDDEN, "accept the token"),
        (json!({ "status": 500 }), StatusCode::BAD_GATEWAY, "read the provider's answer"),
    ] {
        provider.be(json!({ "tamper": tamper })).await;
        let (refused, told) = Browser::new().fail(&server).await;
        assert_eq!(refused, status, "{tamper}: {told}");
        let log = server.logged(why).await;
        assert!(!log.contains("eyJ"), "{log}");
        assert_eq!(grace.me(&server).await["role"], "OPERATOR");
    }
}

#[tokio::test]
async fn a_new_key_of_the_provider_is_found() {
    let database = TestDatabase::sqlite().await;
    let mut provider = Provider::start();
    let server = start(&database, &mut provider);
    provider.be(json!({ "claims": { "groups": ["ops"] }, "rotate": true })).await;
    // The server has cached the provider's keys before the provider replaces them.
    Browser::new().enter(&server, "/").await;
    provider.be(json!({ "rotate": true })).await;
    let answer = server.get("/auth/methods").send().await.unwrap().json::<Value>().await.unwrap();
    let oidc = json!({ "name": "the company" });
    assert_eq!(answer, json!({ "password": true, "oidc": oidc, "first_visit": null }));
    let entered = async {
        // The server asks the provider for its keys again only after a pause. A sign-in before the
        // end of that pause counts as a guess, and thirty guesses are too many.
        while Browser::new().sign_in(&server, "/").await.status() != StatusCode::SEE_OTHER {
            Clock::system().sleep(Duration::from_millis(200)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), entered).await.expect("a new key");
}

#[tokio::test]
async fn who_comes_back_must_have_left_from_the_same_browser_and_comes_back_once() {
    let database = TestDatabase::sqlite().await;
    let mut provider = Provider::start();
    let server = start(&database, &mut provider);
    provider.be(json!({ "claims": { "groups": ["ops"] } })).await;
    let mut ada = Browser::new();
    let back = ada.leave(&server, "/").await;
    // Another browser visits the address to which Ada should have returned, with her code.
    let mut eve = Browser::new();
    assert_eq!(eve.get(&back).await.status(), StatusCode::BAD_REQUEST);
    let mut mallory = Browser::new();
    mallory.leave(&server, "/").await;
    assert_eq!(mallory.get(&back).await.status(), StatusCode::BAD_REQUEST);
    // With a state of its own, the code does not help the attacker either.
    let own = mallory.returned.clone().unwrap();
    let value = |url: &Url, name: &str| {
        url.query_pairs().find(|(key, _)| key == name).unwrap().1.into_owned()
    };
    let mixed = format!(
        "{}/auth/oidc/callback?code={}&state={}",
        server.url,
        value(&back, "code"),
        value(&own, "state")
    );
    assert_eq!(mallory.get(&mixed.parse().unwrap()).await.status(), StatusCode::FORBIDDEN);
    assert_eq!(mallory.me(&server).await, Value::Null);
    // The provider has revoked the code because it was used twice, so Ada has to sign in again.
    let back = ada.leave(&server, "/").await;
    for wrong in [
        back.as_str().replace("iss=", "iss=https%3A%2F%2Fevil.example"),
        format!("{}/auth/oidc/callback?state=x&code=y", server.url),
        format!("{}/auth/oidc/callback", server.url),
    ] {
        let status = ada.get(&wrong.parse().unwrap()).await.status();
        assert!(status.is_client_error(), "{wrong}: {status}");
        assert_eq!(ada.me(&server).await, Value::Null);
    }
    let back = ada.leave(&server, "/").await;
    assert_eq!(ada.get(&back).await.status(), StatusCode::SEE_OTHER);
    let signed_in = ada.cookies(&server);
    // The same address is visited again, from the browser's history or from a log.
    for again in [&mut ada, &mut eve] {
        assert_eq!(again.get(&back).await.status(), StatusCode::BAD_REQUEST);
    }
    assert_eq!(ada.cookies(&server), signed_in);
    assert_eq!(ada.me(&server).await["name"], "ada");
    assert_eq!(eve.me(&server).await, Value::Null);

    // However often browsers come that were not sent away, the log says it once a minute.
    for _ in 0..100 {
        let answer = server.get("/auth/oidc/callback?state=x&code=y").send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::BAD_REQUEST);
    }
    let log = server.logged("refused requests").await;
    assert!(log.matches("refused requests").count() < 5, "{log}");

    // If the provider refuses the sign-in, the page does not repeat the provider's text.
    let mut eve = Browser::new();
    let state = value(&eve.leave(&server, "/").await, "state");
    let denied = "error=access_denied&error_description=%3Cscript%3E";
    let url = format!("{}/auth/oidc/callback?state={state}&{denied}", server.url);
    let answer = eve.get(&url.parse().unwrap()).await;
    assert_eq!(answer.status(), StatusCode::FORBIDDEN);
    let told = answer.text().await.unwrap();
    assert!(told.contains("access_denied") && !told.contains("script"), "{told}");

    // After the sign-in, the browser is never sent to another site.
    for to in ["//evil.example", "https://evil.example", "/%5Cevil.example", "%2F%2Fevil.example"] {
        assert_eq!(Browser::new().enter(&server, to).await, "/", "{to}");
    }
}

#[tokio::test]
async fn signing_out_leads_to_the_provider_and_without_it_nobody_comes_in() {
    let database = TestDatabase::sqlite().await;
    let mut provider = Provider::start();
    let server = start(&database, &mut provider);
    provider.be(json!({ "claims": { "groups": ["ops"] } })).await;
    let mut ada = Browser::new();
    ada.enter(&server, "/").await;
    let cookie = ada.cookies(&server);
    let elsewhere = server.post("/auth/logout").header(header::COOKIE, &cookie);
    let elsewhere = elsewhere.header("origin", "http://evil.example").send().await.unwrap();
    assert_eq!(elsewhere.status(), StatusCode::FORBIDDEN);
    let left = server.post("/auth/logout").header(header::COOKIE, &cookie).send().await.unwrap();
    let left: Value = left.json().await.unwrap();
    let url: Url = left["continue_at"].as_str().unwrap().parse().unwrap();
    assert!(url.as_str().starts_with(&provider.issuer), "{url}");
    assert_eq!(ada.me(&server).await, Value::Null);
    // The provider accepts this address for the sign-out.
    assert_eq!(ada.get(&url).await.status(), StatusCode::OK);

    ada.enter(&server, "/").await;
    let cookie = ada.cookies(&server);
    provider.stop();
    // The restarted server has no metadata of the provider, which is down.
    let issuer = &provider.issuer;
    let config =
        format!("[oidc]\nissuer = \"{issuer}\"\nclient_id = \"c\"\nprivate_addresses = true");
    server.stop();
    let server = Server::start_configured(&database, &config);
    let answer =
        Browser::new().get(&format!("{}/auth/oidc/login", server.url).parse().unwrap()).await;
    assert_eq!(answer.status(), StatusCode::BAD_GATEWAY);
    let told = answer.text().await.unwrap();
    assert!(told.contains("cannot be used now") && !told.contains(&provider.issuer), "{told}");
    // Signing out does not wait for the provider either.
    let left = server.post("/auth/logout").header(header::COOKIE, &cookie).send().await.unwrap();
    assert_eq!(left.status(), StatusCode::NO_CONTENT);
    let after = server.post("/graphql").header(header::COOKIE, &cookie);
    assert_eq!(server.who(after).await, Value::Null);
    // Users with passwords can still sign in.
    carillon(
        &database,
        &["user", "add", "bob", "--role", "viewer", "--password-stdin", "--own-password"],
    );
    let opened = server.sign_in("bob", "correct horse battery").await;
    assert_eq!(opened.status(), StatusCode::NO_CONTENT);
}

/// A user of the provider may have a password, too; the provider does not know whether it is for one
/// sign-in.
#[tokio::test]
async fn who_comes_by_the_provider_does_not_replace_a_one_time_password() {
    let database = TestDatabase::sqlite().await;
    let mut provider = Provider::start();
    let server = start(&database, &mut provider);
    provider.be(json!({ "claims": { "groups": ["ops"] } })).await;
    let mut ada = Browser::new();
    ada.enter(&server, "/").await;
    let name = ada.me(&server).await["name"].as_str().unwrap().to_owned();
    let made = carillon(&database, &["user", "passwd", &name, "--random"]);
    let password = made.lines().find_map(|line| line.strip_prefix("password: ")).unwrap();

    let opened = crate::support::cookie(&server.sign_in(&name, password).await);
    let query = json!({ "query": "{ me { mustChangePassword } }" });
    let asked = server.post("/graphql").header(header::COOKIE, &opened).json(&query);
    let answer: Value = asked.send().await.unwrap().json().await.unwrap();
    assert_eq!(answer["data"]["me"]["mustChangePassword"], true, "{answer}");
    // The new password has ended the session of before.
    assert_eq!(ada.me(&server).await, Value::Null);
    ada.enter(&server, "/").await;
    let me = ada.me(&server).await;
    assert_eq!(me["grants"], json!([{ "namespace": "default", "role": "OPERATOR" }]), "{me}");
    let listed = ada.ask(&server, "{ schedules { totalCount } }").await;
    assert_eq!(listed["data"]["schedules"]["totalCount"], 0, "{listed}");
}

/// Two users share a browser: the second one signs in before the first one has signed out.
#[tokio::test]
async fn what_a_session_kept_of_one_person_does_not_go_along_with_the_next() {
    let database = TestDatabase::sqlite().await;
    let mut provider = Provider::start();
    let server = start(&database, &mut provider);
    carillon(
        &database,
        &["user", "add", "bob", "--role", "viewer", "--password-stdin", "--own-password"],
    );
    provider.be(json!({ "claims": { "groups": ["ops"] } })).await;
    let mut ada = Browser::new();
    ada.enter(&server, "/").await;
    let kept = async || {
        let sessions = session::Entity::find().all(database.store.read()).await.unwrap();
        sessions.iter().any(|session| session.data.get("oidc_token").is_some())
    };
    assert!(kept().await, "the provider's token is kept for the sign-out");

    let body = json!({ "name": "bob", "password": "correct horse battery" });
    let hers = ada.cookies(&server);
    let entered = server.post("/auth/login").header(header::COOKIE, &hers).json(&body);
    let his = crate::support::cookie(&entered.send().await.unwrap());
    let who = server.who(server.post("/graphql").header(header::COOKIE, &his)).await;
    assert_eq!(who["name"], "bob");
    assert!(!kept().await, "her token is in his session");
    // The sign-out of the second user does not sign the first one out at the provider.
    let left = server.post("/auth/logout").header(header::COOKIE, &his).send().await.unwrap();
    assert_eq!(left.status(), StatusCode::NO_CONTENT);
    assert_eq!(ada.me(&server).await, Value::Null);
}

#[test]
fn a_server_that_is_not_a_provider_is_refused_at_the_start() {
    let (issuer, client) = ("issuer = \"https://id.example.org\"", "client_id = \"carillon\"");
    for (settings, said) in [
        (vec![issuer], "client_id"),
        (vec![client], "issuer"),
        (vec![client, "issuer = \"http://id.example.org\""], "oidc.issuer"),
        (vec![client, "issuer = \"https://a:b@id.example.org\""], "oidc.issuer"),
        (vec![issuer, client, "scopes = [\"a b\"]"], "oidc.scopes"),
        (vec![issuer, client, "secret = \"x\""], "no such setting"),
        (
            vec![issuer, client, "client_secret_file = \"/nope/secret\""],
            "read oidc.client_secret_file '/nope/secret'",
        ),
        (vec![issuer, client, "grants = [{ group = \"a\", role = \"king\" }]"], "king"),
    ] {
        let config = format!("[oidc]\n{}\n", settings.join("\n"));
        let serve = ["serve", "--listen", "127.0.0.1:0"];
        let refused = Command::new(&serve).file("carillon.toml", &config).run();
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.err.contains(said), "{said}: {}", refused.err);
    }
    let config = format!("[oidc]\n{issuer}\n{client}\n");
    let open = Command::new(&["serve", "--listen", "0.0.0.0:0"]).file("carillon.toml", &config);
    assert!(open.run().refused(1).contains("public_url"));
}
