//! The cost of introspection.
//!
//! `__schema { types { fields { type { fields ... } } } }` multiplies at each list, and
//! async-graphql counts each of its fields as one. Here a list is weighted with its length in a
//! schema of this size, and lists that lead from types to types may nest only to a fixed depth.

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
    /// The deepest nesting of lists that lead from types to types: in a client's full introspection
    /// they nest once.
    pub(super) const MAX_LISTS: u8 = 2;

    /// What the selection of this field reads; None if it nests too deep.
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

    /// What a fragment on this type reads, spread in a selection of `self`.
    pub(super) fn narrow(self, to: &str) -> Self {
        match self {
            Self::Data if to == "Timing" => Self::Timing,
            Self::Data | Self::Timing | Self::Schema(_) => self,
        }
    }

    /// The cost of a field whose selection reads `self` and costs `inner`.
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
