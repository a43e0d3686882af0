//! Modules: workflows, schedules, alert rules, budgets and maintenance windows that a file declares
//! together.
//!
//! Code owns the definitions; operators own the pauses, the notes and the mutes. Deploying a file
//! creates the objects that it declares, changes those that differ, deletes those that the module
//! no longer declares, and leaves pauses alone. A deployment is one transaction. Deploying the same
//! file a second time changes nothing.
//!
//! A dry run is the same deployment without the commit: it shows what would happen, including the
//! fires that are added and removed.
//!
//! - `file`: the format: reading it, writing it, its schema
//! - `deploy`: from a file to the tables; `beforehand`: what it computes before its transaction;
//!   `declare`: one object of it; `prune`: removed objects; `alerts`: alert channels and rules;
//!   `budgets`: budgets of tags; `maintenance`: maintenance windows
//! - `plan`: the reported changes; `difference`: key by key; `effect`: the fires; `outlook`: what the
//!   effect is computed from
//! - `declared`: what a module declared when it was last deployed; `drift`: what differs since;
//!   `settlement`: adopting or reverting what differs
//! - `export`: from the tables to files
//! - `lint`: checks that need no server
//! - `notes`: the operators' notes on a schedule
//! - `workflow_text`: one workflow as text, for an editor

mod alerts;
mod beforehand;
mod budgets;
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
mod maintenance;
mod notes;
mod outlook;
mod plan;
mod prune;
mod settlement;
mod workflow_text;

#[cfg(test)]
mod hostile;

pub(crate) use declared::check_declared;
pub use deploy::DeploymentSource;
pub use drift::{Drift, DriftOwner, DriftedObject};
pub use effect::{Effect, ScheduleEffect};
pub(crate) use effect::{ScheduleOutlook, effect_of_edit, instants};
pub use export::{ExportRequest as WantedExport, Exported};
pub use file::{FileFormat, schema};
pub use plan::{Deployment, FieldChange, ObjectChange, PlanAction};
pub use settlement::{DriftOrder, SettledDrift};
pub use workflow_text::{TextProblem, WorkflowReading, WorkflowSource};
