//! The data that the pages show: the API's answers, deserialized without conversion, with the schema's names.
//!
//! Lists, events and pages share these types, whichever operation an answer belongs to. Each operation in
//! `api::operations` names the type of its answer. For every operation, a test there deserializes an answer that is
//! generated from the schema. So a field that is renamed, or missing in a query, fails before anyone opens a page.
//! Enums have no default: an unknown state is an error, not a guess.
//!
//! - `states`: the enums
//! - `failure`: errors, with their field and position
//! - `run`, `schedule`, `task`, `fire`, `overview`, `cluster`: one noun per file
//! - `alert`, `calendar`, `backfill`, `maintenance`, `build`, `forecast`, `people`, `namespace`: the objects of the
//!   pages of Plan, Build and Settings
//! - `viewer`: the signed-in user
//! - `ping`: the watchdog of a schedule
//! - `workers`: worker programs and their queues
//! - `timeline`: what schedules did and will do, side by side
//! - `timing`: previews, warnings, problems
//! - `many`: the outcome of a bulk action
//! - `audit`: the audit log
//! - `outage`: what each catch-up policy would do about an outage
//! - `page`: one page of a list, and the news that it has changed
//! - `history`: the recent fires of schedules, which a list loads after its rows
//! - `full`: a row together with the fields that only the object's own page shows

mod alert;
mod audit;
mod backfill;
mod buffer;
mod build;
mod calendar;
mod cluster;
mod failure;
mod fire;
mod forecast;
mod full;
mod health;
mod history;
mod impact;
mod ledger;
mod maintenance;
mod many;
mod metrics;
mod namespace;
mod outage;
mod overview;
mod page;
mod people;
mod ping;
mod problem;
mod run;
mod schedule;
mod slots;
mod states;
mod tallies;
mod task;
mod test_call;
mod timeline;
mod timing;
mod usual;
mod viewer;
mod workers;

pub(crate) use alert::{
    Alert, AlertChannel, AlertRule, Notification, PastMessage, Quiet, RulePreview,
};
pub(crate) use audit::{AuditEvent, AuditRow};
pub(crate) use backfill::{
    Backfill, BackfillDetail, BackfillFire, BackfillPreview, PastFire, Progress, Stop, Took,
};
pub(crate) use buffer::{Buffer, BufferedFire};
pub(crate) use build::{
    AdoptedDrift, Drift, Drifted, Effect, Exported, FieldChange, Group, GroupRun, Module, Plan,
    PlannedChange, SavedWorkflow, ScheduleEffect, ScheduleName, Step, TextProblem, Workflow,
    WorkflowDefinition, WorkflowReading, WorkflowRow, WorkflowVersion,
};
pub(crate) use calendar::{Calendar, CalendarUser, Range, Window};
pub(crate) use cluster::{BrokerStatus, ClusterEvent, Fleet, Member, Shard};
pub(crate) use failure::{Code, Failure, WireError, explain, field_name, sentence};
pub(crate) use fire::Fire;
pub(crate) use forecast::{
    ClockChange, ClockChangeEffect, ClockChanges, Forecast, ForecastHour, HourWork, Upcoming,
    UpcomingSchedule,
};
pub(crate) use full::Full;
pub(crate) use health::{Budget, BudgetFigure, Finding, HealthEvent, HealthReport, ScheduleLink};
pub(crate) use history::{RecentFire, ScheduleHistories, ScheduleHistory, Tally};
pub(crate) use impact::ScheduleImpact;
pub(crate) use ledger::{LedgerGroup, LedgerRow, LedgerTotals};
pub(crate) use maintenance::{MaintenancePreview, MaintenanceWindow, PlannedPause, WindowLink};
pub(crate) use many::{ManyOutcome, Match};
pub(crate) use metrics::{
    FireTrace, Metrics, NamespaceComparison, NamespaceFigures, Percentiles, RunStats,
    ScheduleFigures, SettledFigures, StatPoint,
};
pub(crate) use namespace::{
    DeletedNamespace, Figure, Namespace, NamespaceImpact, NamespaceTargets, Quota, Retention,
    RetentionPreview,
};
pub(crate) use outage::{
    Outage, OutageFire, OutageFires, OutagePolicy, OutageSchedule, PolicyFires,
};
pub(crate) use overview::{
    Check, Health, LiveRun, Minutes, NextSchedule, Node, Overview, OverviewAnswer, Seen,
};
pub(crate) use page::{Changed, Page, PageArguments, Place, Row};
pub(crate) use people::{
    ApiToken, CalendarFeed, Membership, Profile, RoleGrant, Secret, SecretUse, SecretUser, Session,
    User,
};
pub(crate) use ping::{Ping, PingCall, Watched};
pub(crate) use problem::WorkProblem;
pub(crate) use run::{
    Attempt, Ending, Holder, Line, LogEvent, Named, Origin, RunDetail, RunEvent, RunRow, RunTask,
    Wait,
};
pub(crate) use schedule::{
    CalendarLink, DeletedSchedule, FoundPausedSchedule, FoundSchedule, Misfire, Pause, PauseEffect,
    PausedFire, PausedFires, Policy, ResumeChoice, ResumeEffect, ScheduleDetail, ScheduleEvent,
    ScheduleGroups, ScheduleRow, SearchPauseEffect, TagNames, Version,
};
pub(crate) use slots::SlotAccount;
pub(crate) use states::{
    AlertChannelKind, AlertEvent, AlertKind, BackfillFireState, BackfillMode, BackfillOrder,
    BackfillStanding, BackfillState, Backoff, BrokerState, CalendarMode, CatchUp, ChangeAction,
    Density, DriftSide, FeedKind, FireKind, GapPolicy, HealthSeverity, HttpAnswer, LogStream,
    MaintenanceState, NodeState, NotificationState, OverlapHourPolicy, OverlapPolicy, PingEvent,
    ProblemKind, ReasonCode, Role, RunSortField, RunState, RunTaskState, RunTrigger,
    ScheduleGrouping, ScheduleSortField, ScheduleState, SecretUserKind, TaskCondition,
    TaskRunState, Theme, TimelineSort, Verdict, ViewerKind, Weekday,
};
pub(crate) use tallies::Tallies;
pub(crate) use task::{Command, Http, Pair, Publish, Retry, Target, Task};
pub(crate) use test_call::TestCall;
pub(crate) use timeline::{Lane, LaneFold, LaneMark, LanePlan, LaneRun, RunsAtOnce};
pub(crate) use timing::{
    Candidate, CandidateStart, DefinitionEffect, FireDay, Preview, PreviewFire, Problem,
    QuieterShift, Warning,
};
pub(crate) use usual::RunForecast;
pub(crate) use viewer::{Appearance, SavedView, Viewer};
pub(crate) use workers::{Pulling, WorkerProgram, WorkerQueue};
