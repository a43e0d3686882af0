//! The tables: one SeaORM entity per table, and the enums of their states.
//!
//! This crate contains no rules. Only the server's store and engine see rows: the API has its own
//! types. Conventions of every table:
//!
//! - keys are UUID v7, so keys sort in order of creation;
//! - an instant is a whole number of milliseconds since 1970 in UTC ([`Timestamp`]), and a duration
//!   is a whole number of milliseconds in a column that ends in `_ms`: both have the same order and
//!   the same arithmetic on SQLite and PostgreSQL;
//! - states are enums stored as words; reading a word that the enum does not
//!   know is an error and never gives a default.

pub mod alert;
pub mod alert_channel;
pub mod alert_cursor;
pub mod alert_rule;
pub mod api_token;
pub mod audit_event;
pub mod backfill;
pub mod backfill_fire;
pub mod calendar;
pub mod calendar_feed;
pub mod calendar_version;
pub mod concurrency_group;
pub mod fire;
pub mod guess;
pub mod health_budget;
pub mod history_cut;
pub mod history_stat;
pub mod idempotency;
pub mod job;
pub mod job_line;
pub mod known_device;
pub mod lease;
pub mod maintenance_window;
pub mod membership;
pub mod module;
pub mod namespace;
pub mod node;
pub mod notification;
pub mod ping;
pub mod problem_acknowledgement;
pub mod run;
pub mod run_stat;
pub mod schedule;
pub mod schedule_version;
pub mod secret;
pub mod session;
pub mod stat_position;
mod strings;
pub mod task_log;
pub mod task_run;
mod timestamp;
pub mod user;
pub mod user_setting;
pub mod worker;
pub mod worker_queue;
pub mod workflow;
pub mod workflow_version;
pub mod zone_rules;

pub use strings::{Keys, Strings};
pub use timestamp::Timestamp;
