//! The operations of the pages under Plan and Build.

use graphql_client::GraphQLQuery;

use super::{DateTime, JSON, Long, Operation, UUID};
use crate::model::{
    Backfill, BackfillDetail, BackfillFireState, BackfillMode, BackfillOrder, BackfillPreview,
    BackfillStanding, BackfillState, Backoff, Calendar, CalendarMode, CalendarUser, CatchUp,
    ChangeAction, Drift, DriftSide, Exported, FireKind, Forecast as ForecastAnswer, Group,
    GroupRun, HttpAnswer, MaintenancePreview, MaintenanceState, MaintenanceWindow, Module, Page,
    Plan, ReasonCode, RunState, ScheduleName, TimelineSort, Took, Verdict, Weekday, Workflow,
    WorkflowRow,
};

operations! {
    CalendarList = "graphql/calendar_list.graphql", "/calendars" => Page<Calendar>;
    CalendarOne = "graphql/calendar_one.graphql", "/calendar" => Calendar;
    CalendarUsers = "graphql/calendar_users.graphql", "/schedules/nodes" => Vec<CalendarUser>;
    CreateCalendar = "graphql/create_calendar.graphql", "/createCalendar/calendar/id" => String;
    UpdateCalendar = "graphql/update_calendar.graphql", "/updateCalendar/calendar/id" => String;
    DeleteCalendar = "graphql/delete_calendar.graphql", "/deleteCalendar/id" => String;
    Backfills = "graphql/backfills.graphql", "/backfills" => Page<Backfill>;
    BackfillOne = "graphql/backfill.graphql", "/backfill" => BackfillDetail;
    PreviewBackfill = "graphql/preview_backfill.graphql", "/previewBackfill" => BackfillPreview;
    CreateBackfill = "graphql/create_backfill.graphql", "/createBackfill/backfill/id" => String;
    PauseBackfill = "graphql/pause_backfill.graphql", "/pauseBackfill/backfill/id" => String;
    ResumeBackfill = "graphql/resume_backfill.graphql", "/resumeBackfill/backfill/id" => String;
    CancelBackfill = "graphql/cancel_backfill.graphql", "/cancelBackfill/backfill/id" => String;
    MaintenanceWindows = "graphql/maintenance_windows.graphql", "/maintenanceWindows" => Page<MaintenanceWindow>;
    MaintenanceOne = "graphql/maintenance_one.graphql", "/maintenanceWindow" => MaintenanceWindow;
    PreviewMaintenance = "graphql/preview_maintenance.graphql", "/maintenancePreview" => MaintenancePreview;
    PlanMaintenance = "graphql/plan_maintenance.graphql", "/planMaintenance/window/id" => String;
    ChangeMaintenance = "graphql/change_maintenance.graphql", "/changeMaintenance/window/id" => String;
    CancelMaintenance = "graphql/cancel_maintenance.graphql", "/cancelMaintenance/window/id" => String;
    ScheduleNames = "graphql/schedule_names.graphql", "/schedules" => Page<ScheduleName>;
    Pace = "graphql/pace.graphql", "/runs/nodes" => Vec<Took>;
    GroupList = "graphql/group_list.graphql", "/concurrencyGroups" => Vec<Group>;
    GroupRuns = "graphql/group_runs.graphql", "/runs/nodes" => Vec<GroupRun>;
    CreateGroup = "graphql/create_group.graphql", "/createConcurrencyGroup/group/id" => String;
    UpdateGroup = "graphql/update_group.graphql", "/updateConcurrencyGroup/group/id" => String;
    DeleteGroup = "graphql/delete_group.graphql", "/deleteConcurrencyGroup/id" => String;
    WorkflowList = "graphql/workflow_list.graphql", "/workflows" => Page<WorkflowRow>;
    WorkflowOne = "graphql/workflow.graphql", "/workflow" => Workflow;
    WorkflowVersions = "graphql/workflow_versions.graphql", "/workflow/versions/nodes" => Vec<crate::model::WorkflowVersion>;
    WorkflowDefinition = "graphql/workflow_definition.graphql", "/workflow" => crate::model::WorkflowDefinition;
    CreateWorkflow = "graphql/create_workflow.graphql", "/createWorkflow" => crate::model::SavedWorkflow;
    UpdateWorkflow = "graphql/update_workflow.graphql", "/updateWorkflow" => crate::model::SavedWorkflow;
    DeleteWorkflow = "graphql/delete_workflow.graphql", "/deleteWorkflow/id" => String;
    ReadWorkflow = "graphql/read_workflow.graphql", "/readWorkflow" => crate::model::WorkflowReading;
    Modules = "graphql/modules.graphql", "/modules" => Page<Module>;
    ModuleDrift = "graphql/module_drift.graphql", "/moduleDrift" => Drift;
    AdoptModuleDrift = "graphql/adopt_module_drift.graphql", "/adoptModuleDrift" => crate::model::AdoptedDrift;
    RevertModuleDrift = "graphql/revert_module_drift.graphql", "/revertModuleDrift/module" => String;
    ExportModules = "graphql/export_modules.graphql", "/exportModules" => Vec<Exported>;
    PlanModule = "graphql/plan_module.graphql", "/deployModule" => Plan;
    DeployModule = "graphql/deploy_module.graphql", "/deployModule/module" => String;
    Forecast = "graphql/upcoming.graphql", "/upcoming" => ForecastAnswer;
    WorkAhead = "graphql/work_ahead.graphql", "/upcoming/hours" => Vec<crate::model::HourWork>;
    Lanes = "graphql/lanes.graphql", "/timeline" => Page<crate::model::Lane>;
    RunsAtOnce = "graphql/runs_at_once.graphql", "/timelineLoad" => crate::model::RunsAtOnce;
    ClockChanges = "graphql/clock_changes.graphql", "/clockChanges" => crate::model::ClockChanges;
    OutagePreview = "graphql/outage_preview.graphql", "/outagePreview" => crate::model::Outage;
    OutageFires = "graphql/outage_fires.graphql", "/outagePreview/schedules" => Vec<crate::model::OutageFires>;
}
