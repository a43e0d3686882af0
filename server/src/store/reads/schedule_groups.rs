//! Counts schedules by tag or by module.

use entity::schedule::Column;
use sea_orm::{FromQueryResult, QuerySelect, QueryTrait, Statement};

use super::{
    matching::{folded_beginning, folded_part},
    schedules::{self, matching},
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
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// Number of groups, whether they are among these or not.
    pub total: i64,
    /// Whether there are more groups than these.
    pub is_cut: bool,
}

/// A group, and the number of all groups.
#[derive(FromQueryResult)]
struct CountedGroup {
    name: String,
    schedules: i64,
    total: i64,
}

/// The groups of the schedules that match a filter. With `text`, only those whose names contain it,
/// ignoring case: first those that begin with it, then the largest.
pub async fn groups(
    store: &Store,
    within: &Within,
    filter: &schedules::Filter,
    by: Grouping,
    text: Option<&str>,
) -> Result<Groups, StoreError> {
    let column = match by {
        Grouping::Tag => Column::Tags,
        Grouping::Module => Column::Module,
    };
    let list = matching(store, within, filter).select_only().column_as(column, "kept");
    let list = match text {
        Some(text) => {
            list.expr_as(folded_part(text), "part").expr_as(folded_beginning(text), "beginning")
        }
        None => list,
    };
    let list = list.build(store.dialect().backend());
    let (name, beside) = match (by, store.dialect().is_postgres()) {
        (Grouping::Module, _) => ("s.kept", ""),
        (Grouping::Tag, true) => {
            ("t.value", "CROSS JOIN LATERAL jsonb_array_elements_text(s.kept) AS t(value)")
        }
        (Grouping::Tag, false) => ("t.value", "CROSS JOIN json_each(s.kept) t"),
    };
    let (fits, first) = match text {
        Some(_) => (
            format!("AND lower({name}) LIKE s.part ESCAPE '\\'"),
            format!(
                "max(CASE WHEN lower({name}) LIKE s.beginning ESCAPE '\\' THEN 1 ELSE 0 END) DESC,"
            ),
        ),
        None => (String::new(), String::new()),
    };
    let sql = format!(
        "SELECT {name} AS name, count(*) AS schedules, count(*) OVER () AS total FROM ({}) s {beside} \
           WHERE {name} IS NOT NULL {fits} GROUP BY {name} ORDER BY {first} 2 DESC, 1 LIMIT {MAX_GROUPS}",
        list.sql
    );
    // All schedules of the list are read, so the time limit of searches applies.
    let found: Vec<CountedGroup> = store.found(Statement { sql, ..list }, true).await?;
    let total = found.first().map_or(0, |group| group.total);
    let is_cut = i64::try_from(found.len()).is_ok_and(|listed| listed < total);
    let group = |CountedGroup { name, schedules, .. }| Group { name, schedules };
    let mut groups: Vec<Group> = found.into_iter().map(group).collect();
    groups.sort_by_cached_key(|group| (group.name.to_lowercase(), group.name.clone()));
    Ok(Groups { groups, total, is_cut })
}

/// Number of schedules that match a filter and are in no group, counted up to
/// [`MAX_TOTAL`](crate::store::MAX_TOTAL).
pub async fn ungrouped(
    store: &Store,
    within: &Within,
    filter: &schedules::Filter,
    by: Grouping,
) -> Result<i64, StoreError> {
    let (none, is_empty) = match by {
        Grouping::Tag => (
            schedules::Filter { tagged: Some(false), ..filter.clone() },
            filter.tagged == Some(true),
        ),
        Grouping::Module => (
            schedules::Filter { declared: Some(false), ..filter.clone() },
            filter.declared == Some(true),
        ),
    };
    // If the filter only selects schedules in a group, none are outside.
    if is_empty {
        return Ok(0);
    }
    store.total(&Total::of(matching(store, within, &none), true)).await
}
