//! Alerts: channels and rules, what rules have taken note of, and the messages.
//!
//! A channel's secrets come in and never go out: the types here have no field for them. Why a run
//! failed is a payload, and masked for those who may not see payloads.

mod alert;
mod channel;
mod mutation;
mod notification;
mod preview;
mod query;
mod rule;
mod rule_input;

pub(super) use self::{
    channel::AlertChannel, mutation::AlertMutation, query::AlertQuery, rule::AlertRule,
};
