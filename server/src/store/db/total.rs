//! The length of a list.
//! It is counted on demand and up to a limit, because a page does not need it.

use sea_orm::{
    EntityTrait, FromQueryResult, QuerySelect, QueryTrait, Select, Statement,
    sea_query::{Expr, Query, SelectStatement},
};

use crate::store::{Store, StoreError};

/// Lists are counted up to this length.
pub const MAX_TOTAL: u64 = 10_000;

/// The number of rows in the whole list of a page.
#[derive(Clone, Debug)]
pub enum Total {
    /// The number is known from the page itself.
    Known(i64),
    /// The number of rows of a query without an order.
    /// If `is_search` is true, the query may read many more rows than it counts.
    Counted {
        /// The rows of the list, at most [`MAX_TOTAL`] of them.
        rows: Box<SelectStatement>,
        /// Whether the query is a search.
        is_search: bool,
    },
    /// A statement that returns the number in a column `rows`.
    Asked(Box<Statement>),
}

impl Total {
    /// Counts the rows of this query.
    pub(in crate::store) fn of<E: EntityTrait>(query: Select<E>, is_search: bool) -> Self {
        let rows = query.select_only().expr_as(Expr::val(1), "one").limit(MAX_TOTAL);
        Self::Counted { rows: Box::new(rows.into_query()), is_search }
    }
}

#[derive(FromQueryResult)]
struct TotalRow {
    rows: i64,
}

impl Store {
    /// Counts the list, up to [`MAX_TOTAL`].
    pub async fn total(&self, total: &Total) -> Result<i64, StoreError> {
        let (statement, is_search) = match total {
            Total::Known(rows) => return Ok(*rows),
            Total::Counted { rows, is_search } => {
                let mut count = Query::select();
                count.expr_as(Expr::cust("count(*)"), "rows");
                count.from_subquery((**rows).clone(), "some");
                (self.dialect().backend().build(&count), *is_search)
            }
            Total::Asked(statement) => ((**statement).clone(), false),
        };
        let rows: Vec<TotalRow> = self.found(statement, is_search).await?;
        let most = i64::try_from(MAX_TOTAL).unwrap_or(i64::MAX);
        Ok(rows.first().map_or(0, |row| row.rows.min(most)))
    }
}
