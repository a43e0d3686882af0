//! Alerts: channels and rules, the alerts that rules record, and notifications.
//!
//! A channel's secrets are write-only: the types here have no field for them. The error of a failed
//! run is a payload, and is masked for callers who may not see payloads.

mod alert;
mod channel;
mod mutation;
mod notification;
mod preview;
mod query;
mod rule;
mod rule_input;

pub(super) use self::{
    alert::Alert, channel::AlertChannel, mutation::AlertMutation, query::AlertQuery,
    rule::AlertRule,
};
