use reqwest::{StatusCode, header};
use serde_json::Value;

use crate::support::{Server, TestDatabase};

/// A built console in a folder.
fn console() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("index.html"), "<!doctype html><title>console</title>")
        .unwrap();
    std::fs::write(folder.path().join("app-0123456789abcdef.js"), "export {}").unwrap();
    std::fs::write(folder.path().join("icon.svg"), "<svg/>").unwrap();
    folder
}

async fn with_console() -> (TestDatabase, tempfile::TempDir, Server) {
    let (database, folder) = (TestDatabase::sqlite().await, console());
    let dist = folder.path().to_str().unwrap();
    let server = Server::start_with(&database, &["--console-dist", dist]);
    (database, folder, server)
}

#[tokio::test]
async fn a_navigation_to_any_page_gets_the_app() {
    let (_database, _folder, server) = with_console().await;
    for path in ["/", "/index.html", "/schedules", "/runs/0193-a"] {
        let page = server.get(path).header(header::ACCEPT, "text/html").send().await.unwrap();
        assert_eq!(page.status(), StatusCode::OK, "{path}");
        assert_eq!(page.headers()[header::CACHE_CONTROL], "no-cache");
        assert!(page.text().await.unwrap().contains("<title>console</title>"));
    }
}

#[tokio::test]
async fn a_program_that_mistypes_an_address_gets_an_error() {
    let (_database, _folder, server) = with_console().await;
    let script = server.get("/schedules").header(header::ACCEPT, "*/*").send().await.unwrap();
    assert_eq!(script.status(), StatusCode::NOT_FOUND);
    let file = server.get("/missing.js").header(header::ACCEPT, "text/html").send().await.unwrap();
    assert_eq!(file.status(), StatusCode::NOT_FOUND);
    for path in ["/api/schedules", "/auth/unknown", "/graphql/unknown"] {
        let page = server.get(path).header(header::ACCEPT, "text/html").send().await.unwrap();
        assert_eq!(page.status(), StatusCode::NOT_FOUND, "{path}");
        assert!(page.json::<Value>().await.unwrap()["error"].is_string());
    }
    let posted = server.post("/schedules").send().await.unwrap();
    assert_eq!(posted.status(), StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test]
async fn only_files_that_never_change_are_kept() {
    let (_database, _folder, server) = with_console().await;
    let kept = |path: &'static str| {
        let request = server.get(path);
        async move { request.send().await.unwrap().headers()[header::CACHE_CONTROL].clone() }
    };
    assert_eq!(kept("/app-0123456789abcdef.js").await, "public, max-age=31536000, immutable");
    assert_eq!(kept("/icon.svg").await, "no-cache");
    assert_eq!(kept("/livez").await, "no-store");
}

#[tokio::test]
async fn every_answer_carries_the_policy() {
    let (_database, _folder, server) = with_console().await;
    for path in ["/", "/livez", "/missing", "/api/x"] {
        let answer = server.get(path).send().await.unwrap();
        let text = |name| answer.headers()[name].to_str().unwrap();
        let policy = text(header::CONTENT_SECURITY_POLICY);
        assert!(policy.contains("script-src 'self' 'wasm-unsafe-eval'"), "{policy}");
        assert!(!policy.contains("unsafe-inline"), "{policy}");
        assert_eq!(text(header::X_CONTENT_TYPE_OPTIONS), "nosniff");
        assert!(answer.headers().get(header::STRICT_TRANSPORT_SECURITY).is_none());
    }
}

#[tokio::test]
async fn a_path_does_not_leave_the_folder() {
    let (_database, _folder, server) = with_console().await;
    for path in ["/../Cargo.toml", "/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc/passwd"] {
        let answer = server.get(path).send().await.unwrap();
        assert_ne!(answer.status(), StatusCode::OK, "{path}");
    }
}

#[tokio::test]
async fn the_documentation_is_served_beside_the_console() {
    let database = TestDatabase::sqlite().await;
    let folder = console();
    let docs = folder.path().join("docs");
    std::fs::create_dir_all(docs.join("runbooks")).unwrap();
    std::fs::write(docs.join("index.html"), "<title>begin</title>").unwrap();
    std::fs::write(docs.join("runbooks/CarillonDown.html"), "<title>down</title>").unwrap();
    let server =
        Server::start_with(&database, &["--console-dist", folder.path().to_str().unwrap()]);
    let get = async |path: &str| {
        let answer = server.get(path).header(header::ACCEPT, "text/html").send().await.unwrap();
        assert_eq!(answer.headers()[header::CACHE_CONTROL], "no-cache", "{path}");
        (answer.status(), answer.url().path().to_owned(), answer.text().await.unwrap())
    };
    for path in ["/docs", "/docs/"] {
        let page = get(path).await;
        assert_eq!(page, (StatusCode::OK, "/docs/".to_owned(), "<title>begin</title>".to_owned()));
    }
    let (status, _, page) = get("/docs/runbooks/CarillonDown.html").await;
    assert_eq!((status, &*page), (StatusCode::OK, "<title>down</title>"));
    // The documentation has its own page for a missing page.
    let (status, _, page) = get("/docs/none").await;
    assert!(status == StatusCode::NOT_FOUND && page.contains("no such page"), "{page}");
}

#[tokio::test]
async fn a_server_without_the_documentation_says_so() {
    let (_database, _folder, server) = with_console().await;
    let answer = server.get("/docs/").header(header::ACCEPT, "text/html").send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::NOT_FOUND);
    let page = answer.text().await.unwrap();
    assert!(page.contains("make docs") && page.contains("built without it"), "{page}");
}
