//! The watchdog of a schedule: the addresses that the schedule calls, and its last call.

use serde::Deserialize;

use super::PingEvent;
use crate::time::Moment;

/// The addresses, as far as the server shows them: each is its server and the names of its secrets.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Ping {
    pub(crate) success: String,
    pub(crate) start: Option<String>,
    pub(crate) failure: Option<String>,
    /// The last call, if there was one; only the schedule's page requests it.
    pub(crate) last: Option<PingCall>,
}

/// The last call and its result.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PingCall {
    pub(crate) event: PingEvent,
    pub(crate) run_id: String,
    pub(crate) attempts: i64,
    /// When it is tried again, unless it arrived or was given up.
    pub(crate) next_attempt_at: Option<Moment>,
    pub(crate) error: Option<String>,
    /// When a call last arrived, whatever its event.
    pub(crate) sent_at: Option<Moment>,
}

/// A schedule that may have a watchdog.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Watched {
    pub(crate) ping: Option<Ping>,
}
