//! Alerts: the rules and channels of a namespace, the recorded alerts, and the messages about them.
//!
//! Events are read from the ledger by cursors that a table stores. A cursor moves in the
//! transaction that writes the alerts, so a node that takes over the service continues where the
//! last commit ended. Only failures are read, through indexes that contain nothing else.
//!
//! - `channels`, `rules`: the objects that people and modules create
//! - `sealed`: finds channels by the key that encrypts their secrets
//! - `feeds`: reads failures from a cursor on; `standing`: whether failures persist
//! - `skips`: schedules that skip fires for load
//! - `past`: reads past failures for previews
//! - `notes`: the recorded alerts; `pending`: those that wait to be reported
//! - `acknowledgements`: problems that users have acknowledged
//! - `pings`: calls to the external watchdogs of schedules
//! - `outbox`: the messages to send; `sendings`: the results of the latest messages

pub mod acknowledgements;
pub mod channels;
pub mod feeds;
pub mod notes;
pub mod outbox;
pub mod past;
pub mod pending;
pub mod pings;
pub mod rules;
pub mod sealed;
pub mod sendings;
pub mod skips;
pub mod standing;
