//! Modules: workflows and schedules that a file declares together.
//!
//! Code owns the definitions, operators own the pauses: deploying a file makes what it declares,
//! changes what differs, deletes what the module declared before and no longer does, and never
//! touches whether a schedule is paused. All of it in one transaction, or nothing. The same file
//! a second time changes nothing.
//!
//! A dry run is the deployment itself, not committed: what it tells is what would happen.
//!
//! - `file`: the format, and reading it
//! - `deploy`: from a file to the tables

mod deploy;
mod file;

pub use deploy::{Action, Change, Deployment};
