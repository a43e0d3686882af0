//! The outcome of trying out a target.

use serde::Deserialize;
use serde_json::Value;

/// The outcome of one call; secrets are masked.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TestCall {
    pub(crate) succeeded: bool,
    pub(crate) error: Option<String>,
    pub(crate) exit_code: Option<i64>,
    pub(crate) http_status: Option<i64>,
    pub(crate) duration_ms: i64,
    pub(crate) output: Option<Value>,
    /// The first two hundred lines of the log.
    pub(crate) log: Vec<String>,
}
