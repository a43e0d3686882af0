//! A column of lower-case names and notes, on PostgreSQL.
//! A search for a part of a name or note scans all schedules, and converting every row to lower
//! case takes much of that time. SQLite's LIKE ignores case itself.

use sea_orm_migration::{prelude::*, sea_orm::DbBackend};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        let column = "ALTER TABLE schedule ADD COLUMN search_text text \
             GENERATED ALWAYS AS (lower(name) || E'\\x1f' || lower(note)) STORED";
        on_postgres(schema, column).await
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        on_postgres(schema, "ALTER TABLE schedule DROP COLUMN search_text").await
    }
}

async fn on_postgres(schema: &SchemaManager<'_>, statement: &str) -> Result<(), DbErr> {
    if schema.get_database_backend() == DbBackend::Postgres {
        schema.get_connection().execute_unprepared(statement).await?;
    }
    Ok(())
}
