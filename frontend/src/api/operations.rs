//! The operations of `graphql/`, generated from the schema. Each has the type of its answer in the model, and the
//! answer's position in the response's data.

use graphql_client::GraphQLQuery;

use crate::model::{
    AuditEvent, AuditRow, Backoff, CatchUp, Changed, ClusterEvent, Fire, FireKind, Fleet,
    GapPolicy, HealthEvent, HealthReport, HealthSeverity, HttpAnswer, LedgerRow, LiveRun, LogEvent,
    LogStream, ManyOutcome, Named, NextSchedule, NodeState, OverlapHourPolicy, OverlapPolicy,
    OverviewAnswer, Page, PauseEffect, PingEvent, Preview as PreviewAnswer, PreviewFire,
    ProblemKind, ReasonCode, ResumeEffect, Role, RunDetail, RunEvent, RunRow, RunSortField,
    RunState, RunTaskState, RunTrigger, SavedView, ScheduleDetail, ScheduleEvent, ScheduleGrouping,
    ScheduleRow, ScheduleSortField, ScheduleState, TaskRunState, Verdict, Viewer, WorkProblem,
};

/// An instant in RFC 3339.
type DateTime = crate::time::Moment;
/// A key, which is an opaque text for the console.
#[expect(clippy::upper_case_acronyms, reason = "the schema's name for it")]
type UUID = String;
#[expect(clippy::upper_case_acronyms, reason = "the schema's name for it")]
type JSON = serde_json::Value;
/// A whole number within the range that JSON carries exactly.
type Long = i64;

/// An operation, with the type and the place of its answer.
pub(in crate::api) trait Operation: GraphQLQuery {
    type Answer;
    /// The position of the answer in the response's data, as a JSON pointer.
    const AT: &'static str;
}

macro_rules! operations {
    ($($name:ident = $file:tt, $at:literal => $answer:ty;)+) => {
        $(
            #[derive(GraphQLQuery)]
            #[graphql(
                schema_path = "../server/schema.graphql",
                query_path = $file,
                variables_derives = "Clone, Debug",
                extern_enums(
                    "AlertChannelKind", "AlertEvent", "AlertKind", "BackfillFireState", "BackfillMode",
                    "BackfillOrder", "BackfillStanding", "BackfillState", "Backoff", "BrokerState", "CalendarMode",
                    "CatchUp", "ChangeAction", "Density", "DriftSide", "FeedKind", "FireKind", "GapPolicy",
                    "HealthSeverity",
                    "HttpAnswer", "LogStream", "MaintenanceState", "NodeState", "NotificationState", "OverlapHourPolicy",
                    "OverlapPolicy", "PingEvent", "ProblemKind", "ReasonCode", "Role", "RunState",
                    "RunTaskState", "RunSortField", "RunTrigger", "ScheduleGrouping", "ScheduleSortField",
                    "ScheduleState", "SecretUserKind",
                    "TaskRunState", "Theme", "TimelineSort", "Verdict", "ViewerKind", "Weekday"
                )
            )]
            pub(crate) struct $name;

            impl Operation for $name {
                type Answer = $answer;
                const AT: &'static str = $at;
            }
        )+

        /// Each operation's file and text, the position of its answer, and a function that tries to deserialize the
        /// answer.
        #[cfg(test)]
        pub(in crate::api) const ALL: &[(&str, &str, fn(serde_json::Value) -> Option<crate::model::Failure>)] = &[
            $(($file, $at, |answer| crate::api::ask::read::<$answer>(answer).err())),+
        ];
    };
}

pub(super) mod alerts;
pub(super) mod planning;
pub(super) mod settings;
pub(super) mod workers;

operations! {
    Me = "graphql/me.graphql", "/me" => Viewer;
    Namespaces = "graphql/namespaces.graphql", "/namespaces/nodes" => Vec<Named>;
    NamespaceTargets = "graphql/namespace_targets.graphql", "/namespaces/nodes" => Vec<crate::model::NamespaceTargets>;
    Overview = "graphql/overview.graphql", "" => OverviewAnswer;
    Tallies = "graphql/tallies.graphql", "" => crate::model::Tallies;
    Cluster = "graphql/cluster.graphql", "" => Fleet;
    Shards = "graphql/shards.graphql", "/shards" => Vec<crate::model::Shard>;
    DrainNode = "graphql/drain_node.graphql", "/drainNode/node/id" => String;
    UndrainNode = "graphql/undrain_node.graphql", "/undrainNode/node/id" => String;
    Schedules = "graphql/schedules.graphql", "/schedules" => Page<ScheduleRow>;
    FoundSchedules = "graphql/found_schedules.graphql", "/schedules/nodes" => Vec<crate::model::FoundSchedule>;
    ScheduleCount = "graphql/schedule_count.graphql", "/schedules/totalCount" => i64;
    ScheduleHistories = "graphql/schedule_histories.graphql", "/nodes" => crate::model::ScheduleHistories;
    ScheduleGroups = "graphql/schedule_groups.graphql", "/scheduleGroups" => crate::model::ScheduleGroups;
    Tags = "graphql/tags.graphql", "/scheduleGroups" => crate::model::TagNames;
    Schedule = "graphql/schedule.graphql", "/schedule" => ScheduleDetail;
    ScheduleVersions = "graphql/schedule_versions.graphql", "/schedule/versions/nodes" => Vec<crate::model::Version>;
    Fires = "graphql/fires.graphql", "/fires" => Page<Fire>;
    Runs = "graphql/runs.graphql", "/runs" => Page<RunRow>;
    Run = "graphql/run.graphql", "/run" => RunDetail;
    Preview = "graphql/preview.graphql", "/schedulePreview" => PreviewAnswer;
    Candidate = "graphql/candidate.graphql", "/upcomingByMinute/candidate" => crate::model::Candidate;
    DefinitionEffect = "graphql/definition_effect.graphql", "/definitionEffect" => crate::model::DefinitionEffect;
    TestCall = "graphql/test_call.graphql", "/testCall" => crate::model::TestCall;
    AuditEvents = "graphql/audit_events.graphql", "/auditEvents" => Page<AuditEvent>;
    RunStats = "graphql/run_stats.graphql", "/runStats" => crate::model::RunStats;
    NamespaceStats = "graphql/namespace_stats.graphql", "/namespaceStats" => crate::model::NamespaceComparison;
    Metrics = "graphql/metrics.graphql", "/metrics" => crate::model::Metrics;
    ScheduleFigures = "graphql/schedule_figures.graphql", "/schedules/nodes" => Vec<crate::model::ScheduleFigures>;
    Ledger = "graphql/ledger.graphql", "/ledger" => Page<LedgerRow>;
    LedgerFire = "graphql/ledger_fire.graphql", "/fire" => LedgerRow;
    LedgerTotals = "graphql/ledger_totals.graphql", "/ledgerTotals" => crate::model::LedgerTotals;
    Problems = "graphql/problems.graphql", "/problems" => Vec<WorkProblem>;
    Health = "graphql/health.graphql", "" => HealthReport;
    LiveRuns = "graphql/live_runs.graphql", "/runs/nodes" => Vec<LiveRun>;
    Minutes = "graphql/minutes.graphql", "/upcomingByMinute" => crate::model::Minutes;
    NextSchedules = "graphql/next_schedules.graphql", "/schedules/nodes" => Vec<NextSchedule>;
    Seen = "graphql/seen.graphql", "/me" => crate::model::Seen;
    MarkSeen = "graphql/mark_seen.graphql", "/updateMySettings/settings/seenUntil" => String;
    HealthEvents = "graphql/health_events.graphql", "/healthEvents" => HealthEvent;
    Timezones = "graphql/timezones.graphql", "/timezones" => Vec<String>;
    Workflows = "graphql/workflows.graphql", "/workflows" => Page<Named>;
    CreateSchedule = "graphql/create_schedule.graphql", "/createSchedule/schedule/id" => String;
    UpdateSchedule = "graphql/update_schedule.graphql", "/updateSchedule/schedule/id" => String;
    PauseSchedule = "graphql/pause_schedule.graphql", "/pauseSchedule/schedule/id" => String;
    ResumeSchedule = "graphql/resume_schedule.graphql", "/resumeSchedule/schedule/id" => String;
    ScheduleImpact = "graphql/schedule_impact.graphql", "" => crate::model::ScheduleImpact;
    DeleteSchedule = "graphql/delete_schedule.graphql", "/deleteSchedule/id" => String;
    TriggerSchedule = "graphql/trigger_schedule.graphql", "/triggerSchedule/run/id" => String;
    SetFavourite = "graphql/set_favourite.graphql", "/setFavourite/schedule/id" => String;
    Views = "graphql/views.graphql", "/me/settings/views" => Vec<SavedView>;
    SaveView = "graphql/save_view.graphql", "/saveView/view/id" => String;
    DeleteView = "graphql/delete_view.graphql", "/deleteView/id" => String;
    PausePreview = "graphql/pause_preview.graphql", "/pausePreview" => PauseEffect;
    PausePreviewOfSearch = "graphql/pause_preview_of_search.graphql", "/pausePreview" => crate::model::SearchPauseEffect;
    SkipNext = "graphql/skip_next.graphql", "/skipNext/schedule/id" => String;
    RenameSchedule = "graphql/rename_schedule.graphql", "/updateSchedule/schedule/id" => String;
    RollbackSchedule = "graphql/rollback_schedule.graphql", "/rollbackSchedule/schedule/id" => String;
    UndeleteSchedule = "graphql/undelete_schedule.graphql", "/undeleteSchedule/schedule/id" => String;
    DeletedSchedules = "graphql/deleted_schedules.graphql", "/deletedSchedules" => Page<crate::model::DeletedSchedule>;
    PauseSchedules = "graphql/pause_schedules.graphql", "/pauseSchedules" => ManyOutcome;
    ResumeSchedules = "graphql/resume_schedules.graphql", "/resumeSchedules" => ManyOutcome;
    SkipNextOfSchedules = "graphql/skip_next_of_schedules.graphql", "/skipNextOfSchedules" => ManyOutcome;
    TriggerSchedules = "graphql/trigger_schedules.graphql", "/triggerSchedules" => ManyOutcome;
    UpdateSchedules = "graphql/update_schedules.graphql", "/updateSchedules" => ManyOutcome;
    DeleteSchedules = "graphql/delete_schedules.graphql", "/deleteSchedules" => ManyOutcome;
    CancelRuns = "graphql/cancel_runs.graphql", "/cancelRuns" => ManyOutcome;
    RetryRuns = "graphql/retry_runs.graphql", "/retryRuns" => ManyOutcome;
    ResumePreview = "graphql/resume_preview.graphql", "/resumePreview" => ResumeEffect;
    ScheduleAudit = "graphql/schedule_audit.graphql", "/auditEvents" => Page<AuditRow>;
    Calendars = "graphql/calendars.graphql", "/calendars" => Page<Named>;
    Groups = "graphql/groups.graphql", "/concurrencyGroups" => Vec<Named>;
    PausedFires = "graphql/paused_fires.graphql", "/schedule/pausedFires" => crate::model::PausedFires;
    Buffer = "graphql/buffer.graphql", "/schedule" => crate::model::Buffer;
    PurgeBuffer = "graphql/purge_buffer.graphql", "/purgeBuffer/schedule/id" => String;
    ReorderBuffer = "graphql/reorder_buffer.graphql", "/reorderBuffer/schedule/id" => String;
    AnnotateSchedule = "graphql/annotate_schedule.graphql", "/annotateSchedule/schedule/id" => String;
    Slots = "graphql/slots.graphql", "/schedule/slots" => crate::model::SlotAccount;
    FiresAhead = "graphql/fires_ahead.graphql", "/schedule/nextFires" => Vec<PreviewFire>;
    FireDays = "graphql/fire_days.graphql", "/schedule/fireDays" => Vec<crate::model::FireDay>;
    CancelRun = "graphql/cancel_run.graphql", "/cancelRun/run/id" => String;
    RetryRun = "graphql/retry_run.graphql", "/retryRun/run/id" => String;
    RerunFromFailed = "graphql/rerun_from_failed.graphql", "/rerunFromFailed/run/id" => String;
    RunEvents = "graphql/run_events.graphql", "/runEvents" => RunEvent;
    ScheduleEvents = "graphql/schedule_events.graphql", "/scheduleEvents" => ScheduleEvent;
    ClusterEvents = "graphql/cluster_events.graphql", "/clusterEvents" => ClusterEvent;
    FireEvents = "graphql/fire_events.graphql", "/fireEvents" => Changed;
    AlertEvents = "graphql/alert_events.graphql", "/alertEvents" => Changed;
    BackfillEvents = "graphql/backfill_events.graphql", "/backfillEvents" => Changed;
    LogPage = "graphql/log_page.graphql", "/taskLog" => Page<crate::model::Line>;
    LogLines = "graphql/log_lines.graphql", "/taskLog" => LogEvent;
}
