//! What the pages show: the API's answers, read as they come, with the schema's names.
//!
//! Lists, events and pages agree on these types, whatever operation an answer belongs to. Each operation in
//! `api::operations` says which of them its answer is, and a test there reads, for every operation, an answer made from
//! the schema itself: a field that is renamed, or missing in a query, fails before anybody opens a page. Enums know no
//! default: an unknown state is an error, not a guess.
//!
//! - `states`: the enums
//! - `failure`: what can go wrong, with its field and position
//! - `run`, `schedule`, `task`, `fire`, `overview`, `cluster`: one noun a file
//! - `viewer`: who is asking
//! - `timing`: previews, warnings, problems
//! - `many`: what became of an order for many
//! - `audit`: what was changed by whom
//! - `page`: one page of a list
//! - `full`: a row together with what only its own page shows

mod audit;
mod cluster;
mod failure;
mod fire;
mod full;
mod many;
mod overview;
mod page;
mod run;
mod schedule;
mod states;
mod task;
mod timing;
mod viewer;

pub(crate) use audit::AuditRow;
pub(crate) use cluster::{ClusterEvent, Fleet, Member};
pub(crate) use failure::{Code, Failure, WireError, explain, field_name, sentence};
pub(crate) use fire::Fire;
pub(crate) use many::ManyOutcome;
pub(crate) use overview::{Health, Node, Overview, OverviewAnswer, Upcoming};
pub(crate) use page::{Page, Place, Row};
pub(crate) use run::{Attempt, LogEvent, Named, Origin, RunDetail, RunEvent, RunRow, RunTask};
pub(crate) use schedule::{
    Misfire, Pause, PauseEffect, Policy, RecentFire, ResumeChoice, ResumeEffect, ScheduleDetail,
    ScheduleEvent, ScheduleRow, Tally, Version,
};
pub(crate) use states::{
    Backoff, CatchUp, FireKind, GapPolicy, HttpAnswer, LogStream, NodeState, OverlapHourPolicy,
    OverlapPolicy, Role, RunState, RunTaskState, RunTrigger, ScheduleSortField, ScheduleState,
    TaskCondition, TaskRunState, Verdict,
};
pub(crate) use task::{Command, Http, Pair, Retry, Target, Task};
pub(crate) use timing::{Preview, PreviewFire, Problem, Warning};
pub(crate) use viewer::{SavedView, Viewer};
