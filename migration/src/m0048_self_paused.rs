//! An index of the schedules that the server itself has paused, for the health checks.

use sea_orm_migration::prelude::*;

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        let index = "CREATE INDEX schedule_self_paused ON schedule (paused_by, namespace_id) \
             WHERE paused_by = 'carillon'";
        schema.get_connection().execute_unprepared(index).await?;
        Ok(())
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        schema.get_connection().execute_unprepared("DROP INDEX schedule_self_paused").await?;
        Ok(())
    }
}
