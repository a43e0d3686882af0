//! Splits command lines and lists as systemd does: like a shell, without expansions.

use std::iter::Peekable;
use std::str::Chars;

/// The words of a line; None if a quote is not closed.
pub(super) fn split(line: &str) -> Option<Vec<String>> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let (mut quote, mut chars) = (None, line.chars().peekable());
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', _) => word.get_or_insert_default().push_str(&escaped(&mut chars)),
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, Some(open)) if c == open => quote = None,
            (' ' | '\t', None) => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// The characters that an escape sequence stands for, read after the backslash.
fn escaped(chars: &mut Peekable<Chars<'_>>) -> String {
    let Some(c) = chars.next() else { return "\\".to_owned() };
    let mut code = |digits: usize, radix: u32| {
        let mut value = 0;
        for _ in 0..digits {
            let Some(digit) = chars.peek().and_then(|c| c.to_digit(radix)) else { break };
            value = value * radix + digit;
            chars.next();
        }
        char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER).to_string()
    };
    match c {
        'a' => "\u{7}".to_owned(),
        'b' => "\u{8}".to_owned(),
        'f' => "\u{c}".to_owned(),
        'n' => "\n".to_owned(),
        'r' => "\r".to_owned(),
        's' => " ".to_owned(),
        't' => "\t".to_owned(),
        'v' => "\u{b}".to_owned(),
        'x' => code(2, 16),
        'u' => code(4, 16),
        'U' => code(8, 16),
        '\\' | '"' | '\'' | ';' => c.to_string(),
        other => format!("\\{other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_and_quotes_taken_away() {
        for (line, words) in [
            (r"/bin/a  b\tc 'd e' f\x20g", &["/bin/a", "b\tc", "d e", "f g"][..]),
            (r#""A=b c" D='e"f' """#, &["A=b c", "D=e\"f", ""]),
            (r"a \; b", &["a", ";", "b"]),
            ("", &[]),
        ] {
            assert_eq!(split(line).unwrap(), words, "{line}");
        }
        assert_eq!(split("'open"), None);
    }
}
