//! Objects that people and modules create: schedules, workflows and related objects.
//!
//! `many` writes rows of several objects in one statement; `expected` has the assumptions of a
//! schedule that was composed earlier; `audit` is the log of all changes; `idempotency` stores the
//! answers for repeated calls.

pub mod audit;
pub mod calendars;
pub mod expected;
pub mod idempotency;
pub(super) mod many;
pub mod modules;
pub mod namespaces;
pub mod quotas;
pub mod schedules;
pub mod secret_users;
pub mod secrets;
pub mod workflows;
