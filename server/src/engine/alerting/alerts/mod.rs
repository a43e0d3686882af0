//! Alerts: people are notified once of a failure, and once of the recovery.
//!
//! Promises: a matching event is recorded once, whichever node sees it and however often. The
//! cursor over the events moves in the transaction that writes the alerts, under the lease, and a
//! unique key backs this up. A message is written before it is sent and carries the same key on
//! every attempt, so it arrives at least once and the receiver can recognise a duplicate. A storm
//! is one message per rule and channel, however many fires it consists of. Nothing in the engine
//! waits for alerting: rules read the ledger after the fact, and only its failures.
//!
//! Alerts report transitions: that a schedule's runs have begun to fail, not each failed run. Such
//! an alert stays open until a later run succeeds; one that ends within its grace period is not
//! sent. A pending alert waits for the rule's digest, quiet hours and mute to end. All three are
//! checked at the moment of sending, so none of them needs a state of its own.
//!
//! - `rule`: a rule's settings, checked; `quiet`: whether it is quiet now
//! - `scope`: which schedules a rule covers
//! - `look`: reads failures by cursors; `judge`: decides what they mean for the rules, pure
//! - `slow`: runs that take longer than usual; `clocks`: schedules that a clock change affects
//! - `stalls`: waiting work that no node takes; `mend`: alerts that are over
//! - `tell`: turns ripe alerts into messages; `words`: their wording; `form`: the format of each
//!   channel
//! - `preview`: tries a rule against the past; `replay`: which messages it would have sent, pure
//! - `channel_config`: a channel with its secrets
//! - `checkup`: whether channels can be decrypted and accept messages
//! - `service`: repeats all of this; `courier`: sends the messages

mod channel_config;
mod checkup;
mod clocks;
mod courier;
mod form;
mod judge;
mod look;
mod mend;
mod preview;
mod quiet;
mod replay;
mod rule;
mod scope;
mod service;
mod slow;
mod stalls;
mod tell;
mod words;

pub(crate) use self::words::test_body;
pub use self::{
    channel_config::{ChannelConfig, Hidden, Receiver},
    checkup::Checkup,
    courier::NotificationSenderReport,
    preview::{Foretold, RulePreview},
    quiet::Quiet,
    rule::{Event, MAX_LOSING, Rule, RuleError},
    service::AlertsReport,
};
pub(in crate::engine) use self::{courier::NotificationSender, service::Alerts};
