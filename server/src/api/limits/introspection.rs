//! The cost of introspection.
//!
//! `__schema { types { fields { type { fields ... } } } }` multiplies at each list, and
//! async-graphql counts each of its fields as one. Here a list is weighted with its length in a
//! schema of this size, and lists that lead from types to types may only nest to a fixed depth.

/// What a selection reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum SelectionKind {
    /// Data that the schema describes.
    Data,
    /// The timing of a schedule, some of whose fields compute.
    Timing,
    /// The schema itself, with the number of lists of fields or types around the selection.
    Schema(u8),
}

impl SelectionKind {
    /// How deep lists that lead from types to types may nest; in a client's full introspection they
    /// nest once.
    pub(super) const MAX_LISTS: u8 = 2;

    /// The kind of selection that this field has; None if it nests too deep.
    pub(super) fn enter(self, field: &str) -> Option<Self> {
        match self {
            Self::Data | Self::Timing if matches!(field, "__schema" | "__type") => {
                Some(Self::Schema(0))
            }
            Self::Data if field == "timing" => Some(Self::Timing),
            Self::Data | Self::Timing => Some(Self::Data),
            Self::Schema(lists)
                if matches!(field, "fields" | "inputFields" | "interfaces" | "possibleTypes") =>
            {
                (lists < Self::MAX_LISTS).then_some(Self::Schema(lists + 1))
            }
            Self::Schema(_) => Some(self),
        }
    }

    /// The kind of selection in a fragment on this type, within a selection of kind `self`.
    pub(super) fn narrow(self, to: &str) -> Self {
        match self {
            Self::Data if to == "Timing" => Self::Timing,
            Self::Data | Self::Timing | Self::Schema(_) => self,
        }
    }

    /// The cost of a field with a selection of kind `self` that costs `inner`.
    pub(super) fn cost(self, around: Self, field: &str, inner: u64) -> u64 {
        match (around, self) {
            (Self::Data | Self::Timing, Self::Data | Self::Timing) => inner,
            (Self::Data | Self::Timing | Self::Schema(_), _) => {
                length(field).saturating_mul(inner.saturating_add(1))
            }
        }
    }
}

/// The approximate length of a list in the schema.
fn length(field: &str) -> u64 {
    match field {
        "types" => 250,
        "fields" | "inputFields" | "directives" => 6,
        "enumValues" => 5,
        "args" | "possibleTypes" => 3,
        _ => 1,
    }
}
