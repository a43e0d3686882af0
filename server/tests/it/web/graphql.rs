use std::time::Duration;

use reqwest::{StatusCode, header};
use sea_orm::ConnectionTrait;
use serde_json::{Value, json};

use crate::support::{Command, Server, Socket, TestDatabase, cookie, on_both};

on_both!(a_token_opens_the_control_plane_until_it_is_revoked);

fn token(database: &TestDatabase, name: &str) -> String {
    let create = ["token", "create", name, "--role", "viewer"];
    Command::new(&create).on(database).run().done().trim().to_owned()
}

async fn a_token_opens_the_control_plane_until_it_is_revoked(database: TestDatabase) {
    let token = token(&database, "ci");
    let server = Server::start(&database);
    let who = server.who(server.post("/graphql").bearer_auth(&token)).await;
    assert_eq!(who, json!({ "name": "token/ci", "kind": "TOKEN", "role": "VIEWER" }));
    Command::new(&["token", "revoke", "ci"]).on(&database).run().done();
    let refused = server.post("/graphql").bearer_auth(&token).json(&json!({})).send().await;
    let refused = refused.unwrap();
    assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(refused.headers()[header::WWW_AUTHENTICATE], "Bearer");
    let told: Value = refused.json().await.unwrap();
    assert_eq!(told["errors"][0]["extensions"]["code"], "UNAUTHENTICATED", "{told}");
}

#[tokio::test]
async fn strangers_must_sign_in() {
    let database = TestDatabase::sqlite().await;
    let server = Server::start(&database);
    let query = json!({ "query": "{ schedules { totalCount } }" });
    let answer = server.post("/graphql").json(&query).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    let answer: Value = answer.json().await.unwrap();
    assert_eq!(answer["errors"][0]["extensions"]["code"], "UNAUTHENTICATED");
    for scheme in ["Bearer car_0", "Bearer", "Basic YWRhOng=", ""] {
        let post = server.post("/graphql").header(header::AUTHORIZATION, scheme);
        let answer = post.json(&query).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED, "{scheme}");
    }
}

#[tokio::test]
async fn a_large_answer_is_compressed_for_those_who_accept_that() {
    let database = TestDatabase::sqlite().await;
    let token = token(&database, "ci");
    let server = Server::start(&database);
    let answer = async |query: &str, accepted: &'static str| {
        let post = server.post("/graphql").bearer_auth(&token);
        let post = post.header(header::ACCEPT_ENCODING, accepted).json(&json!({ "query": query }));
        let answer = post.send().await.unwrap();
        let encoding = answer.headers().get(header::CONTENT_ENCODING).cloned();
        (encoding, answer.bytes().await.unwrap())
    };
    let large = "{ __schema { types { name description } } }";
    let (encoding, plain) = answer(large, "identity").await;
    assert!(encoding.is_none() && plain.len() > 10_000, "{} bytes", plain.len());
    let (encoding, compressed) = answer(large, "gzip, deflate, br").await;
    assert_eq!(encoding.unwrap(), "gzip");
    assert!(compressed.starts_with(&[0x1f, 0x8b]), "not what gzip begins with");
    assert!(compressed.len() * 2 < plain.len(), "{} of {}", compressed.len(), plain.len());
    let (encoding, _) = answer("{ me { name } }", "gzip").await;
    assert!(encoding.is_none(), "a small answer is not worth it");
}

#[tokio::test]
async fn a_list_of_requests_is_refused_as_a_whole() {
    let database = TestDatabase::sqlite().await;
    let token = token(&database, "ci");
    let server = Server::start(&database);
    let one = json!({ "query": "{ me { name } }" });
    for many in [json!([one, one]), json!([[one]])] {
        let answer = server.post("/graphql").bearer_auth(&token).json(&many).send().await.unwrap();
        assert!(answer.status().is_client_error(), "{many}");
        let told: Value = answer.json().await.unwrap();
        assert!(told["errors"][0]["message"].as_str().unwrap().contains("send one"), "{told}");
    }
}

#[tokio::test]
async fn a_socket_knows_who_opened_it() {
    let database = TestDatabase::sqlite().await;
    let token = token(&database, "ci");
    let add = ["user", "add", "ada", "--role", "admin", "--password-stdin", "--own-password"];
    Command::new(&add).on(&database).input("correct horse battery").run().done();
    let server = Server::start(&database);

    let cookie = cookie(&server.sign_in("ada", "correct horse battery").await);
    let open = Socket::request(&server, "/graphql/ws").header(header::COOKIE, cookie);
    let mut socket = Socket::open(open).await;
    assert_eq!(socket.init(json!({})).await.unwrap()["type"], "connection_ack");
    assert_eq!(socket.ask("{ me { name } }").await["data"]["me"]["name"], "ada");

    // WebSockets can be opened at both addresses. A program sends its token with the request.
    for path in ["/graphql", "/graphql/ws"] {
        let mut socket = Socket::open(Socket::request(&server, path)).await;
        let answer = socket.init(json!({ "token": token })).await.unwrap();
        assert_eq!(answer["type"], "connection_ack");
        assert_eq!(socket.ask("{ me { name } }").await["data"]["me"]["name"], "token/ci");
    }

    let mut socket = Socket::open(Socket::request(&server, "/graphql/ws")).await;
    assert_eq!(socket.init(Value::Null).await.unwrap()["type"], "connection_ack");
    assert_eq!(socket.ask("{ me { name } }").await["data"]["me"], Value::Null);

    let mut socket = Socket::open(Socket::request(&server, "/graphql/ws")).await;
    let answer = socket.init(json!({ "token": "car_0" })).await;
    assert!(answer.is_none_or(|answer| answer["type"] != "connection_ack"));
}

#[tokio::test]
async fn a_socket_has_the_current_rights_of_its_opener() {
    let database = TestDatabase::sqlite().await;
    let token = token(&database, "ci");
    let add = ["user", "add", "ada", "--role", "admin", "--password-stdin", "--own-password"];
    Command::new(&add).on(&database).input("correct horse battery").run().done();
    let server = Server::start(&database);
    let cookie = cookie(&server.sign_in("ada", "correct horse battery").await);
    let open = Socket::request(&server, "/graphql/ws").header(header::COOKIE, cookie);
    let mut person = Socket::open(open).await;
    person.init(json!({})).await.unwrap();
    let mut program = Socket::open(Socket::request(&server, "/graphql/ws")).await;
    program.init(json!({ "token": token })).await.unwrap();

    let me = "{ me { role } }";
    assert_eq!(person.ask(me).await["data"]["me"]["role"], "ADMIN");
    assert_eq!(program.ask(me).await["data"]["me"]["role"], "VIEWER");
    Command::new(&["user", "disable", "ada", "--force"]).on(&database).run().done();
    assert_eq!(person.ask(me).await["data"]["me"], Value::Null);
    Command::new(&["token", "revoke", "ci"]).on(&database).run().done();
    let refused = program.ask("{ schedules { totalCount } }").await;
    assert_eq!(refused["errors"][0]["extensions"]["code"], "UNAUTHENTICATED");
    // A socket that never sends credentials does not stay open either.
    assert_eq!(person.closed().await, Some(4401));
    assert_eq!(program.closed().await, Some(4401));
}

#[tokio::test]
async fn a_socket_says_that_the_database_cannot_serve_it() {
    let database = TestDatabase::postgres().await;
    let token = token(&database, "ci");
    let server = Server::start(&database);
    let mut socket = Socket::open(Socket::request(&server, "/graphql/ws")).await;
    socket.init(json!({ "token": token })).await.unwrap();
    let lock = database.store.begin().await.unwrap();
    let held = "SET LOCAL idle_in_transaction_session_timeout = 0";
    lock.execute_unprepared(held).await.unwrap();
    lock.execute_unprepared("LOCK TABLE api_token IN ACCESS EXCLUSIVE MODE").await.unwrap();
    // For a moment, the token is known from before.
    let refused = async {
        loop {
            let answer = socket.ask("{ me { name } }").await;
            if answer.is_array() {
                return answer;
            }
        }
    };
    let refused = tokio::time::timeout(Duration::from_secs(60), refused).await.unwrap();
    assert_eq!(refused[0]["extensions"]["code"], "UNAVAILABLE", "{refused}");
    drop(lock);
}

#[tokio::test]
async fn refusals_of_the_library_over_a_socket_have_codes() {
    let database = TestDatabase::sqlite().await;
    let server = Server::start(&database);
    let mut socket = Socket::open(Socket::request(&server, "/graphql/ws")).await;
    socket.init(json!({})).await.unwrap();
    for (query, code) in [
        ("{", "GRAPHQL_PARSE_FAILED"),
        ("{ nothing }", "GRAPHQL_VALIDATION_FAILED"),
        ("subscription { nothing }", "GRAPHQL_VALIDATION_FAILED"),
    ] {
        // The server answers with a message of type `error`, whose payload is the list of errors.
        let answer = socket.ask(query).await;
        assert_eq!(answer[0]["extensions"]["code"], code, "{query}: {answer}");
    }
}

#[tokio::test]
async fn a_socket_has_a_hundred_operations_at_the_most() {
    let database = TestDatabase::sqlite().await;
    let token = token(&database, "ci");
    let server = Server::start(&database);
    let mut socket = Socket::open(Socket::request(&server, "/graphql/ws")).await;
    socket.init(json!({ "token": token })).await.unwrap();
    let payload = json!({ "query": "subscription { runEvents { cursor } }" });
    for id in 1_000..1_101 {
        let id = id.to_string();
        socket.send(json!({ "id": id, "type": "subscribe", "payload": payload })).await;
    }
    // No events occur in this test, so the only message is the refusal.
    let answer = socket.next().await.unwrap();
    let error = answer["payload"].get(0).unwrap_or(&answer["payload"]["errors"][0]);
    assert_eq!(error["extensions"]["code"], "RATE_LIMITED", "{answer}");
}

#[tokio::test]
async fn a_person_has_two_hundred_operations_on_all_sockets() {
    let database = TestDatabase::sqlite().await;
    let token = token(&database, "ci");
    let server = Server::start(&database);
    let payload = json!({ "query": "subscription { runEvents { cursor } }" });
    let mut held = Vec::new();
    for count in [99, 99, 10] {
        let mut socket = Socket::open(Socket::request(&server, "/graphql/ws")).await;
        socket.init(json!({ "token": token })).await.unwrap();
        for id in 1_000..1_000 + count {
            let id = id.to_string();
            socket.send(json!({ "id": id, "type": "subscribe", "payload": payload })).await;
        }
        if count == 99 {
            // An answer shows that the operations before it have begun.
            assert_eq!(socket.ask("{ me { name } }").await["data"]["me"]["name"], "token/ci");
        }
        held.push(socket);
    }
    let answer = held[2].next().await.unwrap();
    let error = answer["payload"].get(0).unwrap_or(&answer["payload"]["errors"][0]);
    assert_eq!(error["extensions"]["code"], "RATE_LIMITED", "{answer}");
    assert!(error["message"].as_str().unwrap().contains("all of your sockets"), "{answer}");
}

#[tokio::test]
async fn a_body_that_is_no_request_is_refused() {
    let database = TestDatabase::sqlite().await;
    let token = token(&database, "ci");
    let server = Server::start(&database);
    let post = || server.post("/graphql").header(header::CONTENT_TYPE, "application/json");
    let long = format!("{{ me {{ name }} }} #{}", "x".repeat(4 * 1024 * 1024));
    for (request, status) in [
        (post().body("{"), StatusCode::BAD_REQUEST),
        (post().body("[1]"), StatusCode::BAD_REQUEST),
        // A request with several documents is refused: each document would have the limits of a
        // request for itself.
        (post().body("[{\"query\": \"{ me { name } }\"}]"), StatusCode::BAD_REQUEST),
        (post().body(r#"{"query": 7}"#), StatusCode::BAD_REQUEST),
        (post().body(format!("{{\"a\": {}", "[".repeat(200))), StatusCode::BAD_REQUEST),
        (post().body(json!({ "query": long }).to_string()), StatusCode::UNAUTHORIZED),
        (
            post().bearer_auth(&token).body(json!({ "query": long }).to_string()),
            StatusCode::PAYLOAD_TOO_LARGE,
        ),
        (server.post("/graphql").body("{}"), StatusCode::UNSUPPORTED_MEDIA_TYPE),
    ] {
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), status);
        let told: Value = answer.json().await.unwrap();
        assert!(told["errors"][0]["extensions"]["code"].is_string(), "{told}");
        assert!(told["errors"][0]["message"].as_str().unwrap().len() > 20, "{told}");
    }
}

#[tokio::test]
async fn a_method_that_is_not_taken_and_a_socket_that_is_none_are_refused_in_json() {
    let database = TestDatabase::sqlite().await;
    let server = Server::start(&database);
    for (request, status) in [
        (server.get("/graphql"), StatusCode::BAD_REQUEST),
        (server.get("/graphql/ws"), StatusCode::BAD_REQUEST),
        (server.get("/auth/login"), StatusCode::METHOD_NOT_ALLOWED),
        (server.post("/healthz"), StatusCode::METHOD_NOT_ALLOWED),
    ] {
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), status);
        let allows = answer.headers().contains_key(header::ALLOW);
        assert_eq!(allows, status == StatusCode::METHOD_NOT_ALLOWED);
        let body: Value = answer.json().await.unwrap();
        let text = body["error"].as_str().or(body["errors"][0]["message"].as_str());
        assert!(text.is_some_and(|text| text.len() > 20), "{body}");
    }
}

/// The page loads nothing from other sites, and works under the console's security policy.
#[tokio::test]
async fn the_page_to_try_graphql_out_is_all_ours() {
    let database = TestDatabase::sqlite().await;
    let server = Server::start(&database);
    let page = server.get("/graphiql").send().await.unwrap();
    let policy = page.headers()[header::CONTENT_SECURITY_POLICY].to_str().unwrap().to_owned();
    assert!(!policy.contains("unsafe-inline") && !policy.contains("https:"), "{policy}");
    let mut texts = vec![page.text().await.unwrap()];
    let files: Vec<String> = texts[0]
        .split('"')
        .filter(|part| part.starts_with("/graphiql/"))
        .map(str::to_owned)
        .chain(["client.js", "schema.js", "complete.js"].map(|name| format!("/graphiql/{name}")))
        .collect();
    assert_eq!(files.len(), 6, "{files:?}");
    for file in files {
        let answer = server.get(&file).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK, "{file}");
        let kind = answer.headers()[header::CONTENT_TYPE].to_str().unwrap().to_owned();
        let expected = if file.ends_with(".css") { "text/css" } else { "text/javascript" };
        assert_eq!(kind, expected, "{file}");
        texts.push(answer.text().await.unwrap());
    }
    for text in texts {
        assert!(!text.contains("//unpkg") && !text.contains("https://"), "{text}");
        assert!(!text.contains("innerHTML") && !text.contains("<script>"), "{text}");
    }
}

#[tokio::test]
async fn a_reason_that_a_socket_opens_with_is_in_the_audit_log() {
    let database = TestDatabase::sqlite().await;
    let create = ["token", "create", "ci", "--role", "admin"];
    let token = Command::new(&create).on(&database).run().done().trim().to_owned();
    let server = Server::start(&database);
    let mut socket = Socket::open(Socket::request(&server, "/graphql/ws")).await;
    socket.init(json!({ "token": token, "reason": "moving house" })).await.unwrap();
    let make = "mutation { createNamespace(name: \"new\") { namespace { name } } }";
    let made = socket.ask(make).await;
    assert_eq!(made["data"]["createNamespace"]["namespace"]["name"], "new", "{made}");
    let ask = "{ auditEvents(first: 1) { nodes { action reason } } }";
    let told = socket.ask(ask).await["data"]["auditEvents"]["nodes"][0].take();
    assert_eq!(told, json!({ "action": "namespace.create", "reason": "moving house" }));
    let mut long = Socket::open(Socket::request(&server, "/graphql/ws")).await;
    let payload = json!({ "token": token, "reason": "x".repeat(501) });
    assert!(long.init(payload).await.is_none_or(|answer| answer["type"] != "connection_ack"));
}

/// GraphQL clients send the token in several ways.
#[tokio::test]
async fn a_socket_is_opened_with_a_header_in_its_payload() {
    let database = TestDatabase::sqlite().await;
    let token = token(&database, "ci");
    let server = Server::start(&database);
    for payload in [
        json!({ "Authorization": format!("Bearer {token}") }),
        json!({ "authorization": format!("bearer {token}") }),
        json!({ "headers": { "Authorization": format!("Bearer {token}") } }),
    ] {
        let mut socket = Socket::open(Socket::request(&server, "/graphql")).await;
        assert_eq!(socket.init(payload).await.unwrap()["type"], "connection_ack");
        assert_eq!(socket.ask("{ me { name } }").await["data"]["me"]["name"], "token/ci");
    }
}

#[tokio::test]
async fn a_socket_ends_with_a_code_that_says_why() {
    let database = TestDatabase::sqlite().await;
    let token = token(&database, "ci");
    let server = Server::start(&database);
    let init = json!({ "type": "connection_init", "payload": { "token": token } });
    let bad = json!({ "type": "connection_init", "payload": { "token": "car_0" } });
    let payload = json!({ "query": "subscription { runEvents { cursor } }" });
    let subscribe = json!({ "id": "1", "type": "subscribe", "payload": payload });
    for (messages, code) in [
        (vec![json!(7)], 4400),
        (vec![json!({ "type": "unheard" })], 4400),
        (vec![init.clone(), json!({ "type": "subscribe" })], 4400),
        (vec![subscribe.clone()], 4401),
        (vec![bad], 4401),
        (vec![init.clone(), subscribe.clone(), subscribe], 4409),
        (vec![init.clone(), init], 4429),
    ] {
        let mut socket = Socket::open(Socket::request(&server, "/graphql/ws")).await;
        for message in &messages {
            socket.send(message.clone()).await;
        }
        assert_eq!(socket.closed().await, Some(code), "{messages:?}");
    }
}

#[tokio::test]
async fn a_query_comes_by_get_and_a_mutation_does_not() {
    let database = TestDatabase::sqlite().await;
    let token = token(&database, "ci");
    let server = Server::start(&database);
    let get = |query: &str, variables: &str| {
        let parameters = [("query", query), ("variables", variables)];
        server.get("/graphql").query(&parameters).bearer_auth(&token)
    };
    let query = "query ($n: Int) { runs(first: $n) { nodes { id } } me { name } }";
    let answer: Value = get(query, r#"{"n": 3}"#).send().await.unwrap().json().await.unwrap();
    assert_eq!(answer["data"]["me"]["name"], "token/ci", "{answer}");
    let refused = get("mutation { __typename }", "{}").send().await.unwrap();
    assert_eq!(refused.status(), StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(refused.headers()[header::ALLOW], "POST");
    assert_eq!(get("{ me { name } }", "{").send().await.unwrap().status(), StatusCode::BAD_REQUEST);
    // A page of another site cannot send queries with the cookie of its visitor.
    let foreign = server.get("/graphql").query(&[("query", "{ me { name } }")]);
    let foreign = foreign.header("sec-fetch-site", "cross-site").send().await.unwrap();
    assert_eq!(foreign.status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn pages_of_named_origins_may_call_and_no_others() {
    let database = TestDatabase::sqlite().await;
    let token = token(&database, "ci");
    let plain = Server::start(&database);
    let preflight = |server: &Server, origin: &str| {
        let address = format!("{}/graphql", server.url);
        let ask = server.http.request(reqwest::Method::OPTIONS, address);
        ask.header(header::ORIGIN, origin.to_owned())
            .header(header::ACCESS_CONTROL_REQUEST_METHOD, "POST")
            .header(header::ACCESS_CONTROL_REQUEST_HEADERS, "authorization,content-type")
    };
    let allowed = header::ACCESS_CONTROL_ALLOW_ORIGIN;
    let ours = "https://app.example.org";
    let answer = preflight(&plain, ours).send().await.unwrap();
    assert!(!answer.headers().contains_key(&allowed), "{answer:?}");
    drop(plain);

    let server = Server::start_under(&database, &[], "CARILLON_API__CORS_ORIGINS", ours);
    let answer = preflight(&server, ours).send().await.unwrap();
    assert_eq!(answer.headers()[&allowed], ours);
    assert!(!answer.headers().contains_key(header::ACCESS_CONTROL_ALLOW_CREDENTIALS));
    let foreign = preflight(&server, "https://evil.example").send().await.unwrap();
    assert!(!foreign.headers().contains_key(&allowed), "{foreign:?}");
    let ask = server.post("/graphql").json(&json!({ "query": "{ me { name } }" }));
    let answer = ask.bearer_auth(&token).header(header::ORIGIN, ours).send().await.unwrap();
    assert_eq!(answer.headers()[&allowed], ours);
    let told: Value = answer.json().await.unwrap();
    assert_eq!(told["data"]["me"]["name"], "token/ci");
}

#[tokio::test]
async fn introspection_is_opened_by_a_setting() {
    let database = TestDatabase::sqlite().await;
    let query = json!({ "query": "{ __type(name: \"Query\") { name } }" });
    for (setting, is_open) in [("signed-in", false), ("everyone", true)] {
        let server = Server::start_under(&database, &[], "CARILLON_API__INTROSPECTION", setting);
        let answer = server.post("/graphql").json(&query).send().await.unwrap();
        let told: Value = answer.json().await.unwrap();
        assert_eq!(told["data"]["__type"]["name"] == "Query", is_open, "{told}");
    }
}
