//! Where something is looked for: in one namespace, in several, or in all.

use entity::namespace;
use sea_orm::{
    ColumnTrait, Condition, EntityTrait, QueryFilter, QuerySelect, QueryTrait,
    sea_query::SelectStatement,
};
use uuid::Uuid;

/// The namespaces that a list is read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Within {
    /// This one.
    One(Uuid),
    /// These.
    Some(Vec<Uuid>),
    /// All there are.
    All,
}

impl Within {
    /// The only namespace, if there is one.
    pub fn one(&self) -> Option<Uuid> {
        match self {
            Self::One(id) => Some(*id),
            Self::Some(ids) => match ids.as_slice() {
                [only] => Some(*only),
                _ => None,
            },
            Self::All => None,
        }
    }

    /// That a row lies in one of them.
    pub(in crate::store) fn holds<C: ColumnTrait>(&self, namespace: C) -> Condition {
        match self {
            Self::One(id) => Condition::all().add(namespace.eq(*id)),
            Self::Some(ids) => Condition::all().add(namespace.is_in(ids.iter().copied())),
            Self::All => Condition::all(),
        }
    }

    /// The same, so that an index over the namespace is used even where it is any of them.
    pub(in crate::store) fn holds_each<C: ColumnTrait>(&self, namespace: C) -> Condition {
        match self {
            Self::One(_) | Self::Some(_) => self.holds(namespace),
            Self::All => Condition::all().add(namespace.in_subquery(self.keys())),
        }
    }

    /// Their keys.
    pub(in crate::store) fn keys(&self) -> SelectStatement {
        namespace::Entity::find()
            .select_only()
            .column(namespace::Column::Id)
            .filter(self.holds(namespace::Column::Id))
            .into_query()
    }
}
