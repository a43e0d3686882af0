//! An index of the schedules of all namespaces, sorted by name.

use sea_orm_migration::prelude::*;

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        let index = "CREATE INDEX schedule_list_of_all ON schedule (lower(name), id) \
             WHERE deleted_at IS NULL";
        schema.get_connection().execute_unprepared(index).await?;
        Ok(())
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        schema.get_connection().execute_unprepared("DROP INDEX schedule_list_of_all").await?;
        Ok(())
    }
}
