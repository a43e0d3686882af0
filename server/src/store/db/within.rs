//! The scope of a query: one namespace, several, or all.

use entity::namespace;
use sea_orm::{
    ColumnTrait, Condition, EntityTrait, QueryFilter, QuerySelect, QueryTrait, Value,
    sea_query::SelectStatement,
};
use uuid::Uuid;

/// The query of [`hidden_keys`] as text. An index contains exactly these keys.
const HIDDEN: &str = "SELECT id FROM namespace WHERE deleted_at IS NOT NULL AND purged_at IS NULL";

/// The namespaces from which rows are read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Within {
    /// Only this namespace.
    One(Uuid),
    /// Only these namespaces.
    Some(Vec<Uuid>),
    /// All namespaces except those that are deleted when the statement is executed. This includes
    /// namespaces that are created later.
    Live,
    /// All namespaces.
    All,
}

impl Within {
    /// The namespaces of the scope; `None` if it does not list them.
    pub fn few(&self) -> Option<&[Uuid]> {
        match self {
            Self::One(id) => Some(std::slice::from_ref(id)),
            Self::Some(ids) => Some(ids),
            Self::Live | Self::All => None,
        }
    }

    /// The only namespace of the scope; `None` if there may be several.
    pub fn one(&self) -> Option<Uuid> {
        match self {
            Self::One(id) => Some(*id),
            Self::Some(ids) => match ids.as_slice() {
                [only] => Some(*only),
                _ => None,
            },
            Self::Live | Self::All => None,
        }
    }

    /// The condition that a row is in one of the scope's namespaces.
    pub(in crate::store) fn holds<C: ColumnTrait>(&self, namespace: C) -> Condition {
        match self {
            Self::One(id) => Condition::all().add(namespace.eq(*id)),
            Self::Some(ids) => Condition::all().add(namespace.is_in(ids.iter().copied())),
            Self::Live => Condition::all().add(namespace.not_in_subquery(hidden_keys())),
            Self::All => Condition::all(),
        }
    }

    /// The condition that a row is in one of the scope's namespaces, written so that an index that
    /// begins with the namespace is used even for all namespaces, or all that are not deleted.
    pub(in crate::store) fn holds_each<C: ColumnTrait>(&self, namespace: C) -> Condition {
        match self {
            Self::One(_) | Self::Some(_) => self.holds(namespace),
            Self::Live | Self::All => Condition::all().add(namespace.in_subquery(self.keys())),
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
            Self::Live => Some(format!("NOT IN ({HIDDEN})")),
            Self::All => None,
        }
    }

    /// A query for the keys of the scope's namespaces.
    pub(in crate::store) fn keys(&self) -> SelectStatement {
        let these = match self {
            Self::Live => Condition::all().add(namespace::Column::DeletedAt.is_null()),
            Self::One(_) | Self::Some(_) | Self::All => self.holds(namespace::Column::Id),
        };
        namespace::Entity::find()
            .select_only()
            .column(namespace::Column::Id)
            .filter(these)
            .into_query()
    }
}

/// A query for the keys of the deleted namespaces that still contain something.
fn hidden_keys() -> SelectStatement {
    namespace::Entity::find()
        .select_only()
        .column(namespace::Column::Id)
        .filter(namespace::Column::DeletedAt.is_not_null())
        .filter(namespace::Column::PurgedAt.is_null())
        .into_query()
}
