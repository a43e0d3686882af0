//! An index of runs that took longer than a minute, for the preview of rules about slow runs.
//! Shorter runs are not in it and add no cost.

use sea_orm_migration::prelude::*;

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        let index = "CREATE INDEX run_long ON run (namespace_id, finished_at, id) \
             WHERE finished_at > started_at + 60000 AND schedule_id IS NOT NULL";
        schema.get_connection().execute_unprepared(index).await?;
        Ok(())
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        schema.get_connection().execute_unprepared("DROP INDEX run_long").await?;
        Ok(())
    }
}
