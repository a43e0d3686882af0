//! Computes how deep a template nests, from its tokens. The library parses, compiles and drops a
//! template recursively, so a template that nests too deep must not reach it.
//!
//! The result is an upper bound: it is never less than the depth of the parser's tree.

use super::tokens::{TemplatePart, TemplateToken, TokenKind};

/// Maximum depth of blocks, brackets and chains of operators together.
pub(super) const MAX_DEPTH: usize = 100;

/// The first part that nests too deep.
pub(super) fn too_deep<'p, 'a>(parts: &'p [TemplatePart<'a>]) -> Option<&'p TemplatePart<'a>> {
    let mut blocks = Blocks::default();
    parts.iter().find(|part| {
        blocks.pass(part);
        blocks.depth + depth(&part.tokens) > MAX_DEPTH
    })
}

/// The open blocks. Each `elif` nests inside the one before it.
#[derive(Default)]
struct Blocks {
    open: Vec<usize>,
    depth: usize,
}

impl Blocks {
    fn pass(&mut self, part: &TemplatePart<'_>) {
        match part.statement() {
            Some("if" | "for") => {
                self.open.push(1);
                self.depth += 1;
            }
            Some("elif") => {
                if let Some(last) = self.open.last_mut() {
                    *last += 1;
                }
                self.depth += 1;
            }
            Some("endif" | "endfor") => self.depth -= self.open.pop().unwrap_or(0),
            Some(_) | None => {}
        }
    }
}

/// The state of one level of brackets since its last comma.
#[derive(Default)]
struct Level {
    /// The operators between operands, and the signs before operands.
    operators: usize,
    /// The number of members, calls, filters and tests after the current operand.
    behind: usize,
    /// The deepest bracket of the current operand.
    inside: usize,
    /// The deepest operand.
    operand: usize,
    /// The deepest element before the comma.
    element: usize,
}

impl Level {
    fn next_operand(&mut self) {
        self.operand = self.operand.max(self.behind + self.inside);
        (self.behind, self.inside) = (0, 0);
    }

    fn next_element(&mut self) {
        self.next_operand();
        self.element = self.element.max(self.operators + self.operand);
        (self.operators, self.operand) = (0, 0);
    }

    fn depth(mut self) -> usize {
        self.next_element();
        self.element + 1
    }
}

fn depth(tokens: &[TemplateToken<'_>]) -> usize {
    let (mut outer, mut level) = (Vec::new(), Level::default());
    let close = |level: Level, outer: Level| {
        let inside = outer.inside.max(level.depth());
        Level { inside, behind: outer.behind + 1, ..outer }
    };
    for token in tokens {
        match token.kind {
            TokenKind::Mark('(' | '[' | '{') => {
                outer.push(std::mem::take(&mut level));
                if outer.len() > MAX_DEPTH {
                    return outer.len();
                }
            }
            TokenKind::Mark(')' | ']' | '}') => {
                if let Some(outer) = outer.pop() {
                    level = close(std::mem::take(&mut level), outer);
                }
            }
            TokenKind::Mark(',' | ':') => level.next_element(),
            TokenKind::Mark('.' | '|') | TokenKind::Word("is") => level.behind += 1,
            // A sign or a negation may precede its operand, or stand between two operands.
            TokenKind::Mark('-') | TokenKind::Word("not") => level.operators += 1,
            TokenKind::Mark(_) | TokenKind::Word("and" | "or" | "in" | "if" | "else") => {
                level.next_operand();
                level.operators += 1;
            }
            TokenKind::Word(_) | TokenKind::Text(_) | TokenKind::Number => {}
        }
    }
    while let Some(outer) = outer.pop() {
        level = close(std::mem::take(&mut level), outer);
    }
    level.depth()
}
