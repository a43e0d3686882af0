//! Converts the plan to inputs of the API. `graphql_client` generates the input types again for each operation, under
//! the same names, so a macro writes the conversions for each operation.

use super::{
    ping::PingPlan,
    plan::{Plan, TimingPlan, Work},
};
use crate::{
    api::{
        candidate_input, create_schedule, effect_input, preview_input, test_call_input,
        update_schedule,
    },
    model::{Misfire, Pair},
    pages::task_form::{Action, TaskPlan},
};

macro_rules! timing_inputs {
    ($($operation:ident),+) => {$(
        impl From<TimingPlan> for $operation::TimingInput {
            fn from(timing: TimingPlan) -> Self {
                Self {
                    expressions: timing.expressions,
                    zone: timing.zone,
                    gap: timing.policy.gap,
                    overlap: timing.policy.overlap,
                    start_at: timing.policy.start_at,
                    end_at: timing.policy.end_at,
                    jitter_seconds: timing.policy.jitter_seconds,
                }
            }
        }
    )+};
}

macro_rules! target_inputs {
    ($($operation:ident),+) => {$(
        impl From<Action> for $operation::TargetInput {
            fn from(action: Action) -> Self {
                use $operation::{
                    CommandTargetInput, HeaderInput, HttpTargetInput, NoopTargetInput,
                    WorkerTargetInput,
                };
                let headers = |pairs: Vec<Pair>| {
                    let pairs = pairs.into_iter();
                    Some(pairs.map(|Pair { name, value }| HeaderInput { name, value }).collect())
                };
                match action {
                    Action::Http(http) => Self::Http(HttpTargetInput {
                        method: http.method,
                        url: http.url,
                        headers: headers(http.headers),
                        body: http.body,
                        json: http.json,
                        expected_status: http.expected_status,
                        // The form has no fields for these values; if they are absent, they keep their current
                        // values.
                        expected_body: http.expected_body,
                        max_redirects: http.max_redirects,
                        output: http.output,
                        signing_secret: http.signing_secret,
                        client_certificate: http.client_certificate,
                    }),
                    Action::Command(command) => Self::Command(CommandTargetInput {
                        program: command.program,
                        args: command.args,
                        script: command.script,
                        environment: headers(command.environment),
                        directory: command.directory,
                        user: command.user,
                    }),
                    Action::Worker(worker) => Self::Worker(WorkerTargetInput {
                        queue: worker.queue,
                        task: worker.task,
                        input: worker.input,
                        tags: Some(worker.tags),
                    }),
                    Action::Noop(noop) => Self::Noop(NoopTargetInput { note: noop.note }),
                    Action::Publish(publish) => Self::Publish((*publish).into()),
                }
            }
        }
    )+};
}

macro_rules! work_inputs {
    ($($operation:ident),+) => {$(
        impl From<Work> for (Option<String>, Option<$operation::TaskInput>) {
            fn from(work: Work) -> Self {
                match work {
                    Work::Workflow(name) => (Some(name), None),
                    Work::Task(plan) => {
                        let TaskPlan { name, action, timeout, kill_grace, retry, retry_on } = *plan;
                        let task = $operation::TaskInput {
                            name,
                            target: action.into(),
                            timeout_seconds: timeout,
                            kill_grace_seconds: kill_grace,
                            retry: Some($operation::RetryInput {
                                max_attempts: retry.max_attempts,
                                backoff: retry.backoff,
                                initial_seconds: retry.initial_seconds,
                                max_seconds: retry.max_seconds,
                                jitter: retry.jitter,
                            }),
                            retry_on: Some(retry_on),
                            // A schedule's inline task is its only task, so it needs no other.
                            needs: None,
                            when: $operation::TaskCondition::SUCCESS,
                            allow_failure: false,
                        };
                        (None, Some(task))
                    }
                }
            }
        }

        impl From<PingPlan> for $operation::PingInput {
            fn from(ping: PingPlan) -> Self {
                Self { success: ping.success, start: ping.start, failure: ping.failure }
            }
        }

        impl From<Misfire> for $operation::MisfireInput {
            fn from(misfire: Misfire) -> Self {
                Self {
                    catch_up: misfire.catch_up,
                    grace_seconds: misfire.grace_seconds,
                    max: misfire.max,
                    spacing_seconds: misfire.spacing_seconds,
                    window_seconds: misfire.window_seconds,
                }
            }
        }
    )+};
}

timing_inputs!(preview_input, candidate_input, effect_input, create_schedule, update_schedule);
target_inputs!(create_schedule, update_schedule, test_call_input);
work_inputs!(create_schedule, update_schedule);

/// The input for a new schedule.
pub(super) fn create(plan: Plan, namespace: String) -> create_schedule::CreateScheduleInput {
    let (workflow, task) = plan.work.into();
    create_schedule::CreateScheduleInput {
        namespace,
        name: plan.name,
        note: plan.note,
        tags: Some(plan.tags),
        timing: plan.timing.into(),
        calendars: plan.calendars,
        max_fires: plan.max_fires,
        workflow,
        task,
        misfire: Some(plan.misfire.into()),
        overlap: plan.overlap,
        buffer_limit: plan.buffer_limit,
        group: plan.group,
        priority: plan.priority,
        start_deadline_seconds: plan.start_deadline_seconds,
        retention_days: plan.retention_days,
        context: Some(plan.context),
        ping: plan.ping.map(Into::into),
        paused: false,
    }
}

/// The input for an update of the version that was read. An unchanged target is not sent, because the browser never
/// had its secrets.
pub(super) fn update(
    plan: Plan,
    id: String,
    version: i64,
    keeps_target: bool,
) -> update_schedule::UpdateScheduleInput {
    let (workflow, task) = if keeps_target { (None, None) } else { plan.work.into() };
    update_schedule::UpdateScheduleInput {
        id,
        expected_version: version,
        name: Some(plan.name),
        note: Some(plan.note),
        tags: Some(plan.tags),
        timing: Some(plan.timing.into()),
        calendars: Some(plan.calendars),
        max_fires: plan.max_fires,
        workflow,
        task,
        misfire: Some(plan.misfire.into()),
        overlap: Some(plan.overlap),
        buffer_limit: plan.buffer_limit,
        group: plan.group,
        priority: Some(plan.priority),
        start_deadline_seconds: plan.start_deadline_seconds,
        retention_days: plan.retention_days,
        context: Some(plan.context),
        ping: plan.ping.map(Into::into),
        reason: None,
    }
}
