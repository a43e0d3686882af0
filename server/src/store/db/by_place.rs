//! Reads rows by column position instead of column name.
//!
//! A derived reader looks up each column of each row by name.
//! A claim has hundreds of rows with more than two dozen columns, and reading them took an eighth
//! of the engine's samples in a storm on SQLite. Here, one list defines both the columns
//! of the statement and the fields into which they are read.

/// Defines a constant with the columns to select, which come first
/// and in this order, and the reader of such rows.
macro_rules! by_place {
    (
        $(#[$doc:meta])*
        $visibility:vis const $columns:ident of $row:ident = $first:ident $(, $field:ident)* $(,)?
    ) => {
        $(#[$doc])*
        $visibility const $columns: &str =
            concat!(stringify!($first) $(, ", ", stringify!($field))*);

        impl ::sea_orm::FromQueryResult for $row {
            fn from_query_result(
                row: &::sea_orm::QueryResult,
                _prefix: &str,
            ) -> Result<Self, ::sea_orm::DbErr> {
                let mut places = 0_usize..;
                let mut next = || places.next().unwrap_or_default();
                Ok(Self {
                    $first: row.try_get_by_index(next())?,
                    $($field: row.try_get_by_index(next())?,)*
                })
            }
        }
    };
}

pub(in crate::store) use by_place;
