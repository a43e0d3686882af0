//! The answers of operations as the model's values.
//!
//! `graphql_client` repeats a fragment's types in each operation's module, with the same names; so each macro here writes
//! one conversion, for every module that uses the fragment.

mod house;
mod run;
mod schedule;

use super::operations;
use crate::model::Page;

/// A connection as a page of rows; `$map` turns a node into a row.
macro_rules! page {
    ($connection:expr, $total:expr) => {{
        let connection = $connection;
        let info = connection.page_info;
        Page {
            total: $total,
            rows: connection.nodes.into_iter().map(Into::into).collect(),
            next: info.end_cursor.filter(|_| info.has_next_page),
            previous: info.start_cursor.filter(|_| info.has_previous_page),
        }
    }};
}

impl From<operations::schedules::ResponseData> for Page<crate::model::ScheduleRow> {
    fn from(data: operations::schedules::ResponseData) -> Self {
        let total = Some(data.schedules.total_count);
        page!(data.schedules, total)
    }
}

impl From<operations::runs::ResponseData> for Page<crate::model::RunRow> {
    fn from(data: operations::runs::ResponseData) -> Self {
        page!(data.runs, None)
    }
}

impl From<operations::fires::ResponseData> for Page<crate::model::Fire> {
    fn from(data: operations::fires::ResponseData) -> Self {
        page!(data.fires, None)
    }
}
