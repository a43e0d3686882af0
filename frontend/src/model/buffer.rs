//! The fires of a schedule that wait for a blocking run to end.

use serde::Deserialize;

use super::{FireKind, fire::Reason};
use crate::time::Moment;

/// The first fires of a schedule's buffer, in the order in which they will start.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Buffer {
    pub(crate) buffer_size: i64,
    pub(crate) buffer: Vec<BufferedFire>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BufferedFire {
    pub(crate) id: String,
    pub(crate) scheduled_at: Moment,
    pub(crate) kind: FireKind,
    pub(crate) claimed_at: Moment,
    pub(crate) reason: Reason,
}
