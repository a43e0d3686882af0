//! The paths that a source file names, resolved from its module.

use std::collections::BTreeMap;

/// A source file of the server, and the items of other files that it names.
pub(crate) struct Source {
    /// The module of the file: `engine::planning::gap`.
    pub(crate) module: Vec<String>,
    /// All paths that begin in the server or in another crate, in full and without a leading
    /// `crate`.
    pub(crate) paths: Vec<Vec<String>>,
    /// The names that `use` introduces: `engine::Signals` is `engine::signals::Signals`.
    pub(crate) names: BTreeMap<String, Vec<String>>,
}

impl Source {
    /// Reads `text` without its comments, strings and unit tests. `modules` are the modules of the
    /// server.
    pub(crate) fn read(module: &[&str], text: &str, modules: &[String]) -> Self {
        let module: Vec<String> = module.iter().map(|&part| part.to_owned()).collect();
        let mut source = Self { module, paths: vec![], names: BTreeMap::new() };
        let tokens = tokens(text);
        let mut at = 0;
        while at < tokens.len() {
            if tokens[at] == "use" {
                let mut found = vec![];
                at = tree(&tokens, at + 1, &[], &mut found);
                for (path, name) in found {
                    source.add(&path, Some(name), modules);
                }
            } else if is_word(&tokens[at]) && follows(&tokens, at) && !continues(&tokens, at) {
                let mut path = vec![tokens[at].clone()];
                while follows(&tokens, at) && tokens.get(at + 2).is_some_and(|next| is_word(next)) {
                    path.push(tokens[at + 2].clone());
                    at += 2;
                }
                source.add(&path, None, modules);
            }
            at += 1;
        }
        source
    }

    fn add(&mut self, path: &[String], name: Option<String>, modules: &[String]) {
        let Some(path) = self.resolved(path, modules) else { return };
        if let Some(name) = name.filter(|name| name != "*") {
            let own = self.module.iter().cloned().chain([name]).collect::<Vec<_>>().join("::");
            self.names.insert(own, path.clone());
        }
        self.paths.push(path);
    }

    fn resolved(&self, path: &[String], modules: &[String]) -> Option<Vec<String>> {
        let (base, rest) = match &*path[0] {
            "crate" => (vec![], &path[1..]),
            "self" => (self.module.clone(), &path[1..]),
            "super" => {
                let up = path.iter().take_while(|part| *part == "super").count();
                (self.module[..self.module.len().checked_sub(up)?].to_vec(), &path[up..])
            }
            head => {
                let own = [&*self.module, &[head.to_owned()]].concat().join("::");
                if let Some(known) = self.names.get(&own) {
                    (known.clone(), &path[1..])
                } else if modules.contains(&own) {
                    (self.module.clone(), path)
                } else {
                    (vec![], path)
                }
            }
        };
        let rest = rest.iter().filter(|part| *part != "self").cloned();
        Some(base.into_iter().chain(rest).collect())
    }
}

fn follows(tokens: &[String], at: usize) -> bool {
    tokens.get(at + 1).is_some_and(|next| next == "::")
}

fn continues(tokens: &[String], at: usize) -> bool {
    at > 0 && tokens[at - 1] == "::"
}

/// Reads one tree of a `use` after `prefix`; returns the position of its end.
fn tree(
    tokens: &[String],
    mut at: usize,
    prefix: &[String],
    found: &mut Vec<(Vec<String>, String)>,
) -> usize {
    let mut path = prefix.to_vec();
    loop {
        match tokens.get(at).map_or(";", |token| token) {
            "::" => at += 1,
            "{" => {
                at += 1;
                while tokens.get(at).is_some_and(|token| token != "}") {
                    at = tree(tokens, at, &path, found);
                    if tokens.get(at).is_some_and(|token| token == ",") {
                        at += 1;
                    }
                }
                return at + 1;
            }
            word if is_word(word) || word == "*" => {
                path.push(word.to_owned());
                at += 1;
                if tokens.get(at).is_some_and(|token| token == "::") {
                    continue;
                }
                let last = path.iter().rev().find(|part| *part != "self").cloned();
                let mut name = last.unwrap_or_default();
                if tokens.get(at).is_some_and(|token| token == "as") {
                    name.clone_from(&tokens[at + 1]);
                    at += 2;
                }
                found.push((path, name));
                return at;
            }
            _ => return at,
        }
    }
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Words, `::` and single characters, up to the unit tests of the file.
fn tokens(text: &str) -> Vec<String> {
    let lines = text.lines().take_while(|line| line.trim() != "#[cfg(test)]");
    let text: Vec<char> = lines.flat_map(|line| line.chars().chain(['\n'])).collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let (this, next) = (text[at], text.get(at + 1).copied().unwrap_or('\n'));
        match this {
            '/' if next == '/' => at += until(&text[at..], |c| c == '\n'),
            '"' => at += 2 + quoted(&text[at + 1..]),
            '\'' if next == '\\' => at += 3 + until(&text[at + 3..], |c| c == '\'') + 1,
            '\'' if text.get(at + 2) == Some(&'\'') => at += 3,
            'r' if next == '#' && text.get(at + 2).is_some_and(|c| matches!(c, '#' | '"')) => {
                at += raw(&text[at..]);
            }
            c if c.is_alphanumeric() || c == '_' => {
                let length = until(&text[at..], |c| !(c.is_alphanumeric() || c == '_'));
                tokens.push(text[at..at + length].iter().collect());
                at += length;
            }
            ':' if next == ':' => {
                tokens.push("::".to_owned());
                at += 2;
            }
            c => {
                if !c.is_whitespace() {
                    tokens.push(c.to_string());
                }
                at += 1;
            }
        }
    }
    tokens
}

fn until(text: &[char], is_end: impl Fn(char) -> bool) -> usize {
    text.iter().position(|c| is_end(*c)).unwrap_or(text.len())
}

/// The length of a string's content.
fn quoted(text: &[char]) -> usize {
    let mut at = 0;
    while at < text.len() && text[at] != '"' {
        at += if text[at] == '\\' { 2 } else { 1 };
    }
    at
}

/// The length of a raw string.
fn raw(text: &[char]) -> usize {
    let hashes = until(&text[1..], |c| c != '#');
    let close: Vec<char> = ['"'].into_iter().chain(vec!['#'; hashes]).collect();
    let begin = hashes + 2;
    let content = text[begin.min(text.len())..].windows(close.len()).position(|at| at == close);
    content.map_or(text.len(), |content| begin + content + close.len())
}

#[test]
fn imports_are_read_in_all_their_shapes() {
    let modules = ["engine", "engine::core", "engine::planning", "engine::planning::gap"];
    let modules = modules.map(str::to_owned);
    let text = "use crate::clock::Clock;\nuse super::{\n    core::{self, Core as Shared},\n    gap,\n};\n\
                // crate::web in prose\nlet x = entity::fire::Kind::Normal; let c = '\"';\n\
                core::begin(\"crate::api::x\"); gap::part(Shared::new());\n\
                #[cfg(test)]\nmod tests { use crate::cli; }";
    let source = Source::read(&["engine", "planning"], text, &modules);
    let paths: Vec<String> = source.paths.iter().map(|path| path.join("::")).collect();
    let expected = [
        "clock::Clock",
        "engine::core",
        "engine::core::Core",
        "engine::gap",
        "entity::fire::Kind::Normal",
        "engine::core::begin",
        "engine::gap::part",
        "engine::core::Core::new",
    ];
    assert_eq!(paths, expected);
    assert_eq!(source.names["engine::planning::Shared"].join("::"), "engine::core::Core");
}
