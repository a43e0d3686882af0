//! The size limit of an answer, counted while it is built. Whether a list is too long is known only
//! once its rows are read, and introspection reads no rows at all.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use async_graphql::{ServerError, ServerResult, Value, extensions::ResolveInfo};

/// Maximum size of an answer, in the bytes that it roughly occupies in memory until it is written.
/// Small values take ten times as much there as on the wire.
const MAX_BYTES: usize = 16 * 1024 * 1024;
/// Maximum size of an answer to an unauthenticated caller; introspection may use the full size.
const MAX_BYTES_OF_STRANGERS: usize = 256 * 1024;
/// An answer with more bytes is large and needs a place.
const LARGE: usize = 512 * 1024;
/// The memory that a field takes in addition to its text: its name, its value, and its entry in the
/// object.
const FIELD: usize = 256;
/// The memory that a value within a JSON value or a list of scalars takes.
const VALUE: usize = 96;

/// The size of one answer as it grows.
#[derive(Debug, Default)]
pub(super) struct AnswerBudget {
    bytes: AtomicUsize,
}

impl AnswerBudget {
    /// Starts again: each event of a subscription has an answer of its own.
    pub(super) fn restart(&self) {
        self.bytes.store(0, Relaxed);
    }

    /// Counts a value before it is built, so that a containing value counts before its contents.
    pub(super) fn open(&self, info: &ResolveInfo<'_>, is_stranger: bool) -> ServerResult<()> {
        self.spend(info, FIELD + info.name.len(), is_stranger)
    }

    /// Whether the answer is large so far.
    pub(super) fn is_large(&self) -> bool {
        self.bytes.load(Relaxed) > LARGE
    }

    /// Counts a value that has been built.
    pub(super) fn close(
        &self,
        info: &ResolveInfo<'_>,
        value: Option<&Value>,
        is_stranger: bool,
    ) -> ServerResult<()> {
        // The items of a list are counted with the list, and an object is counted through its
        // fields.
        let is_leaf = info.field.selection_set.node.items.is_empty();
        let is_item = info.parent_type.starts_with('[');
        let bytes = value.filter(|_| is_leaf && !is_item).map_or(0, size);
        self.spend(info, bytes, is_stranger)
    }

    fn spend(&self, info: &ResolveInfo<'_>, bytes: usize, is_stranger: bool) -> ServerResult<()> {
        let spent = self.bytes.fetch_add(bytes, Relaxed).saturating_add(bytes);
        let max = match is_stranger && !info.is_for_introspection {
            true => MAX_BYTES_OF_STRANGERS,
            false => MAX_BYTES,
        };
        if spent > max { Err(too_large(max)) } else { Ok(()) }
    }
}

fn too_large(max: usize) -> ServerError {
    let text = format!("the answer grows beyond {max} bytes; ask for fewer rows or fields at once");
    super::coded("ANSWER_TOO_LARGE", text, max)
}

/// The approximate size of a value in memory. No value that the server builds nests deeper than
/// JSON that it reads: 128 levels.
pub(super) fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Boolean(_) | Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Enum(name) => name.len() + 2,
        Value::Binary(bytes) => bytes.len(),
        Value::List(values) => values.iter().map(|value| VALUE + size(value)).sum(),
        Value::Object(values) => {
            values.iter().map(|(name, value)| VALUE + name.len() + size(value)).sum()
        }
    }
}
