//! Writes values as YAML (pure): in block style, with short lists on one line.

use serde_json::Value;

/// The longest list that is written on one line, in bytes.
const SHORT: usize = 90;

/// A value of the text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Text(String),
    /// A number, a Boolean or null, as YAML writes it.
    Plain(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

/// A whole text that contains an object.
pub(super) fn written(entries: &[(String, Node)]) -> String {
    let mut out = String::new();
    write_map(&mut out, entries, 0);
    out
}

fn write_map(out: &mut String, entries: &[(String, Node)], depth: usize) {
    for (key, node) in entries {
        out.push_str(&format!("{}{}:", " ".repeat(depth), scalar(key)));
        write_value(out, node, depth);
    }
}

/// A list, one item below the other.
fn write_list(out: &mut String, items: &[Node], depth: usize) {
    for item in items {
        match item {
            // The first key is on the line of the dash.
            Node::Map(entries) if !entries.is_empty() => {
                let dash = out.len() + depth;
                write_map(out, entries, depth + 2);
                out.replace_range(dash..dash + 2, "- ");
            }
            Node::Map(_) | Node::List(_) | Node::Text(_) | Node::Plain(_) => {
                out.push_str(&format!("{}-", " ".repeat(depth)));
                write_value(out, item, depth);
            }
        }
    }
}

/// Writes a value after its key or dash, to the end of its last line. `depth` is that of the key or dash.
fn write_value(out: &mut String, node: &Node, depth: usize) {
    match node {
        Node::Map(entries) if !entries.is_empty() => {
            out.push('\n');
            write_map(out, entries, depth + 2);
        }
        Node::List(items) if !is_short(items) => {
            out.push('\n');
            write_list(out, items, depth + 2);
        }
        Node::Text(value) if is_block(value) => write_block(out, value, depth + 2),
        Node::Map(_) | Node::List(_) | Node::Text(_) | Node::Plain(_) => {
            out.push_str(&format!(" {}\n", inline(node)));
        }
    }
}

/// Whether a list is written on one line.
fn is_short(items: &[Node]) -> bool {
    let is_scalar = |item: &Node| matches!(item, Node::Text(_) | Node::Plain(_));
    let length = |item: &Node| inline(item).len() + 2;
    items.iter().all(is_scalar) && items.iter().map(length).sum::<usize>() <= SHORT
}

/// A value on one line.
fn inline(node: &Node) -> String {
    match node {
        Node::Text(value) => scalar(value),
        Node::Plain(value) => value.clone(),
        Node::List(items) => {
            format!("[{}]", items.iter().map(member).collect::<Vec<_>>().join(", "))
        }
        Node::Map(entries) => {
            let entry = |(key, node): &(String, Node)| format!("{}: {}", scalar(key), member(node));
            format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
    }
}

/// A value between brackets. There, some parsers mistake a colon inside a word for the end of a key.
fn member(node: &Node) -> String {
    match node {
        Node::Text(value) if value.contains([':', '?']) => quoted(value),
        Node::Map(_) | Node::List(_) | Node::Text(_) | Node::Plain(_) => inline(node),
    }
}

/// Whether a text of several lines may be written unchanged below its key, because YAML preserves its lines, their
/// indent and its end.
fn is_block(value: &str) -> bool {
    let is_shown = |letter: char| matches!(letter, '\n' | '\t') || is_printable(letter);
    value.contains('\n')
        && value.starts_with(|letter: char| !letter.is_whitespace())
        && !value.ends_with("\n\n")
        && value.chars().all(is_shown)
        && value.lines().all(|line| line.is_empty() || !line.trim().is_empty())
}

fn write_block(out: &mut String, value: &str, depth: usize) {
    // A single bar keeps one line end at the end of the text.
    out.push_str(if value.ends_with('\n') { " |\n" } else { " |-\n" });
    for line in value.lines() {
        if !line.is_empty() {
            out.push_str(&" ".repeat(depth));
        }
        out.push_str(line);
        out.push('\n');
    }
}

/// A text that YAML reads as the same text: bare if that is safe, otherwise as a JSON string, which is valid YAML.
fn scalar(value: &str) -> String {
    if is_bare(value) { value.to_owned() } else { quoted(value) }
}

fn quoted(value: &str) -> String {
    let json = Value::from(value).to_string();
    let mut out = String::with_capacity(json.len());
    for letter in json.chars() {
        if is_printable(letter) {
            out.push(letter);
        } else {
            out.push_str(&format!("\\u{:04x}", u32::from(letter)));
        }
    }
    out
}

/// Whether YAML allows the character unescaped in a text.
fn is_printable(letter: char) -> bool {
    !letter.is_control() && !matches!(letter, '\u{2028}' | '\u{2029}' | '\u{feff}')
}

fn is_bare(value: &str) -> bool {
    const WORDS: [&str; 12] =
        ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf", "infinity"];
    let is_safe = |letter: char| letter.is_ascii_alphanumeric() || "_-./=+@?&:".contains(letter);
    let begins = value.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '/');
    // A colon before a space or at the end would make the text a key.
    begins
        && value.chars().all(is_safe)
        && !value.ends_with(':')
        && !WORDS.iter().any(|word| value.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_quoted_where_yaml_would_read_something_else() {
        for bare in ["report", "/usr/bin/env", "https://a.example/b?c=d&e=f", "region=eu", "a:b"] {
            assert_eq!(scalar(bare), bare);
        }
        for (value, wanted) in [
            ("", "\"\""),
            ("yes", "\"yes\""),
            ("NaN", "\"NaN\""),
            ("12", "\"12\""),
            ("a: b", "\"a: b\""),
            ("a:", "\"a:\""),
            ("*a", "\"*a\""),
            ("- a", "\"- a\""),
            ("a #b", "\"a #b\""),
            ("{{ secrets.a }}", "\"{{ secrets.a }}\""),
            ("a\"\\\n\u{7f}\u{85}\u{feff}é", "\"a\\\"\\\\\\n\\u007f\\u0085\\ufeffé\""),
        ] {
            assert_eq!(scalar(value), wanted, "{value:?}");
        }
    }

    #[test]
    fn several_lines_become_a_block_where_that_keeps_them() {
        let written = |value: &str| {
            let mut out = String::new();
            write_map(&mut out, &[("script".to_owned(), Node::Text(value.to_owned()))], 2);
            out
        };
        assert_eq!(written("true"), "  script: \"true\"\n");
        assert_eq!(written("a\n\n  b\n"), "  script: |\n    a\n\n      b\n");
        assert_eq!(written("a\nb"), "  script: |-\n    a\n    b\n");
        for kept in [" a\nb", "\na", "a\n\n", "a\r\nb", "a\n  \nb", "a\n\u{85}"] {
            assert!(written(kept).starts_with("  script: \""), "{kept:?}");
            assert_eq!(written(kept).lines().count(), 1, "{kept:?}");
        }
    }

    #[test]
    fn a_list_stands_in_one_line_while_it_is_short() {
        let text = |value: &str| Node::Text(value.to_owned());
        let list = |items: Vec<Node>| written(&[("a".to_owned(), Node::List(items))]);
        assert_eq!(list(vec![]), "a: []\n");
        assert_eq!(
            list(vec![text("b"), text("c:1"), text("d\ne")]),
            "a: [b, \"c:1\", \"d\\ne\"]\n"
        );
        let long = "x".repeat(60);
        let wanted = format!("a:\n  - {long}\n  - {long}\n");
        assert_eq!(list(vec![text(&long), text(&long)]), wanted);
        let map = Node::Map(vec![("k".to_owned(), text("v")), ("l".to_owned(), text("w"))]);
        let nested = Node::List(vec![map.clone()]);
        let wanted = "a:\n  - k: v\n    l: w\n  -\n    - k: v\n      l: w\n  - {}\n";
        assert_eq!(list(vec![map, nested, Node::Map(vec![])]), wanted);
    }
}
