//! The names that templates may use, checked when they are saved. A name that no attempt can ever
//! find is refused, and the error lists the available names. Facts that only a run knows are not
//! checked: the contents of its context, the outputs of tasks, whether a secret exists.

use std::collections::{BTreeSet, HashSet};

use minijinja::Template;

use super::{
    Fault, filters,
    tokens::{TemplatePart, TemplateToken, TokenKind, WORDS},
};

/// The names that the templates of one target can use in addition to the common ones.
#[derive(Clone, Copy, Debug)]
pub struct TemplateScope<'a> {
    /// The tasks that have ended before this one, whose outputs it may read.
    pub before: &'a [String],
    /// Whether there is a context.
    pub has_context: bool,
}

impl TemplateScope<'_> {
    /// The scope of a task that does not wait for others.
    pub const ALONE: TemplateScope<'static> = TemplateScope { before: &[], has_context: true };
    /// The scope of a call that is not a task of a run.
    pub const NO_RUN: TemplateScope<'static> = TemplateScope { before: &[], has_context: false };
}

/// The names of values without members.
const PLAIN: [&str; 8] = [
    "attempt",
    "idempotency_key",
    "namespace",
    "previous_fire",
    "run_id",
    "schedule",
    "scheduled_at",
    "task",
];
/// The names of values with members.
const DEEP: [&str; 3] = ["context", "secrets", "tasks"];

const LISTED: &str = "docs/workflows.md lists what templates can use";

/// Refuses names that can never exist.
pub(super) fn judge(
    template: &Template<'_, '_>,
    parts: &[TemplatePart<'_>],
    scope: TemplateScope<'_>,
) -> Result<(), Fault> {
    let free = template.undeclared_variables(false);
    let bound = parts.iter().flat_map(targets).collect();
    let judge = NameChecker { free: &free, bound, scope };
    parts.iter().try_for_each(|part| judge.part(&part.tokens))?;
    // The library's analysis finds the free names more reliably than the tokens do.
    let unknown = free.iter().find(|name| !is_known(name));
    unknown.map_or(Ok(()), |name| Err(judge.no_name(1, name)))
}

fn is_known(name: &str) -> bool {
    PLAIN.contains(&name) || DEEP.contains(&name)
}

/// The loop variables of a `for`.
pub(super) fn targets<'a>(part: &TemplatePart<'a>) -> Vec<&'a str> {
    if part.statement() != Some("for") {
        return Vec::new();
    }
    let words = part.tokens.iter().skip(1).filter_map(|token| match token.kind {
        TokenKind::Word(word) => Some(word),
        TokenKind::Text(_) | TokenKind::Number | TokenKind::Mark(_) => None,
    });
    words.take_while(|word| *word != "in").chain(["loop"]).collect()
}

struct NameChecker<'a> {
    /// The names that a template expects from outside.
    free: &'a HashSet<String>,
    /// The names that the template itself defines, anywhere in it.
    bound: BTreeSet<&'a str>,
    scope: TemplateScope<'a>,
}

impl NameChecker<'_> {
    fn part(&self, part: &[TemplateToken<'_>]) -> Result<(), Fault> {
        let before = |at: usize, back: usize| Some(&part.get(at.checked_sub(back)?)?.kind);
        let says = |at, back, word| before(at, back) == Some(&TokenKind::Word(word));
        for (at, token) in part.iter().enumerate() {
            let TokenKind::Word(word) = token.kind else { continue };
            let is_behind_is = |back| says(at, back, "is") && before(at, back + 1) != DOT;
            if before(at, 1) == DOT {
                // This name was checked as a member of the name before it.
            } else if before(at, 1) == Some(&TokenKind::Mark('|')) {
                one_of(token.line, "filter", word, filters::FILTERS)?;
            } else if (word != "not" && is_behind_is(1)) || (says(at, 1, "not") && is_behind_is(2))
            {
                one_of(token.line, "test", word, filters::TESTS)?;
            } else if !WORDS.contains(&word) {
                self.path(token.line, word, &part[at + 1..])?;
            }
        }
        Ok(())
    }

    /// Checks a name with its members.
    fn path<'t>(
        &self,
        line: usize,
        root: &'t str,
        mut rest: &'t [TemplateToken<'_>],
    ) -> Result<(), Fault> {
        let mut inside: Vec<&'t str> = Vec::new();
        loop {
            rest = match rest {
                [dot, TemplateToken { kind: TokenKind::Word(name), .. }, rest @ ..]
                    if Some(&dot.kind) == DOT =>
                {
                    inside.push(*name);
                    rest
                }
                [open, TemplateToken { kind: TokenKind::Text(name), .. }, close, rest @ ..]
                    if (&open.kind, &close.kind)
                        == (&TokenKind::Mark('['), &TokenKind::Mark(']')) =>
                {
                    inside.push(&**name);
                    rest
                }
                _ => break,
            };
        }
        let path = || [&[root][..], &inside].concat().join(".");
        if rest.first().is_some_and(|next| next.kind == TokenKind::Mark('(')) && root != "loop" {
            let problem = format!("there is no function `{}`", path());
            let help = "use a filter instead; docs/workflows.md lists the available ones";
            return Err(Fault::new(line, problem, help));
        }
        if self.bound.contains(root) || !self.free.contains(root) {
            return Ok(());
        }
        let refused = |problem, help| Err(Fault::new(line, problem, help));
        match (root, &*inside) {
            ("tasks", [task, ..]) if !self.scope.before.iter().any(|before| before == task) => {
                let help = "only tasks that it waits for by `needs`, directly or through others, \
                            can be read; `tasks[\"a-name\"]` reads one whose name is not a plain \
                            word";
                refused(format!("no task `{task}` comes before it; {}", self.before()), help)
            }
            ("tasks", [_, field, ..]) if *field != "output" => {
                let problem = format!("`{}`: of a task there is only its `output`", path());
                refused(problem, "write `tasks.NAME.output.FIELD`")
            }
            ("context", [_, ..]) if !self.scope.has_context => {
                let problem = format!("`{}`: there is no context here", path());
                refused(problem, LISTED)
            }
            ("secrets", [name, _, ..]) => nothing_inside(line, &path(), &format!("secrets.{name}")),
            (root, [_, ..]) if PLAIN.contains(&root) => nothing_inside(line, &path(), root),
            (root, _) if is_known(root) => Ok(()),
            (root, _) => Err(self.no_name(line, root)),
        }
    }

    fn before(&self) -> String {
        match self.scope.before {
            [] => "none does".to_owned(),
            before => format!("there are {}", before.join(", ")),
        }
    }

    fn no_name(&self, line: usize, name: &str) -> Fault {
        let run = |name: &&&str| self.scope.has_context || !["context", "tasks"].contains(*name);
        let known: Vec<&str> = PLAIN.iter().chain(DEEP.iter().filter(run)).copied().collect();
        let problem = format!("there is nothing named `{name}`; there are {}", known.join(", "));
        Fault::new(line, problem, "a value of the context is `context.NAME`")
    }
}

const DOT: Option<&TokenKind<'static>> = Some(&TokenKind::Mark('.'));

fn nothing_inside(line: usize, path: &str, name: &str) -> Result<(), Fault> {
    let problem = format!("`{path}`: `{name}` is a plain value, with nothing inside it");
    Err(Fault::new(line, problem, LISTED))
}

fn one_of(line: usize, what: &str, name: &str, known: &[&str]) -> Result<(), Fault> {
    if known.contains(&name) {
        return Ok(());
    }
    let problem = format!("there is no {what} `{name}`; there are {}", known.join(", "));
    Err(Fault::new(line, problem, LISTED))
}

#[cfg(test)]
#[path = "names_tests.rs"]
mod tests;
