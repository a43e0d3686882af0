//! The objects that people and modules create: schedules, workflows and related objects.
//!
//! `schedule_versions` has the history of their definitions.
//! `health_budgets` has the limits that `/healthz` judges a tag by.
//! `many` writes the rows of several objects in one statement.
//! `expected` has the assumptions under which a schedule was composed.
//! `deleted_namespaces` are hidden, and restored or removed.
//! `audit` is the log of all changes. `idempotency` stores answers for repeated calls.

pub mod audit;
pub mod calendars;
pub mod deleted_namespaces;
pub mod expected;
pub mod health_budgets;
pub mod idempotency;
pub(super) mod many;
pub mod modules;
pub mod namespaces;
pub mod quotas;
mod schedule_versions;
pub mod schedules;
pub mod secret_users;
pub mod secrets;
pub mod workflows;
