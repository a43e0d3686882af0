//! Masks contexts, outputs and other JSON: texts under names that suggest a secret are masked.

use serde_json::Value;

use super::watchdog::masked_address;
use crate::vault::MASK;

/// Parts of names that suggest a secret anywhere in a name.
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

/// Ends of names that suggest a secret, without separators: `AWS_ACCESS_KEY`, `apiKey`.
const TELLING_ENDS: [&str; 4] = ["apikey", "accesskey", "authkey", "subscriptionkey"];

/// Words that suggest a secret at the end of a name. Elsewhere in a name they are no sign of one:
/// `AUTH_URL`, `pass_rate`.
const TELLING_WORDS: [&str; 3] = ["auth", "pass", "sig"];

/// Words that end in `pass` but are not passwords, unlike `PGPASS`.
const NO_PASSWORDS: [&str; 6] =
    ["bypass", "compass", "encompass", "overpass", "surpass", "trespass"];

/// Words before `key` that show that the key is not a credential: `Idempotency-Key`, `sort_key`.
const KEYS_OF_DATA: [&str; 24] = [
    "cache",
    "column",
    "correlation",
    "dedup",
    "deduplication",
    "event",
    "foreign",
    "group",
    "hash",
    "idempotency",
    "index",
    "lookup",
    "message",
    "object",
    "order",
    "ordering",
    "partition",
    "primary",
    "public",
    "routing",
    "row",
    "sort",
    "surrogate",
    "websocket",
];

/// Whether the name of a member, variable or field suggests that its value is a secret.
pub(crate) fn is_secret(name: &str) -> bool {
    let lower = name.to_ascii_lowercase().replace('-', "_");
    if TELLING.iter().any(|part| lower.contains(part)) {
        return true;
    }
    let words = words(name);
    let joined = words.concat();
    words.last().is_some_and(|last| {
        TELLING_WORDS.contains(&&**last)
            || last.ends_with("pass") && !NO_PASSWORDS.contains(&&**last)
            || TELLING_ENDS.iter().any(|end| joined.ends_with(end))
    })
}

/// Whether the name of a header or parameter of a request suggests a secret. There, `key` alone
/// suggests one; elsewhere it usually identifies a record.
pub(super) fn is_secret_of_request(name: &str) -> bool {
    let words = words(name);
    let is_key = match &*words {
        [.., before, last] => last == "key" && !KEYS_OF_DATA.contains(&&**before),
        [only] => only == "key",
        [] => false,
    };
    is_key || is_secret(name)
}

/// The words of a name in lower case, without trailing digits: `X-Api-Key`, `dbPass2`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '_').chars() {
        let ends = !c.is_ascii_alphanumeric() || c.is_ascii_uppercase() && was_lower;
        if ends {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_ascii_alphanumeric()) {
            word.push(c.to_ascii_lowercase());
        }
        was_lower = c.is_ascii_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// A JSON value with texts under secret names masked.
pub(crate) fn masked_json(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let shown = members.iter().map(|(name, member)| {
                let addresses = member.as_object().filter(|_| name == PING);
                let shown = if is_secret(name) {
                    hidden_texts(member)
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

/// The masked value of a member with a secret name. A text, or the texts of a list, are masked. The
/// members of an object are judged by their own names.
fn hidden_texts(value: &Value) -> Value {
    match value {
        Value::String(_) => Value::from(MASK),
        Value::Array(items) => Value::Array(items.iter().map(hidden_texts).collect()),
        Value::Object(_) => masked_json(value),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// JSON from a caller in which each mask that the caller sent back is replaced by the text behind
/// it. The inverse of [`masked_json`].
pub(crate) fn unmasked_json(given: Value, old: &Value) -> Value {
    match (given, old) {
        (Value::Object(members), Value::Object(old)) => {
            let kept = members.into_iter().map(|(name, member)| {
                let member = match old.get(&name) {
                    Some(old) if is_secret(&name) => shown_texts(member, old),
                    Some(old) => unmasked_json(member, old),
                    None => member,
                };
                (name, member)
            });
            Value::Object(kept.collect())
        }
        (Value::Array(items), Value::Array(old)) => restored(items, old, unmasked_json),
        (given, _) => given,
    }
}

/// The inverse of [`hidden_texts`].
fn shown_texts(given: Value, old: &Value) -> Value {
    match (given, old) {
        (Value::String(given), Value::String(_)) if given == MASK => old.clone(),
        (Value::Array(items), Value::Array(old)) => restored(items, old, shown_texts),
        (given, old) => unmasked_json(given, old),
    }
}

/// The items of a list. Masks in an item are replaced by the texts of the old item at the same
/// position.
fn restored(items: Vec<Value>, old: &[Value], restore: fn(Value, &Value) -> Value) -> Value {
    let kept = items.into_iter().enumerate().map(|(index, item)| match old.get(index) {
        Some(old) => restore(item, old),
        None => item,
    });
    Value::Array(kept.collect())
}

/// The member of a schedule's definition that contains its watchdog addresses.
const PING: &str = "ping";

fn masked_addresses(addresses: &serde_json::Map<String, Value>) -> Value {
    let shown = addresses.iter().map(|(field, address)| {
        let masked = address.as_str().map(|address| Value::from(masked_address(address)));
        (field.clone(), masked.unwrap_or_else(|| masked_json(address)))
    });
    Value::Object(shown.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_that_comes_back_keeps_the_text_that_it_hides() {
        let old = serde_json::json!({
            "token": "hush", "n": 1, "in": [{ "password": "sesame" }, { "secret": 7 }],
            "tokens": ["hush", ["hush", 1], { "api_key": "hush", "n": "shown" }],
        });
        assert_eq!(unmasked_json(masked_json(&old), &old), old);
        let given = serde_json::json!({ "token": "new", "other": MASK, "password": MASK });
        assert_eq!(unmasked_json(given.clone(), &old), given, "of nothing it is a text");
    }

    #[test]
    fn texts_under_secret_names_are_masked_everywhere() {
        let given = serde_json::json!({
            "region": "eu", "api_token": "hush", "rows": [{ "password": "hush", "key": 7 }],
            "secrets": { "a": "shown, as its own name says nothing" },
            "ping": { "success": "https://a/x?key=hush" },
            "tokens": ["hush", ["hush", 1], { "api_key": "hush", "n": "shown" }],
        });
        assert_eq!(
            masked_json(&given),
            serde_json::json!({
                "region": "eu", "api_token": "***", "rows": [{ "password": "***", "key": 7 }],
                "secrets": { "a": "shown, as its own name says nothing" },
                "ping": { "success": "https://a/***" },
                "tokens": ["***", ["***", 1], { "api_key": "***", "n": "shown" }],
            })
        );
    }

    #[test]
    fn names_suggest_secrets_by_their_words() {
        for name in [
            "Authorization",
            "X-Api-Key",
            "apikey",
            "apiKey",
            "AWS_ACCESS_KEY",
            "accessKey2",
            "X-Auth-Key",
            "Ocp-Apim-Subscription-Key",
            "PGPASS",
            "dbPass",
            "smtp_pass_2",
            "REDIS_AUTH",
            "sig",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in [
            "AWS_ACCESS_KEY_ID",
            "AUTH_URL",
            "NEXTAUTH_URL",
            "author",
            "oauth_scope",
            "pass_rate",
            "passengers",
            "BYPASS",
            "compass",
            "signal",
            "design",
            "key",
            "monkey",
            "PGPASSFILE",
            "keyboard",
            "partition_key",
            "",
        ] {
            assert!(!is_secret(name), "{name}");
        }
        for name in ["key", "sig", "X-Functions-Key", "masterKey", "access_key"] {
            assert!(is_secret_of_request(name), "{name}");
        }
        for name in ["Idempotency-Key", "X-Idempotency-Key", "monkey", "sortKey", "keys", "key_id"]
        {
            assert!(!is_secret_of_request(name), "{name}");
        }
    }
}
