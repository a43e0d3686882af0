//! Reduces repeated reads: unreachable watchdogs are called less and less often, skipped fires are
//! read from their index alone, and old minutes of the statistics are merged into hours.

use sea_orm_migration::{prelude::*, schema::*};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        let failures = integer("failures").default(0).to_owned();
        schema.alter_table(Table::alter().table("ping").add_column(failures).to_owned()).await?;
        for statement in [
            // There may be many skipped fires, so the index contains all columns
            // that the statistics need.
            // For SQLite these include the verdict, although it is the same in every entry.
            "DROP INDEX fire_skipped",
            "CREATE INDEX fire_skipped ON fire (decided_at, namespace_id, count, verdict) \
             WHERE verdict = 'skipped'",
            // Rows of single minutes, which are merged into hours (3,600,000 ms) when they are old.
            "CREATE INDEX run_stat_by_minute ON run_stat (minute) WHERE minute % 3600000 <> 0",
        ] {
            schema.get_connection().execute_unprepared(statement).await?;
        }
        Ok(())
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        for statement in [
            "DROP INDEX run_stat_by_minute",
            "DROP INDEX fire_skipped",
            "CREATE INDEX fire_skipped ON fire (decided_at) WHERE verdict = 'skipped'",
        ] {
            schema.get_connection().execute_unprepared(statement).await?;
        }
        schema.alter_table(Table::alter().table("ping").drop_column("failures").to_owned()).await
    }
}
