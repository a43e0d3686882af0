//! Alerts: who is told of what, and by which way.
//!
//! A channel's secrets (the address of a receiver, which is all that one needs to write to it, and
//! the key that messages are signed with) are taken and never given back: neither by a read, nor
//! in the audit log. A channel of another namespace is to a rule as if it did not exist.
//!
//! - `channels`: made, changed, deleted; `channel_rows`: the same in a transaction, for modules, too;
//!   `trial`: tried out
//! - `rules`: made, changed, deleted; `rule_rows`: the same in a transaction; `muting`: muted;
//!   `aftermath`: what becomes of their alerts
//! - `given`: an input of either, checked
//! - `answers`: alerts acknowledged, messages sent once more

mod aftermath;
mod answers;
mod channel_rows;
mod channels;
mod given;
mod muting;
mod rule_rows;
mod rules;
mod trial;

pub(super) use aftermath::Aftermath;
pub(super) use channel_rows::Draft;
pub use channels::{ChannelEdit, NewChannel, SavedChannel};
pub use given::ChannelInput;
pub(crate) use given::{MAX_CHANNELS, MAX_RULES, check_rule};
pub(super) use given::{names_secret, shown_address, shown_key};
pub use muting::Muting;
pub(super) use rule_rows::spec_of;
pub use rules::{NewRule, RuleEdit, RuleSpec, SavedRule};
pub use trial::TestSent;
