//! Schedules, their timing, policies and tasks.

use crate::{
    api::{
        failure::field_name,
        operations::{preview, schedule, schedule_events, schedules},
    },
    model::{
        Misfire, Pause, Policy, Preview, PreviewFire, Problem, Retry, ScheduleDetail, ScheduleRow,
        Tally, Target, Task, Version, Warning,
    },
};

macro_rules! schedule_rows {
    ($($operation:ident),+) => {$(
        impl From<$operation::ScheduleRow> for ScheduleRow {
            fn from(row: $operation::ScheduleRow) -> Self {
                Self {
                    id: row.id,
                    name: row.name,
                    note: row.note,
                    tags: row.tags,
                    version: row.version,
                    state: row.state,
                    pause: row.pause.map(|pause| Pause {
                        reason: pause.reason,
                        by: pause.by,
                        at: pause.at,
                        until: pause.until,
                    }),
                    expressions: row.timing.expressions,
                    zone: row.timing.zone,
                    description: row.timing.description,
                    warnings: row.timing.warnings.into_iter().map(|warning| Warning {
                        code: warning.code,
                        message: warning.message,
                        field: warning.field,
                        suggestion: warning.suggestion,
                    }).collect(),
                    workflow: row.workflow.name,
                    next_fire_at: row.next_fire_at,
                    last_fire_at: row.last_fire_at,
                    live_runs: row.live_runs,
                    tally: Tally {
                        succeeded: row.tally.succeeded,
                        failed: row.tally.failed,
                        running: row.tally.running,
                        skipped: row.tally.skipped,
                        missed: row.tally.missed,
                    },
                    last_run: row.last_run.map(|run| (run.id, run.state)),
                }
            }
        }
    )+};
}

schedule_rows!(schedule, schedules, schedule_events);

impl From<schedule::ScheduleSchedule> for ScheduleDetail {
    fn from(schedule: schedule::ScheduleSchedule) -> Self {
        Self {
            row: schedule.schedule_row.into(),
            policy: Policy {
                gap: schedule.policy.gap,
                overlap: schedule.policy.overlap,
                start_at: schedule.policy.start_at,
                end_at: schedule.policy.end_at,
                jitter_seconds: schedule.policy.jitter_seconds,
            },
            tasks: schedule.work.tasks.into_iter().map(Into::into).collect(),
            misfire: Misfire {
                catch_up: schedule.misfire.catch_up,
                grace_seconds: schedule.misfire.grace_seconds,
                max: schedule.misfire.max,
                spacing_seconds: schedule.misfire.spacing_seconds,
                window_seconds: schedule.misfire.window_seconds,
            },
            overlap: schedule.on_overlap,
            start_deadline_seconds: schedule.start_deadline_seconds,
            context: schedule.context,
            module: schedule.module,
            created_at: schedule.created_at,
            updated_at: schedule.updated_at,
            next_fires: schedule
                .next_fires
                .into_iter()
                .map(|fire| PreviewFire {
                    at: fire.at,
                    local: fire.local,
                    offset: fire.offset,
                    kind: fire.kind,
                })
                .collect(),
            versions: schedule
                .versions
                .nodes
                .into_iter()
                .map(|version| Version {
                    version: version.version,
                    by: version.by,
                    at: version.at,
                    change: version.change,
                })
                .collect(),
        }
    }
}

impl From<schedule::ScheduleScheduleWorkTasks> for Task {
    fn from(task: schedule::ScheduleScheduleWorkTasks) -> Self {
        Self {
            name: task.name,
            target: task.target.into(),
            timeout_seconds: task.timeout_seconds,
            kill_grace_seconds: task.kill_grace_seconds,
            retry: Retry {
                max_attempts: task.retry.max_attempts,
                backoff: task.retry.backoff,
                initial_seconds: task.retry.initial_seconds,
                max_seconds: task.retry.max_seconds,
                jitter: task.retry.jitter,
            },
        }
    }
}

impl From<schedule::ScheduleScheduleWorkTasksTarget> for Target {
    fn from(target: schedule::ScheduleScheduleWorkTasksTarget) -> Self {
        use schedule::ScheduleScheduleWorkTasksTarget as Wire;
        match target {
            Wire::HttpTarget(http) => Self::Http {
                method: http.method,
                url: http.url,
                headers: http.headers.into_iter().map(|h| (h.name, h.value)).collect(),
                body: http.body,
                expected_status: http.expected_status,
                signed: http.signed,
            },
            Wire::CommandTarget(command) => Self::Command {
                program: command.program,
                args: command.args,
                script: command.script,
                directory: command.directory,
                user: command.user,
            },
            Wire::NoopTarget(noop) => Self::Noop { note: noop.note },
        }
    }
}

impl From<preview::PreviewSchedulePreview> for Preview {
    fn from(preview: preview::PreviewSchedulePreview) -> Self {
        Self {
            description: preview.description,
            fires_per_year: preview.fires_per_year,
            fires: preview
                .fires
                .into_iter()
                .map(|fire| PreviewFire {
                    at: fire.at,
                    local: fire.local,
                    offset: fire.offset,
                    kind: fire.kind,
                })
                .collect(),
            warnings: preview
                .warnings
                .into_iter()
                .map(|warning| Warning {
                    code: warning.code,
                    message: warning.message,
                    field: warning.field,
                    suggestion: warning.suggestion,
                })
                .collect(),
            problem: preview.problem.map(|problem| Problem {
                field: field_name(&problem.field).to_owned(),
                value: problem.value,
                problem: problem.problem,
                help: problem.help,
                position: problem.start.and_then(|start| {
                    let start = usize::try_from(start).ok()?;
                    let end = problem.end.and_then(|end| usize::try_from(end).ok());
                    Some((start, end.unwrap_or(start + 1)))
                }),
            }),
        }
    }
}
