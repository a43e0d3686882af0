//! Decides which credentials may be saved and shown in plain text (pure).

/// The text that the server shows instead of a hidden value.
pub(in crate::pages) const MASK: &str = "***";

/// The keys of the credentials in a task's definition.
pub(in crate::pages) const CREDENTIAL_KEYS: [&str; 4] =
    ["signingSecret", "password", "secretAccessKey", "sessionToken"];

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
