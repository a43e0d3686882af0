//! Runs, attempts, log lines, ledger rows.

use crate::{
    api::operations::{fires, log_lines, overview, run, run_events, runs},
    model::{Attempt, Fire, FireRun, Line, Origin, RunDetail, RunRow, ScheduleRef},
};

macro_rules! run_rows {
    ($($operation:ident),+) => {$(
        impl From<$operation::RunRow> for RunRow {
            fn from(row: $operation::RunRow) -> Self {
                Self {
                    id: row.id,
                    state: row.state,
                    trigger: row.trigger,
                    scheduled_at: row.scheduled_at,
                    created_at: row.created_at,
                    started_at: row.started_at,
                    finished_at: row.finished_at,
                    lateness_ms: row.lateness_ms,
                    duration_ms: row.duration_ms,
                    attempt: row.attempt,
                    max_attempts: row.max_attempts,
                    node: row.node,
                    error: row.error,
                    is_recovery: row.is_recovery,
                    workflow: row.workflow.name,
                    schedule: row.schedule.map(|schedule| ScheduleRef {
                        id: schedule.id,
                        name: schedule.name,
                        zone: schedule.timing.zone,
                    }),
                }
            }
        }
    )+};
}

run_rows!(overview, runs, run, run_events);

impl From<run::RunRun> for RunDetail {
    fn from(run: run::RunRun) -> Self {
        Self {
            row: run.run_row.into(),
            workflow_version: run.workflow_version,
            available_at: run.available_at,
            context: run.context,
            idempotency_key: run.idempotency_key,
            retry_of: run.retry_of,
            cancel: run.cancel.map(|cancel| (cancel.by, cancel.reason, cancel.at)),
            origin: run.fire.map(|fire| Origin {
                verdict: fire.verdict,
                kind: fire.kind,
                local: fire.local,
                offset: fire.offset,
                recovery_attempts: fire.recovery_attempts,
                reason: fire.reason.text,
            }),
            attempts: run.task_runs.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<run::RunRunTaskRuns> for Attempt {
    fn from(attempt: run::RunRunTaskRuns) -> Self {
        Self {
            id: attempt.id,
            task: attempt.task,
            attempt: attempt.attempt,
            state: attempt.state,
            started_at: attempt.started_at,
            finished_at: attempt.finished_at,
            duration_ms: attempt.duration_ms,
            node: attempt.node,
            error: attempt.error,
            output: attempt.output,
        }
    }
}

impl From<log_lines::LogLinesTaskLog> for Line {
    fn from(event: log_lines::LogLinesTaskLog) -> Self {
        Self {
            cursor: event.cursor,
            task: event.line.task,
            attempt: event.line.attempt,
            at: event.line.at,
            stream: event.line.stream,
            text: event.line.text,
        }
    }
}

impl From<fires::FiresFiresNodes> for Fire {
    fn from(fire: fires::FiresFiresNodes) -> Self {
        Self {
            id: fire.id,
            schedule_version: fire.schedule_version,
            scheduled_at: fire.scheduled_at,
            local: fire.local,
            offset: fire.offset,
            kind: fire.kind,
            verdict: fire.verdict,
            code: fire.reason.code,
            reason: fire.reason.text,
            count: fire.count,
            last_scheduled_at: fire.last_scheduled_at,
            recovery_attempts: fire.recovery_attempts,
            run: fire.run.map(|run| FireRun {
                id: run.id,
                state: run.state,
                duration_ms: run.duration_ms,
                lateness_ms: run.lateness_ms,
                attempt: run.attempt,
                max_attempts: run.max_attempts,
                error: run.error,
            }),
        }
    }
}
