use reqwest::{
    Method, StatusCode,
    header::{CONTENT_TYPE, HeaderMap, LOCATION},
};
use url::Url;

use super::message::HttpMessage;

/// The destination of a redirect; `None` if the response is not one. Fails if the location is
/// invalid.
pub(super) fn location(
    from: &Url,
    status: StatusCode,
    headers: &HeaderMap,
) -> Result<Option<Url>, String> {
    if !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = headers.get(LOCATION) else { return Ok(None) };
    let next = location
        .to_str()
        .ok()
        .and_then(|text| from.join(text).ok())
        .ok_or("redirected to what is not a URL")?;
    if from.scheme() == "https" && next.scheme() == "http" {
        return Err("redirected from https to http".to_owned());
    }
    Ok(Some(next))
}

/// The part of a message that is sent to the next hop.
///
/// As in browsers, 303 turns any request into a `GET` without a body, and 301 and 302 do so unless
/// the method only reads. Another origin gets neither the definition's headers, which may contain
/// credentials, nor the signature, which was meant for the first origin.
pub(super) fn forward(
    mut message: HttpMessage,
    status: StatusCode,
    from: &Url,
    to: &Url,
) -> HttpMessage {
    let asks_only = matches!(message.method, Method::GET | Method::HEAD);
    if matches!(status.as_u16(), 301..=303) && !asks_only {
        message.method = Method::GET;
        message.body.clear();
        message.headers.remove(CONTENT_TYPE);
        message.private_headers.remove(CONTENT_TYPE);
    }
    if from.origin() != to.origin() {
        message.private_headers.clear();
    }
    message
}

#[cfg(test)]
mod tests {
    use reqwest::header::{AUTHORIZATION, HeaderValue};

    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    fn status(code: u16) -> StatusCode {
        StatusCode::from_u16(code).unwrap()
    }

    fn message() -> HttpMessage {
        let value = HeaderValue::from_static("x");
        HttpMessage {
            method: Method::POST,
            headers: HeaderMap::from_iter([(CONTENT_TYPE, value.clone())]),
            private_headers: HeaderMap::from_iter([(AUTHORIZATION, value)]),
            body: b"body".to_vec(),
        }
    }

    fn next(from: &str, code: u16, to: &'static str) -> Result<Option<Url>, String> {
        let headers = HeaderMap::from_iter([(LOCATION, HeaderValue::from_static(to))]);
        location(&url(from), status(code), &headers)
    }

    #[test]
    fn a_location_is_read_relative_to_where_we_are() {
        let from = "https://a.example/x/y?q";
        assert_eq!(next(from, 302, "z"), Ok(Some(url("https://a.example/x/z"))));
        assert_eq!(next(from, 308, "//b.example/"), Ok(Some(url("https://b.example/"))));
        assert_eq!(next(from, 200, "z"), Ok(None));
        assert_eq!(next(from, 304, "z"), Ok(None));
    }

    #[test]
    fn a_redirect_never_leaves_encryption() {
        let refused = next("https://a.example/", 301, "http://a.example/");
        assert_eq!(refused, Err("redirected from https to http".to_owned()));
        assert!(next("http://a.example/", 301, "https://a.example/").is_ok());
    }

    #[test]
    fn a_redirect_keeps_the_body_only_if_the_status_says_so() {
        let (from, to) = (url("https://a.example/"), url("https://a.example/new"));
        for code in [301, 302, 303] {
            let sent = forward(message(), status(code), &from, &to);
            assert_eq!((sent.method, sent.body.len()), (Method::GET, 0), "{code}");
            assert!(sent.headers.is_empty() && !sent.private_headers.is_empty(), "{code}");
        }
        for code in [307, 308] {
            let sent = forward(message(), status(code), &from, &to);
            assert_eq!((sent.method, sent.body.len()), (Method::POST, 4), "{code}");
        }
    }

    #[test]
    fn another_origin_gets_no_credentials() {
        let from = url("https://a.example/");
        for to in ["https://b.example/", "https://a.example:8443/"] {
            let sent = forward(message(), status(307), &from, &url(to));
            assert!(sent.private_headers.is_empty(), "{to}");
        }
    }
}
