use axum::{
    Router,
    response::Redirect,
    routing::{any, post},
};
use carillon::target::Stream;
use serde_json::json;

use super::support::{failed, open, receiver, run, serve, succeeded, texts};

#[tokio::test]
async fn a_redirect_is_followed_without_the_credentials_of_another_origin() {
    let (stranger, mut received) = receiver().await;
    let to = format!("http://{stranger}/new");
    let router = Router::new()
        .route("/old", post(async || Redirect::temporary("/older")))
        .route("/older", post(async move || Redirect::temporary(&to)));
    let address = serve(router).await;
    let (outcome, lines) = run(
        open(),
        json!({"http": {
            "url": format!("http://{address}/old"),
            "headers": {"x-api-key": "hush"},
            "body": {"a": 1},
            "signing_secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        }}),
    )
    .await;
    assert_eq!(succeeded(outcome)["redirects"], 2);

    let request = received.recv().await.unwrap();
    assert_eq!((request.method.as_str(), request.uri.path()), ("POST", "/new"));
    assert_eq!(request.body, r#"{"a":1}"#);
    assert_eq!(request.header("idempotency-key"), Some("nightly-1700000000"));
    assert_eq!(request.header("x-api-key"), None);
    assert_eq!(request.header("webhook-signature"), None);
    assert_eq!(
        texts(&lines, Stream::System)[2],
        format!("{address} answered 307 Temporary Redirect, redirected to http://{stranger}")
    );
}

#[tokio::test]
async fn redirects_are_counted() {
    let address = serve(Router::new().route("/", any(async || Redirect::permanent("/")))).await;
    let url = format!("http://{address}/");

    let (message, _) = failed(run(open(), json!({"http": {"url": url}})).await.0);
    assert_eq!(message, format!("more than 5 redirects, last by {address}"));

    // If the target follows no redirects, the redirect itself is the answer.
    let none = json!({"http": {"url": url, "max_redirects": 0, "expected_status": 308}});
    assert_eq!(succeeded(run(open(), none).await.0)["headers"]["location"], "/");
}

#[tokio::test]
async fn a_redirect_to_a_forbidden_address_is_refused() {
    for to in [
        "http://169.254.169.254/latest/meta-data",
        "http://[::ffff:a9fe:a9fe]/",
        "http://0xa9fea9fe/",
        "http://0.0.0.0/",
        "file:///etc/passwd",
        "http://user:hush@127.0.0.1/",
    ] {
        let address = serve(Router::new().route("/", any(async || Redirect::to(to)))).await;
        let (outcome, _) =
            run(open(), json!({"http": {"url": format!("http://{address}/")}})).await;
        let (message, _) = failed(outcome);
        let expected = format!("{address} redirected to where requests may not go: ");
        assert!(message.starts_with(&expected) && !message.contains("hush"), "{to}: {message}");
    }
}
