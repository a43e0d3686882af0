//! What a template may say, judged on its text before it is compiled.

use super::Fault;

/// So many texts a template may put together by `~` and `+`.
const MOST_JOINS: usize = 16;

/// The statements that there are.
const STATEMENTS: [&str; 8] = ["if", "elif", "else", "endif", "for", "endfor", "raw", "endraw"];

const HELP: &str = "docs/workflows.md shows what a template may say";

/// Refuses what could make much out of little.
pub(super) fn judge(source: &str) -> Result<(), Fault> {
    let mut joins = 0;
    let mut at = 0;
    while let Some((start, mark)) = next_mark(source, at) {
        let line = 1 + source[..start].matches('\n').count();
        let refused = |problem: String| Err(Fault { line, problem, help: HELP });
        if mark == "{#" {
            at = end_of(source, start + 2, "#}");
            continue;
        }
        let inside = &source[start + 2..];
        let (length, found) = scan(inside, if mark == "{{" { "}}" } else { "%}" });
        at = start + 2 + length;
        if mark == "{%" {
            let word = statement(inside);
            if !STATEMENTS.contains(&word) {
                let shown: String = word.chars().take(32).collect();
                return refused(format!("there is no statement {shown:?}, only if and for"));
            }
            if word == "raw" {
                at = end_of_raw(source, at);
            }
        }
        if found.multiplies {
            return refused("there is no multiplication".to_owned());
        }
        joins += found.joins;
        if joins > MOST_JOINS {
            return refused(format!("more than {MOST_JOINS} texts are joined by ~ or +"));
        }
    }
    Ok(())
}

/// What stands between the marks of an expression or statement, its end mark too.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part<'a> {
    /// The line on which it begins.
    pub(super) line: usize,
    pub(super) text: &'a str,
}

/// The expressions and statements; no comments, and nothing raw.
pub(super) fn inside(source: &str) -> Vec<Part<'_>> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some((start, mark)) = next_mark(source, at) {
        if mark == "{#" {
            at = end_of(source, start + 2, "#}");
            continue;
        }
        let rest = &source[start + 2..];
        let (length, _) = scan(rest, if mark == "{{" { "}}" } else { "%}" });
        let line = 1 + source[..start].matches('\n').count();
        found.push(Part { line, text: &rest[..length] });
        at = start + 2 + length;
        if mark == "{%" && statement(rest) == "raw" {
            at = end_of_raw(source, at);
        }
    }
    found
}

fn next_mark(source: &str, from: usize) -> Option<(usize, &'static str)> {
    let find = |mark: &'static str| source.get(from..)?.find(mark).map(|at| (from + at, mark));
    ["{{", "{%", "{#"].into_iter().filter_map(find).min()
}

fn end_of(source: &str, from: usize, mark: &str) -> usize {
    source[from..].find(mark).map_or(source.len(), |at| from + at + mark.len())
}

fn statement(inside: &str) -> &str {
    let word = inside.trim_start_matches(['-', '+']).trim_start();
    let end = word.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(word.len());
    &word[..end]
}

/// Behind the `{%` of what ends the raw part, so that it is judged again from its own mark.
fn end_of_raw(source: &str, from: usize) -> usize {
    let mut at = from;
    while let Some(start) = source[at..].find("{%").map(|found| at + found) {
        if statement(&source[start + 2..]) == "endraw" {
            return start;
        }
        at = start + 2;
    }
    source.len()
}

#[derive(Default)]
struct Found {
    joins: usize,
    multiplies: bool,
}

/// Reads an expression up to its end mark; texts in quotes do not count.
fn scan(inside: &str, end: &str) -> (usize, Found) {
    let mut found = Found::default();
    let mut quote = None;
    let mut escaped = false;
    for (at, character) in inside.char_indices() {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if character == '\\' => escaped = true,
            Some(open) if character == open => quote = None,
            Some(_) => {}
            None if inside[at..].starts_with(end) => return (at + end.len(), found),
            None => match character {
                '"' | '\'' => quote = Some(character),
                '*' => found.multiplies = true,
                '~' | '+' => found.joins += 1,
                _ => {}
            },
        }
    }
    (inside.len(), found)
}
