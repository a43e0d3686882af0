//! An index of unsuccessful runs in list order: newest first, filtered by state.

use sea_orm_migration::prelude::*;

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        let index = "CREATE INDEX run_ended_badly_list ON run (namespace_id, id, state) \
             WHERE state IN ('failed', 'timed_out', 'cancelled')";
        schema.get_connection().execute_unprepared(index).await?;
        Ok(())
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        schema.get_connection().execute_unprepared("DROP INDEX run_ended_badly_list").await?;
        Ok(())
    }
}
