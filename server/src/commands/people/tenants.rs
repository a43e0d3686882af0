use entity::namespace::ActiveModel;
use sea_orm::Set;
use serde_json::json;
use uuid::Uuid;

use crate::{
    access::Owner,
    commands::{BadInput, Call, CommandError, Commands, audit::AuditEntry},
    model::check,
    random::new_id,
    store::{Constraint, StoreError, namespaces},
};

impl Commands {
    /// Creates a namespace. Administrators of the instance have access to it; other creators become
    /// its members.
    pub async fn create_namespace(
        &self,
        right: &Owner,
        name: &str,
        reason: Option<&str>,
        call: &Call,
    ) -> Result<Uuid, CommandError> {
        check::name("name", name)?;
        check::optional_reason(reason)?;
        let now = self.clock.now();
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let id = new_id(now);
        let row = ActiveModel {
            id: Set(id),
            name: Set(name.to_owned()),
            retention_days: Set(None),
            quotas: Set(None),
            created_at: Set(now.into()),
            ..ActiveModel::default()
        };
        namespaces::insert(&tx, row).await.map_err(|error| name_taken(error, name))?;
        let entry = AuditEntry {
            action: "namespace.create",
            namespace: Some(id),
            subject_id: Some(id),
            subject: name,
            reason,
            before: None,
            after: Some(json!({ "name": name })),
        };
        self.audit(&tx, right.who(), entry).await?;
        self.remember(&tx, right.who(), call, &id).await?;
        self.store.commit(tx).await?;
        Ok(id)
    }

    /// Renames a namespace. It can no longer be found under its old name.
    pub async fn rename_namespace(
        &self,
        right: &Owner,
        name: &str,
        new_name: &str,
        reason: Option<&str>,
        call: &Call,
    ) -> Result<Uuid, CommandError> {
        check::name("newName", new_name)?;
        check::optional_reason(reason)?;
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let row = namespaces::by_name(&tx, name).await?;
        let row = row.ok_or_else(|| CommandError::not_found("namespace", name))?;
        let renamed = namespaces::rename(&tx, row.id, new_name).await;
        renamed.map_err(|error| name_taken(error, new_name))?;
        let entry = AuditEntry {
            action: "namespace.rename",
            namespace: Some(row.id),
            subject_id: Some(row.id),
            subject: new_name,
            reason,
            before: Some(json!({ "name": name })),
            after: Some(json!({ "name": new_name })),
        };
        self.audit(&tx, right.who(), entry).await?;
        self.remember(&tx, right.who(), call, &row.id).await?;
        self.store.commit(tx).await?;
        Ok(row.id)
    }
}

pub(super) fn name_taken(error: StoreError, name: &str) -> CommandError {
    if matches!(error, StoreError::Broken { constraint: Constraint::NamespaceName }) {
        let problem = "is the name of an existing namespace";
        return BadInput::new("name", name, problem, "choose another name").into();
    }
    error.into()
}
