//! Modules: workflows, schedules and alert rules that a file declares together.
//!
//! Code owns the definitions, operators own the pauses, the notes and the mutes: deploying a file makes what
//! it declares, changes what differs, deletes what the module declared before and no longer does,
//! and never touches whether a schedule is paused. All of it in one transaction, or nothing. The
//! same file a second time changes nothing.
//!
//! A dry run is the deployment itself, not committed: what it tells is what would happen, down to
//! the fires that it adds and leaves out.
//!
//! - `file`: the format: reading it, writing it, its schema
//! - `deploy`: from a file to the tables; `declare`: one thing of it; `prune`: what is gone;
//!   `alerts`: who is told of what
//! - `plan`: what is told of it; `difference`: key by key; `effect`: the fires
//! - `declared`: what a module said when it was last deployed; `drift`: what is otherwise since
//! - `export`: from the tables to files
//! - `lint`: what can be said of a file without a server
//! - `notes`: what operators say about a schedule

mod alerts;
mod canary;
mod declare;
mod declared;
mod deploy;
mod difference;
mod drift;
mod effect;
mod export;
pub(crate) mod file;
mod lint;
mod notes;
mod plan;
mod prune;

pub use deploy::Source;
pub use drift::{Drift, Drifted, Side};
pub use effect::{Effect, ScheduleEffect};
pub(crate) use effect::{Outlook, effect_of_edit, instants};
pub use export::{Exported, Wanted as WantedExport};
pub use file::{Format, schema};
pub use plan::{Action, Change, Deployment, FieldChange};
