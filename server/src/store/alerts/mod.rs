//! Alerts: the rules and channels of a namespace, what the rules have taken note of, and the
//! messages on their way.
//!
//! What happens is read from the ledger by cursors that stand in a table, and a cursor moves in the
//! transaction that writes what was found behind it: whoever takes the service over goes on where
//! the last one committed. Only what went badly is read, by indexes that hold nothing else.
//!
//! - `channels`, `rules`: what people made
//! - `sealed`: channels by the key that seals their secrets
//! - `feeds`: what went badly since a cursor; `standing`: whether it still does
//! - `past`: what went badly long ago
//! - `notes`: the alerts
//! - `pings`: calls to the watchdogs of schedules
//! - `outbox`: the messages; `sendings`: how the last ones ended

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
