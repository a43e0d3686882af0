//! Relay pages: bounded, with opaque cursors that stay valid while rows are added and removed.

use async_graphql::{
    Context, Object, OutputType,
    connection::{self, Edge},
};

use super::{calm::Calm, context::ContextExt, error::Result};
use crate::{
    commands::BadInput,
    store::{Page, PageWindow, Total},
};

/// The default page size of a list.
const USUAL: i32 = 50;
/// Maximum page size of a list.
const MAX: i32 = 200;

/// A page of a list.
pub(crate) type Connection<N> = connection::Connection<String, Calm<N>, Length>;

/// The arguments of a list.
#[derive(Default)]
pub(crate) struct Paging {
    pub(crate) first: Option<i32>,
    pub(crate) after: Option<String>,
    pub(crate) last: Option<i32>,
    pub(crate) before: Option<String>,
}

impl Paging {
    /// A list that is only paged forward.
    pub(crate) fn forward(first: Option<i32>, after: Option<String>) -> Self {
        Self { first, after, ..Self::default() }
    }

    /// The rows that are requested. `decode` reads a cursor of this list.
    pub(crate) fn window<K>(self, decode: impl Fn(&str) -> Option<K>) -> Result<PageWindow<K>> {
        if let (Some(_), Some(last)) = (self.first, self.last) {
            let help = "give one of the two";
            return Err(BadInput::new("last", last, "is given together with 'first'", help).into());
        }
        let (field, count) = match self.last {
            Some(last) => ("last", last),
            None => ("first", self.first.unwrap_or(USUAL)),
        };
        let key = |field: &str, cursor: Option<String>| match cursor {
            None => Ok(None),
            Some(text) => decode(&text).map(Some).ok_or_else(|| {
                let help = "give a cursor of this list, or leave it out";
                BadInput::new(field, &text, "is not a cursor of this list", help)
            }),
        };
        Ok(PageWindow {
            limit: bounded(field, count)?,
            after: key("after", self.after)?,
            before: key("before", self.before)?,
            from_end: self.last.is_some(),
        })
    }
}

/// A number of rows within the limit.
pub(crate) fn bounded(field: &str, count: i32) -> Result<u64> {
    bounded_by(field, count, MAX)
}

/// A number of rows within a list's own limit.
pub(crate) fn bounded_by(field: &str, count: i32, most: i32) -> Result<u64> {
    match u64::try_from(count) {
        Ok(limit) if (1..=most).contains(&count) => Ok(limit),
        _ => {
            let problem = if count > most { "is too large" } else { "is too small" };
            Err(BadInput::new(field, count, problem, format!("give 1 to {most}")).into())
        }
    }
}

/// The cost of a list: the cost of one row times the page size.
pub(crate) fn cost(first: Option<i32>, last: Option<i32>, row: usize) -> usize {
    cost_by(last.or(first).unwrap_or(USUAL), MAX, row)
}

/// The cost factor of a list whose length depends on the object, not on the caller. Most such lists
/// are far shorter than their limit.
pub(crate) const DECLARED: usize = 10;

/// The cost of a list with its own maximum page size: the cost of one row times the page size.
pub(crate) fn cost_by(first: i32, most: i32, row: usize) -> usize {
    usize::try_from(first.clamp(1, most)).unwrap_or(1).saturating_mul(row)
}

/// The extra cost of a search: it may read far more rows than it finds.
pub(crate) fn search_cost(search: Option<&str>) -> usize {
    if search.is_some_and(|search| !search.trim().is_empty()) { 2_000 } else { 0 }
}

/// Whether only the length of a list is requested, so that its rows need not be read.
pub(crate) fn is_only_counted(cx: &Context<'_>) -> bool {
    let requested = cx.look_ahead();
    !["nodes", "edges", "pageInfo"].into_iter().any(|field| requested.field(field).exists())
}

/// The length of a list.
pub(crate) struct Length(Option<Total>);

/// The length of a list.
#[Object]
impl Length {
    /// The total number on all pages; counting stops at 10,000.
    #[graphql(complexity = "COUNTED")]
    async fn total_count(&self, cx: &Context<'_>) -> Result<i64> {
        match &self.0 {
            Some(total) => Ok(cx.store().total(total).await?),
            None => Ok(0),
        }
    }
}

/// The cost of counting a list, which reads an index up to the limit.
const COUNTED: usize = 200;

/// The answer for a page of rows.
pub(crate) fn connection<T, N: OutputType>(
    page: Page<T>,
    cursor: impl Fn(&T) -> String,
    node: impl Fn(T) -> N,
) -> Connection<N> {
    let length = Length(page.total);
    let mut answer =
        connection::Connection::with_additional_fields(page.has_previous, page.has_next, length);
    answer.edges.extend(page.rows.into_iter().map(|row| Edge::new(cursor(&row), Calm(node(row)))));
    answer
}
