use url::Url;

/// Scheme, host and port of a URL: the only part that may be shown.
///
/// The rest is not shown, because receivers put tokens into both queries and paths, and shown
/// texts go to logs.
pub(crate) fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// The origin of a text that may not be a URL.
pub(crate) fn origin_of(text: &str) -> String {
    Url::parse(text).map_or_else(|_| "(not a URL)".to_owned(), |url| origin(&url))
}

/// Host and port: the destination of a connection.
pub(crate) fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port_or_known_default().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}
