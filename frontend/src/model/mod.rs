//! What the pages show: the API's answers, read as they come, with the schema's names.
//!
//! Lists, events and pages agree on these types, whatever operation an answer belongs to. Each operation in
//! `api::operations` says which of them its answer is, and a test there reads, for every operation, an answer made from
//! the schema itself: a field that is renamed, or missing in a query, fails before anybody opens a page. Enums know no
//! default: an unknown state is an error, not a guess.
//!
//! - `states`: the enums
//! - `run`, `schedule`, `task`, `fire`, `overview`, `cluster`: one noun a file
//! - `timing`: previews, warnings, problems
//! - `page`: one page of a list
//! - `full`: a row together with what only its own page shows

mod cluster;
mod fire;
mod full;
mod overview;
mod page;
mod run;
mod schedule;
mod states;
mod task;
mod timing;

pub(crate) use cluster::{ClusterEvent, Fleet, Member};
pub(crate) use fire::Fire;
pub(crate) use overview::{Health, House, Node, Overview, Upcoming};
pub(crate) use page::{Page, Row};
pub(crate) use run::{Attempt, LogEvent, Named, Origin, RunDetail, RunEvent, RunRow, RunTask};
pub(crate) use schedule::{
    Misfire, Pause, Policy, ScheduleDetail, ScheduleEvent, ScheduleRow, Tally, Version,
};
pub(crate) use states::{
    Backoff, CatchUp, FireKind, GapPolicy, HttpAnswer, LogStream, NodeState, OverlapHourPolicy,
    OverlapPolicy, Role, RunState, RunTaskState, RunTrigger, ScheduleState, TaskCondition,
    TaskRunState, Verdict,
};
pub(crate) use task::{Broker, Command, Http, Pair, Publish, Retry, Target, Task};
pub(crate) use timing::{Preview, PreviewFire, Problem, Warning};

use serde::Deserialize;

/// Who is asking.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Viewer {
    pub(crate) name: String,
    pub(crate) role: Role,
}
