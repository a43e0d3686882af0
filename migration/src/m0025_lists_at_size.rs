//! Lists that are searched while they are long.

use sea_orm_migration::{prelude::*, sea_orm::DbBackend};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

/// What a search for a part of a name or a note goes through: folding both in every row costs
/// PostgreSQL more than the comparison. SQLite's LIKE folds by itself.
const SEARCH_TEXT: &str = "ALTER TABLE schedule ADD COLUMN search_text text \
    GENERATED ALWAYS AS (lower(name) || E'\\x1f' || lower(note)) STORED";

/// What ended badly, as lists have it: newest first, and asked for by state.
const ENDED_BADLY: &str = "CREATE INDEX run_ended_badly_list ON run (namespace_id, id, state) \
    WHERE state IN ('failed', 'timed_out', 'cancelled')";

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        let connection = schema.get_connection();
        if schema.get_database_backend() == DbBackend::Postgres {
            connection.execute_unprepared(SEARCH_TEXT).await?;
        }
        connection.execute_unprepared(ENDED_BADLY).await?;
        Ok(())
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        let connection = schema.get_connection();
        connection.execute_unprepared("DROP INDEX run_ended_badly_list").await?;
        if schema.get_database_backend() == DbBackend::Postgres {
            connection.execute_unprepared("ALTER TABLE schedule DROP COLUMN search_text").await?;
        }
        Ok(())
    }
}
