//! Backfills, and how long history is kept.

use async_graphql::{Context, Object};
use serde_json::json;
use uuid::Uuid;

use crate::{
    api::{
        backfill::{BackfillMode, BackfillOrder, BackfillPayload},
        context::ContextExt,
        error::Result,
        retention::NamespaceRetention,
        scalar::Instant,
    },
    commands::{BackfillOptions, Call, RequestedFires},
};

/// Mutations of backfills and retention.
#[derive(Default)]
pub(crate) struct OrderingPast;

/// Mutations of backfills and retention.
#[Object]
impl OrderingPast {
    /// Runs a schedule for past instants: those that `previewBackfill` selects. The selection is
    /// fixed now and run in order, at most `concurrency` (1 to 100) at once. Works for paused
    /// schedules, too.
    #[expect(clippy::too_many_arguments, reason = "a backfill is ordered with so many")]
    async fn create_backfill(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The schedule's id.")] schedule_id: Uuid,
        #[graphql(desc = "Inclusive; not before 1970.")] from: Instant,
        #[graphql(desc = "Exclusive; not in the future.")] to: Instant,
        #[graphql(default_with = "BackfillMode::Missing", desc = "Which of the fires to run.")]
        mode: BackfillMode,
        #[graphql(
            default_with = "BackfillOrder::OldestFirst",
            desc = "The order in which the fires run."
        )]
        order: BackfillOrder,
        #[graphql(
            default = 1,
            desc = "How many of the backfill's runs may be alive at once, 1 to 100."
        )]
        concurrency: i32,
        #[graphql(desc = "Reason for the audit log: 1 to 500 characters.")] reason: String,
        #[graphql(
            desc = "A JSON object of at most 256 KiB, merged into the schedule's context: its keys \
                    take precedence."
        )]
        context: Option<serde_json::Value>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<BackfillPayload> {
        let right = cx.operator()?;
        let wanted = RequestedFires { schedule_id, from: from.0, to: to.0, mode: mode.into() };
        let (order, concurrency) = (order.into(), concurrency.into());
        let manner = BackfillOptions { order, concurrency, reason, context };
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

    /// Pauses a backfill: it starts no more runs until it is resumed; live runs continue.
    async fn pause_backfill(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The backfill's id.")] id: Uuid,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<BackfillPayload> {
        let right = cx.operator()?;
        let call = Call::new("pauseBackfill", &json!([id]).to_string(), idempotency_key)?;
        let ordered = cx.commands().pause_backfill(&right, id, &call).await?;
        BackfillPayload::of(cx, ordered).await
    }

    /// Resumes a paused backfill.
    async fn resume_backfill(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The backfill's id.")] id: Uuid,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<BackfillPayload> {
        let right = cx.operator()?;
        let call = Call::new("resumeBackfill", &json!([id]).to_string(), idempotency_key)?;
        let ordered = cx.commands().resume_backfill(&right, id, &call).await?;
        BackfillPayload::of(cx, ordered).await
    }

    /// Stops a backfill for good: waiting instants never run, and live runs are cancelled.
    async fn cancel_backfill(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The backfill's id.")] id: Uuid,
        #[graphql(desc = "Reason for the audit log: 0 to 500 characters.")] reason: Option<String>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<BackfillPayload> {
        let right = cx.operator()?;
        let call = Call::new("cancelBackfill", &json!([id, reason]).to_string(), idempotency_key)?;
        let ordered = cx.commands().cancel_backfill(&right, id, reason.as_deref(), &call).await?;
        BackfillPayload::of(cx, ordered).await
    }

    /// Sets how many days a namespace keeps settled history, 1 to 3650; null restores the server's
    /// configuration. The next retention round removes older history: see `retentionPreview`.
    async fn set_namespace_retention(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The namespace's name.")] namespace: String,
        #[graphql(desc = "1 to 3650; if absent, the server's setting.")] days: Option<i64>,
        #[graphql(desc = "Reason for the audit log: 0 to 500 characters.")] reason: Option<String>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
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
