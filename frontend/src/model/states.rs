//! The schema's enums. They have no catch-all: a state that this console does not know is an error, not a guess.

use serde::{Deserialize, Serialize};

macro_rules! states {
    ($($name:ident { $($state:ident),+ $(,)? })+) => {$(
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
        pub(crate) enum $name { $($state),+ }
    )+};
}

states! {
    Role { Viewer, Operator, Editor, Admin }
    RunState { Queued, Running, Retrying, Succeeded, Failed, TimedOut, Cancelled }
    RunTrigger { Schedule, Manual, Retry, Backfill }
    RunTaskState {
        Waiting, Running, Retrying, Succeeded, Failed, TimedOut, Cancelled, Skipped, NotRun,
    }
    TaskCondition { Success, Failure, Always }
    TaskRunState { Running, Succeeded, Failed, TimedOut, Cancelled, Lost, Skipped }
    ScheduleSortField { Name, Next, Last, P95 }
    ScheduleState { Active, Paused, Finished, Exhausted }
    Verdict { Pending, Started, Skipped, Missed, Collapsed, Abandoned }
    FireKind { Normal, Shifted, FirstOfTwo, SecondOfTwo }
    NodeState { Alive, Draining, Drained, Left, Dead }
    LogStream { Stdout, Stderr, System }
    GapPolicy { Shift, Skip }
    OverlapHourPolicy { First, Last, Both }
    OverlapPolicy { Skip, BufferOne, BufferAll, CancelOther, TerminateOther, Allow }
    CatchUp { Skip, Latest, All }
    Backoff { Fixed, Exponential }
    HttpAnswer { Keep, Merge }
}

impl RunState {
    /// Whether the run may still change.
    pub(crate) fn is_live(self) -> bool {
        match self {
            Self::Queued | Self::Running | Self::Retrying => true,
            Self::Succeeded | Self::Failed | Self::TimedOut | Self::Cancelled => false,
        }
    }
}

impl RunTaskState {
    /// Whether nothing more becomes of the task.
    pub(crate) fn is_over(self) -> bool {
        match self {
            Self::Waiting | Self::Running | Self::Retrying => false,
            Self::Succeeded
            | Self::Failed
            | Self::TimedOut
            | Self::Cancelled
            | Self::Skipped
            | Self::NotRun => true,
        }
    }
}

impl Role {
    /// May act on schedules and runs: pause, resume, trigger, cancel, retry.
    pub(crate) fn operates(self) -> bool {
        match self {
            Self::Viewer => false,
            Self::Operator | Self::Editor | Self::Admin => true,
        }
    }

    /// May change what schedules are.
    pub(crate) fn edits(self) -> bool {
        match self {
            Self::Viewer | Self::Operator => false,
            Self::Editor | Self::Admin => true,
        }
    }
}
