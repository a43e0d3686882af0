//! On SQLite, where only one node runs, schedules that are due at the same instant are claimed in
//! table order. In shard order, a claim changed as many scattered pages as it advanced schedules.

use sea_orm_migration::{prelude::*, sea_orm::DbBackend};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        index(schema, "next_fire_at").await
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        index(schema, "next_fire_at, shard").await
    }
}

async fn index(schema: &SchemaManager<'_>, columns: &str) -> Result<(), DbErr> {
    if schema.get_database_backend() != DbBackend::Sqlite {
        return Ok(());
    }
    let connection = schema.get_connection();
    connection.execute_unprepared("DROP INDEX schedule_due").await?;
    let create = format!(
        "CREATE INDEX schedule_due ON schedule ({columns}) \
         WHERE enabled AND next_fire_at IS NOT NULL"
    );
    connection.execute_unprepared(&create).await?;
    Ok(())
}
