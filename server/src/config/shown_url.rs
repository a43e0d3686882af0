//! A URL for error messages.

/// This URL without what may be a password: user information and a query string. The text need not
/// be a valid URL.
pub(crate) fn shown_url(url: &str) -> String {
    let is_scheme = |scheme: &str| scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let (scheme, rest) = match url.split_once("://") {
        Some((scheme, rest)) if is_scheme(scheme) => (format!("{scheme}://"), rest),
        Some(_) | None => (String::new(), url),
    };
    // A password may contain any other separator, if it was not encoded.
    let (who, place) = match rest.rsplit_once('@') {
        Some((_, place)) => ("***@", place),
        None => ("", rest),
    };
    match place.split_once('?') {
        Some((place, _)) => format!("{scheme}{who}{place}?***"),
        None => format!("{scheme}{who}{place}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_shown_without_its_passwords() {
        for (url, shown) in [
            ("https://id.example.org/realm", "https://id.example.org/realm"),
            ("https://ada:hush@id.example.org/realm", "https://***@id.example.org/realm"),
            ("https://ada:hu/s?h@id.example.org", "https://***@id.example.org"),
            ("https://id.example.org/?token=hush", "https://id.example.org/?***"),
            ("ada:hu://sh@collector:4317", "***@collector:4317"),
            ("collector:4317", "collector:4317"),
        ] {
            assert_eq!(shown_url(url), shown);
        }
    }
}
