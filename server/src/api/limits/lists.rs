//! Whether the answer to a mutation reads lists of rows, by the types of the schema. Such a
//! mutation needs a place among its caller's queries (see `aside`); one that answers with the
//! object that it changed does not.

use std::collections::HashSet;

use async_graphql::{
    Name,
    parser::types::{ExecutableDocument, OperationType, Selection, SelectionSet},
    registry::{MetaField, MetaTypeName, Registry},
};

/// The arguments by which a caller chooses the length of a list.
const LENGTHS: [&str; 3] = ["first", "last", "count"];

/// Whether the payload of any mutation in the document selects a list of rows. The cost is linear
/// in the length of the document, whose nesting was limited before.
pub(super) fn are_read(document: &ExecutableDocument, registry: &Registry) -> bool {
    let Some(root) = registry.mutation_type.as_deref() else { return false };
    let mut finder = ListFinder { document, registry, root, seen: HashSet::new() };
    let operations = document.operations.iter().map(|(_, operation)| &operation.node);
    let mut mutations = operations.filter(|operation| operation.ty == OperationType::Mutation);
    mutations.any(|mutation| finder.finds(&mutation.selection_set.node, root))
}

struct ListFinder<'a> {
    document: &'a ExecutableDocument,
    registry: &'a Registry,
    /// The type of all mutations.
    root: &'a str,
    /// Fragments that were looked into: no list has been found yet.
    seen: HashSet<&'a Name>,
}

impl<'a> ListFinder<'a> {
    /// Whether there is a list in this selection of the type `of`.
    fn finds(&mut self, set: &'a SelectionSet, of: &'a str) -> bool {
        let parent = self.registry.types.get(of);
        set.items.iter().any(|item| match &item.node {
            Selection::Field(field) => {
                let name = field.node.name.node.as_str();
                // The library refuses a field that does not exist, and `__typename` is a text.
                let Some(found) = parent.and_then(|parent| parent.field_by_name(name)) else {
                    return false;
                };
                // A mutation is not read, but carried out: only its payload counts.
                let is_list = of != self.root && is_of_rows(found, self.registry);
                let inner = MetaTypeName::concrete_typename(&found.ty);
                is_list || self.finds(&field.node.selection_set.node, inner)
            }
            Selection::InlineFragment(fragment) => {
                let on = fragment.node.type_condition.as_ref();
                let on = on.map_or(of, |on| on.node.on.node.as_str());
                self.finds(&fragment.node.selection_set.node, on)
            }
            Selection::FragmentSpread(spread) => {
                self.finds_in_fragment(&spread.node.fragment_name.node)
            }
        })
    }

    /// Whether a fragment reads a list. The answer is the same wherever the fragment is spread.
    fn finds_in_fragment(&mut self, name: &'a Name) -> bool {
        let document = self.document;
        let Some(fragment) = document.fragments.get(name).filter(|_| self.seen.insert(name)) else {
            return false;
        };
        let on = fragment.node.type_condition.node.on.node.as_str();
        self.finds(&fragment.node.selection_set.node, on)
    }
}

/// Whether a field is a list whose length the caller chooses, or one of objects that have a key.
/// Other lists describe the object that they belong to: headers, warnings, windows of a calendar.
fn is_of_rows(field: &MetaField, registry: &Registry) -> bool {
    let item = registry.types.get(MetaTypeName::concrete_typename(&field.ty));
    let Some(item) = item.filter(|item| item.is_composite()) else { return false };
    let has_length = LENGTHS.iter().any(|length| field.args.contains_key(*length));
    has_length || (field.ty.starts_with('[') && item.field_by_name("id").is_some())
}
