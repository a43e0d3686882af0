//! One page of a list.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, de::DeserializeOwned, de::Error};
use serde_json::Value;

/// A row that can be merged into a list by its id.
pub(crate) trait Row: DeserializeOwned + Send + Sync + 'static {
    /// The row's id.
    fn id(&self) -> &str;
}

/// One page of a connection.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Page<T> {
    pub(crate) rows: Vec<Arc<T>>,
    /// The cursors of the next and the previous page.
    pub(crate) next: Option<String>,
    pub(crate) previous: Option<String>,
    /// The total number, if the server counts the list or the page contains all of it.
    pub(crate) total: Option<i64>,
}

/// A page as the API sends it, with rows of any type.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Connection {
    nodes: Vec<Value>,
    page_info: PageInfo,
    total_count: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageInfo {
    has_next_page: bool,
    has_previous_page: bool,
    start_cursor: Option<String>,
    end_cursor: Option<String>,
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Page<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Connection { nodes, page_info, total_count } = Connection::deserialize(deserializer)?;
        let row = |node| serde_json::from_value(node).map(Arc::new);
        let rows = nodes.into_iter().map(row).collect::<Result<Vec<_>, _>>();
        let rows = rows.map_err(Error::custom)?;
        let is_whole = !page_info.has_next_page && !page_info.has_previous_page;
        Ok(Self {
            total: total_count.or(i64::try_from(rows.len()).ok().filter(|_| is_whole)),
            rows,
            next: page_info.end_cursor.filter(|_| page_info.has_next_page),
            previous: page_info.start_cursor.filter(|_| page_info.has_previous_page),
        })
    }
}

/// The news that a row of a list has changed. The page then loads the list again.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Changed {}

/// The arguments of a Relay connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PageArguments {
    pub(crate) first: Option<i64>,
    pub(crate) after: Option<String>,
    pub(crate) last: Option<i64>,
    pub(crate) before: Option<String>,
}

/// The position at which a page of a list begins. Cursors are opaque to the console.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Place {
    /// At the top.
    #[default]
    First,
    /// After a cursor.
    After(String),
    /// Before a cursor.
    Before(String),
}

impl Place {
    /// The arguments for a page of up to `size` rows from this position.
    pub(crate) fn arguments(self, size: usize) -> PageArguments {
        let size = Some(i64::try_from(size).unwrap_or(i64::MAX));
        let none = PageArguments::default();
        match self {
            Self::First => PageArguments { first: size, ..none },
            Self::After(cursor) => PageArguments { first: size, after: Some(cursor), ..none },
            Self::Before(cursor) => PageArguments { last: size, before: Some(cursor), ..none },
        }
    }

    /// The arguments `first` and `after`, for lists that can only be read forward. For them, going back leads to the
    /// first page.
    pub(crate) fn forward(self, size: usize) -> (i64, Option<String>) {
        let after = match self {
            Self::After(cursor) => Some(cursor),
            Self::First | Self::Before(_) => None,
        };
        (i64::try_from(size).unwrap_or(i64::MAX), after)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn total(has_next: bool, has_previous: bool, counted: Option<i64>) -> Option<i64> {
        let info = json!({ "hasNextPage": has_next, "hasPreviousPage": has_previous });
        let page = json!({ "nodes": [7, 8], "pageInfo": info, "totalCount": counted });
        serde_json::from_value::<Page<i64>>(page).unwrap().total
    }

    #[test]
    fn a_page_that_holds_all_knows_the_length_of_the_list() {
        assert_eq!(total(false, false, None), Some(2));
        assert_eq!(total(true, false, None), None);
        assert_eq!(total(false, true, None), None);
        assert_eq!(total(true, false, Some(70)), Some(70));
    }
}
