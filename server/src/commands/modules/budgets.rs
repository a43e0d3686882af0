//! Makes the budgets of tags match the module's file.

use std::collections::BTreeMap;

use entity::health_budget::Model;

use super::{
    declared,
    deploy::DeploymentContext,
    difference::between,
    file::BudgetEntry,
    plan::{ObjectChange, PlanAction},
};
use crate::{
    commands::{BadInput, BudgetLimits, CommandError, Commands, budgets::BudgetToPut},
    model::naming,
    store::{health_budgets, modules::DeclaredKind},
};

const KIND: &str = "health_budget";

impl Commands {
    /// Makes the budgets match the file. Removals come first, because a namespace has a limit.
    pub(super) async fn apply_budgets(
        &self,
        site: &DeploymentContext<'_>,
        entries: BTreeMap<String, BudgetEntry>,
        prune: bool,
    ) -> Result<Vec<ObjectChange>, CommandError> {
        let mut changes = Vec::new();
        let is_own = |row: &Model| row.module.as_deref() == Some(site.module);
        // A deployment without budgets does not wait for the locks of another.
        if entries.is_empty() {
            let there = health_budgets::list(site.tx, site.namespace).await?;
            if !there.iter().any(is_own) {
                return Ok(changes);
            }
        }
        let rows = health_budgets::lock_all(site.tx, site.namespace).await?;
        let gone = |row: &&Model| prune && is_own(row) && !entries.contains_key(&row.tag);
        let gone: Vec<&Model> = rows.iter().filter(gone).collect();
        for row in gone {
            let reason = Some("no longer declared");
            self.remove_budget(site.tx, site.who, row, reason).await?;
            changes.push(ObjectChange::gone(KIND, &row.tag));
        }
        for (tag, entry) in entries {
            let row = rows.iter().find(|row| row.tag == tag);
            let declared = self.declare_budget(site, &tag, row, &entry.limits()).await;
            changes.push(declared.map_err(|error| in_file(error, &tag))?);
        }
        Ok(changes)
    }

    async fn declare_budget(
        &self,
        site: &DeploymentContext<'_>,
        tag: &str,
        row: Option<&Model>,
        limits: &BudgetLimits,
    ) -> Result<ObjectChange, CommandError> {
        let DeploymentContext { tx, who, namespace, .. } = *site;
        let module = Some(site.module);
        let budget = BudgetToPut { namespace, tag, limits, module, before: row };
        let Some(row) = row else {
            self.put_budget(tx, who, budget, None).await?;
            return Ok(ObjectChange::new(PlanAction::Create, KIND, tag, "made"));
        };
        let (kind, owner) = (DeclaredKind::HealthBudget, row.module.as_deref());
        let adopted = self.own(site, "tag", tag, kind, row.id, owner).await?;
        let before = BudgetLimits::of(row);
        let is_other = before != *limits;
        if is_other {
            self.put_budget(tx, who, budget, None).await?;
        }
        let fields = between(&declared::budget(&before), &declared::budget(limits));
        let told = is_other.then(|| "changed".to_owned());
        Ok(ObjectChange::of(adopted, KIND, tag, told, fields))
    }
}

fn in_file(error: CommandError, tag: &str) -> CommandError {
    let CommandError::BadInput(bad) = error else { return error };
    placed(bad, tag).into()
}

/// The error about a budget with its place in the file, which has no `limits` around them.
pub(super) fn placed(bad: BadInput, tag: &str) -> BadInput {
    let place = format!("health_budgets.{tag}");
    let field = match bad.field.as_str() {
        "limits" => place,
        field => {
            let key = field.strip_prefix("limits.").unwrap_or(field);
            format!("{place}.{}", naming::in_module(key))
        }
    };
    BadInput { field, ..bad }
}
