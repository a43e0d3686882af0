//! The fires of a schedule that wait for a blocking run to end.

use crate::{
    api::{Ask, operations},
    model::Buffer,
};

/// The first waiting fires, in the order in which they will start.
pub(crate) fn buffer(id: String, first: i64) -> Ask<Buffer> {
    Ask::new::<operations::Buffer>(operations::buffer::Variables { id, first })
}

/// Removes fires from the buffer: the given ones, or all.
pub(crate) fn purge_buffer(
    schedule_id: String,
    fire_ids: Option<Vec<String>>,
    key: String,
) -> Ask<String> {
    let key = Some(key);
    let variables = operations::purge_buffer::Variables { schedule_id, fire_ids, key };
    Ask::new::<operations::PurgeBuffer>(variables)
}

/// Moves fires to the head of the buffer.
pub(crate) fn reorder_buffer(
    schedule_id: String,
    fire_ids: Vec<String>,
    key: String,
) -> Ask<String> {
    let key = Some(key);
    let variables = operations::reorder_buffer::Variables { schedule_id, fire_ids, key };
    Ask::new::<operations::ReorderBuffer>(variables)
}
