//! How large an answer may become, counted while it is made: a list is not known to be too long
//! before its rows are there, and introspection has no rows at all.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use async_graphql::{ServerError, ServerResult, Value, extensions::ResolveInfo};

/// The largest answer, in bytes: about what its JSON takes, and more for small values, which take
/// more in memory than on the wire.
const MAX_BYTES: usize = 16 * 1024 * 1024;
/// The same for a caller who has not signed in and asks of data; introspection has the full size.
const MAX_BYTES_OF_STRANGERS: usize = 64 * 1024;
/// What each value costs beside its text: its place in memory.
const VALUE: usize = 32;

/// The size of one answer as it grows.
#[derive(Debug, Default)]
pub(super) struct Budget {
    bytes: AtomicUsize,
}

impl Budget {
    /// Begins anew: a subscription has an answer for each event.
    pub(super) fn restart(&self) {
        self.bytes.store(0, Relaxed);
    }

    /// Counts a value before it is made: a value that holds others counts although they are still
    /// to come.
    pub(super) fn open(&self, info: &ResolveInfo<'_>, is_stranger: bool) -> ServerResult<()> {
        self.spend(info, VALUE + info.name.len(), is_stranger)
    }

    /// Counts a value that has been made.
    pub(super) fn close(
        &self,
        info: &ResolveInfo<'_>,
        value: Option<&Value>,
        is_stranger: bool,
    ) -> ServerResult<()> {
        // The items of a list are counted with it, and what holds other fields with these.
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

/// What a value takes as JSON, about. Values of the server's own making nest as deep as JSON that
/// it reads: 128.
fn size(value: &Value) -> usize {
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
