//! Namespaces that were deleted: they can be restored for a while, and keep their row for the audit
//! log after that.

use sea_orm_migration::prelude::*;

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        for statement in [
            "ALTER TABLE namespace ADD COLUMN deleted_at bigint",
            "ALTER TABLE namespace ADD COLUMN deleted_by text",
            "ALTER TABLE namespace ADD COLUMN deleted_name text",
            "ALTER TABLE namespace ADD COLUMN purged_at bigint",
            // Each look at a caller's rights reads the namespaces that are hidden from everyone.
            "CREATE INDEX namespace_hidden ON namespace (id) \
             WHERE deleted_at IS NOT NULL AND purged_at IS NULL",
        ] {
            schema.get_connection().execute_unprepared(statement).await?;
        }
        Ok(())
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        schema.get_connection().execute_unprepared("DROP INDEX namespace_hidden").await?;
        for column in ["purged_at", "deleted_name", "deleted_by", "deleted_at"] {
            let drop = format!("ALTER TABLE namespace DROP COLUMN {column}");
            schema.get_connection().execute_unprepared(&drop).await?;
        }
        Ok(())
    }
}
