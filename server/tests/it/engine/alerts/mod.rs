//! Alerts on real databases: what is recorded, what is sent, and what arrives.
//!
//! - `watch`: a world with channels and rules, and nodes that watch it, step by step
//! - `inbox`: receivers for what they send
//! - the others: one behaviour per file

mod foretelling;
mod inbox;
mod incidents;
pub(crate) mod mailing;
mod naming;
mod pinging;
mod sealing;
mod sending;
mod skipping;
mod taking_over;
mod telling;
mod transitions;
mod watch;
