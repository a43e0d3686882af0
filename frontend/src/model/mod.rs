//! What the pages show, as plain values with the schema's names.
//!
//! `graphql_client` makes a type for each operation, even where two operations share a fragment. These types are the one
//! shape that lists, events and pages agree on; `api::convert` fills them, and a field that the schema renames breaks
//! there, at compile time. Enums are shared by all operations and know no default: an unknown state is an error.
//!
//! - `states`: the enums
//! - `run`, `schedule`, `fire`, `overview`: one noun a file
//! - `timing`: previews, warnings, problems

mod fire;
mod overview;
mod run;
mod schedule;
mod states;
mod timing;

pub(crate) use fire::{Fire, FireRun};
pub(crate) use overview::{Check, Health, Node, Overview, Upcoming};
pub(crate) use run::{Attempt, Line, Origin, RunDetail, RunRow, ScheduleRef};
pub(crate) use schedule::{
    Misfire, Pause, Policy, Retry, ScheduleDetail, ScheduleRow, Tally, Target, Task, Version,
};
pub(crate) use states::{
    Backoff, CatchUp, FireKind, GapPolicy, LogStream, NodeState, OverlapHourPolicy, OverlapPolicy,
    ReasonCode, Role, RunState, RunTrigger, ScheduleState, TaskRunState, Verdict,
};
pub(crate) use timing::{Preview, PreviewFire, Problem, Warning};

/// A row that lists merge by.
pub(crate) trait Keyed {
    /// The row's id.
    fn key(&self) -> &str;
}

/// One page of a connection.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Page<T> {
    pub(crate) rows: Vec<T>,
    pub(crate) next: Option<String>,
    pub(crate) previous: Option<String>,
    pub(crate) total: Option<i64>,
}
