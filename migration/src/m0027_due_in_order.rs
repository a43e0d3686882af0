//! What is due at one instant is claimed in the order in which the table has it, on SQLite, where a
//! node is alone. In the order of the shards a claim changed as many pages, far apart, as it moved
//! cursors.

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
