//! The past: backfills, and how long history is kept.

use async_graphql::{Context, Object};
use serde_json::json;
use uuid::Uuid;

use crate::{
    api::{
        backfill::{BackfillMode, BackfillOrder, BackfillPayload},
        context::Ask,
        error::Result,
        retention::NamespaceRetention,
        scalar::Instant,
    },
    commands::{Call, Manner, Wanted},
};

/// Orders about the past.
#[derive(Default)]
pub(crate) struct OrderingPast;

/// Orders about the past.
#[Object]
impl OrderingPast {
    /// Runs a schedule for instants of the past: what `previewBackfill` says, written down now and
    /// run one after the other, `concurrency` (1 to 100) at once. Paused schedules, too.
    #[expect(clippy::too_many_arguments, reason = "a backfill is ordered with so many")]
    async fn create_backfill(
        &self,
        cx: &Context<'_>,
        schedule_id: Uuid,
        from: Instant,
        to: Instant,
        #[graphql(default_with = "BackfillMode::Missing")] mode: BackfillMode,
        #[graphql(default_with = "BackfillOrder::OldestFirst")] order: BackfillOrder,
        #[graphql(default = 1)] concurrency: i32,
        reason: String,
        context: Option<serde_json::Value>,
        idempotency_key: Option<String>,
    ) -> Result<BackfillPayload> {
        let right = cx.operator()?;
        let wanted = Wanted { schedule_id, from: from.0, to: to.0, mode: mode.into() };
        let (order, concurrency) = (order.into(), concurrency.into());
        let manner = Manner { order, concurrency, reason, context };
        let arguments = json!([
            schedule_id,
            wanted.from,
            wanted.to,
            wanted.mode,
            manner.order,
            manner.concurrency,
            manner.reason,
            manner.context,
        ]);
        let call = Call::new("createBackfill", &arguments.to_string(), idempotency_key)?;
        let ordered = cx.commands().create_backfill(&right, wanted, &manner, &call).await?;
        BackfillPayload::of(cx, ordered).await
    }

    /// Starts no more of its runs until it is resumed; those that are alive go on.
    async fn pause_backfill(
        &self,
        cx: &Context<'_>,
        id: Uuid,
        idempotency_key: Option<String>,
    ) -> Result<BackfillPayload> {
        let right = cx.operator()?;
        let call = Call::new("pauseBackfill", &json!([id]).to_string(), idempotency_key)?;
        let ordered = cx.commands().pause_backfill(&right, id, &call).await?;
        BackfillPayload::of(cx, ordered).await
    }

    /// Lets it go on.
    async fn resume_backfill(
        &self,
        cx: &Context<'_>,
        id: Uuid,
        idempotency_key: Option<String>,
    ) -> Result<BackfillPayload> {
        let right = cx.operator()?;
        let call = Call::new("resumeBackfill", &json!([id]).to_string(), idempotency_key)?;
        let ordered = cx.commands().resume_backfill(&right, id, &call).await?;
        BackfillPayload::of(cx, ordered).await
    }

    /// Stops it for good: what waits for its turn never runs, runs that are alive are asked to
    /// stop.
    async fn cancel_backfill(
        &self,
        cx: &Context<'_>,
        id: Uuid,
        reason: Option<String>,
        idempotency_key: Option<String>,
    ) -> Result<BackfillPayload> {
        let right = cx.operator()?;
        let call = Call::new("cancelBackfill", &json!([id, reason]).to_string(), idempotency_key)?;
        let ordered = cx.commands().cancel_backfill(&right, id, reason.as_deref(), &call).await?;
        BackfillPayload::of(cx, ordered).await
    }

    /// Says for how many days a namespace keeps what has settled, 1 to 3650; null is as the server
    /// is configured. What is older goes with the next round: see `retentionPreview`.
    async fn set_namespace_retention(
        &self,
        cx: &Context<'_>,
        namespace: String,
        days: Option<i64>,
        reason: Option<String>,
        idempotency_key: Option<String>,
    ) -> Result<NamespaceRetention> {
        let right = cx.admin()?;
        let arguments = json!([namespace, days, reason]).to_string();
        let call = Call::new("setNamespaceRetention", &arguments, idempotency_key)?;
        let reason = reason.as_deref();
        let kept = cx.commands().set_retention(&right, &namespace, days, reason, &call).await?;
        Ok(kept.into())
    }
}
