//! Budgets of health: the limits by which `/healthz`, the console, badges and metrics judge the
//! schedules with a tag.

use entity::{
    Timestamp,
    health_budget::{ActiveModel, Model},
};
use sea_orm::Set;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{BadInput, Call, CommandError, Commands, audit::AuditEntry, versions};
use crate::{
    access::{Editor, Viewer},
    model::check,
    random::new_id,
    store::{
        Constraint, DatabaseTransaction, StoreError, health_budgets,
        reads::health_budgets::MAX_SPAN_MS,
    },
};

/// Maximum number of budgets in one namespace.
pub(crate) const MAX_BUDGETS_OF_NAMESPACE: u64 = 50;

/// The largest number of fires or runs that a budget can allow.
const MAX_COUNT: i64 = 1_000_000;
/// The greatest lateness that a budget can allow: a day, in milliseconds.
const MAX_LATE_MS: i64 = 86_400_000;
const MINUTE_MS: i64 = 60_000;

/// What a budget is called in messages, before its tag.
const WHAT: &str = "budget of the tag";

/// The limits of a budget. `None` uses the server's configuration; for the lateness, there is no
/// limit then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetLimits {
    /// Maximum number of missed fires in the span.
    pub missed: Option<i64>,
    /// Maximum number of failed runs in the span.
    pub failed: Option<i64>,
    /// Maximum number of stalled runs.
    pub stalled: Option<i64>,
    /// Maximum 99th percentile of the lateness in the span, in milliseconds.
    pub late_ms: Option<i64>,
    /// The length of the span, up to now: 1 to 1440 minutes.
    pub span_minutes: i64,
}

/// A budget after a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedBudget {
    /// The budget's key, even if it was removed.
    pub id: Uuid,
    /// The budget's namespace.
    pub namespace: Uuid,
}

/// A budget to write.
pub(super) struct BudgetToPut<'a> {
    pub(super) namespace: Uuid,
    pub(super) tag: &'a str,
    pub(super) limits: &'a BudgetLimits,
    /// The module that declares the budget.
    pub(super) module: Option<&'a str>,
    /// The row of the tag, locked, if the tag has a budget.
    pub(super) before: Option<&'a Model>,
}

impl BudgetLimits {
    pub(super) fn check(&self) -> Result<(), BadInput> {
        let counts = [
            ("limits.missed", self.missed),
            ("limits.failed", self.failed),
            ("limits.stalled", self.stalled),
        ];
        for (field, value) in counts {
            if let Some(value) = value {
                check::number(field, value, 0..=MAX_COUNT, "")?;
            }
        }
        if let Some(late_ms) = self.late_ms {
            check::number("limits.lateMs", late_ms, 1..=MAX_LATE_MS, "")?;
        }
        let most = MAX_SPAN_MS / MINUTE_MS;
        check::number("limits.spanMinutes", self.span_minutes, 1..=most, "")?;
        let counts = [self.missed, self.failed, self.stalled, self.late_ms];
        if counts.iter().all(Option::is_none) {
            let problem = "limits nothing";
            let help = "give a limit of missed, failed, stalled or lateMs, or remove the budget";
            return Err(BadInput::new("limits", "none", problem, help));
        }
        Ok(())
    }

    /// The limits of a row.
    pub(super) fn of(row: &Model) -> Self {
        let Model { missed, failed, stalled, late_ms, span_ms, .. } = *row;
        Self { missed, failed, stalled, late_ms, span_minutes: span_ms / MINUTE_MS }
    }
}

impl Commands {
    /// Sets the budget of a tag, in place of an earlier one.
    pub async fn set_health_budget(
        &self,
        right: &Editor,
        namespace: &str,
        tag: &str,
        limits: &BudgetLimits,
        reason: Option<&str>,
        call: &Call,
    ) -> Result<SavedBudget, CommandError> {
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let namespace = self.namespace(&tx, right.permit(), namespace).await?;
        check::optional_reason(reason)?;
        let before = health_budgets::lock(&tx, namespace, tag).await?;
        let module = before.as_ref().and_then(|row| row.module.as_deref());
        versions::owned_by_people(WHAT, tag, module)?;
        let budget = BudgetToPut { namespace, tag, limits, module: None, before: before.as_ref() };
        let id = self.put_budget(&tx, right.who(), budget, reason).await?;
        let saved = SavedBudget { id, namespace };
        self.remember(&tx, right.who(), call, &saved).await?;
        self.store.commit(tx).await?;
        Ok(saved)
    }

    /// Removes the budget of a tag; the server's thresholds apply to it again.
    pub async fn remove_health_budget(
        &self,
        right: &Editor,
        namespace: &str,
        tag: &str,
        reason: Option<&str>,
        call: &Call,
    ) -> Result<SavedBudget, CommandError> {
        check::name("tag", tag)?;
        check::optional_reason(reason)?;
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let namespace = self.namespace(&tx, right.permit(), namespace).await?;
        let before = health_budgets::lock(&tx, namespace, tag).await?;
        let before = before.ok_or_else(|| CommandError::not_found(WHAT, tag))?;
        versions::owned_by_people(WHAT, tag, before.module.as_deref())?;
        self.remove_budget(&tx, right.who(), &before, reason).await?;
        let saved = SavedBudget { id: before.id, namespace };
        self.remember(&tx, right.who(), call, &saved).await?;
        self.store.commit(tx).await?;
        Ok(saved)
    }

    /// Writes the budget of a tag, in place of an earlier one, and returns its key.
    pub(super) async fn put_budget(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        budget: BudgetToPut<'_>,
        reason: Option<&str>,
    ) -> Result<Uuid, CommandError> {
        let BudgetToPut { namespace, tag, limits, module, before } = budget;
        check::name("tag", tag)?;
        limits.check()?;
        if before.is_none()
            && health_budgets::count(tx, namespace).await? >= MAX_BUDGETS_OF_NAMESPACE
        {
            let problem = format!("the namespace has {MAX_BUDGETS_OF_NAMESPACE} budgets");
            return Err(CommandError::conflict(problem, "remove the budget of another tag first"));
        }
        let now = self.clock.now();
        let id = before.map_or_else(|| new_id(now), |row| row.id);
        let row = ActiveModel {
            id: Set(id),
            namespace_id: Set(namespace),
            tag: Set(tag.to_owned()),
            missed: Set(limits.missed),
            failed: Set(limits.failed),
            stalled: Set(limits.stalled),
            late_ms: Set(limits.late_ms),
            span_ms: Set(limits.span_minutes * MINUTE_MS),
            module: Set(module.map(str::to_owned)),
            updated_by: Set(who.name.clone()),
            updated_at: Set(Timestamp::from(now)),
        };
        match before {
            Some(_) => health_budgets::update(tx, id, row).await?,
            // Without a row, nothing is locked: another transaction may have set a budget, which it
            // keeps.
            None => health_budgets::insert(tx, row).await.map_err(set_meanwhile)?,
        }
        let entry = AuditEntry {
            action: "health_budget.set",
            namespace: Some(namespace),
            subject_id: Some(id),
            subject: tag,
            reason,
            before: before.map(|row| shown(&BudgetLimits::of(row))),
            after: Some(shown(limits)),
        };
        self.audit(tx, who, entry).await?;
        Ok(id)
    }

    /// Removes a locked budget.
    pub(super) async fn remove_budget(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        row: &Model,
        reason: Option<&str>,
    ) -> Result<(), CommandError> {
        health_budgets::remove(tx, row.id).await?;
        let entry = AuditEntry {
            action: "health_budget.remove",
            namespace: Some(row.namespace_id),
            subject_id: Some(row.id),
            subject: &row.tag,
            reason,
            before: Some(shown(&BudgetLimits::of(row))),
            after: None,
        };
        Ok(self.audit(tx, who, entry).await?)
    }
}

/// The error of a budget that was set while its tag had none.
fn set_meanwhile(error: StoreError) -> CommandError {
    let StoreError::Broken { constraint: Constraint::BudgetTag } = error else {
        return error.into();
    };
    let problem = "a budget of this tag has just been set";
    CommandError::conflict(problem, "read it, and decide anew")
}

/// The limits for the audit log, in the names of the API.
fn shown(limits: &BudgetLimits) -> Value {
    json!({
        "missed": limits.missed,
        "failed": limits.failed,
        "stalled": limits.stalled,
        "lateMs": limits.late_ms,
        "spanMinutes": limits.span_minutes,
    })
}
