//! The watchdog addresses that a schedule calls. Only addresses that can be called are saved, and
//! everything after the host is hidden.

use entity::ping::Event;

use crate::{
    commands::{
        BadInput, Commands,
        secrets::{masked_url, origin},
    },
    model::{Ping, spec::Spec},
    target::{SecretText, TargetError, TemplateScope},
    vault::MASK,
};

const MAX_BYTES: usize = 2_000;

impl Commands {
    /// Checks a definition: all values of the row, and the addresses that it calls.
    pub(in crate::commands) fn check_spec(&self, spec: &Spec) -> Result<(), BadInput> {
        spec.check()?;
        let Some(ping) = &spec.ping else { return Ok(()) };
        for (field, address) in ping.addresses() {
            let bad = |problem: String, help: &str| {
                BadInput::new(format!("ping.{field}"), "", problem, help)
            };
            let text = address.expose();
            if text.len() > MAX_BYTES {
                let problem = format!("has {} bytes; the limit is {MAX_BYTES}", text.len());
                return Err(bad(problem, "shorten it"));
            }
            if text.contains(MASK) {
                let help = "write the address literally, or name a secret: {{ secrets.name }}";
                return Err(bad("is the mask of an address that is not shown".to_owned(), help));
            }
            let request = Ping::request(address);
            if request.has_open_origin() {
                let problem = "lets a template choose the server".to_owned();
                return Err(bad(problem, "write scheme and host literally"));
            }
            self.executor.check_in(&request, TemplateScope::NO_RUN).map_err(
                |error| match error {
                    TargetError::Invalid { problem, help, .. } => bad(problem, &help),
                    other @ TargetError::Setup { .. } => {
                        bad(other.to_string(), "fix the server's configuration")
                    }
                },
            )?;
        }
        Ok(())
    }
}

/// The displayable form of an address: its server, and the names in its templates. The path is
/// secret, because anyone who knows it can report to the watchdog that all is well.
pub(crate) fn masked_address(address: &str) -> String {
    let origin = origin(address);
    let (mut shown, mut rest) = (masked_url(origin), &address[origin.len()..]);
    while let Some((before, template, after)) = cut(rest) {
        shown.push_str(&hidden(before));
        shown.push_str(if names_only(template) { template } else { MASK });
        rest = after;
    }
    shown + &hidden(rest)
}

/// Addresses from a caller. An address in the displayed form of the stored one keeps the stored
/// one.
pub(crate) fn unmasked(given: Ping, old: Option<&Ping>) -> Ping {
    let kept = |event, given: SecretText| {
        let old = old.and_then(|old| old.address(event)).filter(|old| {
            given.expose().contains(MASK) && masked_address(old.expose()) == given.expose()
        });
        old.cloned().unwrap_or(given)
    };
    Ping {
        success: kept(Event::Success, given.success),
        start: given.start.map(|start| kept(Event::Start, start)),
        failure: given.failure.map(|failure| kept(Event::Failure, failure)),
    }
}

/// The first template of a text, with the text before and after it.
fn cut(text: &str) -> Option<(&str, &str, &str)> {
    let from = text.find("{{")?;
    let (before, rest) = text.split_at(from);
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
    let shown = text.split('/').map(|part| if part.is_empty() { "" } else { MASK });
    shown.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_server_and_the_names_of_secrets_of_an_address_are_shown() {
        for (address, shown) in [
            ("https://hc.example", "https://hc.example"),
            ("https://hc.example/", "https://hc.example/"),
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
            assert_eq!(masked_address(address), shown);
        }
    }

    #[test]
    fn an_address_sent_back_as_shown_is_kept() {
        let ping = |success: &str, failure: Option<&str>| Ping {
            success: SecretText::new(success),
            start: None,
            failure: failure.map(SecretText::new),
        };
        let old = ping("https://a/1", Some("https://a/2"));
        let shown = old.map(masked_address);
        assert_eq!(unmasked(shown.clone(), Some(&old)), old);
        assert_eq!(unmasked(shown.clone(), None), shown);
        let other = ping("https://b/***", None);
        assert_eq!(unmasked(other.clone(), Some(&old)), other, "another server is not told");
    }
}
