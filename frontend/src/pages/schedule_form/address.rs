//! What may be seen of a watchdog's address.
//!
//! Anyone who knows an address can report to the watchdog that all is well. So the part behind its server is secret,
//! unless it only refers to secrets: the server does not show it, a draft does not save it, and the module file masks it.

use crate::pages::task_form::MASK;

/// Whether an address may be saved: it has no part that the server would not show.
pub(super) fn reveals_nothing(address: &str) -> bool {
    shown(address) == address
}

/// The part of an address that the server shows: the address's server, and the names in its templates.
pub(super) fn shown(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return hidden(address) };
    let (server, mut rest) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let mut shown = match server.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://{MASK}@{host}"),
        None => format!("{scheme}://{server}"),
    };
    while let Some((before, template, after)) = cut(rest) {
        shown.push_str(&hidden(before));
        shown.push_str(if names_only(template) { template } else { MASK });
        rest = after;
    }
    shown + &hidden(rest)
}

/// The first template of a text, with the text before and after it.
fn cut(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_at(text.find("{{")?);
    let (template, after) = rest.split_at(rest.find("}}")? + 2);
    Some((before, template, after))
}

/// Whether a template contains only a name, such as `{{ secrets.nightly }}`.
fn names_only(template: &str) -> bool {
    let name = template.trim_matches(['{', '}']).trim();
    name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.')
}

/// Masks the segments of a path, and keeps their number.
fn hidden(text: &str) -> String {
    let segments = text.split('/').map(|part| if part.is_empty() { "" } else { MASK });
    segments.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_as_the_server_shows_it() {
        for (address, expected) in [
            ("", ""),
            ("0f1a-22", "***"),
            ("https://hc.example", "https://hc.example"),
            ("https://hc.example:8443/0f1a-22", "https://hc.example:8443/***"),
            ("https://ada:hush@hc.example/0f1a/fail", "https://***@hc.example/***/***"),
            ("https://hc.example?key=0f1a#x", "https://hc.example***"),
            ("https://hc.example/{{ secrets.a }}/fail", "https://hc.example/{{ secrets.a }}/***"),
            (
                "https://hc.example/{{ 'hush' }}/{{secrets.b}}",
                "https://hc.example/***/{{secrets.b}}",
            ),
            ("https://hc.example/{{ hush", "https://hc.example/***"),
        ] {
            assert_eq!(shown(address), expected);
            assert!(reveals_nothing(expected), "{expected}");
        }
    }
}
