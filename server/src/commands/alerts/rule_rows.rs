//! Creates, changes and removes rules within a transaction, for both manual changes and modules.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use entity::alert_rule::{ActiveModel, Model};
use sea_orm::Set;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    aftermath::{Aftermath, PIECE},
    given::{MAX_RULES, check_rule},
    rules::RuleSpec,
};
use crate::{
    access::Viewer,
    commands::{BadInput, CommandError, Commands, audit::AuditEntry, stored},
    random::new_id,
    store::{
        Constraint, DatabaseTransaction, StoreError,
        alerts::{channels, feeds, rules},
    },
};

impl Commands {
    pub(in crate::commands) async fn add_rule(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        namespace: Uuid,
        module: Option<&str>,
        spec: &RuleSpec,
    ) -> Result<Uuid, CommandError> {
        self.check_alert_rule(tx, namespace, spec).await?;
        let there = rules::list(tx, namespace, MAX_RULES).await?;
        if u64::try_from(there.len()).is_ok_and(|count| count >= MAX_RULES) {
            let problem = format!("is one more than the {MAX_RULES} rules of a namespace");
            let help = "delete one that is not used";
            return Err(BadInput::new("name", &spec.name, problem, help).into());
        }
        let now = self.clock.now();
        let id = new_id(now);
        let row = ActiveModel {
            id: Set(id),
            namespace_id: Set(namespace),
            since: Set(now.into()),
            muted_until: Set(None),
            muted_by: Set(None),
            muted_reason: Set(None),
            version: Set(1),
            module: Set(module.map(str::to_owned)),
            created_at: Set(now.into()),
            updated_at: Set(now.into()),
            ..columns(spec)
        };
        if spec.enabled {
            self.begin_feeds(tx, now).await?;
        }
        rules::insert(tx, row).await.map_err(|error| name_taken(error, &spec.name))?;
        let entry = AuditEntry {
            action: "alert_rule.create",
            namespace: Some(namespace),
            subject_id: Some(id),
            subject: &spec.name,
            after: Some(snapshot(spec)),
            ..AuditEntry::default()
        };
        self.audit(tx, who, entry).await?;
        Ok(id)
    }

    /// Writes the changes of a rule; returns whether anything changed.
    pub(in crate::commands) async fn revise_rule(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        row: &Model,
        spec: &RuleSpec,
        aftermath: &mut Aftermath,
    ) -> Result<bool, CommandError> {
        self.check_alert_rule(tx, row.namespace_id, spec).await?;
        let before = spec_of(row)?;
        if *spec == before {
            return Ok(false);
        }
        let now = self.clock.now();
        let mut columns = ActiveModel {
            version: Set(row.version + 1),
            updated_at: Set(now.into()),
            ..columns(spec)
        };
        if spec.enabled && !row.enabled {
            columns.since = Set(now.into());
            // Ends alerts from an earlier time when the rule was active, in case their clean-up was
            // interrupted.
            let dialect = self.store.dialect();
            while rules::let_go(dialect, tx, row.id, now.into(), PIECE).await? == PIECE {}
            self.begin_feeds(tx, now).await?;
        }
        let written = rules::update(tx, row.id, columns).await;
        written.map_err(|error| name_taken(error, &spec.name))?;
        let entry = AuditEntry {
            action: "alert_rule.update",
            namespace: Some(row.namespace_id),
            subject_id: Some(row.id),
            subject: &spec.name,
            reason: None,
            before: Some(snapshot(&before)),
            after: Some(snapshot(spec)),
        };
        self.audit(tx, who, entry).await?;
        if before.enabled && !spec.enabled {
            aftermath.disabled.push(row.id);
        }
        Ok(true)
    }

    pub(in crate::commands) async fn remove_rule(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        row: &Model,
        aftermath: &mut Aftermath,
    ) -> Result<(), CommandError> {
        rules::delete(tx, row.id).await?;
        let entry = AuditEntry {
            action: "alert_rule.delete",
            namespace: Some(row.namespace_id),
            subject_id: Some(row.id),
            subject: &row.name,
            before: Some(snapshot(&spec_of(row)?)),
            ..AuditEntry::default()
        };
        self.audit(tx, who, entry).await?;
        aftermath.deleted.push(row.id);
        Ok(())
    }

    /// Called before a rule becomes active. If it becomes the only active rule, nothing has read
    /// the feeds since the last rule was disabled, so reading starts with events from now on. If
    /// two rules are created at the same moment, one waits for the other.
    async fn begin_feeds(
        &self,
        tx: &DatabaseTransaction,
        now: DateTime<Utc>,
    ) -> Result<(), CommandError> {
        let ends = feeds::ends(&self.store, now.into()).await?;
        feeds::begin(tx, &ends).await?;
        if !rules::is_any_enabled(tx).await? {
            feeds::restart(tx, &ends).await?;
        }
        Ok(())
    }

    /// Checks a rule; its channels stay locked until the transaction ends.
    async fn check_alert_rule(
        &self,
        tx: &DatabaseTransaction,
        namespace: Uuid,
        spec: &RuleSpec,
    ) -> Result<(), CommandError> {
        check_rule(spec)?;
        let channels = &spec.rule.channels;
        let found = channels::keep(tx, namespace, channels).await?;
        let found: HashSet<Uuid> = found.into_iter().map(|channel| channel.id).collect();
        if let Some(place) = channels.iter().position(|id| !found.contains(id)) {
            let field = format!("channelIds[{place}]");
            let help = "name a channel of this namespace, or create it first";
            return Err(BadInput::new(field, channels[place], "does not exist", help).into());
        }
        Ok(())
    }
}

fn columns(spec: &RuleSpec) -> ActiveModel {
    ActiveModel {
        name: Set(spec.name.clone()),
        definition: Set(json!(spec.rule)),
        enabled: Set(spec.enabled),
        ..ActiveModel::default()
    }
}

/// Parses the rule of a row.
pub(in crate::commands) fn spec_of(row: &Model) -> Result<RuleSpec, CommandError> {
    let rule = stored::read(row.definition.clone(), || format!("alert rule {:?}", row.name))?;
    Ok(RuleSpec { name: row.name.clone(), enabled: row.enabled, rule })
}

/// A rule for the audit log. It contains no secret: those are in channels.
fn snapshot(spec: &RuleSpec) -> Value {
    let mut json = json!(spec.rule);
    json["name"] = spec.name.clone().into();
    json["enabled"] = spec.enabled.into();
    json
}

fn name_taken(error: StoreError, name: &str) -> CommandError {
    let StoreError::Broken { constraint: Constraint::AlertRuleName } = error else {
        return error.into();
    };
    let help = "choose another name, or change that one";
    BadInput::new("name", name, "is the name of another alert rule", help).into()
}
