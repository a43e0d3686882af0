//! Pages by keyset: a page begins after a key, not after a number of rows. So the cost of a page
//! does not depend on its position, and inserted or deleted rows never shift it.

use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, EntityTrait, Order, QueryFilter, QueryOrder,
    QuerySelect, QueryTrait, Select, Value,
    sea_query::{ExprTrait, Func, SimpleExpr},
};
use uuid::Uuid;

use crate::store::{StoreError, Total};

/// The rows of an ordered list that are to be read.
#[derive(Clone, Debug)]
pub struct PageWindow<K> {
    /// Only rows after this key are read.
    pub after: Option<K>,
    /// Only rows before this key are read.
    pub before: Option<K>,
    /// Maximum number of rows.
    pub limit: u64,
    /// Whether the rows nearest to the end of the list are read instead of the first.
    pub from_end: bool,
}

impl<K> PageWindow<K> {
    /// The first `limit` rows of a list.
    pub fn first(limit: u64) -> Self {
        Self { after: None, before: None, limit, from_end: false }
    }

    /// Number of rows to read: one more than requested, to see whether there are more.
    pub(crate) fn reach(&self) -> u64 {
        self.limit.saturating_add(1)
    }

    /// Makes a page of the rows that were read.
    /// These are at most [`PageWindow::reach`], in the order in which they were read.
    pub(crate) fn page<T>(&self, mut rows: Vec<T>) -> Page<T> {
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let more = rows.len() > limit;
        rows.truncate(limit);
        if self.from_end {
            rows.reverse();
        }
        let (has_previous, has_next) = if self.from_end {
            (more, self.before.is_some())
        } else {
            (self.after.is_some(), more)
        };
        // A window that begins or ends at a key does not show the rows beyond that key.
        let is_open = self.after.is_none() && self.before.is_none();
        let is_whole = is_open && !has_previous && !has_next;
        let known = i64::try_from(rows.len()).ok().filter(|_| is_whole);
        Page { rows, has_previous, has_next, total: known.map(Total::Known) }
    }
}

/// A page of a list, in the list's order.
#[derive(Clone, Debug)]
pub struct Page<T> {
    /// The rows of the page.
    pub rows: Vec<T>,
    /// Whether the list has rows before these.
    pub has_previous: bool,
    /// Whether the list has rows after these.
    pub has_next: bool,
    /// The total number of rows in the list, if it is known or can be counted.
    pub total: Option<Total>,
}

impl<T> Page<T> {
    /// The same page, with a total that counts the rows of this query.
    pub(crate) fn of_list<E: EntityTrait>(self, list: Select<E>) -> Self {
        self.counted(|| Total::of(list, false))
    }

    /// The same page, with a total that is counted on demand.
    pub(crate) fn counted(self, total: impl FnOnce() -> Total) -> Self {
        Self { total: Some(self.total.unwrap_or_else(total)), ..self }
    }
}

/// A page of a list, sorted by case-insensitive name, then by key.
pub(in crate::store) async fn page_by_name<E: EntityTrait, C: ConnectionTrait>(
    connection: &C,
    list: Select<E>,
    name: E::Column,
    id: E::Column,
    window: &PageWindow<(String, Uuid)>,
) -> Result<Page<E::Model>, StoreError> {
    let folded = || SimpleExpr::from(Func::lower(name.into_expr()));
    let mut query = list.clone().order_by_asc(folded()).order_by_asc(id).limit(window.reach());
    if let Some((last_name, last_id)) = &window.after {
        let later = Condition::any()
            .add(folded().gt(last_name.as_str()))
            .add(folded().eq(last_name.as_str()).and(id.gt(*last_id)));
        query = query.filter(later);
    }
    Ok(window.page(query.all(connection).await?).of_list(list))
}

/// A page of a list, sorted by a key, the greatest first.
pub(in crate::store) async fn page_descending<E: EntityTrait, C: ConnectionTrait, K>(
    connection: &C,
    list: Select<E>,
    key: E::Column,
    window: &PageWindow<K>,
) -> Result<Page<E::Model>, StoreError>
where
    K: Copy + Into<Value>,
{
    let order = if window.from_end { Order::Asc } else { Order::Desc };
    let query = list
        .clone()
        .apply_if(window.after, |query, after| query.filter(key.lt(after)))
        .apply_if(window.before, |query, before| query.filter(key.gt(before)))
        .order_by(key, order)
        .limit(window.reach());
    Ok(window.page(query.all(connection).await?).of_list(list))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_from_the_end_comes_in_the_lists_order() {
        let window = PageWindow { from_end: true, ..PageWindow::<()>::first(2) };
        let page = window.page(vec![9, 8, 7]);
        assert_eq!(page.rows, [8, 9]);
        assert!(page.has_previous && !page.has_next);
    }

    #[test]
    fn the_row_too_many_only_says_that_there_are_more() {
        let page = PageWindow::<()>::first(2).page(vec![1, 2, 3]);
        assert_eq!(page.rows, [1, 2]);
        assert!(page.has_next && !page.has_previous);
        assert!(!PageWindow::<()>::first(3).page(vec![1, 2, 3]).has_next);
    }

    #[test]
    fn a_page_knows_how_many_there_are_if_nothing_is_beside_it() {
        let whole = |window: &PageWindow<i32>, rows| match window.page::<i32>(rows).total {
            Some(Total::Known(rows)) => Some(rows),
            Some(Total::Counted { .. } | Total::Asked(_)) | None => None,
        };
        let first = |limit| PageWindow::first(limit);
        assert_eq!(whole(&first(3), vec![1, 2, 3]), Some(3));
        assert_eq!(whole(&first(2), vec![1, 2, 3]), None);
        assert_eq!(whole(&PageWindow { from_end: true, ..first(3) }, vec![3, 2]), Some(2));
        for from_end in [false, true] {
            let later = PageWindow { after: Some(7), from_end, ..first(3) };
            assert_eq!(whole(&later, vec![8]), None);
            let earlier = PageWindow { before: Some(7), from_end, ..first(3) };
            assert_eq!(whole(&earlier, vec![6]), None);
        }
    }
}
