//! What a question about the schema itself costs.
//!
//! `__schema { types { fields { type { fields ... } } } }` multiplies at each list, and the
//! library counts each of its fields as one. Here a list counts as often as it is long in a schema
//! of this size, and lists that lead from types to types nest only so deep.

/// What a selection is asked of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Within {
    /// What the schema describes.
    Data,
    /// The schema, with the number of lists of fields or types around the selection.
    Schema(u8),
}

impl Within {
    /// The largest number of lists that lead from types to types within each other: those of a
    /// client's full introspection nest once.
    pub(super) const MAX_LISTS: u8 = 2;

    /// What the selection of a field is asked of; None if that nests too deep.
    pub(super) fn enter(self, field: &str) -> Option<Self> {
        match self {
            Self::Data if matches!(field, "__schema" | "__type") => Some(Self::Schema(0)),
            Self::Data => Some(self),
            Self::Schema(lists)
                if matches!(field, "fields" | "inputFields" | "interfaces" | "possibleTypes") =>
            {
                (lists < Self::MAX_LISTS).then_some(Self::Schema(lists + 1))
            }
            Self::Schema(_) => Some(self),
        }
    }

    /// What a field costs whose selection is asked of `self` and costs `inner`.
    pub(super) fn cost(self, around: Self, field: &str, inner: u64) -> u64 {
        match (around, self) {
            (Self::Data, Self::Data) => inner,
            _ => length(field).saturating_mul(inner.saturating_add(1)),
        }
    }
}

/// How long a list of the schema is, about.
fn length(field: &str) -> u64 {
    match field {
        "types" => 250,
        "fields" | "inputFields" | "directives" => 6,
        "enumValues" => 5,
        "args" | "possibleTypes" => 3,
        _ => 1,
    }
}
