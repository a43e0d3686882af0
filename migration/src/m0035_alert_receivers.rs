//! Makes room for longer names of kinds of alert channels.

use sea_orm_migration::{prelude::*, sea_orm::DbBackend};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        kind_of_length(schema, 16).await
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        kind_of_length(schema, 8).await
    }
}

/// Sets the length of the column `kind`. On SQLite, text columns have no length.
async fn kind_of_length(schema: &SchemaManager<'_>, length: u32) -> Result<(), DbErr> {
    if schema.get_database_backend() != DbBackend::Postgres {
        return Ok(());
    }
    let alter = format!("ALTER TABLE alert_channel ALTER COLUMN kind TYPE varchar({length})");
    schema.get_connection().execute_unprepared(&alter).await?;
    Ok(())
}
