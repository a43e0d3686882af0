//! How long a list is, counted when it is asked for and to a limit: a page does without.

use sea_orm::{
    EntityTrait, FromQueryResult, QuerySelect, QueryTrait, Select, Statement,
    sea_query::{Expr, Query, SelectStatement},
};

use crate::store::{Store, StoreError};

/// A list is counted to this length.
pub const MAX_TOTAL: u64 = 10_000;

/// How many rows the list of a page has.
#[derive(Clone, Debug)]
pub enum Total {
    /// The page shows it.
    Known(i64),
    /// The rows of this query, without order; `is_search` says that it may look at many more.
    Counted {
        /// The list's rows, at most [`MAX_TOTAL`] of them.
        rows: Box<SelectStatement>,
        /// Whether it seeks.
        is_search: bool,
    },
    /// A statement that gives the number as `rows`.
    Asked(Box<Statement>),
}

impl Total {
    /// The rows of that query.
    pub(in crate::store) fn of<E: EntityTrait>(query: Select<E>, is_search: bool) -> Self {
        let rows = query.select_only().expr_as(Expr::val(1), "one").limit(MAX_TOTAL);
        Self::Counted { rows: Box::new(rows.into_query()), is_search }
    }
}

#[derive(FromQueryResult)]
struct Row {
    rows: i64,
}

impl Store {
    /// Counts it, to [`MAX_TOTAL`] at the most.
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
        let rows: Vec<Row> = self.found(statement, is_search).await?;
        let most = i64::try_from(MAX_TOTAL).unwrap_or(i64::MAX);
        Ok(rows.first().map_or(0, |row| row.rows.min(most)))
    }
}
