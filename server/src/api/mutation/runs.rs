//! Runs: cancelled, and done again.

use async_graphql::{Context, Object};
use serde_json::json;
use uuid::Uuid;

use crate::{
    api::{context::Ask, error::Result, payload::RunPayload},
    commands::Call,
};

/// Orders about runs.
#[derive(Default)]
pub(crate) struct OrderingRuns;

/// Orders about runs.
#[Object]
impl OrderingRuns {
    /// Stops a run: one that waits at once, one that is at work through its node.
    async fn cancel_run(
        &self,
        cx: &Context<'_>,
        id: Uuid,
        reason: Option<String>,
        idempotency_key: Option<String>,
    ) -> Result<RunPayload> {
        let right = cx.operator()?;
        let call = Call::new("cancelRun", &json!([id, reason]).to_string(), idempotency_key)?;
        let ordered = cx.commands().cancel(&right, id, reason.as_deref(), &call).await?;
        RunPayload::of(cx, ordered).await
    }

    /// Does a settled run again, for the same instant and with the same idempotency key for the
    /// receiver.
    async fn retry_run(
        &self,
        cx: &Context<'_>,
        id: Uuid,
        idempotency_key: Option<String>,
    ) -> Result<RunPayload> {
        let right = cx.operator()?;
        let call = Call::new("retryRun", &json!([id]).to_string(), idempotency_key)?;
        let ordered = cx.commands().retry(&right, id, &call).await?;
        RunPayload::of(cx, ordered).await
    }

    /// Does a settled run again from where it failed: as its workflow was defined when it began,
    /// with the results of the tasks that succeeded and have nothing to be done again before them.
    async fn rerun_from_failed(
        &self,
        cx: &Context<'_>,
        run_id: Uuid,
        idempotency_key: Option<String>,
    ) -> Result<RunPayload> {
        let right = cx.operator()?;
        let call = Call::new("rerunFromFailed", &json!([run_id]).to_string(), idempotency_key)?;
        let ordered = cx.commands().rerun_from_failed(&right, run_id, &call).await?;
        RunPayload::of(cx, ordered).await
    }
}
