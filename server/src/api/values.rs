//! Checks values that are syntactically valid but malformed: a text that is not an instant, a
//! number that is too large.
//!
//! async-graphql parses such values where they are used, and its error names the type but not the
//! field: if a request contains `startAt` and `endAt`, it is unclear which one is meant. Here each
//! value is parsed once before that, with its path.

use std::fmt;

use async_graphql::{
    InputType, Name, ServerResult, Value, Variables,
    parser::types::{ExecutableDocument, Field, OperationType, Selection, SelectionSet},
    registry::{MetaType, MetaTypeName, Registry},
};
use uuid::Uuid;

use super::{
    error::refused_value,
    scalar::{Instant, Long},
};
use crate::commands::BadInput;

/// Rejects the first value in a document that does not parse as its scalar.
pub(super) fn check(
    registry: &Registry,
    document: &ExecutableDocument,
    variables: &Variables,
) -> ServerResult<()> {
    let walk = Walk { registry, variables };
    for (_, operation) in document.operations.iter() {
        let root = match operation.node.ty {
            OperationType::Query => Some(&registry.query_type),
            OperationType::Mutation => registry.mutation_type.as_ref(),
            OperationType::Subscription => registry.subscription_type.as_ref(),
        };
        let root = root.and_then(|name| registry.types.get(name));
        walk.selection(root, &operation.node.selection_set.node)?;
    }
    for fragment in document.fragments.values() {
        let on = registry.types.get(fragment.node.type_condition.node.on.node.as_str());
        walk.selection(on, &fragment.node.selection_set.node)?;
    }
    Ok(())
}

struct Walk<'a> {
    registry: &'a Registry,
    variables: &'a Variables,
}

impl Walk<'_> {
    /// The limits on documents also limit this recursion. Fragments are checked where they are
    /// defined.
    fn selection(&self, parent: Option<&MetaType>, set: &SelectionSet) -> ServerResult<()> {
        let Some(parent) = parent else { return Ok(()) };
        for item in &set.items {
            match &item.node {
                Selection::Field(field) => self.field(parent, &field.node)?,
                Selection::InlineFragment(fragment) => {
                    let on = match &fragment.node.type_condition {
                        Some(on) => self.registry.types.get(on.node.on.node.as_str()),
                        None => Some(parent),
                    };
                    self.selection(on, &fragment.node.selection_set.node)?;
                }
                Selection::FragmentSpread(_) => {}
            }
        }
        Ok(())
    }

    fn field(&self, parent: &MetaType, field: &Field) -> ServerResult<()> {
        let Some(meta) = parent.field_by_name(&field.name.node) else { return Ok(()) };
        for (name, value) in &field.arguments {
            let Some(argument) = meta.args.get(name.node.as_str()) else { continue };
            let path = Path { parent: None, part: PathPart::Name(name.node.as_str()) };
            let known = |name: Name| self.variables.get(&name).cloned().ok_or(());
            // A missing value has a default, or is refused by the library.
            if let Ok(value) = value.node.clone().into_const_with(known) {
                let refused = self.value(&argument.ty, &value, &path);
                refused.map_err(|bad| refused_value(bad, name.pos))?;
            }
        }
        let of = MetaTypeName::concrete_typename(&meta.ty);
        self.selection(self.registry.types.get(of), &field.selection_set.node)
    }

    /// Input objects cannot nest endlessly: a value nests no deeper than its text.
    fn value(&self, ty: &str, value: &Value, path: &Path<'_>) -> Result<(), BadInput> {
        if matches!(value, Value::Null) {
            return Ok(());
        }
        match MetaTypeName::create(ty) {
            MetaTypeName::NonNull(ty) => self.value(ty, value, path),
            MetaTypeName::List(ty) => {
                // A single value is accepted as a list with one item.
                let Value::List(items) = value else { return self.value(ty, value, path) };
                items.iter().enumerate().try_for_each(|(index, item)| {
                    let path = Path { parent: Some(path), part: PathPart::Index(index) };
                    self.value(ty, item, &path)
                })
            }
            MetaTypeName::Named(name) => match (self.registry.types.get(name), value) {
                (Some(MetaType::InputObject { input_fields, .. }), Value::Object(values)) => {
                    for (name, value) in values {
                        let Some(field) = input_fields.get(name.as_str()) else { continue };
                        let path = Path { parent: Some(path), part: PathPart::Name(name.as_str()) };
                        self.value(&field.ty, value, &path)?;
                    }
                    Ok(())
                }
                _ => scalar(name, value, path),
            },
        }
    }
}

/// Parses a scalar as the resolvers will.
fn scalar(name: &str, value: &Value, path: &Path<'_>) -> Result<(), BadInput> {
    let is_read = match name {
        "DateTime" => Instant::parse(Some(value.clone())).is_ok(),
        "UUID" => Uuid::parse(Some(value.clone())).is_ok(),
        "Long" => Long::parse(Some(value.clone())).is_ok(),
        "Int" => i32::parse(Some(value.clone())).is_ok(),
        _ => true,
    };
    if is_read {
        return Ok(());
    }
    let (problem, help) = match name {
        "DateTime" => ("is not an instant", "write it as 2026-03-29T01:00:00Z"),
        "UUID" => ("is not a UUID", "give an id as the server returned it"),
        "Long" => ("is not a whole number within its range", "give -(2^53 - 1) to 2^53 - 1"),
        _ => ("is not a whole number within its range", "give -2147483648 to 2147483647"),
    };
    let told = if let Value::String(text) = value { text.clone() } else { value.to_string() };
    Err(BadInput::new(path.to_string(), told, problem, help))
}

/// The position of a value within an argument.
struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    part: PathPart<'a>,
}

enum PathPart<'a> {
    Name(&'a str),
    Index(usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Most mutations have the single argument `input`, which the names of its fields omit.
        let around = self.parent.filter(|parent| !parent.is_input());
        if let Some(around) = around {
            around.fmt(f)?;
        }
        match self.part {
            PathPart::Name(name) if around.is_some() => write!(f, ".{name}"),
            PathPart::Name(name) => f.write_str(name),
            PathPart::Index(index) => write!(f, "[{index}]"),
        }
    }
}

impl Path<'_> {
    fn is_input(&self) -> bool {
        self.parent.is_none() && matches!(self.part, PathPart::Name("input"))
    }
}

/// Converts a path in the library's notation (`input.timing.expressions.0`) to the one used here.
pub(super) fn field_of(path: &str) -> String {
    let mut field = String::with_capacity(path.len());
    for part in path.strip_prefix("input.").unwrap_or(path).split('.') {
        match part.parse::<usize>() {
            Ok(index) if !field.is_empty() => field.push_str(&format!("[{index}]")),
            _ if field.is_empty() => field.push_str(part),
            _ => {
                field.push('.');
                field.push_str(part);
            }
        }
    }
    field
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_written_in_one_way() {
        for (theirs, ours) in [
            ("input.timing.startAt", "timing.startAt"),
            ("input.timing.expressions.0", "timing.expressions[0]"),
            ("inputs.2.timing.zone", "inputs[2].timing.zone"),
            ("id", "id"),
            ("input", "input"),
        ] {
            assert_eq!(field_of(theirs), ours);
        }
        let input = Path { parent: None, part: PathPart::Name("input") };
        let timing = Path { parent: Some(&input), part: PathPart::Name("timing") };
        let list = Path { parent: Some(&timing), part: PathPart::Name("expressions") };
        assert_eq!(Path { parent: Some(&list), part: PathPart::Index(0) }.to_string(), ours_of(0));
        let inputs = Path { parent: None, part: PathPart::Name("inputs") };
        let second = Path { parent: Some(&inputs), part: PathPart::Index(1) };
        let name = Path { parent: Some(&second), part: PathPart::Name("name") };
        assert_eq!(name.to_string(), "inputs[1].name");
    }

    fn ours_of(index: usize) -> String {
        format!("timing.expressions[{index}]")
    }
}
