use entity::alert_rule::Model;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::aftermath::Aftermath;
use crate::{
    access::{Editor, Permit},
    commands::{Call, CommandError, Commands, versions},
    engine::alerting::alerts::Rule,
    store::{DatabaseTransaction, alerts::rules},
};

/// The definition of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleSpec {
    /// Unique among the namespace's rules.
    pub name: String,
    /// Whether the rule is active.
    pub enabled: bool,
    /// What the rule reports, when, and to which channels.
    pub rule: Rule,
}

/// A rule to create.
#[derive(Clone, Debug)]
pub struct NewRule {
    /// The namespace, by name.
    pub namespace: String,
    /// The rule's definition.
    pub spec: RuleSpec,
}

/// A change of a rule: the version that it is based on, and how to apply it.
pub struct RuleEdit {
    /// The rule.
    pub id: Uuid,
    /// The version that the change is based on.
    pub expected_version: i32,
    /// Turns the current rule into the requested one.
    pub apply: Box<dyn FnOnce(&mut RuleSpec) + Send>,
}

/// A rule after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedRule {
    /// The rule.
    pub id: Uuid,
}

impl Commands {
    /// Creates a rule. It covers only events from now on.
    pub async fn create_alert_rule(
        &self,
        right: &Editor,
        new: NewRule,
        call: &Call,
    ) -> Result<SavedRule, CommandError> {
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let namespace = self.namespace(&tx, right.permit(), &new.namespace).await?;
        let id = self.add_rule(&tx, right.who(), namespace, None, &new.spec).await?;
        let saved = SavedRule { id };
        self.remember(&tx, right.who(), call, &saved).await?;
        self.store.commit(tx).await?;
        Ok(saved)
    }

    /// Changes a rule, if it is still in the version that the caller saw.
    pub async fn update_alert_rule(
        &self,
        right: &Editor,
        edit: RuleEdit,
        call: &Call,
    ) -> Result<SavedRule, CommandError> {
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let row = self.locked_rule(&tx, right.permit(), edit.id).await?;
        versions::owned_by_people("alert rule", &row.name, row.module.as_deref())?;
        versions::version("rule", edit.expected_version, row.version)?;
        let mut spec = super::rule_rows::spec_of(&row)?;
        (edit.apply)(&mut spec);
        let mut aftermath = Aftermath::default();
        self.revise_rule(&tx, right.who(), &row, &spec, &mut aftermath).await?;
        let saved = SavedRule { id: row.id };
        self.remember(&tx, right.who(), call, &saved).await?;
        self.store.commit(tx).await?;
        self.clear_up(aftermath).await;
        Ok(saved)
    }

    /// Deletes a rule with its alerts. Messages that are already queued are still delivered.
    pub async fn delete_alert_rule(
        &self,
        right: &Editor,
        id: Uuid,
        call: &Call,
    ) -> Result<Uuid, CommandError> {
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let row = self.locked_rule(&tx, right.permit(), id).await?;
        versions::owned_by_people("alert rule", &row.name, row.module.as_deref())?;
        let mut aftermath = Aftermath::default();
        self.remove_rule(&tx, right.who(), &row, &mut aftermath).await?;
        self.remember(&tx, right.who(), call, &id).await?;
        self.store.commit(tx).await?;
        self.clear_up(aftermath).await;
        Ok(id)
    }

    pub(super) async fn locked_rule(
        &self,
        tx: &DatabaseTransaction,
        permit: Permit<'_>,
        id: Uuid,
    ) -> Result<Model, CommandError> {
        let row = rules::lock(tx, id).await?;
        let row = row.ok_or_else(|| CommandError::not_found("alert rule", id))?;
        permit.over(row.namespace_id, "alert rule", id)?;
        Ok(row)
    }
}
