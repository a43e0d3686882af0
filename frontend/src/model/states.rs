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
    RunSortField { Started, Duration }
    ScheduleSortField { Name, Next, Last, P95 }
    TimelineSort { Name, Busiest }
    ScheduleState { Active, Paused, Finished, Exhausted }
    Verdict { Pending, Started, Skipped, Missed, Collapsed, Abandoned }
    FireKind { Normal, Shifted, FirstOfTwo, SecondOfTwo }
    NodeState { Alive, Draining, Drained, Left, Dead }
    BrokerState { Unreachable, Connected, Idle }
    LogStream { Stdout, Stderr, System }
    ReasonCode {
        OnTime, Late, CaughtUp, Recovered, Overlap, Buffered, BufferFull, Quota, Purged, Replaced, Paused, Deadline,
        Disabled, Deleted, StaleVersion, Outage, CatchUpWindow, CatchUpLimit, Calendar, ByRequest, AttemptsExhausted,
        TooOld, Backfilled, AwaitingHandoff,
    }
    HealthSeverity { Critical, Warning }
    ProblemKind { Failing, LosingFires, SkippingFires }
    GapPolicy { Shift, Skip }
    OverlapHourPolicy { First, Last, Both }
    OverlapPolicy { Skip, BufferOne, BufferAll, CancelOther, TerminateOther, Allow }
    CatchUp { Skip, Latest, All }
    Backoff { Fixed, Exponential }
    HttpAnswer { Keep, Merge }
    AlertEvent { Failed, Recovered, Losing, Missed, Skipped, Late, Stalled, Slow, ClockChange, NodeLost }
    AlertKind { Failed, Losing, Missed, Skipped, Late, Stalled, Slow, ClockChange, NodeLost }
    AlertChannelKind { Webhook, Slack, Email, Teams, Pagerduty, Opsgenie }
    FeedKind { Calendar, Badge }
    NotificationState { Pending, Sent, Dead }
    CalendarMode { Exclude, Only }
    MaintenanceState { Planned, Active, Ended, Cancelled }
    Weekday { Sun, Mon, Tue, Wed, Thu, Fri, Sat }
    BackfillMode { Missing, MissingAndFailed, All }
    BackfillOrder { OldestFirst, NewestFirst }
    BackfillState { Running, Paused, Cancelled, Completed }
    BackfillFireState { Pending, Running, Succeeded, Failed, Cancelled, Skipped }
    BackfillStanding { Missing, Succeeded, Failed, Live, Suppressed, Forgotten }
    ChangeAction { Create, Update, Adopt, Delete, Unchanged }
    DriftSide { Operators, Module }
    ViewerKind { User, Token }
    ScheduleGrouping { Tag, Module }
    PingEvent { Start, Success, Failure }
    SecretUserKind { Schedule, Workflow, Channel }
    Theme { System, Light, Dark }
    Density { Comfortable, Compact }
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

impl ReasonCode {
    /// All reasons, each with its name in an address and its words in a list.
    pub(crate) const ALL: [(Self, &str, &str); 24] = [
        (Self::OnTime, "on_time", "on time"),
        (Self::Late, "late", "late"),
        (Self::CaughtUp, "caught_up", "made up for"),
        (Self::Recovered, "recovered", "started by recovery"),
        (Self::Backfilled, "backfilled", "backfilled"),
        (Self::AwaitingHandoff, "awaiting_handoff", "waiting to be handed off"),
        (Self::Buffered, "buffered", "waited for another run"),
        (Self::Overlap, "overlap", "another run was alive"),
        (Self::BufferFull, "buffer_full", "the buffer was full"),
        (Self::Quota, "quota", "over the quota"),
        (Self::Purged, "purged", "taken out of the buffer"),
        (Self::Replaced, "replaced", "replaced by a later one"),
        (Self::Paused, "paused", "paused"),
        (Self::Calendar, "calendar", "a calendar"),
        (Self::ByRequest, "by_request", "by request"),
        (Self::Deadline, "deadline", "past its deadline"),
        (Self::Disabled, "disabled", "paused before the hand-off"),
        (Self::Deleted, "deleted", "deleted"),
        (Self::StaleVersion, "stale_version", "edited meanwhile"),
        (Self::Outage, "outage", "no scheduler was running"),
        (Self::CatchUpWindow, "catch_up_window", "older than the catch-up window"),
        (Self::CatchUpLimit, "catch_up_limit", "over the catch-up limit"),
        (Self::AttemptsExhausted, "attempts_exhausted", "recovery gave up"),
        (Self::TooOld, "too_old", "too old to recover"),
    ];

    /// The reason's name in an address, and its label.
    pub(crate) fn name_and_words(self) -> (&'static str, &'static str) {
        let found = Self::ALL.into_iter().find(|(code, ..)| *code == self);
        found.map_or(("", ""), |(_, name, words)| (name, words))
    }
}

impl RunTaskState {
    /// Whether the task has ended, so its state will not change.
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
    /// Whether the role may act on schedules and runs: pause, resume, trigger, cancel, retry.
    pub(crate) fn operates(self) -> bool {
        match self {
            Self::Viewer => false,
            Self::Operator | Self::Editor | Self::Admin => true,
        }
    }

    /// Whether the role may change the definitions of schedules.
    pub(crate) fn edits(self) -> bool {
        match self {
            Self::Viewer | Self::Operator => false,
            Self::Editor | Self::Admin => true,
        }
    }
}

impl Theme {
    pub(crate) const ALL: [Self; 3] = [Self::System, Self::Light, Self::Dark];

    /// The theme's name in the browser's storage and in the style sheet.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

impl Density {
    /// Tall rows, or short ones.
    pub(crate) fn of(is_roomy: bool) -> Self {
        if is_roomy { Self::Comfortable } else { Self::Compact }
    }

    /// Whether rows are tall.
    pub(crate) fn is_roomy(self) -> bool {
        self == Self::Comfortable
    }
}

impl Weekday {
    /// The days in the order in which a week is displayed.
    pub(crate) const WEEK: [Self; 7] =
        [Self::Mon, Self::Tue, Self::Wed, Self::Thu, Self::Fri, Self::Sat, Self::Sun];

    /// The short name of the day, such as `Mon`.
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

    /// Parses the name of a role.
    pub(crate) fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.word() == word)
    }

    /// Whether the role may manage members and set secrets.
    pub(crate) fn administers(self) -> bool {
        match self {
            Self::Viewer | Self::Operator | Self::Editor => false,
            Self::Admin => true,
        }
    }
}
