//! Deletes namespaces, and restores them within a week.

use chrono::{DateTime, TimeDelta, Utc};
use entity::{Timestamp, namespace};
use serde_json::json;
use uuid::Uuid;

use super::{answered_before, tenants::name_taken};
use crate::{
    access::{Owner, wait_until_rights_apply},
    commands::{Call, CommandError, Commands, audit::AuditEntry},
    model::check,
    store::{
        DatabaseTransaction, Page, PageWindow,
        deleted_namespaces::{self, NamespaceContents},
        namespaces,
        retention::DELETED_DAYS,
    },
};

/// The namespace that requests without a namespace are about.
const DEFAULT: &str = "default";
/// Maximum number of schedules that are deleted with their namespace: one transaction does it.
const MAX_DELETED: i64 = 10_000;

impl Commands {
    /// What the namespace contains, and thus what its deletion would affect.
    pub async fn namespace_impact(
        &self,
        _right: &Owner,
        name: &str,
    ) -> Result<NamespaceContents, CommandError> {
        let read = self.store.read();
        let row = namespaces::by_name(read, name).await?;
        let row = row.ok_or_else(|| CommandError::not_found("namespace", name))?;
        Ok(deleted_namespaces::contents(read, self.store.dialect(), row.id).await?)
    }

    /// The deleted namespaces that can still be restored.
    pub async fn deleted_namespaces(
        &self,
        _right: &Owner,
        window: &PageWindow<Uuid>,
    ) -> Result<Page<namespace::Model>, CommandError> {
        let since = restorable_since(self.clock.now());
        Ok(deleted_namespaces::page(self.store.read(), window, since).await?)
    }

    /// Deletes a namespace with its schedules. Both are hidden from all users, the
    /// namespace's tokens are refused, and its secrets are not read. Its live runs finish on their own.
    pub async fn delete_namespace(
        &self,
        right: &Owner,
        name: &str,
        expected_schedules: Option<i64>,
        reason: &str,
        call: &Call,
    ) -> Result<Uuid, CommandError> {
        check::reason("reason", reason)?;
        let now = self.clock.now();
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return answered_before(tx, earlier).await;
        }
        let row = deleted_namespaces::lock(&tx, name).await?;
        let row = row.ok_or_else(|| CommandError::not_found("namespace", name))?;
        check_deletable(&tx, &row).await?;
        let dialect = self.store.dialect();
        let contents = deleted_namespaces::contents(&tx, dialect, row.id).await?;
        check_count(&row.name, contents.schedules, expected_schedules)?;
        let at = Timestamp::from(now);
        // Schedules are locked before their backfills.
        let deleted = deleted_namespaces::delete_schedules(&tx, dialect, row.id, at).await?;
        if i64::try_from(deleted) != Ok(contents.schedules) {
            let problem = format!("a schedule of {name:?} was created or deleted at this moment");
            return Err(CommandError::conflict(problem, "look at them again, and repeat the call"));
        }
        for schedule in deleted_namespaces::backfilled_schedules(&tx, dialect, row.id).await? {
            self.stop_backfills_of(&tx, right.who(), schedule).await?;
        }
        deleted_namespaces::delete(&tx, &row, &right.who().name, at).await?;
        let entry = AuditEntry {
            action: "namespace.delete",
            namespace: Some(row.id),
            subject_id: Some(row.id),
            subject: &row.name,
            reason: Some(reason.trim()),
            before: Some(json!({
                "name": row.name, "schedules": contents.schedules,
                "workflows": contents.workflows, "secrets": contents.secrets,
                "members": contents.members, "tokens": contents.tokens,
            })),
            after: None,
        };
        self.audit(&tx, right.who(), entry).await?;
        self.remember(&tx, right.who(), call, &row.id).await?;
        self.store.commit_after_handoffs(tx).await?;
        self.signals.wake_planner();
        self.signals.wake_backfill();
        self.signals.wake_canceller();
        wait_until_rights_apply().await;
        Ok(row.id)
    }

    /// Restores the latest deleted namespace of this name, under its own name or another one. Its
    /// schedules come back paused.
    pub async fn undelete_namespace(
        &self,
        right: &Owner,
        name: &str,
        new_name: Option<&str>,
        reason: Option<&str>,
        call: &Call,
    ) -> Result<Uuid, CommandError> {
        if let Some(new_name) = new_name {
            check::name("newName", new_name)?;
        }
        check::optional_reason(reason)?;
        let now = self.clock.now();
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return answered_before(tx, earlier).await;
        }
        let row = deleted_namespaces::lock_deleted(&tx, name, restorable_since(now)).await?;
        let row = row.ok_or_else(|| CommandError::not_found("deleted namespace", name))?;
        let back = new_name.unwrap_or(name);
        let restored = deleted_namespaces::restore(&tx, row.id, back).await;
        restored.map_err(|error| name_taken(error, back))?;
        let (dialect, who) = (self.store.dialect(), right.who());
        let schedules =
            deleted_namespaces::restore_schedules(&tx, dialect, &row, &who.name, now.into());
        let schedules = schedules.await?;
        let entry = AuditEntry {
            action: "namespace.undelete",
            namespace: Some(row.id),
            subject_id: Some(row.id),
            subject: back,
            reason,
            before: Some(json!({ "name": name, "deletedAt": row.deleted_at })),
            after: Some(json!({ "name": back, "schedules": schedules })),
        };
        self.audit(&tx, who, entry).await?;
        self.remember(&tx, who, call, &row.id).await?;
        self.store.commit(tx).await?;
        wait_until_rights_apply().await;
        Ok(row.id)
    }
}

/// Namespaces that were deleted before this instant can no longer be restored.
fn restorable_since(now: DateTime<Utc>) -> Timestamp {
    (now - TimeDelta::days(i64::from(DELETED_DAYS))).into()
}

/// Refuses to delete a namespace that is always needed.
async fn check_deletable(
    tx: &DatabaseTransaction,
    row: &namespace::Model,
) -> Result<(), CommandError> {
    if row.name == DEFAULT {
        let problem = "'default' is the namespace of all requests that name none";
        return Err(CommandError::conflict(problem, "delete what is in it, or rename it first"));
    }
    if deleted_namespaces::live_keys(tx).await?.len() < 2 {
        let problem = format!("{:?} is the only namespace", row.name);
        return Err(CommandError::conflict(problem, "create another namespace first"));
    }
    Ok(())
}

/// Refuses to delete schedules that the caller does not know of.
fn check_count(name: &str, found: i64, expected: Option<i64>) -> Result<(), CommandError> {
    if found > MAX_DELETED {
        let problem =
            format!("{name:?} has too many schedules ({found}); at most {MAX_DELETED} go with it");
        return Err(CommandError::conflict(problem, "delete schedules first, with a search"));
    }
    match expected {
        Some(expected) if expected == found => Ok(()),
        None if found == 0 => Ok(()),
        Some(expected) => {
            let problem =
                format!("the number of schedules of {name:?} ({found}) is not {expected}");
            let help = "look at them again, and repeat the call with their present number";
            Err(CommandError::conflict(problem, help))
        }
        None => {
            let problem = format!("{name:?} still has schedules ({found})");
            let help = format!("delete them first, or give {found} as expectedScheduleCount");
            Err(CommandError::conflict(problem, help))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_are_deleted_with_their_namespace_only_if_their_number_is_known() {
        let is_refused = |found, expected| check_count("billing", found, expected).is_err();
        assert!(!is_refused(0, None) && !is_refused(0, Some(0)) && !is_refused(3, Some(3)));
        assert!(is_refused(3, None) && is_refused(3, Some(2)) && is_refused(0, Some(1)));
        assert!(is_refused(MAX_DELETED + 1, Some(MAX_DELETED + 1)));
    }
}
