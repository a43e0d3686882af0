//! The operations of `graphql/`: one type and one module each, made from the schema.

use graphql_client::GraphQLQuery;

use crate::model::{
    Backoff, CatchUp, FireKind, GapPolicy, LogStream, NodeState, OverlapHourPolicy, OverlapPolicy,
    ReasonCode, Role, RunState, RunTrigger, ScheduleState, TaskRunState, Verdict,
};

/// An instant in RFC 3339.
type DateTime = crate::time::Moment;
/// Opaque to the console.
#[expect(clippy::upper_case_acronyms, reason = "the schema's name for it")]
type UUID = String;
#[expect(clippy::upper_case_acronyms, reason = "the schema's name for it")]
type JSON = serde_json::Value;

macro_rules! operations {
    ($($name:ident = $file:tt;)+) => {$(
        #[derive(GraphQLQuery)]
        #[graphql(
            schema_path = "../server/schema.graphql",
            query_path = $file,
            response_derives = "Clone, Debug",
            variables_derives = "Clone, Debug",
            extern_enums(
                "Backoff", "CatchUp", "FireKind", "GapPolicy", "LogStream", "NodeState",
                "OverlapHourPolicy", "OverlapPolicy", "ReasonCode", "Role", "RunState",
                "RunTrigger", "ScheduleState", "TaskRunState", "Verdict"
            )
        )]
        pub(crate) struct $name;
    )+};
}

operations! {
    Me = "graphql/me.graphql";
    Overview = "graphql/overview.graphql";
    Schedules = "graphql/schedules.graphql";
    Schedule = "graphql/schedule.graphql";
    Fires = "graphql/fires.graphql";
    Runs = "graphql/runs.graphql";
    Run = "graphql/run.graphql";
    Preview = "graphql/preview.graphql";
    Timezones = "graphql/timezones.graphql";
    Workflows = "graphql/workflows.graphql";
    CreateSchedule = "graphql/create_schedule.graphql";
    UpdateSchedule = "graphql/update_schedule.graphql";
    PauseSchedule = "graphql/pause_schedule.graphql";
    ResumeSchedule = "graphql/resume_schedule.graphql";
    DeleteSchedule = "graphql/delete_schedule.graphql";
    TriggerSchedule = "graphql/trigger_schedule.graphql";
    CancelRun = "graphql/cancel_run.graphql";
    RetryRun = "graphql/retry_run.graphql";
    RunEvents = "graphql/run_events.graphql";
    ScheduleEvents = "graphql/schedule_events.graphql";
    LogLines = "graphql/log_lines.graphql";
}
