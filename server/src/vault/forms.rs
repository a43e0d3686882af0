//! The encodings in which programs and protocols write a secret.

use std::collections::BTreeSet;

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD},
};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

/// Minimum length of a form that is searched for: a shorter one would be found everywhere.
pub(super) const MIN: usize = 6;

/// All forms of these secrets, without duplicates, longest first.
pub(super) fn of<'a>(secrets: impl Iterator<Item = &'a SecretString>) -> Vec<String> {
    let mut parts = BTreeSet::new();
    for secret in secrets {
        let value = secret.expose_secret();
        // If a secret has several lines, logs show them one at a time.
        parts.extend(std::iter::once(value).chain(value.lines()).map(str::trim).chain([value]));
    }
    let mut forms = Vec::new();
    for part in parts.into_iter().filter(|part| part.len() >= MIN) {
        write(part, &mut forms);
    }
    forms.retain(|form| form.len() >= MIN);
    forms.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    forms.dedup();
    forms
}

/// All encodings of a text.
fn write(part: &str, forms: &mut Vec<String>) {
    forms.push(part.to_owned());
    let json = json_text(part);
    let ascii: String = json.encode_utf16().map(ascii).collect();
    forms.extend([json.replace('/', "\\/"), json_text(&json), json_text(&ascii), ascii, json]);
    let word = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    for lower in [false, true] {
        forms.push(percent(part, lower, |byte| word(byte).then_some(char::from(byte))));
        forms.push(percent(part, lower, |byte| {
            (word(byte) || byte == b'/').then_some(char::from(byte))
        }));
        forms.push(percent(part, lower, |byte| match byte {
            b' ' => Some('+'),
            b'*' => Some('*'),
            b'~' => None,
            byte => word(byte).then_some(char::from(byte)),
        }));
    }
    let hex: String = part.bytes().map(|byte| format!("{byte:02x}")).collect();
    forms.extend([hex.to_uppercase(), hex]);
    forms.extend([STANDARD.encode(part), STANDARD_NO_PAD.encode(part)]);
    forms.extend([URL_SAFE.encode(part), URL_SAFE_NO_PAD.encode(part)]);
    forms.extend((0..3).flat_map(|offset| within_base64(part, offset)));
}

/// The text as a JSON string without its quotes.
fn json_text(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// The escape of a UTF-16 unit by JSON encoders that only output ASCII.
fn ascii(unit: u16) -> String {
    match char::from_u32(u32::from(unit)) {
        Some(character) if character.is_ascii() => character.to_string(),
        Some(_) | None => format!("\\u{unit:04x}"),
    }
}

fn percent(text: &str, lower: bool, kept: impl Fn(u8) -> Option<char>) -> String {
    let written = text.bytes().map(|byte| match kept(byte) {
        Some(character) => character.to_string(),
        None if lower => format!("%{byte:02x}"),
        None => format!("%{byte:02X}"),
    });
    written.collect()
}

/// The part of the base64 encoding that does not depend on the surrounding text, if the secret
/// begins `offset` bytes after the beginning of a group. In `Authorization: Basic`, for example, a
/// name precedes it.
fn within_base64(text: &str, offset: usize) -> [String; 2] {
    let bytes: Vec<u8> = std::iter::repeat_n(0, offset).chain(text.bytes()).collect();
    // Excludes characters that contain bits of the surrounding text.
    let (start, end) = ((offset * 8).div_ceil(6), bytes.len() * 8 / 6);
    let inside = |encoded: String| encoded.get(start..end).unwrap_or_default().to_owned();
    [inside(STANDARD_NO_PAD.encode(&bytes)), inside(URL_SAFE_NO_PAD.encode(&bytes))]
}
