//! Decides which credentials may be saved and shown in plain text (pure).

/// The text that the server shows instead of a hidden value.
pub(in crate::pages) const MASK: &str = "***";

/// The keys of the credentials in a task's definition.
pub(in crate::pages) const CREDENTIAL_KEYS: [&str; 4] =
    ["signingSecret", "password", "secretAccessKey", "sessionToken"];

/// The keys of credentials as a module file has them, where they differ from the API's.
const KEYS_IN_YAML: [&str; 3] = ["signing_secret", "secret_access_key", "session_token"];

/// Whether a credential's text reveals nothing: it is empty, the mask, or only a reference to a secret.
pub(in crate::pages) fn is_open(text: &str) -> bool {
    let text = text.trim();
    text.is_empty() || text == MASK || is_reference(text)
}

/// Whether a credential may be legible while the user types it, because it reveals nothing or begins like a
/// reference.
pub(super) fn is_legible(text: &str) -> bool {
    let begun = text.trim();
    is_open(text) || begun == "{" || begun.starts_with("{{")
}

/// Whether the text is only a reference to a secret. The rule is the same as the server's.
fn is_reference(text: &str) -> bool {
    let inside = text.strip_prefix("{{").and_then(|text| text.strip_suffix("}}"));
    let name = inside.and_then(|inside| inside.trim().strip_prefix("secrets."));
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    name.is_some_and(|name| !name.is_empty() && name.chars().all(is_word))
}

/// Whether each credential that a text names is only a reference to a secret, or the mask of one.
pub(in crate::pages) fn reveals_nothing(text: &str) -> bool {
    let keys = CREDENTIAL_KEYS.iter().chain(&KEYS_IN_YAML);
    keys.flat_map(|key| text.split(*key).skip(1)).all(is_harmless)
}

/// Whether the value behind a key reveals nothing. It must stand in the same line, and nothing may stand behind it but
/// what ends it.
fn is_harmless(behind: &str) -> bool {
    let line = behind.lines().next().unwrap_or_default();
    let value = line.trim_start_matches(['"', '\'', ':', ' ']);
    let length = match value.strip_prefix("{{") {
        Some(inner) => inner.find("}}").map(|end| end + 4),
        None => value.starts_with(MASK).then_some(MASK.len()),
    };
    let parts = length.and_then(|length| value.split_at_checked(length));
    parts.is_some_and(|(value, rest)| {
        let ends = rest.is_empty() || rest.starts_with(['"', '\'', ',', '}', ']', ' ']);
        ends && is_open(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_and_the_mask_reveal_nothing_and_anything_else_might() {
        for open in ["", " ", "***", "{{ secrets.kafka }}", "{{secrets.a_1}}", " {{ secrets.a }} "]
        {
            assert!(is_open(open), "{open}");
        }
        for hidden in [
            "hush",
            "****",
            "{{ secrets. }}",
            "{{ secrets.a }}hush",
            "hush{{ secrets.a }}",
            "{{ secrets.a ~ 'hush' }}",
            "{{ secrets.a }}{{ secrets.b }}",
            "{{ 'hush' }}",
            "{{",
        ] {
            assert!(!is_open(hidden), "{hidden}");
        }
    }

    #[test]
    fn a_reference_stays_legible_while_it_is_typed() {
        for begun in ["", "{", "{{", "{{ secrets.", "{{ secrets.a }", "{{ secrets.a }}", "***"] {
            assert!(is_legible(begun), "{begun}");
        }
        for typed in ["h", "hush", "{hush", "hush{{"] {
            assert!(!is_legible(typed), "{typed}");
        }
    }
}
