//! Counts how much a parsed document requests.
//!
//! async-graphql expands fragments when it computes depth and complexity, again for each spread:
//! thirty fragments that each spread the next one twice make a billion fields in one kilobyte. Here
//! each fragment is counted once, so the cost is linear in the length of the text, and a document
//! over a limit is refused before the library starts.
//!
//! The library walks everything in a document, even operations that are not selected and fragments
//! that are never spread. So the limits apply to the sum of all parts.

use std::collections::HashMap;

use async_graphql::{
    Name, Pos, ServerError, ServerResult,
    parser::types::{ExecutableDocument, OperationType, Selection, SelectionSet},
};

use super::{heavy, introspection::SelectionKind, refused, refused_at};

/// Maximum number of fields, with fragments expanded.
const MAX_FIELDS: u64 = 10_000;
/// Maximum number of fields for an unauthenticated caller, with fragments expanded.
const MAX_FIELDS_OF_STRANGERS: u64 = 1_000;
/// Maximum number of aliases. Without it, a request could contain the same field a thousand times
/// under a thousand names.
const MAX_ALIASES: u64 = 500;
/// Maximum number of fields that compute instead of reading rows.
const MAX_HEAVY: u64 = 20;
/// The largest number of fields that compute for one event of a subscription: events are resolved
/// where all requests are served.
const MAX_HEAVY_OF_EVENT: u64 = 1;
/// The fields from an event to the timing of its schedule. None of them is a list.
const TO_TIMING: [&str; 11] = [
    "runEvents",
    "run",
    "fireEvents",
    "fire",
    "alertEvents",
    "alert",
    "backfillEvents",
    "backfill",
    "scheduleEvents",
    "schedule",
    "timing",
];
/// The largest cost of introspection. A client's full introspection costs a third of it.
const MAX_INTROSPECTION: u64 = 1_000_000;
/// How deep selections and fragments together may nest. Below this limit, the library checks the
/// depth of fields.
const MAX_NESTING: usize = 32;
/// Maximum number of operations and of fragments in one document. Clients send one operation and a
/// few fragments.
const MAX_OPERATIONS: usize = 50;
const MAX_FRAGMENTS: usize = 100;

/// How much a selection requests.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Amount {
    /// Includes spreads: following a spread costs as much as a field, regardless of the fragment's
    /// content.
    fields: u64,
    aliases: u64,
    /// Fields whose resolvers compute their values.
    pub(super) heavy: u64,
    /// Fields whose resolvers compute a value for each row of a list.
    pub(super) heavy_by_row: u64,
    /// The heavy fields that an event of a subscription computes once, for its own schedule.
    heavy_of_event: u64,
    /// The cost of introspection.
    pub(super) introspection: u64,
    /// The nesting depth.
    depth: usize,
}

impl Amount {
    fn add(&mut self, other: Self) {
        self.fields = self.fields.saturating_add(other.fields);
        self.aliases = self.aliases.saturating_add(other.aliases);
        self.heavy = self.heavy.saturating_add(other.heavy);
        self.heavy_by_row = self.heavy_by_row.saturating_add(other.heavy_by_row);
        self.heavy_of_event = self.heavy_of_event.saturating_add(other.heavy_of_event);
        self.introspection = self.introspection.saturating_add(other.introspection);
    }

    /// Refuses a subscription that computes much for an event.
    fn check_events(&self, at: Pos) -> ServerResult<()> {
        if self.heavy == self.heavy_of_event && self.heavy <= MAX_HEAVY_OF_EVENT {
            return Ok(());
        }
        let found = self.heavy;
        let text = format!(
            "the subscription has {found} fields that compute ({}); for each event it may compute \
             {MAX_HEAVY_OF_EVENT}, timing.warnings of the event's own schedule; query the others \
             when an event comes",
            heavy::names()
        );
        let limit = usize::try_from(MAX_HEAVY_OF_EVENT).unwrap_or(usize::MAX);
        Err(refused_at(text, limit, at))
    }

    fn check(&self, is_stranger: bool) -> ServerResult<()> {
        let max_fields = if is_stranger { MAX_FIELDS_OF_STRANGERS } else { MAX_FIELDS };
        let aside = heavy::names();
        for (found, max, what) in [
            (self.fields, max_fields, "fields, fragments multiplied out".to_owned()),
            (self.aliases, MAX_ALIASES, "aliases, fragments multiplied out".to_owned()),
            (self.heavy, MAX_HEAVY, format!("fields that compute ({aside})")),
        ] {
            if found > max {
                return Err(refused(
                    format!(
                        "the request has {found} {what}; the limit is {max}; ask for less at once"
                    ),
                    max,
                ));
            }
        }
        if self.introspection > MAX_INTROSPECTION {
            return Err(refused(
                format!(
                    "the request's introspection costs {}; the limit is {MAX_INTROSPECTION}; nest \
                     fewer lists, or read the published schema",
                    self.introspection
                ),
                MAX_INTROSPECTION,
            ));
        }
        Ok(())
    }
}

/// Counts how much a document requests, or refuses a document that requests too much.
pub(super) fn count(document: &ExecutableDocument, is_stranger: bool) -> ServerResult<Amount> {
    for (what, found, max) in [
        ("operations", document.operations.iter().count(), MAX_OPERATIONS),
        ("fragments", document.fragments.len(), MAX_FRAGMENTS),
    ] {
        if found > max {
            let text = format!(
                "the request has {found} {what}; the limit is {max}; send those that are needed"
            );
            return Err(refused(text, max));
        }
    }
    let mut counter = CostCounter { document, counted: HashMap::new() };
    let mut sum = Amount::default();
    for (_, operation) in document.operations.iter() {
        let set = &operation.node.selection_set.node;
        let amount = counter.count(set, operation.pos, 0, SelectionKind::Data)?;
        if operation.node.ty == OperationType::Subscription {
            amount.check_events(operation.pos)?;
        }
        sum.add(amount);
    }
    for (name, fragment) in &document.fragments {
        sum.add(counter.fragment(name, fragment.pos, 0, SelectionKind::Data)?);
    }
    sum.check(is_stranger)?;
    Ok(sum)
}

struct CostCounter<'a> {
    document: &'a ExecutableDocument,
    counted: HashMap<(&'a Name, SelectionKind), Amount>,
}

impl<'a> CostCounter<'a> {
    fn count(
        &mut self,
        set: &'a SelectionSet,
        at: Pos,
        depth: usize,
        within: SelectionKind,
    ) -> ServerResult<Amount> {
        let mut sum = Amount::default();
        for item in &set.items {
            let mut own = Amount { fields: 1, ..Amount::default() };
            let inner = match &item.node {
                Selection::Field(field) => {
                    let name = field.node.name.node.as_str();
                    let inside = within.enter(name).ok_or_else(|| too_nested(item.pos))?;
                    let set = &field.node.selection_set;
                    let mut inner = self.deeper(&set.node, item.pos, depth, inside)?;
                    own.aliases = u64::from(field.node.alias.is_some());
                    own.heavy = u64::from(heavy::is(within, name));
                    own.heavy_by_row = if within == SelectionKind::Timing { own.heavy } else { 0 };
                    own.heavy_of_event = own.heavy_by_row;
                    if !TO_TIMING.contains(&name) {
                        inner.heavy_of_event = 0;
                    }
                    inner.introspection = inside.cost(within, name, inner.introspection);
                    inner
                }
                Selection::InlineFragment(fragment) => {
                    let set = &fragment.node.selection_set;
                    let on = fragment.node.type_condition.as_ref();
                    let inside = on.map_or(within, |on| within.narrow(&on.node.on.node));
                    self.deeper(&set.node, item.pos, depth, inside)?
                }
                Selection::FragmentSpread(spread) => {
                    let name = &spread.node.fragment_name.node;
                    self.fragment(name, item.pos, depth, within)?
                }
            };
            sum.add(own);
            sum.add(inner);
            sum.depth = sum.depth.max(inner.depth + 1);
            if depth + sum.depth > MAX_NESTING {
                return Err(too_deep(at));
            }
        }
        Ok(sum)
    }

    fn deeper(
        &mut self,
        set: &'a SelectionSet,
        at: Pos,
        depth: usize,
        within: SelectionKind,
    ) -> ServerResult<Amount> {
        // A fragment that spreads itself is refused here because it is too deep.
        if depth >= MAX_NESTING {
            return Err(too_deep(at));
        }
        self.count(set, at, depth + 1, within)
    }

    fn fragment(
        &mut self,
        name: &'a Name,
        at: Pos,
        depth: usize,
        within: SelectionKind,
    ) -> ServerResult<Amount> {
        if let Some(counted) = self.counted.get(&(name, within)) {
            return Ok(*counted);
        }
        // The library refuses a spread of a fragment that does not exist.
        let Some(fragment) = self.document.fragments.get(name) else {
            return Ok(Amount::default());
        };
        let inside = within.narrow(&fragment.node.type_condition.node.on.node);
        let counted = self.deeper(&fragment.node.selection_set.node, at, depth, inside)?;
        self.counted.insert((name, within), counted);
        Ok(counted)
    }
}

fn too_deep(at: Pos) -> ServerError {
    let text = format!(
        "the request nests deeper than {MAX_NESTING}, or a fragment spreads itself; ask for less \
         at once"
    );
    refused_at(text, MAX_NESTING, at)
}

fn too_nested(at: Pos) -> ServerError {
    let max = SelectionKind::MAX_LISTS;
    let text = format!(
        "the request's introspection nests more than {max} lists of fields or types; ask for \
         types one by one"
    );
    refused_at(text, usize::from(max), at)
}
