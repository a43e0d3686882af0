//! A one-off call of a target, without a schedule.

use async_graphql::{Context, InputObject, Object, SimpleObject};
use serde_json::Value;
use uuid::Uuid;

use crate::{
    api::{
        call::call,
        context::ContextExt,
        error::Result,
        scalar::Long,
        task_input::{TargetInput, TaskInput},
    },
    commands::{self, TestCalled},
    target::AttemptOutcome,
};

/// A one-off call of a target.
#[derive(Default)]
pub(crate) struct OrderingTests;

/// A one-off call of a target.
#[Object]
impl OrderingTests {
    /// Executes a target once, now, without a schedule or a run, on the node that answers. It has
    /// the same effects as an attempt. Only its audit log entry is kept, so repeating a call with
    /// the same idempotency key fails with CONFLICT. For editors.
    async fn test_call(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The target to call.")] input: TestCallInput,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<TestCallPayload> {
        let right = cx.editor()?;
        let call = call("testCall", &input, idempotency_key)?;
        let TestCallInput { namespace, target, context, timeout_seconds, schedule_id } = input;
        let task = TaskInput::of_target(target, timeout_seconds).try_into()?;
        let order = commands::TestCall { namespace, task, context, schedule_id };
        Ok(cx.commands().test_call(&right, order, &call).await?.into())
    }
}

/// A target to try.
#[derive(InputObject)]
pub(crate) struct TestCallInput {
    /// The namespace whose secrets the call may use.
    #[graphql(default = "default")]
    namespace: String,
    /// What to call.
    target: TargetInput,
    /// The value of `context` in templates.
    context: Option<Value>,
    /// More than 0 and at most 20.
    #[graphql(default_with = "10.0")]
    timeout_seconds: f64,
    /// The schedule being edited, if any: the mask `***` keeps a value of its task.
    schedule_id: Option<Uuid>,
}

/// The result of calling a target.
#[derive(SimpleObject)]
pub(crate) struct TestCallPayload {
    /// Whether the target succeeded.
    succeeded: bool,
    /// Why the call failed, with secrets masked.
    error: Option<String>,
    /// The exit code of a program.
    exit_code: Option<i32>,
    /// The HTTP status of the response.
    http_status: Option<i32>,
    /// How long the call took.
    duration_ms: Long,
    /// The target's output, with secrets masked.
    output: Option<Value>,
    /// The log lines that the target wrote, with secrets masked; at most the first 200.
    log: Vec<String>,
}

impl From<TestCalled> for TestCallPayload {
    fn from(called: TestCalled) -> Self {
        let (error, output) = match called.outcome {
            AttemptOutcome::Succeeded { output } => (None, output),
            AttemptOutcome::Failed { message, output }
            | AttemptOutcome::TimedOut { message, output } => (Some(message), output),
            AttemptOutcome::Cancelled { output } => (Some("it was stopped".to_owned()), output),
        };
        let number = |of: &str| i32::try_from(output.get(of)?.as_i64()?).ok();
        Self {
            succeeded: error.is_none(),
            error,
            exit_code: number("exit_code"),
            http_status: number("status"),
            duration_ms: i64::try_from(called.took.as_millis()).unwrap_or(i64::MAX).into(),
            output: (!output.is_null()).then_some(output),
            log: called.lines.into_iter().map(|line| line.text).collect(),
        }
    }
}
