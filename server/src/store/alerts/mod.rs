//! Alerts: the rules and channels of a namespace, the recorded alerts, and the messages about them.
//!
//! Events are read from the ledger by cursors stored in a table, and a cursor moves in the
//! transaction that writes the alerts, so a node that takes over the service continues where the
//! last commit ended. Only failures are read, through indexes that contain nothing else.
//!
//! - `channels`, `rules`: created by people and modules
//! - `sealed`: channels by the key that encrypts their secrets
//! - `feeds`: failures since a cursor; `standing`: whether they persist
//! - `past`: failures of the past
//! - `notes`: the alerts; `acknowledgements`: problems that a person has acknowledged
//! - `pings`: calls to the watchdogs of schedules
//! - `outbox`: the messages; `sendings`: the results of the latest ones

pub mod acknowledgements;
pub mod channels;
pub mod feeds;
pub mod notes;
pub mod outbox;
pub mod past;
pub mod pings;
pub mod rules;
pub mod sealed;
pub mod sendings;
pub mod standing;
