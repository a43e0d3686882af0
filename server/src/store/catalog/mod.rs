//! What people and modules make: schedules, workflows and what belongs to them.
//!
//! `many` writes rows of several in one statement, `expected` says what a schedule relies on that was
//! composed before; `audit` is the log of all changes, `idempotency` answers a repeated call.

pub mod audit;
pub mod calendars;
pub mod expected;
pub mod idempotency;
pub(super) mod many;
pub mod modules;
pub mod namespaces;
pub mod quotas;
pub mod schedules;
pub mod secrets;
pub mod workflows;
