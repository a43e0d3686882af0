use reqwest::{StatusCode, header};

use crate::support::{Server, TestDatabase};

#[tokio::test]
async fn a_request_by_another_name_is_refused() {
    let database = TestDatabase::sqlite().await;
    let config = "public_url = \"https://cron.example.org\"\nallowed_hosts = [\"*.example.net\"]";
    let server = Server::start_configured(&database, config);
    let ask = async |path: &str, host: &str| {
        let answer = server.get(path).header(header::HOST, host).send().await.unwrap();
        (answer.status(), answer.text().await.unwrap())
    };
    for path in ["/metrics", "/healthz", "/auth/methods", "/graphql", "/"] {
        let (status, text) = ask(path, "evil.example:8080").await;
        assert_eq!(status, StatusCode::MISDIRECTED_REQUEST, "{path}: {text}");
        assert!(text.contains("'evil.example:8080'") && text.contains("allowed_hosts"), "{text}");
    }
    for host in ["127.0.0.1", "localhost", "10.0.0.7:9090", "cron.example.org", "a.example.net"] {
        let (status, text) = ask("/livez", host).await;
        assert_eq!(status, StatusCode::OK, "{host}: {text}");
    }
    // The answer repeats no long host name.
    let (_, text) = ask("/livez", &format!("{}.example", "evil".repeat(1_000))).await;
    assert!(text.len() < 1_000, "{text}");
    let log = server.logged("refused requests").await;
    assert!(log.contains("host") && log.len() < 5_000, "{log}");
}
