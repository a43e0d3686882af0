//! What a request may ask for, looked at before anything is done with it.
//!
//! The library multiplies fragments out when it looks at depth and complexity, and does so anew
//! for each place that spreads one: thirty fragments that each spread the next one twice are a
//! billion fields in one kilobyte. Here each fragment is counted once, so the count costs no more
//! than the text is long; and what is counted too high is refused before the library begins.
//!
//! The library looks at all that a document holds, whatever of it is asked for: at operations that
//! are not carried out and at fragments that nobody spreads, which it follows along their spreads
//! without end. So the limits are for the sum of it all.

use std::{collections::HashMap, sync::Arc};

use async_graphql::{
    Name, Pos, Request, ServerError, ServerResult,
    async_trait::async_trait,
    extensions::{Extension, ExtensionContext, ExtensionFactory, NextPrepareRequest},
    parser::types::{ExecutableDocument, Selection, SelectionSet},
};

/// So many fields, fragments multiplied out.
const FIELDS: u64 = 10_000;
/// So many of them under another name than their own: a request could ask the same a thousand
/// times under a thousand names.
const ALIASES: u64 = 500;
/// So deep may selections and fragments nest together. What stays below is counted by the library,
/// field by field.
const NESTING: usize = 32;
/// So many operations and fragments in one document. Clients send one, and a handful.
const OPERATIONS: usize = 50;
const FRAGMENTS: usize = 100;
/// So many brackets may be open at once in the text, values included: the parser and all that
/// looks at values go down one step of the stack for each.
const BRACKETS: usize = 100;

/// Refuses a request that is too large in one of these ways.
pub(super) struct Limits;

impl ExtensionFactory for Limits {
    fn create(&self) -> Arc<dyn Extension> {
        Arc::new(Limits)
    }
}

#[async_trait]
impl Extension for Limits {
    async fn prepare_request(
        &self,
        ctx: &ExtensionContext<'_>,
        request: Request,
        next: NextPrepareRequest<'_>,
    ) -> ServerResult<Request> {
        let mut request = next.run(ctx, request).await?;
        brackets(&request.query)?;
        // It is parsed once, here. One that does not parse is the library's to refuse.
        if let Ok(document) = request.parsed_query() {
            check(document)?;
        }
        Ok(request)
    }
}

/// How much a selection asks for.
#[derive(Clone, Copy, Default)]
struct Amount {
    /// Spreads included: following them costs as much, whatever is at their end.
    fields: u64,
    aliases: u64,
    /// How deep it nests.
    depth: usize,
}

impl Amount {
    fn add(&mut self, other: Self) {
        self.fields = self.fields.saturating_add(other.fields);
        self.aliases = self.aliases.saturating_add(other.aliases);
    }
}

/// Refuses a text with too many brackets open at once, before anything goes down into them.
fn brackets(query: &str) -> ServerResult<()> {
    let mut open = 0_usize;
    let mut rest = query.as_bytes();
    while let Some((byte, mut behind)) = rest.split_first() {
        match byte {
            b'{' | b'[' | b'(' => open += 1,
            b'}' | b']' | b')' => open = open.saturating_sub(1),
            b'#' => behind = comment(behind),
            b'"' => {
                behind = match behind.strip_prefix(b"\"\"") {
                    Some(block) => block_string(block).ok_or_else(|| {
                        let text = "a text that begins with three quotes does not end";
                        ServerError::new(text, None)
                    })?,
                    None => string(behind),
                }
            }
            _ => {}
        }
        if open > BRACKETS {
            let text = format!(
                "the request has more than {BRACKETS} brackets open at once; nest less deep, and \
                 give large values as variables"
            );
            return Err(ServerError::new(text, None));
        }
        rest = behind;
    }
    Ok(())
}

/// What stands behind a comment.
fn comment(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
    end.and_then(|end| text.get(end..)).unwrap_or_default()
}

/// What stands behind a string in quotes.
fn string(mut text: &[u8]) -> &[u8] {
    loop {
        text = match text {
            [] => return text,
            [b'"', behind @ ..] => return behind,
            [b'\\', _, behind @ ..] | [_, behind @ ..] => behind,
        }
    }
}

/// What stands behind a string in three quotes each, if it ends.
fn block_string(mut text: &[u8]) -> Option<&[u8]> {
    loop {
        text = match text {
            [] => return None,
            [b'"', b'"', b'"', behind @ ..] => return Some(behind),
            [b'\\', b'"', b'"', b'"', behind @ ..] | [_, behind @ ..] => behind,
        }
    }
}

fn check(document: &ExecutableDocument) -> ServerResult<()> {
    for (what, there, most) in [
        ("operations", document.operations.iter().count(), OPERATIONS),
        ("fragments", document.fragments.len(), FRAGMENTS),
    ] {
        if there > most {
            let text = format!(
                "the request has {there} {what}; the limit is {most}; send those that are needed"
            );
            return Err(ServerError::new(text, None));
        }
    }
    let mut counter = Counter { document, counted: HashMap::new() };
    let mut sum = Amount::default();
    for (_, operation) in document.operations.iter() {
        sum.add(counter.count(&operation.node.selection_set.node, operation.pos, 0)?);
    }
    for (name, fragment) in &document.fragments {
        sum.add(counter.fragment(name, fragment.pos, 0)?);
    }
    for (what, there, most) in [("fields", sum.fields, FIELDS), ("aliases", sum.aliases, ALIASES)] {
        if there > most {
            let text = format!(
                "the request has {there} {what}, fragments multiplied out; the limit is {most}; \
                 ask for less at once"
            );
            return Err(ServerError::new(text, None));
        }
    }
    Ok(())
}

struct Counter<'a> {
    document: &'a ExecutableDocument,
    counted: HashMap<&'a Name, Amount>,
}

impl<'a> Counter<'a> {
    fn count(&mut self, set: &'a SelectionSet, at: Pos, depth: usize) -> ServerResult<Amount> {
        let mut sum = Amount::default();
        for item in &set.items {
            let (inner, aliases) = match &item.node {
                Selection::Field(field) => {
                    let aliases = u64::from(field.node.alias.is_some());
                    let set = &field.node.selection_set;
                    (self.deeper(&set.node, item.pos, depth)?, aliases)
                }
                Selection::InlineFragment(fragment) => {
                    let set = &fragment.node.selection_set;
                    (self.deeper(&set.node, item.pos, depth)?, 0)
                }
                Selection::FragmentSpread(spread) => {
                    let name = &spread.node.fragment_name.node;
                    (self.fragment(name, item.pos, depth)?, 0)
                }
            };
            sum.add(Amount { fields: 1, aliases, depth: 0 });
            sum.add(inner);
            sum.depth = sum.depth.max(inner.depth + 1);
            if depth + sum.depth > NESTING {
                return Err(too_deep(at));
            }
        }
        Ok(sum)
    }

    fn deeper(&mut self, set: &'a SelectionSet, at: Pos, depth: usize) -> ServerResult<Amount> {
        // One that spreads itself is too deep as well.
        if depth >= NESTING { Err(too_deep(at)) } else { self.count(set, at, depth + 1) }
    }

    fn fragment(&mut self, name: &'a Name, at: Pos, depth: usize) -> ServerResult<Amount> {
        if let Some(counted) = self.counted.get(name) {
            return Ok(*counted);
        }
        // One that is not there is the library's to refuse.
        let Some(fragment) = self.document.fragments.get(name) else {
            return Ok(Amount::default());
        };
        let counted = self.deeper(&fragment.node.selection_set.node, at, depth)?;
        self.counted.insert(name, counted);
        Ok(counted)
    }
}

fn too_deep(at: Pos) -> ServerError {
    let text = format!(
        "the request nests deeper than {NESTING}, or a fragment spreads itself; ask for less at once"
    );
    ServerError::new(text, Some(at))
}
