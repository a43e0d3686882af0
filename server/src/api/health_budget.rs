//! Budgets of health: what the schedules with a tag may lose, fail or delay, and what they have
//! used of it.

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};
use entity::Timestamp;
use serde_json::json;

use super::{
    context::ContextExt,
    error::Result,
    page::cost_by,
    payload::DeletePayload,
    query::within,
    scalar::{Instant, Long},
};
use crate::{
    commands::{BudgetLimits, Call, CommandError},
    config,
    engine::maintenance::health::{self, JudgedBudget, judged_budgets},
    store::reads::{health::HealthScope, within::Within},
};

/// The budget of a tag in a namespace. `/healthz?tag=` and badges judge the tag by it.
#[derive(SimpleObject)]
pub(crate) struct HealthBudget {
    id: ID,
    /// The name of the budget's namespace.
    namespace: String,
    /// The tag whose schedules are judged together.
    tag: String,
    /// The length of the judged span, up to now, in minutes.
    span_minutes: i32,
    /// Whether no figure is beyond its limit.
    healthy: bool,
    /// What is wrong, one sentence for each figure that is beyond its limit.
    issues: Vec<String>,
    /// Fires in the span that were missed or given up on.
    missed: BudgetFigure,
    /// Runs in the span that failed or timed out.
    failed: BudgetFigure,
    /// Runs past their hard deadline, or on a node that is gone.
    stalled: BudgetFigure,
    /// How late the fires of the span were handed over, in milliseconds: 99 of 100 were not later.
    /// Of each schedule, the newest 500 runs count. Only measured if the budget limits it.
    late: BudgetFigure,
    /// The module that declares the budget; null if it was set by hand.
    module: Option<String>,
    /// The user or token that last changed the budget.
    updated_by: String,
    updated_at: Instant,
}

/// A figure that a budget limits.
#[derive(SimpleObject)]
pub(crate) struct BudgetFigure {
    /// The current value; null if there is nothing to measure.
    value: Option<Long>,
    /// The limit that applies: the value may reach it, and must not exceed it. Null for none.
    limit: Option<Long>,
    /// The limit that the budget sets; null if the server's configuration applies.
    own: Option<Long>,
    /// Whether the value is beyond the limit.
    exceeded: bool,
}

/// The limits of a budget. At least one of the first four is needed; each of them may be reached,
/// and must not be exceeded.
#[derive(InputObject)]
pub(crate) struct HealthBudgetInput {
    /// Fires in the span that are missed or given up on: 0 to 1000000. If absent, the server's
    /// configuration applies.
    missed: Option<i64>,
    /// Runs in the span that fail or time out: 0 to 1000000. If absent, the server's configuration
    /// applies.
    failed: Option<i64>,
    /// Runs past their hard deadline, or on a node that is gone: 0 to 1000000. If absent, the
    /// server's configuration applies.
    stalled: Option<i64>,
    /// How late 99 of 100 fires of the span may be handed over: 1 to 86400000 milliseconds. If
    /// absent, the lateness has no limit.
    late_ms: Option<i64>,
    /// The length of the judged span, up to now: 1 to 1440 minutes.
    #[graphql(default = 60)]
    span_minutes: i64,
}

impl From<HealthBudgetInput> for BudgetLimits {
    fn from(input: HealthBudgetInput) -> Self {
        let HealthBudgetInput { missed, failed, stalled, late_ms, span_minutes } = input;
        Self { missed, failed, stalled, late_ms, span_minutes }
    }
}

/// A budget after a mutation.
#[derive(SimpleObject)]
pub(crate) struct HealthBudgetPayload {
    budget: HealthBudget,
}

/// Queries of budgets of health.
#[derive(Default)]
pub(crate) struct ReadingBudgets;

/// Queries of budgets of health.
#[Object]
impl ReadingBudgets {
    /// The budgets of tags with what they have used, by namespace and tag; at most 200.
    #[graphql(complexity = "cost_by(200, 100, child_complexity)")]
    async fn health_budgets(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "If absent, all namespaces that you may see.")] namespace: Option<String>,
        #[graphql(desc = "Only the budgets of this tag; if absent, of all tags.")] tag: Option<
            String,
        >,
    ) -> Result<Vec<HealthBudget>> {
        cx.viewer()?;
        let scope = HealthScope { within: within(cx, namespace.as_deref()).await?, tag };
        HealthBudget::all(cx, &scope).await
    }
}

/// Mutations of budgets of health.
#[derive(Default)]
pub(crate) struct OrderingBudgets;

/// Mutations of budgets of health.
#[Object]
impl OrderingBudgets {
    /// Sets the budget of a tag in a namespace, in place of an earlier one. A namespace has at most
    /// 50.
    async fn set_health_budget(
        &self,
        cx: &Context<'_>,
        #[graphql(default = "default", desc = "The namespace's name.")] namespace: String,
        #[graphql(desc = "The tag. No schedule needs to have it yet.")] tag: String,
        #[graphql(desc = "What the schedules with the tag may lose, fail or delay.")]
        limits: HealthBudgetInput,
        #[graphql(desc = "Reason for the audit log: 0 to 500 characters.")] reason: Option<String>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<HealthBudgetPayload> {
        let right = cx.editor()?;
        let limits = BudgetLimits::from(limits);
        let arguments = json!([namespace, tag, limits, reason]).to_string();
        let call = Call::new("setHealthBudget", &arguments, idempotency_key)?;
        let (commands, reason) = (cx.commands(), reason.as_deref());
        let set = commands.set_health_budget(&right, &namespace, &tag, &limits, reason, &call);
        let saved = set.await?;
        let scope = HealthScope { within: Within::One(saved.namespace), tag: Some(tag.clone()) };
        let found = HealthBudget::all(cx, &scope).await?.into_iter().next();
        // A repeated call gets its first answer, but since then the budget may have been removed,
        // or the caller may have lost access.
        let found = found.filter(|_| cx.is_home(saved.namespace));
        let budget = found.ok_or_else(|| CommandError::not_found("budget of the tag", tag))?;
        Ok(HealthBudgetPayload { budget })
    }

    /// Removes the budget of a tag. The server's thresholds apply to the tag again.
    async fn remove_health_budget(
        &self,
        cx: &Context<'_>,
        #[graphql(default = "default", desc = "The namespace's name.")] namespace: String,
        #[graphql(desc = "The tag.")] tag: String,
        #[graphql(desc = "Reason for the audit log: 0 to 500 characters.")] reason: Option<String>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<DeletePayload> {
        let right = cx.editor()?;
        let arguments = json!([namespace, tag, reason]).to_string();
        let call = Call::new("removeHealthBudget", &arguments, idempotency_key)?;
        let (commands, reason) = (cx.commands(), reason.as_deref());
        let removed = commands.remove_health_budget(&right, &namespace, &tag, reason, &call);
        Ok(DeletePayload { id: removed.await?.id })
    }
}

impl HealthBudget {
    /// The budgets of a scope.
    async fn all(cx: &Context<'_>, scope: &HealthScope) -> Result<Vec<Self>> {
        let now = Timestamp::from(cx.commands().clock.now());
        let limits = cx.data_unchecked::<config::Health>();
        let judged = judged_budgets(cx.store(), scope, now, limits).await?;
        Ok(judged.into_iter().map(Self::from).collect())
    }
}

impl From<JudgedBudget> for HealthBudget {
    fn from(judged: JudgedBudget) -> Self {
        Self {
            id: judged.measured.id.into(),
            span_minutes: i32::try_from(judged.measured.span_ms / 60_000).unwrap_or(i32::MAX),
            healthy: judged.is_healthy(),
            issues: judged.issues(),
            missed: judged.missed.into(),
            failed: judged.failed.into(),
            stalled: judged.stalled.into(),
            late: judged.late.into(),
            namespace: judged.measured.namespace,
            tag: judged.measured.tag,
            module: judged.measured.module,
            updated_by: judged.measured.updated_by,
            updated_at: judged.measured.updated_at.into(),
        }
    }
}

impl From<health::BudgetFigure> for BudgetFigure {
    fn from(figure: health::BudgetFigure) -> Self {
        Self {
            value: figure.value.map(Into::into),
            limit: figure.limit.map(Into::into),
            own: figure.own.map(Into::into),
            exceeded: figure.is_exceeded(),
        }
    }
}
