//! Definitions and specs that more than one layer reads.
//!
//! - `definition`: the tasks of a workflow, and how they depend on one another
//! - `spec`: a schedule's definition, wherever it came from
//! - `calendars`: what suppresses fires, compiled; it knows what it was
//! - `ping`: whom a schedule calls about its runs; `context`: what runs are given
//! - `quotas`, `retention`: how much a namespace may use, and how long its history is kept
//! - `bad_input`: a value that cannot be accepted; `check`: the small rules that many inputs share
//! - `naming`: fields as each surface spells them

mod bad_input;
pub mod calendars;
pub(crate) mod check;
mod context;
pub(crate) mod definition;
pub(crate) mod naming;
mod ping;
mod quotas;
mod retention;
pub(crate) mod spec;

pub use bad_input::BadInput;
pub(crate) use bad_input::{cut, shortened};
pub(crate) use context::laid_over;
pub use definition::{Condition, Definition, DefinitionError, Problem, Task, When};
pub use ping::Ping;
pub use quotas::{OwnQuotas, Quotas};
pub use retention::Retention;
pub use spec::{Misfire, Spec, Timing};
