//! Parses a GraphQL request over HTTP: JSON in a body, or query parameters. A value of the wrong
//! type is refused with the name of its parameter.

use async_graphql::{Request, Variables};
use axum::{
    body::Bytes,
    http::{HeaderMap, StatusCode, header},
};
use serde_json::{Map, Value};
use url::form_urlencoded;

use super::refusal::Refusal;

/// The request in a body.
pub(super) fn in_body(headers: &HeaderMap, body: &Bytes) -> Result<Request, Refusal> {
    if !is_json(headers) {
        let text = "the header 'Content-Type' is not application/json; send one {\"query\": ...} \
                    as JSON in UTF-8";
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, text));
    }
    let value = serde_json::from_slice(body).map_err(|error| {
        bad(format!("the body is not JSON ({error}); send one {{\"query\": ...}} as JSON"))
    })?;
    if let Value::Object(parameters) = value {
        return request(parameters);
    }
    let kind = kind(&value);
    Err(bad(format!("the body is {kind}; send one {{\"query\": ...}} as JSON")))
}

/// The request in the query parameters; `None` if they contain none.
pub(super) fn in_address(query: &str) -> Option<Result<Request, Refusal>> {
    let mut parameters = Map::new();
    for (name, text) in form_urlencoded::parse(query.as_bytes()) {
        let value = match &*name {
            "query" | "operationName" => Value::String(text.into_owned()),
            "variables" | "extensions" if text.is_empty() => continue,
            "variables" | "extensions" => match serde_json::from_str(&text) {
                Ok(value) => value,
                Err(error) => {
                    return Some(Err(bad(format!(
                        "the parameter '{name}' is not JSON ({error}); give an object"
                    ))));
                }
            },
            _ => continue,
        };
        parameters.insert(name.into_owned(), value);
    }
    parameters.contains_key("query").then(|| request(parameters))
}

fn request(mut parameters: Map<String, Value>) -> Result<Request, Refusal> {
    let mut taken = |name: &str| parameters.remove(name).filter(|value| !value.is_null());
    let query = match taken("query") {
        Some(Value::String(query)) => query,
        Some(other) => return Err(misshapen("query", &other, "a text")),
        None => return Err(bad("the parameter 'query' is missing; send one {\"query\": ...}")),
    };
    let mut request = Request::new(query);
    request = match taken("operationName") {
        None => request,
        // Clients whose document has a single operation may send an empty name.
        Some(Value::String(name)) if name.is_empty() => request,
        Some(Value::String(name)) => request.operation_name(name),
        Some(other) => return Err(misshapen("operationName", &other, "a text")),
    };
    request = match taken("variables") {
        None => request,
        Some(Value::Object(variables)) => {
            request.variables(Variables::from_json(Value::Object(variables)))
        }
        Some(other) => return Err(misshapen("variables", &other, "an object")),
    };
    match taken("extensions") {
        None | Some(Value::Object(_)) => Ok(request),
        Some(other) => Err(misshapen("extensions", &other, "an object")),
    }
}

/// Whether the headers declare the body as JSON in UTF-8.
fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let mut parts = kind.unwrap_or_default().split(';').map(str::trim);
    let essence = parts.next().unwrap_or_default().to_ascii_lowercase();
    let is_json = essence == "application/json"
        || (essence.starts_with("application/") && essence.ends_with("+json"));
    let is_utf8 = |parameter: &str| match parameter.split_once('=') {
        Some((name, value)) if name.trim().eq_ignore_ascii_case("charset") => {
            value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
        }
        _ => true,
    };
    is_json && parts.all(is_utf8)
}

fn bad(text: impl Into<String>) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, text)
}

fn misshapen(name: &str, value: &Value, wanted: &str) -> Refusal {
    bad(format!("the parameter '{name}' is {}; give {wanted}", kind(value)))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json() -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, "application/json".parse().unwrap());
        headers
    }

    #[test]
    fn a_parameter_of_the_wrong_type_is_refused_by_name() {
        let deep = format!("{{\"query\": {}1{}}}", "[".repeat(200), "]".repeat(200));
        for (body, told) in [
            ("", "not JSON"),
            ("{", "not JSON"),
            ("null", "the body is null"),
            ("[]", "the body is a list"),
            (r#"["{ me { id } }"]"#, "the body is a list"),
            ("{}", "'query' is missing"),
            (r#"{"query": null}"#, "'query' is missing"),
            (r#"{"query": 1}"#, "'query' is a number"),
            (r#"{"query": "{a}", "operationName": []}"#, "'operationName' is a list"),
            (r#"{"query": "{a}", "variables": "{}"}"#, "'variables' is a text"),
            (r#"{"query": "{a}", "extensions": true}"#, "'extensions' is true or false"),
            (&*deep, "recursion limit"),
        ] {
            let refused = in_body(&json(), &Bytes::copy_from_slice(body.as_bytes())).unwrap_err();
            let text = format!("{refused:?}");
            assert!(text.contains(told), "{body}: {text}");
        }
    }

    #[test]
    fn a_request_is_read_from_a_body_and_from_an_address() {
        let body = r#"{"query": "query q { a }", "operationName": "q", "variables": {"n": [1]},
            "extensions": null, "more": 1}"#;
        let read = in_body(&json(), &Bytes::from_static(body.as_bytes())).unwrap();
        let address = "query=query+q+%7B+a+%7D&operationName=q&variables=%7B%22n%22%3A[1]%7D&x=y";
        for request in [read, in_address(address).unwrap().unwrap()] {
            assert_eq!(request.query, "query q { a }");
            assert_eq!(request.operation_name.as_deref(), Some("q"));
            assert_eq!(request.variables["n"].to_string(), "[1]");
        }
        assert!(in_address("operationName=q").is_none());
        assert!(in_address("query=x&variables=%7B").unwrap().is_err());
    }

    #[test]
    fn json_is_known_by_its_header() {
        for (kind, is_it) in [
            ("application/json", true),
            ("application/JSON; charset=UTF-8", true),
            ("application/graphql+json", true),
            ("application/json; charset=latin1", false),
            ("text/plain", false),
            ("multipart/form-data", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, kind.parse().unwrap());
            assert_eq!(is_json(&headers), is_it, "{kind}");
        }
        assert!(!is_json(&HeaderMap::new()));
    }
}
