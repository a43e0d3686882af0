//! Alerts: people are told of what goes wrong, once, and that it goes well again.
//!
//! Promises: what a rule looks for is taken note of once, whoever does it and however often: the
//! cursor over what happens moves in the transaction that writes what was found, under the lease,
//! and a unique key stands behind it. A message is written before it is sent and carries the same
//! key over all attempts, so it comes at least once, and a receiver can know it again. A storm is
//! one message a rule and channel, however many fires it is made of. Nothing in the engine waits
//! for any of this: rules read the ledger behind everybody else, and only what went badly.
//!
//! What is told are transitions: that a schedule's runs fail since then, not each run that fails.
//! Such an alert goes on until a later run succeeds; one that is over before its grace is nothing.
//! What is to be told waits for the rule's digest, its quiet hours and its mute to be over: all
//! three are asked at the moment of telling, so none of them needs a state of its own.
//!
//! - `rule`: what a rule says, checked; `quiet`: whether it is quiet now
//! - `scope`: which schedules a rule is about
//! - `look`: what went badly, read by cursors; `judge`: what that means for the rules, pure
//! - `slow`: runs that take longer than usual; `clocks`: schedules that a change of the clocks touches
//! - `stalls`: what waits and nobody takes; `mend`: what is over
//! - `tell`: what is ripe becomes messages; `words`: in words; `form`: as each channel takes it
//! - `preview`: a rule tried out against the past; `replay`: what it would have told, pure
//! - `channel_config`: a channel with its secrets
//! - `checkup`: whether channels can be opened and take what they are sent
//! - `service`: all that, again and again; `courier`: sends the messages

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
    preview::{Foretold, Preview},
    quiet::Quiet,
    rule::{Event, MAX_LOSING, Rule},
    service::AlertsReport,
};
pub(in crate::engine) use self::{courier::NotificationSender, service::Alerts};
