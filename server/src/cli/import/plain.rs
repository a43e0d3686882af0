//! Texts that mean themselves, whatever stands in them.

/// The text so that no template is seen in it: other schedulers have none of ours.
pub(super) fn plain(text: &str) -> String {
    let is_template = ["{{", "{%", "{#"].iter().any(|mark| text.contains(mark));
    if !is_template {
        return text.to_owned();
    }
    // The end of a raw stretch cannot stand in one.
    let inner = text.replace("{%", "{% endraw %}{{ '{%' }}{% raw %}");
    format!("{{% raw %}}{inner}{{% endraw %}}")
}

/// The text as one word of a shell.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
