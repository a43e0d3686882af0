//! Counts schedules by tag or by module.

use entity::schedule::Column;
use sea_orm::{FromQueryResult, QuerySelect, QueryTrait, Statement};

use super::{
    schedules::{Filter, matching},
    within::Within,
};
use crate::store::{Store, StoreError, Total};

/// Maximum number of groups that are returned: the largest ones.
pub const MAX_GROUPS: usize = 200;

/// How schedules are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// Schedules are grouped by tag. A schedule is in the group of each of its tags.
    Tag,
    /// Schedules are grouped by the module that declares them.
    Module,
}

/// A group of schedules.
#[derive(Clone, Debug, PartialEq, Eq, FromQueryResult)]
pub struct Group {
    /// The name of the tag or module.
    pub name: String,
    /// Number of schedules in the group.
    pub schedules: i64,
}

/// The groups of a list of schedules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    /// The largest groups, sorted by name.
    pub groups: Vec<Group>,
    /// Number of schedules that are in no group, counted up to
    /// [`MAX_TOTAL`](crate::store::MAX_TOTAL).
    pub without: i64,
    /// Whether there are more groups than these.
    pub is_cut: bool,
}

/// The groups of the schedules that match a filter.
pub async fn groups(
    store: &Store,
    within: &Within,
    filter: &Filter,
    by: Grouping,
) -> Result<Groups, StoreError> {
    let column = match by {
        Grouping::Tag => Column::Tags,
        Grouping::Module => Column::Module,
    };
    let list = matching(store, within, filter).select_only().column_as(column, "kept");
    let list = list.build(store.dialect().backend());
    let (name, beside) = match (by, store.dialect().is_postgres()) {
        (Grouping::Module, _) => ("s.kept", ""),
        (Grouping::Tag, true) => {
            ("t.value", "CROSS JOIN LATERAL jsonb_array_elements_text(s.kept) AS t(value)")
        }
        (Grouping::Tag, false) => ("t.value", "CROSS JOIN json_each(s.kept) t"),
    };
    let sql = format!(
        "SELECT {name} AS name, count(*) AS schedules FROM ({}) s {beside} \
           WHERE {name} IS NOT NULL GROUP BY {name} ORDER BY 2 DESC, 1 LIMIT {}",
        list.sql,
        MAX_GROUPS + 1
    );
    // All schedules of the list are read, so the time limit of searches applies.
    let mut groups: Vec<Group> = store.found(Statement { sql, ..list }, true).await?;
    let is_cut = groups.len() > MAX_GROUPS;
    groups.truncate(MAX_GROUPS);
    groups.sort_by_cached_key(|group| (group.name.to_lowercase(), group.name.clone()));
    let (none, is_empty) = match by {
        Grouping::Tag => {
            (Filter { tagged: Some(false), ..filter.clone() }, filter.tagged == Some(true))
        }
        Grouping::Module => {
            (Filter { declared: Some(false), ..filter.clone() }, filter.declared == Some(true))
        }
    };
    // If the filter only selects schedules in a group, none are outside.
    let without = if is_empty {
        0
    } else {
        store.total(&Total::of(matching(store, within, &none), true)).await?
    };
    Ok(Groups { groups, without, is_cut })
}
