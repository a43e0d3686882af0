//! The scope of a query: one namespace, several, or all.

use entity::namespace;
use sea_orm::{
    ColumnTrait, Condition, EntityTrait, QueryFilter, QuerySelect, QueryTrait, Value,
    sea_query::SelectStatement,
};
use uuid::Uuid;

/// The namespaces from which rows are read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Within {
    /// Only this namespace.
    One(Uuid),
    /// Only these namespaces.
    Some(Vec<Uuid>),
    /// All namespaces.
    All,
}

impl Within {
    /// The namespaces of the scope; `None` if it is all.
    pub fn few(&self) -> Option<&[Uuid]> {
        match self {
            Self::One(id) => Some(std::slice::from_ref(id)),
            Self::Some(ids) => Some(ids),
            Self::All => None,
        }
    }

    /// The only namespace of the scope; `None` if there are several.
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

    /// The condition that a row is in one of the scope's namespaces.
    pub(in crate::store) fn holds<C: ColumnTrait>(&self, namespace: C) -> Condition {
        match self {
            Self::One(id) => Condition::all().add(namespace.eq(*id)),
            Self::Some(ids) => Condition::all().add(namespace.is_in(ids.iter().copied())),
            Self::All => Condition::all(),
        }
    }

    /// The condition that a row is in one of the scope's namespaces, written so that an index that
    /// begins with the namespace is used even for all namespaces.
    pub(in crate::store) fn holds_each<C: ColumnTrait>(&self, namespace: C) -> Condition {
        match self {
            Self::One(_) | Self::Some(_) => self.holds(namespace),
            Self::All => Condition::all().add(namespace.in_subquery(self.keys())),
        }
    }

    /// The operand with which a statement compares a column of namespaces.
    /// Their keys are added to `values`. `None` for all namespaces.
    pub(in crate::store) fn compared(&self, values: &mut Vec<Value>) -> Option<String> {
        let mut bound = |id: &Uuid| {
            values.push((*id).into());
            format!("${}", values.len())
        };
        match self {
            Self::One(id) => Some(format!("= {}", bound(id))),
            Self::Some(ids) if ids.is_empty() => Some("IN (NULL)".to_owned()),
            Self::Some(ids) => {
                let all: Vec<String> = ids.iter().map(bound).collect();
                Some(format!("IN ({})", all.join(", ")))
            }
            Self::All => None,
        }
    }

    /// A query for the keys of the scope's namespaces.
    pub(in crate::store) fn keys(&self) -> SelectStatement {
        namespace::Entity::find()
            .select_only()
            .column(namespace::Column::Id)
            .filter(self.holds(namespace::Column::Id))
            .into_query()
    }
}
