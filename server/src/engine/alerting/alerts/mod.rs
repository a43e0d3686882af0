//! Notifies people once of a failure, and once of the recovery.
//!
//! A matching event is recorded once, whichever node reads it and however often. The cursor over
//! the events moves in the transaction that writes the alerts, under the lease, and a unique key
//! backs this up. A message is written before it is sent and carries the same key on every attempt.
//! So it arrives at least once, and the receiver can recognise a duplicate. A storm of failures
//! becomes one message per rule and channel, however many fires it includes. Nothing in the engine
//! waits for alerting: rules read the ledger afterwards, and only its failures.
//!
//! Alerts report transitions: that a schedule's runs have begun to fail, not each failed run.
//! Such an alert stays open until a later run succeeds. An alert that ends within its grace period
//! is not sent. A pending alert waits for the rule's digest, quiet hours and mute to end.
//! These are checked when the message is created, so none of them needs a state of its own.
//!
//! - `rule`: the checked settings of a rule; `quiet_hours`: its quiet hours
//! - `scope`: which schedules a rule covers
//! - `look`: reads failures by cursors; `judge`: decides which alerts follow from them;
//!   `row`: the rows of new alerts
//! - `slow`: finds runs that take longer than usual; `clocks`:
//!   finds schedules that a clock change affects
//! - `skips`: finds schedules that skip fires for load
//! - `stalls`: finds waiting work that no node takes; `recovery`: closes alerts that are over
//! - `messages`: turns ripe alerts into messages; `words`: writes their text;
//!   `form`: formats them for each kind of channel
//! - `preview`: tries a rule against the past; `history`: reads the past events;
//!   `replay`: computes the messages that the rule would have sent
//! - `channel_config`: the configuration of a channel with its secrets
//! - `checkup`: checks whether channels can be decrypted and accept messages
//! - `service`: calls all of these in rounds; `notification_sender`: sends the messages, as
//!   `delivery` decides

mod channel_config;
mod checkup;
mod clocks;
mod delivery;
mod form;
mod history;
mod judge;
mod look;
mod messages;
mod notification_sender;
mod preview;
mod quiet_hours;
mod recovery;
mod replay;
mod row;
mod rule;
mod scope;
mod service;
mod skips;
mod slow;
mod stalls;
mod words;

pub(crate) use self::words::test_body;
pub use self::{
    channel_config::{ChannelConfig, ChannelSecrets, Receiver},
    checkup::Checkup,
    notification_sender::NotificationSenderReport,
    preview::{ForetoldMessage, RulePreview},
    quiet_hours::QuietPeriods,
    rule::{AlertEvent, MAX_LOSING, Rule, RuleError},
    service::AlertsReport,
};
pub(in crate::engine) use self::{notification_sender::NotificationSender, service::AlertRecorder};
