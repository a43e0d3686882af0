//! Secrets inside targets: masked wherever a definition is shown, kept where an edit gives the
//! mask back.
//!
//! - `vault`: secrets set and deleted; `rotation`: what is sealed, sealed anew
//! - `literal`: credentials in clear, refused
//! - `watchdog`: the addresses that a schedule calls, checked
//! - `unset`: secrets that definitions ask for and that are not there

pub(super) mod literal;
pub(super) mod rotation;
pub(super) mod unset;
pub(super) mod vault;
pub(crate) mod watchdog;

use serde_json::Value;

use self::watchdog::masked_address;
use super::BadInput;
pub(crate) use crate::target::is_reference;
use crate::{
    model::naming,
    target::{Http, MAX_REDIRECTS, Publish, Secret, Target},
    vault::MASK,
};

/// In the place of a number of redirects: the number that is there stays, or is the usual one.
pub(crate) const KEPT_REDIRECTS: u8 = u8::MAX;

/// Headers whose values are no secrets. A name says little: what is not known to be harmless is
/// not shown.
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

/// The target as it may be shown.
pub(crate) fn masked(target: &Target) -> Target {
    let mut target = target.clone();
    match &mut target {
        Target::Http(http) => {
            mask(http.headers.iter_mut().filter(|(name, _)| !is_harmless(name)));
            http.url = masked_url(&http.url);
            if let Some(secret) = &mut http.signing_secret {
                *secret = Secret::new(MASK);
            }
        }
        Target::Command(command) => mask(command.env.iter_mut()),
        Target::Publish(publish) => {
            for (_, secret) in publish.to.secrets_mut() {
                // What names a secret says which, and not what.
                if !is_reference(secret.expose()) {
                    *secret = Secret::new(MASK);
                }
            }
            let headers = publish.event.headers.iter_mut();
            mask(headers.filter(|(_, value)| !is_reference(value.expose())));
        }
        Target::Worker(_) | Target::Noop(_) => {}
    }
    target
}

/// Whether the target carries a secret.
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

/// Parts of names in a context whose texts are secrets.
const TELLING: [&str; 9] = [
    "authorization",
    "cookie",
    "token",
    "secret",
    "password",
    "passwd",
    "credential",
    "signature",
    "api_key",
];

/// Whether a member of a context of that name holds a secret.
fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    TELLING.iter().any(|part| name.contains(part))
}

/// A JSON value as it may be shown: texts under names that say so are masked.
pub(crate) fn masked_json(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let shown = members.iter().map(|(name, member)| {
                let addresses = member.as_object().filter(|_| name == PING);
                let shown = if member.is_string() && is_secret(name) {
                    Value::from(MASK)
                } else if let Some(addresses) = addresses {
                    masked_addresses(addresses)
                } else {
                    masked_json(member)
                };
                (name.clone(), shown)
            });
            Value::Object(shown.collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(masked_json).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// JSON as a caller gives it; where a text is the mask of one that is there, that one stays. The
/// opposite of [`masked_json`].
pub(crate) fn unmasked_json(given: Value, old: &Value) -> Value {
    match (given, old) {
        (Value::Object(members), Value::Object(old)) => {
            let kept = members.into_iter().map(|(name, member)| {
                let member = match old.get(&name) {
                    Some(text @ Value::String(_)) if member == MASK && is_secret(&name) => {
                        text.clone()
                    }
                    Some(old) => unmasked_json(member, old),
                    None => member,
                };
                (name, member)
            });
            Value::Object(kept.collect())
        }
        (Value::Array(items), Value::Array(old)) => {
            let kept = items.into_iter().enumerate().map(|(index, item)| match old.get(index) {
                Some(old) => unmasked_json(item, old),
                None => item,
            });
            Value::Array(kept.collect())
        }
        (given, _) => given,
    }
}

/// The member of a schedule's definition that says whom it calls.
const PING: &str = "ping";

fn masked_addresses(addresses: &serde_json::Map<String, Value>) -> Value {
    let shown = addresses.iter().map(|(field, address)| {
        let masked = address.as_str().map(|address| Value::from(masked_address(address)));
        (field.clone(), masked.unwrap_or_else(|| masked_json(address)))
    });
    Value::Object(shown.collect())
}

fn mask<'a>(values: impl Iterator<Item = (&'a String, &'a mut Secret)>) {
    for (_, value) in values {
        *value = Secret::new(MASK);
    }
}

/// The address without the secrets that addresses have: a password before the host, and values
/// behind the question mark. A value that names a secret is none.
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

/// Puts what a form cannot know back into the target that it sent: secrets of which it saw only
/// the mask, and what it does not show at all.
///
/// A secret follows its target only to the origin that it was given for; for another it has to be
/// typed again, or editing a URL would be a way to read it.
pub(crate) fn retain(target: &mut Target, old: Option<&Target>) -> Result<(), BadInput> {
    match (target, old) {
        (Target::Http(new), old) => {
            let old = match old {
                Some(Target::Http(old)) => Some(old),
                Some(
                    Target::Command(_) | Target::Publish(_) | Target::Worker(_) | Target::Noop(_),
                )
                | None => None,
            };
            retain_http(new, old)
        }
        (Target::Command(new), Some(Target::Command(old))) => {
            // As for an origin: another program would be a way to read what this one was given.
            let same_program = new.program == old.program
                && new.script == old.script
                && (new.args == old.args || new.program.is_none());
            for (name, value) in &mut new.env {
                if value.expose() == MASK {
                    let field = format!("task.target.command.environment.{name}");
                    let kept = old.env.get(name).filter(|_| same_program);
                    *value = kept.cloned().ok_or_else(|| unknown(field))?;
                }
            }
            Ok(())
        }
        (Target::Command(new), _) => {
            match new.env.iter().find(|(_, value)| value.expose() == MASK) {
                Some((name, _)) => Err(unknown(format!("task.target.command.environment.{name}"))),
                None => Ok(()),
            }
        }
        (Target::Publish(new), old) => {
            let old = match old {
                Some(Target::Publish(old)) => Some(&**old),
                Some(
                    Target::Http(_) | Target::Command(_) | Target::Worker(_) | Target::Noop(_),
                )
                | None => None,
            };
            retain_publish(new, old)
        }
        (Target::Worker(_) | Target::Noop(_), _) => Ok(()),
    }
}

/// Puts back what a module's file says only the mask of, where the mask stands for what is there.
/// Unlike a form, a file says all there is: what it leaves out is not kept. A mask that stands for
/// nothing stays, and is refused where the definition is checked.
pub(crate) fn unmask(target: &mut Target, old: &Target) {
    let mut tried = target.clone();
    if let Target::Http(http) = &mut tried {
        http.signing_secret.get_or_insert_with(|| Secret::new(""));
    }
    if retain(&mut tried, Some(old)).is_err() {
        return;
    }
    if let (Target::Http(tried), Target::Http(said)) = (&mut tried, &*target) {
        tried.expected_body.clone_from(&said.expected_body);
        tried.max_redirects = said.max_redirects;
        tried.client_certificate.clone_from(&said.client_certificate);
    }
    *target = tried;
}

fn retain_http(new: &mut Http, old: Option<&Http>) -> Result<(), BadInput> {
    let masked = old.filter(|old| new.url.contains(MASK) && masked_url(&old.url) == new.url);
    if let Some(old) = masked {
        new.url.clone_from(&old.url);
    } else if new.url.contains(MASK) {
        return Err(unknown("task.target.http.url".to_owned()));
    }
    let same_origin = old.filter(|old| origin(&old.url) == origin(&new.url));
    for (name, value) in &mut new.headers {
        if value.expose() == MASK {
            let field = format!("task.target.http.headers.{name}");
            let kept = same_origin.and_then(|old| old.headers.get(name));
            *value = kept.cloned().ok_or_else(|| unknown(field))?;
        }
    }
    match new.signing_secret.as_ref().map(Secret::expose) {
        Some("") => new.signing_secret = None,
        Some(MASK) | None => match (old, same_origin) {
            (_, Some(old)) => new.signing_secret.clone_from(&old.signing_secret),
            (Some(old), None) if old.signing_secret.is_some() => {
                return Err(unknown("task.target.http.signingSecret".to_owned()));
            }
            _ if new.signing_secret.is_some() => {
                return Err(unknown("task.target.http.signingSecret".to_owned()));
            }
            _ => {}
        },
        Some(_) => {}
    }
    // It is shown as it is: it names a secret.
    match new.client_certificate.as_ref().map(Secret::expose) {
        Some("") => new.client_certificate = None,
        Some(_) => {}
        None => new.client_certificate = old.and_then(|old| old.client_certificate.clone()),
    }
    match new.expected_body.as_deref() {
        Some("") => new.expected_body = None,
        Some(_) => {}
        None => new.expected_body = old.and_then(|old| old.expected_body.clone()),
    }
    if new.max_redirects == KEPT_REDIRECTS {
        new.max_redirects = old.map_or(MAX_REDIRECTS, |old| old.max_redirects);
    }
    Ok(())
}

/// As for an origin: a secret follows only to the broker that it was given for.
fn retain_publish(new: &mut Publish, old: Option<&Publish>) -> Result<(), BadInput> {
    let mut old = old.filter(|old| old.to.is_same_place(&new.to)).cloned();
    let broker = new.to.name();
    for (name, secret) in new.to.secrets_mut() {
        if secret.expose() == MASK {
            let mut kept = old.iter_mut().flat_map(|old| old.to.secrets_mut());
            let kept = kept.find(|(known, _)| *known == name).map(|(_, kept)| kept.clone());
            let field = format!("task.target.publish.to.{broker}.{}", naming::in_api(name));
            *secret = kept.ok_or_else(|| unknown(field))?;
        }
    }
    for (name, value) in &mut new.event.headers {
        if value.expose() == MASK {
            let kept = old.as_ref().and_then(|old| old.event.headers.get(name)).cloned();
            let field = format!("task.target.publish.event.headers.{name}");
            *value = kept.ok_or_else(|| unknown(field))?;
        }
    }
    Ok(())
}

fn unknown(field: String) -> BadInput {
    let problem = "is the mask of a secret that is not known for this target";
    BadInput::new(field, MASK, problem, "type the value again, or leave it out (empty for none)")
}

/// Scheme, host and port.
pub(super) fn origin(url: &str) -> &str {
    let start = url.find("://").map_or(0, |at| at + 3);
    let length = url[start..].find(['/', '?', '#']).unwrap_or(url.len() - start);
    &url[..start + length]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Command;

    fn http(url: &str, headers: &[(&str, &str)]) -> Target {
        let mut http = Http::post(url);
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), Secret::new(*value));
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

    #[test]
    fn secrets_in_an_address_are_masked_and_kept() {
        for (url, shown) in [
            ("https://a/x", "https://a/x"),
            ("https://u:p@a/x?token=1&plain#f", "https://***@a/x?token=***&plain#f"),
            ("https://a?k=v", "https://a?k=***"),
            ("https://a?k={{ secrets.a }}&v={{ 1 }}", "https://a?k={{ secrets.a }}&v=***"),
        ] {
            assert_eq!(masked(&http(url, &[])), http(shown, &[]));
            let mut new = http(shown, &[]);
            retain(&mut new, Some(&http(url, &[]))).unwrap();
            assert_eq!(new, http(url, &[]));
        }
        let mut moved = http("https://evil/x?token=***", &[]);
        assert!(retain(&mut moved, Some(&http("https://a/x?token=1", &[]))).is_err());
    }

    #[test]
    fn a_variable_does_not_follow_to_another_program() {
        let command = |script: &str, value: &str| {
            let env = [("SMTP_PASS".to_owned(), Secret::new(value))].into();
            let script = Some(script.to_owned());
            Target::Command(Command { script, env, ..Command::default() })
        };
        assert_eq!(masked(&command("a", "1")), command("a", MASK));
        let mut same = command("a", MASK);
        retain(&mut same, Some(&command("a", "1"))).unwrap();
        assert_eq!(same, command("a", "1"));
        let mut other = command("echo $SMTP_PASS", MASK);
        assert!(retain(&mut other, Some(&command("a", "1"))).is_err());
    }

    #[test]
    fn a_password_does_not_follow_to_another_broker() {
        let publish = |server: &str, password: &str| {
            let connection = serde_json::json!({
                "servers": [server], "username": "a", "password": password,
            });
            let to = serde_json::json!({ "nats": { "connection": connection, "subject": "a" } });
            let publish = serde_json::json!({ "publish": { "to": to } });
            serde_json::from_value::<Target>(publish).unwrap()
        };
        let old = publish("nats", "hush");
        assert_eq!(masked(&old), publish("nats", MASK));
        let named = publish("nats", "{{ secrets.nats }}");
        assert_eq!(masked(&named), named);
        let mut same = publish("nats", MASK);
        retain(&mut same, Some(&old)).unwrap();
        assert_eq!(same, old);
        let error = retain(&mut publish("evil", MASK), Some(&old)).unwrap_err();
        assert_eq!(error.field, "task.target.publish.to.nats.connection.password");
    }

    #[test]
    fn a_mask_that_comes_back_keeps_the_text_that_it_hides() {
        let old = serde_json::json!({
            "token": "hush", "n": 1, "in": [{ "password": "sesame" }, { "secret": 7 }],
        });
        assert_eq!(unmasked_json(masked_json(&old), &old), old);
        let given = serde_json::json!({ "token": "new", "other": MASK, "password": MASK });
        assert_eq!(unmasked_json(given.clone(), &old), given, "of nothing it is a text");
    }

    #[test]
    fn texts_under_secret_names_are_masked_wherever_they_stand() {
        let given = serde_json::json!({
            "region": "eu", "api_token": "hush", "rows": [{ "password": "hush", "key": 7 }],
            "secrets": { "a": "shown, as its own name says nothing" },
            "ping": { "success": "https://a/x?key=hush" },
        });
        assert_eq!(
            masked_json(&given),
            serde_json::json!({
                "region": "eu", "api_token": "***", "rows": [{ "password": "***", "key": 7 }],
                "secrets": { "a": "shown, as its own name says nothing" },
                "ping": { "success": "https://a/***" },
            })
        );
    }

    #[test]
    fn a_mask_given_back_keeps_the_secret() {
        let old = http("https://a/x", &[("Authorization", "Bearer 1")]);
        let mut new = http("https://a/y", &[("Authorization", MASK)]);
        retain(&mut new, Some(&old)).unwrap();
        assert_eq!(new, http("https://a/y", &[("Authorization", "Bearer 1")]));
    }

    #[test]
    fn a_file_keeps_what_it_says_the_mask_of_and_nothing_else() {
        let mut old = Http::post("https://a/x?k=1");
        old.headers = [("Authorization".to_owned(), Secret::new("Bearer 1"))].into();
        old.signing_secret = Some(Secret::new("whsec_1"));
        old.expected_body = Some("ok".to_owned());
        let old = Target::Http(old);
        let mut same = masked(&old);
        unmask(&mut same, &old);
        assert_eq!(same, old);

        let mut less = http("https://a/x?k=***", &[]);
        unmask(&mut less, &old);
        assert_eq!(less, http("https://a/x?k=1", &[]));
        let elsewhere = http("https://evil/x", &[("Authorization", MASK)]);
        let mut tried = elsewhere.clone();
        unmask(&mut tried, &old);
        assert_eq!(tried, elsewhere);
    }

    #[test]
    fn a_secret_does_not_follow_to_another_origin() {
        let old = http("https://a/x", &[("Authorization", "Bearer 1")]);
        let mut new = http("https://evil/x", &[("Authorization", MASK)]);
        let error = retain(&mut new, Some(&old)).unwrap_err();
        assert_eq!(error.field, "task.target.http.headers.Authorization");
        let mut fresh = http("https://a/x", &[("Authorization", MASK)]);
        assert!(retain(&mut fresh, None).is_err());
    }

    #[test]
    fn a_signature_is_kept_unless_it_is_emptied() {
        let signed = |secret: Option<&str>| {
            let mut http = Http::post("https://a/x");
            http.signing_secret = secret.map(Secret::new);
            Target::Http(http)
        };
        for (sent, kept) in [(None, Some("k")), (Some(MASK), Some("k")), (Some(""), None)] {
            let mut new = signed(sent);
            retain(&mut new, Some(&signed(Some("k")))).unwrap();
            assert_eq!(new, signed(kept), "{sent:?}");
        }
    }
}
