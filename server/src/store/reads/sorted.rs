//! Pages of a list that is sorted by a number, then by key.
//! In both directions, rows without the number come last.

use sea_orm::{
    EntityTrait, Order, QueryFilter, QueryOrder, QuerySelect, QueryTrait, Select,
    sea_query::{Condition, Expr, ExprTrait, Func, SimpleExpr},
};
use uuid::Uuid;

use crate::store::PageWindow;

/// The key of a row in a page: the number and the row's key.
pub type Key = (i64, Uuid);

/// A list that is sorted by a number.
#[derive(Clone, Debug)]
pub(super) struct Sorted {
    number: SimpleExpr,
    id: SimpleExpr,
    descending: bool,
}

/// The value of rows without a number, which makes them sort last.
pub fn no_number(descending: bool) -> i64 {
    if descending { i64::MIN } else { i64::MAX }
}

impl Sorted {
    /// Sorts a list by this number, which may be null.
    pub(super) fn by(number: SimpleExpr, id: SimpleExpr, descending: bool) -> Self {
        let last = Expr::val(no_number(descending));
        Self { number: Func::coalesce([number, last]).into(), id, descending }
    }

    /// The rows of a window, in order.
    pub(super) fn rows<E: EntityTrait>(
        &self,
        list: Select<E>,
        window: &PageWindow<Key>,
    ) -> Select<E> {
        let forward = if self.descending { Order::Desc } else { Order::Asc };
        let backward = if self.descending { Order::Asc } else { Order::Desc };
        let order = if window.from_end { backward.clone() } else { forward.clone() };
        list.apply_if(window.after, |query, key| query.filter(self.beyond(key, &forward)))
            .apply_if(window.before, |query, key| query.filter(self.beyond(key, &backward)))
            .order_by(self.number.clone(), order.clone())
            .order_by(self.id.clone(), order)
            .limit(window.reach())
    }

    fn beyond(&self, (number, id): Key, order: &Order) -> Condition {
        let (further, later) = if matches!(order, Order::Desc) {
            (self.number.clone().lt(number), self.id.clone().lt(id))
        } else {
            (self.number.clone().gt(number), self.id.clone().gt(id))
        };
        let same = self.number.clone().eq(number);
        Condition::any().add(further).add(same.and(later))
    }
}
