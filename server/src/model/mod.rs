//! Definitions and specs that more than one layer reads.
//!
//! - `definition`: the tasks of a workflow, and how they depend on one another
//! - `spec`: a schedule's definition, wherever it came from
//! - `calendars`: what suppresses fires, compiled; it knows what it was
//! - `check`: the small rules that many inputs share
//! - `naming`: fields as each surface spells them

pub mod calendars;
pub(crate) mod check;
pub(crate) mod definition;
pub(crate) mod naming;
pub(crate) mod spec;

pub use definition::{Condition, Definition, Problem, Task, When};
pub use spec::{Misfire, Spec, Timing};
