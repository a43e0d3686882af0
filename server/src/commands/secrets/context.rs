//! Masks contexts, outputs and other JSON: texts under names that suggest a secret are masked.

use serde_json::Value;

use super::watchdog::masked_address;
use crate::vault::MASK;

/// Parts of names in a context that suggest a secret.
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

/// Whether a member of a context with that name contains a secret.
pub(super) fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    TELLING.iter().any(|part| name.contains(part))
}

/// A JSON value with texts under secret names masked.
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

/// JSON from a caller, with returned masks replaced by the texts that they stand for. The opposite
/// of [`masked_json`].
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

/// The member of a schedule's definition with the addresses that it calls.
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
}
