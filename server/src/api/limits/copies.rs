//! Counts the copies of a request's variables.
//!
//! The library copies the value of a variable to each place that names it: a list that names a
//! variable of one megabyte ten thousand times would take ten gigabytes. Here the copies are
//! counted before the first one is made. As in `document`, each fragment is counted once, and all
//! parts of a document count.

use std::{collections::HashMap, convert::Infallible};

use async_graphql::{
    Name, Positioned, ServerResult, Value, Variables,
    parser::types::{Directive, ExecutableDocument, Field, Selection, SelectionSet},
};

use super::{budget, refused};

/// Maximum size of the copies, in bytes in memory, beyond one copy of each variable.
const MAX_REPEATED: usize = 4 * 1024 * 1024;

/// Refuses a document that uses large variables too often. Its nesting must have been checked
/// before, because a fragment that spreads itself would never end here.
pub(super) fn check(document: &ExecutableDocument, variables: &Variables) -> ServerResult<()> {
    let mut counter =
        CopyCounter { document, sizes: sizes(document, variables), counted: HashMap::new() };
    let mut bytes = 0_usize;
    for (_, operation) in document.operations.iter() {
        let operation = &operation.node;
        for definition in &operation.variable_definitions {
            bytes = bytes.saturating_add(counter.named(None, &definition.node.directives));
        }
        bytes = bytes.saturating_add(counter.named(None, &operation.directives));
        bytes = bytes.saturating_add(counter.count(&operation.selection_set.node));
    }
    for name in document.fragments.keys() {
        if !counter.counted.contains_key(name) {
            bytes = bytes.saturating_add(counter.fragment(name));
        }
    }
    let once: usize = counter.sizes.values().sum();
    let max = once.saturating_add(MAX_REPEATED);
    if bytes <= max {
        return Ok(());
    }
    let text = format!(
        "the request uses its variables so often that their copies take {bytes} bytes; the limit \
         is {max}; use a large variable once, or send less in it"
    );
    Err(refused(text, max))
}

/// The size of each variable. A value that was sent replaces the default.
fn sizes<'a>(document: &'a ExecutableDocument, sent: &'a Variables) -> HashMap<&'a str, usize> {
    let mut sizes = HashMap::new();
    for (_, operation) in document.operations.iter() {
        for definition in &operation.node.variable_definitions {
            let default = definition.node.default_value.as_ref();
            let size = default.map_or(0, |value| budget::size(&value.node));
            let largest = sizes.entry(definition.node.name.node.as_str()).or_insert(0);
            *largest = size.max(*largest);
        }
    }
    sizes.extend(sent.iter().map(|(name, value)| (name.as_str(), budget::size(value))));
    sizes
}

struct CopyCounter<'a> {
    document: &'a ExecutableDocument,
    sizes: HashMap<&'a str, usize>,
    /// The size of the copies in each fragment.
    counted: HashMap<&'a Name, usize>,
}

impl<'a> CopyCounter<'a> {
    fn count(&mut self, set: &'a SelectionSet) -> usize {
        let mut bytes = 0_usize;
        for item in &set.items {
            let (own, inner) = match &item.node {
                Selection::Field(field) => {
                    let field = &field.node;
                    let own = self.named(Some(field), &field.directives);
                    (own, self.count(&field.selection_set.node))
                }
                Selection::InlineFragment(fragment) => {
                    let own = self.named(None, &fragment.node.directives);
                    (own, self.count(&fragment.node.selection_set.node))
                }
                Selection::FragmentSpread(spread) => {
                    let own = self.named(None, &spread.node.directives);
                    (own, self.fragment(&spread.node.fragment_name.node))
                }
            };
            bytes = bytes.saturating_add(own).saturating_add(inner);
        }
        bytes
    }

    fn fragment(&mut self, name: &'a Name) -> usize {
        if let Some(counted) = self.counted.get(name) {
            return *counted;
        }
        let document = self.document;
        // The library refuses a spread of a fragment that does not exist.
        let Some(fragment) = document.fragments.get(name) else { return 0 };
        let own = self.named(None, &fragment.node.directives);
        let bytes = own.saturating_add(self.count(&fragment.node.selection_set.node));
        self.counted.insert(name, bytes);
        bytes
    }

    /// The size of the copies that the arguments of a field and of directives need.
    fn named(&self, field: Option<&Field>, directives: &[Positioned<Directive>]) -> usize {
        let arguments = field.into_iter().flat_map(|field| &field.arguments);
        let directives = directives.iter().flat_map(|directive| &directive.node.arguments);
        let mut bytes = 0_usize;
        for (_, value) in arguments.chain(directives) {
            let size = |name: Name| {
                let size = self.sizes.get(name.as_str()).copied().unwrap_or(0);
                bytes = bytes.saturating_add(size);
                Ok::<_, Infallible>(Value::Null)
            };
            // Only which variables a value names matters, not what it is without them.
            drop(value.node.clone().into_const_with(size));
        }
        bytes
    }
}
