//! Settles a module's drift in one step: adopts what is there into the declaration, or reverts what
//! is there to the declaration.
//!
//! Adopting changes only the declaration, in one transaction. Reverting is what a person would do
//! by hand, one change after the other, each in its own transaction: resuming a schedule may take
//! several. If one is refused, those before it stay, and the drift report shows what is left.

use entity::{module, schedule::CatchUp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{
    declared::DeclaredObjects,
    deploy::DeploymentSource,
    drift::{Current, Drift, DriftOwner, DriftedObject},
    file::FileFormat,
};
use crate::{
    access::{Editor, Operator, Permit, Viewer},
    commands::{Call, CommandError, Commands, MuteRequest, audit::AuditEntry},
    model::check,
    store::{DatabaseTransaction, modules},
    vault::MASK,
};

/// A module whose drift is to be settled, as the caller saw it.
#[derive(Clone, Copy, Debug)]
pub struct DriftOrder<'a> {
    /// The namespace's name.
    pub namespace: &'a str,
    /// The module's name.
    pub name: &'a str,
    /// The digest of the drift that the caller saw; see [`Drift::digest`].
    pub digest: &'a str,
    /// The reason, for the audit log.
    pub reason: &'a str,
}

/// What was settled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettledDrift {
    /// The number of settled differences.
    pub settled: usize,
}

impl Commands {
    /// Makes the module declare its objects as they are. A mute remains a difference, because no
    /// file can declare it.
    pub async fn adopt_drift(
        &self,
        right: &Editor,
        order: DriftOrder<'_>,
        call: &Call,
    ) -> Result<SettledDrift, CommandError> {
        check::reason("reason", order.reason)?;
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let namespace = self.namespace(&tx, right.permit(), order.namespace).await?;
        let row = modules::lock(&tx, namespace, order.name).await?;
        let row = row.ok_or_else(|| CommandError::not_found("module", order.name))?;
        let module::Model { deployed_by, deployed_at, .. } = row.clone();
        let (mut drift, mut declared) = self.drift_of(&tx, right.permit(), row).await?;
        check_digest(&drift, order)?;
        drift.drifted.retain(|one| adopt(&mut declared, one));
        if declared.is_empty() {
            modules::forget(&tx, namespace, order.name).await?;
        } else {
            let kept = json!(declared);
            modules::keep(&tx, namespace, order.name, kept, &deployed_by, deployed_at).await?;
        }
        let who = stating(right.who(), order);
        self.audit_settled(&tx, &who, "module.adopt_drift", namespace, &drift).await?;
        let settled = SettledDrift { settled: drift.drifted.len() };
        self.remember(&tx, right.who(), call, &settled).await?;
        self.store.commit(tx).await?;
        Ok(settled)
    }

    /// Makes the module's objects what it declares, pauses, notes and mutes included. `missed`
    /// determines what becomes of the fires that fell into the pauses that end.
    pub async fn revert_drift(
        &self,
        right: &Editor,
        order: DriftOrder<'_>,
        missed: CatchUp,
        call: &Call,
    ) -> Result<SettledDrift, CommandError> {
        if let Some(earlier) = self.recall_early(right.who(), call).await? {
            return Ok(earlier);
        }
        check::reason("reason", order.reason)?;
        let (namespace, drift, declared) = self.seen_drift(right.permit(), order).await?;
        let who = stating(right.who(), order);
        let (editor, operator) = (who.editor()?, who.operator()?);
        // A window that operators have cancelled is planned again by the deployment.
        let is_window = |one: &DriftedObject| one.kind == "maintenance_window";
        let is_cancelled =
            |one: &DriftedObject| is_window(one) && one.side == DriftOwner::Operators;
        let is_deployed = |one: &DriftedObject| one.side == DriftOwner::Module || is_cancelled(one);
        if drift.drifted.iter().any(is_deployed) {
            let file = declared.file(order.name, order.namespace)?;
            // Only what the report shows is reverted: nothing is deleted or taken over.
            let source = DeploymentSource {
                text: "",
                format: FileFormat::Yaml,
                dry_run: false,
                prune: false,
                adopt: false,
                reason: Some(order.reason),
            };
            let once = Call::once();
            // Boxed, because the future of a deployment is large.
            Box::pin(self.deploy_file(&editor, file, source, Some(&declared), &once)).await?;
        }
        for one in drift.drifted.iter().filter(|one| one.side == DriftOwner::Operators) {
            self.revert_operators(&operator, one, &declared, order.reason, missed).await?;
        }
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        self.audit_settled(&tx, &who, "module.revert_drift", namespace, &drift).await?;
        let settled = SettledDrift { settled: drift.drifted.len() };
        self.remember(&tx, right.who(), call, &settled).await?;
        self.store.commit(tx).await?;
        Ok(settled)
    }

    /// The drift, if it is still the one that the caller saw.
    async fn seen_drift(
        &self,
        permit: Permit<'_>,
        order: DriftOrder<'_>,
    ) -> Result<(Uuid, Drift, DeclaredObjects), CommandError> {
        let read = self.store.read();
        let namespace = self.namespace(read, permit, order.namespace).await?;
        let row = modules::find(read, namespace, order.name).await?;
        let row = row.ok_or_else(|| CommandError::not_found("module", order.name))?;
        let (drift, declared) = self.drift_of(read, permit, row).await?;
        check_digest(&drift, order)?;
        Ok((namespace, drift, declared))
    }

    /// Reverts a pause, a note or a mute.
    async fn revert_operators(
        &self,
        right: &Operator,
        thing: &DriftedObject,
        declared: &DeclaredObjects,
        reason: &str,
        missed: CatchUp,
    ) -> Result<(), CommandError> {
        let Some(id) = thing.id else { return Ok(()) };
        let once = Call::once();
        for field in &thing.fields {
            match &*field.path {
                "muted_until" => {
                    let muting = MuteRequest { until: None, reason: reason.to_owned() };
                    self.mute_alert_rule(right, id, &muting, &once).await?;
                }
                "note" => {
                    let note = declared.note(&thing.name).unwrap_or_default();
                    self.annotate(right, id, note, &once).await?;
                }
                _ if declared.is_paused(&thing.name) => {
                    self.pause(right, id, reason, None, &once).await?;
                }
                _ => {
                    self.resume(right, id, missed, &once).await?;
                }
            }
        }
        Ok(())
    }

    async fn audit_settled(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        action: &'static str,
        namespace: Uuid,
        drift: &Drift,
    ) -> Result<(), CommandError> {
        if drift.drifted.is_empty() {
            return Ok(());
        }
        let (declared, found) = told(&drift.drifted);
        // Adopting changes the declaration, reverting the objects.
        let (before, after) = match action {
            "module.adopt_drift" => (declared, found),
            _ => (found, declared),
        };
        let entry = AuditEntry {
            action,
            namespace: Some(namespace),
            subject: &drift.module,
            before: Some(before),
            after: Some(after),
            ..AuditEntry::default()
        };
        Ok(self.audit(tx, who, entry).await?)
    }
}

/// Declares an object as it is now, and no longer declares one that is gone. Returns whether that is
/// possible: a file cannot declare a mute.
fn adopt(declared: &mut DeclaredObjects, thing: &DriftedObject) -> bool {
    let objects = match thing.kind {
        "group" => &mut declared.groups,
        "calendar" => &mut declared.calendars,
        "workflow" => &mut declared.workflows,
        "schedule" => &mut declared.schedules,
        "alert_channel" => &mut declared.alert_channels,
        "health_budget" => &mut declared.health_budgets,
        "maintenance_window" => &mut declared.maintenance_windows,
        _ => &mut declared.alert_rules,
    };
    match &thing.current {
        Current::Entry(entry) => objects.insert(thing.name.clone(), entry.clone()),
        Current::Gone => objects.remove(&thing.name),
        Current::Muted => return false,
    };
    true
}

/// The caller, with the stated reason for all that follows.
fn stating(who: &Viewer, order: DriftOrder<'_>) -> Viewer {
    Viewer { reason: Some(order.reason.trim().to_owned()), ..who.clone() }
}

fn check_digest(drift: &Drift, order: DriftOrder<'_>) -> Result<(), CommandError> {
    if drift.digest() == order.digest {
        return Ok(());
    }
    let problem = format!("the drift of the module {:?} is not the one that you saw", order.name);
    Err(CommandError::conflict(problem, "read it again, and decide anew"))
}

/// The declared values and those that were found, by the objects and keys. The audit log has more
/// readers than a context, so contexts are masked.
fn told(drifted: &[DriftedObject]) -> (Value, Value) {
    let (mut declared, mut found) = (Map::new(), Map::new());
    for one in drifted {
        let name = format!("{} {}", one.kind.replace('_', " "), one.name);
        for field in &one.fields {
            let key = if field.path.is_empty() { "object" } else { &*field.path };
            let is_context = key == "context" || key.starts_with("context.");
            let value = |value: &Option<String>| match value {
                Some(_) if is_context => json!(MASK),
                value => json!(value),
            };
            for (all, value) in
                [(&mut declared, value(&field.before)), (&mut found, value(&field.after))]
            {
                let object = all.entry(name.clone()).or_insert_with(|| json!({}));
                object[key] = value;
            }
        }
    }
    (Value::Object(declared), Value::Object(found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::modules::plan::FieldChange;

    #[test]
    fn the_audit_entry_has_the_differences_by_object_without_contexts() {
        let field = |path: &str, after: Option<&str>| FieldChange {
            path: path.to_owned(),
            before: Some("old".to_owned()),
            after: after.map(str::to_owned),
        };
        let thing = |name: &str, fields| DriftedObject {
            kind: "alert_rule",
            name: name.to_owned(),
            side: DriftOwner::Module,
            fields,
            by: None,
            at: None,
            reason: None,
            id: None,
            current: Current::Gone,
        };
        let things = [
            thing("a", vec![field("grace", Some("new")), field("context.key", Some("secret"))]),
            thing("b", vec![field("", None)]),
        ];
        let (declared, found) = told(&things);
        assert_eq!(
            declared,
            json!({ "alert rule a": { "grace": "old", "context.key": MASK },
                "alert rule b": { "object": "old" } })
        );
        assert_eq!(
            found,
            json!({ "alert rule a": { "grace": "new", "context.key": MASK },
                "alert rule b": { "object": null } })
        );
    }
}
