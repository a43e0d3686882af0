//! Deletes workflows that earlier versions left behind when they deleted the schedule for which the
//! workflow had been created. A workflow is now deleted and restored together with that schedule.

use sea_orm_migration::prelude::*;

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        // These are the conditions of a deletion: the workflow has the schedule's name and is no
        // older, no module declares it, and no other schedule ran it at that time or runs it now.
        // A workflow that was edited since then is in use.
        // Retention removes a workflow when no run refers to it any more.
        let statement = "UPDATE workflow SET deleted_at = \
               (SELECT max(s.deleted_at) FROM schedule s WHERE s.workflow_id = workflow.id) \
             WHERE workflow.deleted_at IS NULL AND workflow.module IS NULL \
               AND EXISTS (SELECT 1 FROM schedule s WHERE s.workflow_id = workflow.id \
                 AND s.deleted_at IS NOT NULL AND s.name = workflow.name \
                 AND workflow.created_at + 1000 >= s.created_at \
                 AND workflow.updated_at <= s.deleted_at \
                 AND NOT EXISTS (SELECT 1 FROM schedule o WHERE o.workflow_id = workflow.id \
                   AND o.id <> s.id AND o.deleted_at >= s.deleted_at)) \
               AND NOT EXISTS (SELECT 1 FROM schedule s WHERE s.workflow_id = workflow.id \
                 AND s.deleted_at IS NULL)";
        schema.get_connection().execute_unprepared(statement).await?;
        Ok(())
    }

    async fn down(&self, _schema: &SchemaManager) -> Result<(), DbErr> {
        Ok(())
    }
}
