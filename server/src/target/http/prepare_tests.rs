use serde_json::json;

use super::*;

/// The error for a definition in JSON, on a server that may only reach public addresses.
fn error(definition: serde_json::Value) -> TargetError {
    let definition: Http = serde_json::from_value(definition).unwrap();
    prepare(&definition, &EgressGuard::new(false)).err().unwrap()
}

#[test]
fn a_wrong_field_is_named_with_what_to_do() {
    let url = "https://example.com/";
    for (definition, message) in [
        (
            json!({"url": "example.com"}),
            "http.url: not a URL: relative URL without a base; write https://host/path",
        ),
        (
            json!({"url": "ftp://example.com/"}),
            "http.url: requests may not go there: its scheme is `ftp`; write http://host/... or \
             https://host/...",
        ),
        (
            json!({"url": url, "max_redirects": 6}),
            "http.max_redirects: 6 is too many; at most 5 redirects are followed",
        ),
        (
            json!({"url": url, "headers": {"Content-Length": "3"}}),
            "http.headers.Content-Length: is set by Carillon; leave it out",
        ),
        (
            json!({"url": url, "headers": {"a b": "c"}}),
            "http.headers: \"a b\" is not a header name; use letters, digits and hyphens",
        ),
        (
            json!({"url": url, "signing_secret": "hush"}),
            "http.signing_secret: not a signing secret: it does not begin with `whsec_`; write \
             whsec_ and 24 to 64 random bytes in base64",
        ),
        (
            json!({"url": url, "body": "x".repeat(262_145)}),
            "http.body: the body has 262145 bytes; at most 262144 are sent",
        ),
    ] {
        assert_eq!(error(definition).to_string(), message);
    }
}

#[test]
fn a_secret_in_a_wrong_header_is_not_repeated() {
    let error = error(json!({
        "url": "https://example.com/",
        "headers": {"authorization": "Bearer hush\r\nx: y"},
    }));
    assert_eq!(error.field(), Some("http.headers.authorization"));
    assert!(!error.to_string().contains("hush"), "{error}");
}

#[test]
fn nothing_secret_is_in_the_debug_print_of_a_definition() {
    let definition: Http = serde_json::from_value(json!({
        "url": "https://example.com/T0/hush?token=hush#hush",
        "headers": {"authorization": "hush"},
        "body": {"password": "hush"},
        "signing_secret": "whsec_hush",
    }))
    .unwrap();
    let shown = format!("{definition:?}");
    assert!(shown.contains("https://example.com") && !shown.contains("hush"), "{shown}");
}

#[test]
fn an_unknown_key_is_refused() {
    let read: Result<Http, _> = serde_json::from_value(json!({"url": "x", "metod": "GET"}));
    assert!(read.unwrap_err().to_string().contains("unknown field `metod`"));
}
