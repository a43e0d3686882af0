//! Cancelling and repeating runs.

use async_graphql::{Context, Object};
use serde_json::json;
use uuid::Uuid;

use crate::{
    api::{context::ContextExt, error::Result, payload::RunPayload},
    commands::Call,
};

/// Mutations of runs.
#[derive(Default)]
pub(crate) struct OrderingRuns;

/// Mutations of runs.
#[Object]
impl OrderingRuns {
    /// Cancels a run: at once if it is waiting, or through its node if it is running.
    async fn cancel_run(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The run's id.")] id: Uuid,
        #[graphql(desc = "Reason for the audit log: 0 to 500 characters.")] reason: Option<String>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<RunPayload> {
        let right = cx.operator()?;
        let call = Call::new("cancelRun", &json!([id, reason]).to_string(), idempotency_key)?;
        let ordered = cx.commands().cancel(&right, id, reason.as_deref(), &call).await?;
        RunPayload::of(cx, ordered).await
    }

    /// Retries a settled run for the same instant. The receiver gets the same idempotency key.
    async fn retry_run(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The run's id.")] id: Uuid,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<RunPayload> {
        let right = cx.operator()?;
        let call = Call::new("retryRun", &json!([id]).to_string(), idempotency_key)?;
        let ordered = cx.commands().retry(&right, id, &call).await?;
        RunPayload::of(cx, ordered).await
    }

    /// Reruns a settled run from where it failed, with the workflow definition that it began with.
    /// Tasks keep their results if they succeeded and do not depend on a task that is rerun.
    async fn rerun_from_failed(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The run's id.")] run_id: Uuid,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<RunPayload> {
        let right = cx.operator()?;
        let call = Call::new("rerunFromFailed", &json!([run_id]).to_string(), idempotency_key)?;
        let ordered = cx.commands().rerun_from_failed(&right, run_id, &call).await?;
        RunPayload::of(cx, ordered).await
    }
}
