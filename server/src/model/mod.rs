//! Definitions and specs that more than one layer reads.
//!
//! - `definition`: the tasks of a workflow, and how they depend on one another
//! - `spec`: a schedule's definition, wherever it came from
//! - `calendars`: compiled calendars, with their earlier versions
//! - `ping`: the addresses that a schedule calls about its runs; `context`: the context of runs
//! - `secret_users`: which objects refer to which secrets
//! - `quotas`, `retention`: how much a namespace may use, and how long its history is kept
//! - `ledger_check`: whether a ledger accounts for all instants that a schedule should have had
//! - `usual`: usual durations of runs, and estimates for running ones
//! - `slots`: intervals in which runs fit
//! - `bad_input`: a value that cannot be accepted; `check`: small rules that many inputs share
//! - `naming`: how each surface spells fields

mod bad_input;
pub mod calendars;
pub(crate) mod check;
mod context;
pub(crate) mod definition;
pub mod ledger_check;
pub(crate) mod naming;
mod ping;
mod quotas;
mod retention;
mod secret_users;
mod slots;
pub(crate) mod spec;
mod usual;

pub use bad_input::BadInput;
pub(crate) use bad_input::{cut, shortened};
pub(crate) use context::laid_over;
pub use definition::{Condition, Definition, DefinitionError, DefinitionProblem, Task, When};
pub use ping::Ping;
pub use quotas::{OwnQuotas, Quotas};
pub use retention::Retention;
pub(crate) use secret_users::CHANNEL_SECRETS;
pub use secret_users::{SecretUser, SecretUsers, UserKind};
pub use slots::fitting_interval;
pub use spec::{Misfire, Spec, Timing};
pub use usual::{UsualDuration, percentile};
