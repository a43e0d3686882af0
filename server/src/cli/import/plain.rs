//! Escapes texts that must be taken literally.

/// Escapes a text for our templates, which leave it unchanged. Other schedulers have no templates.
///
/// A script and the name of a program are no templates and must not be escaped: the shell would run
/// the escape.
pub(super) fn plain(text: &str) -> String {
    let is_template = ["{{", "{%", "{#"].iter().any(|mark| text.contains(mark));
    if !is_template {
        return text.to_owned();
    }
    // A raw block cannot contain its own end.
    let inner = text.replace("{%", "{% endraw %}{{ '{%' }}{% raw %}");
    format!("{{% raw %}}{inner}{{% endraw %}}")
}

/// The text as a single shell word.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
