//! Rows that are read by the places of their columns.
//!
//! A derived reader looks each column of each row up by its name. A claim has hundreds of rows of more
//! than two dozen columns: reading values was an eighth of the engine's samples in a storm on SQLite.
//! Here the columns of the statement and the fields that they are read into are one list.

/// A constant with the columns to select, first and in that order, and the reader of such rows.
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
