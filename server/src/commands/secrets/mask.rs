//! Masks the secrets of a target: in headers, variables and addresses.

use crate::{
    target::{SecretText, Target, is_reference},
    vault::MASK,
};

/// Headers whose values are not secret. Names are an unreliable sign, so every header that is not
/// known to be harmless is masked.
const HARMLESS: [&str; 9] = [
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "content-encoding",
    "content-language",
    "content-type",
    "user-agent",
];

fn is_harmless(header: &str) -> bool {
    HARMLESS.iter().any(|name| header.eq_ignore_ascii_case(name))
}

/// The target with its secrets masked.
pub(crate) fn masked(target: &Target) -> Target {
    let mut target = target.clone();
    match &mut target {
        Target::Http(http) => {
            mask(http.headers.iter_mut().filter(|(name, _)| !is_harmless(name)));
            http.url = masked_url(&http.url);
            if let Some(secret) = &mut http.signing_secret {
                *secret = SecretText::new(MASK);
            }
        }
        Target::Command(command) => mask(command.env.iter_mut()),
        Target::Publish(publish) => {
            for (_, secret) in publish.to.secrets_mut() {
                // A reference only contains the secret's name, so it is shown.
                if !is_reference(secret.expose()) {
                    *secret = SecretText::new(MASK);
                }
            }
            let headers = publish.event.headers.iter_mut();
            mask(headers.filter(|(_, value)| !is_reference(value.expose())));
        }
        Target::Worker(_) | Target::Noop(_) => {}
    }
    target
}

/// Whether the target contains a secret.
pub(crate) fn holds_any(target: &Target) -> bool {
    match target {
        Target::Http(http) => {
            http.signing_secret.is_some() || !http.headers.keys().all(|name| is_harmless(name))
        }
        Target::Command(command) => !command.env.is_empty(),
        Target::Publish(publish) => {
            let mut publish = publish.clone();
            !publish.to.secrets_mut().is_empty() || !publish.event.headers.is_empty()
        }
        Target::Worker(_) | Target::Noop(_) => false,
    }
}

fn mask<'a>(values: impl Iterator<Item = (&'a String, &'a mut SecretText)>) {
    for (_, value) in values {
        *value = SecretText::new(MASK);
    }
}

/// The address without its secrets: the password before the host, and the values in the query
/// string. A value that refers to a secret is shown.
pub(crate) fn masked_url(url: &str) -> String {
    let (start, rest) = url.split_at(url.find("://").map_or(0, |at| at + 3));
    let (authority, rest) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let authority = match authority.rsplit_once('@') {
        Some((_, host)) => format!("{MASK}@{host}"),
        None => authority.to_owned(),
    };
    let (rest, fragment) = rest.split_at(rest.find('#').unwrap_or(rest.len()));
    let rest = match rest.split_once('?') {
        Some((path, query)) => {
            let masked = |pair: &str| match pair.split_once('=') {
                Some((_, value)) if is_reference(value) => pair.to_owned(),
                Some((name, _)) => format!("{name}={MASK}"),
                None => pair.to_owned(),
            };
            let query: Vec<String> = query.split('&').map(masked).collect();
            format!("{path}?{}", query.join("&"))
        }
        None => rest.to_owned(),
    };
    format!("{start}{authority}{rest}{fragment}")
}

/// Scheme, host and port.
pub(in crate::commands) fn origin(url: &str) -> &str {
    let start = url.find("://").map_or(0, |at| at + 3);
    let length = url[start..].find(['/', '?', '#']).unwrap_or(url.len() - start);
    &url[..start + length]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Http;

    fn http(url: &str, headers: &[(&str, &str)]) -> Target {
        let mut http = Http::post(url);
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), SecretText::new(*value));
        http.headers = headers.iter().map(owned).collect();
        Target::Http(http)
    }

    #[test]
    fn values_of_secret_headers_are_masked_and_others_shown() {
        let target = http("https://a/x", &[("Authorization", "Bearer 1"), ("Accept", "*/*")]);
        assert_eq!(
            masked(&target),
            http("https://a/x", &[("Authorization", MASK), ("Accept", "*/*")])
        );
    }
}
