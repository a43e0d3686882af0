use super::{answer, status};
use crate::support::{Command, Server, TestDatabase};

/// An entry of the audit log that appears nowhere else.
const MARK: &str = "token.create";

#[tokio::test]
async fn a_protected_route_is_protected_under_every_name() {
    let database = TestDatabase::sqlite().await;
    let create = ["token", "create", "ci", "--role", "admin"];
    let token = Command::new(&create).on(&database).run().done();
    let server = Server::start(&database);
    let get = |path: &str, headers: &str| {
        answer(
            &server,
            &format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n"),
        )
    };
    let own = get("/audit/export", &format!("Authorization: Bearer {}\r\n", token.trim()));
    assert!(status(&own) == 200 && own.contains(MARK), "it is there to be seen: {own}");
    for path in [
        "/audit/export",
        "//audit/export",
        "/audit//export",
        "/audit/export/",
        "/AUDIT/EXPORT",
        "/audit/%65xport",
        "/audit%2fexport",
        "/%61udit/export",
        "/./audit/export",
        "/x/../audit/export",
        "/livez/../audit/export",
        "/livez/..;/audit/export",
        "/healthz%2f..%2faudit/export",
        "/audit/export;x=1",
        "/audit/export%00",
        "/audit/export%20",
        "/audit\\export",
        "/audit/export?token=x",
        "/assets/../../audit/export",
        "http://localhost/audit/export",
        "/graphql/?query={auditEvents{nodes{action}}}",
        "*",
    ] {
        let refused = get(path, "");
        assert!([400, 401, 404, 405].contains(&status(&refused)), "{path}: {refused}");
        assert!(!refused.contains(MARK), "{path}: {refused}");
    }
    // An unauthenticated caller's query by GET is refused like one by POST.
    let refused = get("/graphql?query={auditEvents{nodes{action}}}", "");
    assert!(refused.contains("UNAUTHENTICATED") && !refused.contains(MARK), "{refused}");
    // Headers by which some proxies announce another path, method or user.
    for header in [
        "X-Original-URL: /audit/export",
        "X-Rewrite-URL: /audit/export",
        "X-Forwarded-For: 127.0.0.1",
        "X-Forwarded-User: admin",
        "X-Remote-User: admin",
        "Authorization: Bearer null",
        "Authorization: Basic YWRtaW46YWRtaW4=",
        "Cookie: carillon-8080=admin; __Host-carillon=admin",
        "X-HTTP-Method-Override: POST",
    ] {
        let refused = get("/audit/export", &format!("{header}\r\n"));
        assert_eq!(status(&refused), 401, "{header}: {refused}");
        let open = get("/livez", &format!("{header}\r\n"));
        assert!(status(&open) == 200 && !open.contains(MARK), "{header}: {open}");
    }
    // Two requests in one stream; the first claims to be longer, or shorter, than it is.
    for lengths in [
        "Content-Length: 4\r\nContent-Length: 60\r\n",
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: 1e3\r\n",
    ] {
        let request =
            format!("POST /auth/login HTTP/1.1\r\nHost: x\r\n{lengths}\r\nGET /audit/export");
        let refused = answer(&server, &format!("{request} HTTP/1.1\r\nHost: x\r\n\r\n"));
        assert!(!refused.contains(MARK) && !refused.contains("200 OK"), "{lengths}: {refused}");
    }
}
