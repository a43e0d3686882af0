//! Splits a command line into words as a shell does, without expansions.

/// The words of a line; `None` if a quote is not closed, or a backslash is the last character.
pub(super) fn split(line: &str) -> Option<Vec<String>> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let (mut quote, mut chars) = (None, line.chars());
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', None) => word.get_or_insert_default().push(chars.next()?),
            ('\\', Some('"')) => {
                let next = chars.next()?;
                let word = word.get_or_insert_default();
                // Between double quotes a shell keeps a backslash before other characters.
                if !matches!(next, '"' | '\\' | '$' | '`') {
                    word.push('\\');
                }
                word.push(next);
            }
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, Some(open)) if c == open => quote = None,
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_and_quotes_taken_away() {
        for (line, words) in [
            (r"/bin/a  b\ c 'd e' f", &["/bin/a", "b c", "d e", "f"][..]),
            (r#"sh -c "echo \"$1\" \d" '' a"b"c"#, &["sh", "-c", r#"echo "$1" \d"#, "", "abc"]),
            (r"echo '\n' \n", &["echo", r"\n", "n"]),
            ("  ", &[]),
        ] {
            assert_eq!(split(line).unwrap(), words, "{line}");
        }
        for open in ["'open", "a \"b", r"a \"] {
            assert_eq!(split(open), None, "{open}");
        }
    }
}
