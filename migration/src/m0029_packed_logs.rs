//! Lets a row of the log contain several lines. Existing rows contain one line each.

use sea_orm_migration::prelude::*;

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        let connection = schema.get_connection();
        connection.execute_unprepared("ALTER TABLE task_log ADD COLUMN lines text").await?;
        Ok(())
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        let connection = schema.get_connection();
        connection.execute_unprepared("ALTER TABLE task_log DROP COLUMN lines").await?;
        Ok(())
    }
}
