//! Alerts: rules, and the channels that they notify.
//!
//! A channel has secrets: the address of a receiver, which is all that is needed to write to it,
//! and the key that signs messages. They are accepted and never returned, neither by a read nor in
//! the audit log. A rule cannot see channels of other namespaces.
//!
//! - `channels`: create, change, delete; `channel_rows`: the same within a transaction, also for
//!   modules; `trial`: test messages
//! - `rules`: create, change, delete; `rule_rows`: the same within a transaction; `muting`: mute;
//!   `aftermath`: cleans up the alerts of deleted and disabled rules
//! - `given`: checks the input for channels and rules
//! - `acknowledgements`: acknowledging alerts, and problems of schedules
//! - `answers`: sends a failed message again

mod acknowledgements;
mod aftermath;
mod answers;
mod channel_rows;
mod channels;
mod given;
mod muting;
mod rule_rows;
mod rules;
mod trial;

pub use acknowledgements::{AcknowledgedProblem, AcknowledgementInput};
pub(super) use aftermath::Aftermath;
pub(super) use channel_rows::Draft;
pub use channels::{ChannelEdit, NewChannel, SavedChannel};
pub use given::ChannelInput;
pub(crate) use given::{MAX_CHANNELS, MAX_RULES, check_rule};
pub(super) use given::{names_secret, shown_address, shown_key};
pub use muting::MuteRequest;
pub(super) use rule_rows::spec_of;
pub use rules::{NewRule, RuleEdit, RuleSpec, SavedRule};
pub use trial::TestSent;
