//! Splits a file into its YAML documents.

/// The documents of a file, with the line of each one's first key.
pub(super) fn documents(text: &str) -> Vec<(usize, &str)> {
    let (mut found, mut start, mut first) = (Vec::new(), 0, 1);
    let mut at = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let bare = line.trim_end();
        if bare == "---" || bare.starts_with("--- ") || bare == "..." {
            found.push((first, &text[start..at]));
            start = at + line.len();
            first = index + 2;
        }
        at += line.len();
    }
    found.push((first, &text[start..]));
    // Comments and empty lines before the first key are skipped.
    let trimmed = found.into_iter().filter_map(|(first, document)| {
        let mut skipped = 0;
        for (lines, line) in document.split_inclusive('\n').enumerate() {
            if !line.trim().is_empty() && !line.trim_start().starts_with('#') {
                return Some((first + lines, &document[skipped..]));
            }
            skipped += line.len();
        }
        None
    });
    trimmed.collect()
}

/// Whether a document is a Helm template: it has control lines, or its name or schedule is a
/// placeholder. Braces elsewhere are no sign, because they may be arguments of a program.
pub(super) fn is_helm(document: &str) -> bool {
    let fills = |line: &str| {
        let line = line.trim_start().trim_start_matches("- ");
        let control = line.strip_prefix("{{-").or_else(|| line.strip_prefix("{{"));
        let key = ["name:", "namespace:", "schedule:", "kind:", "apiVersion:"]
            .iter()
            .any(|key| line.starts_with(key) && line.contains("{{"));
        let filled = |key: &str| {
            line.match_indices(key).any(|(at, _)| {
                let value = line[at + key.len()..].trim_start_matches([' ', '"', '\'']);
                value.starts_with("{{")
            })
        };
        key || filled(" name:")
            || filled(" schedule:")
            || control.is_some_and(|rest| rest.contains("}}"))
    };
    document.lines().any(fills)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_separated_with_their_lines() {
        let text = "# head\n---\nkind: A\n\n---\n# about b\n\nkind: B\n...\n---\n";
        let found = documents(text);
        assert_eq!(found, [(3, "kind: A\n\n"), (8, "kind: B\n")]);
    }

    #[test]
    fn helm_templates_are_distinguished_from_arguments_with_braces() {
        for text in [
            "{{- if .Values.on }}\nkind: CronJob",
            "metadata:\n  name: {{ .Release.Name }}-x",
            "spec:\n  schedule: \"{{ .Values.schedule }}\"",
            "metadata: { name: \"{{ .Release.Name }}\" }",
        ] {
            assert!(is_helm(text), "{text}");
        }
        assert!(!is_helm("args: [\"--format\", \"{{.Name}}\"]\nname: x"));
    }
}
