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
    AlertEvent { Failed, Recovered, Losing, Missed, Late, Stalled, NodeLost }
    AlertKind { Failed, Losing, Missed, Late, Stalled, NodeLost }
    AlertChannelKind { Webhook, Slack, Email }
    NotificationState { Pending, Sent, Dead }
    CalendarMode { Exclude, Only }
    Weekday { Sun, Mon, Tue, Wed, Thu, Fri, Sat }
    BackfillMode { Missing, MissingAndFailed, All }
    BackfillOrder { OldestFirst, NewestFirst }
    BackfillState { Running, Paused, Cancelled, Completed }
    BackfillFireState { Pending, Running, Succeeded, Failed, Cancelled, Skipped }
    BackfillStanding { Missing, Succeeded, Failed, Live, Suppressed, Forgotten }
    ChangeAction { Create, Update, Adopt, Delete, Unchanged }
    DriftSide { Operators, Module }
    ViewerKind { User, Token }
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

impl Weekday {
    /// In the order in which a week is shown.
    pub(crate) const WEEK: [Self; 7] =
        [Self::Mon, Self::Tue, Self::Wed, Self::Thu, Self::Fri, Self::Sat, Self::Sun];

    /// `Mon`
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Sun => "Sun",
            Self::Mon => "Mon",
            Self::Tue => "Tue",
            Self::Wed => "Wed",
            Self::Thu => "Thu",
            Self::Fri => "Fri",
            Self::Sat => "Sat",
        }
    }
}

impl Role {
    pub(crate) const ALL: [Self; 4] = [Self::Viewer, Self::Operator, Self::Editor, Self::Admin];

    /// The role's name.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Viewer => "Viewer",
            Self::Operator => "Operator",
            Self::Editor => "Editor",
            Self::Admin => "Admin",
        }
    }

    /// The role with that name.
    pub(crate) fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.word() == word)
    }

    /// May say who the members are and set secrets.
    pub(crate) fn administers(self) -> bool {
        match self {
            Self::Viewer | Self::Operator | Self::Editor => false,
            Self::Admin => true,
        }
    }
}
