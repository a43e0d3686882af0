//! Adds an index of the fires that were skipped for load, by when that was decided.

use sea_orm_migration::prelude::*;

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        // An index of its own, because most skipped fires are skipped on purpose: by calendars and
        // pauses. It contains all columns that its readers need. For SQLite these include the
        // verdict, although it is the same in every entry.
        let index = "CREATE INDEX fire_skipped_for_load ON fire \
               (decided_at, namespace_id, schedule_id, reason, count, verdict) \
             WHERE verdict = 'skipped' \
               AND reason IN ('overlap', 'deadline', 'quota', 'buffer_full')";
        schema.get_connection().execute_unprepared(index).await?;
        Ok(())
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        schema.get_connection().execute_unprepared("DROP INDEX fire_skipped_for_load").await?;
        Ok(())
    }
}
