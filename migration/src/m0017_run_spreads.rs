//! Adds the distribution of durations and latenesses, and skipped instants, to the statistics.

use sea_orm_migration::{prelude::*, schema::*};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        for column in [
            big_integer("skipped").default(0).to_owned(),
            text("durations").default("").to_owned(),
            text("latenesses").default("").to_owned(),
        ] {
            let run_stat = Table::alter().table("run_stat").add_column(column).to_owned();
            schema.alter_table(run_stat).await?;
        }
        // The statistics service looks for skipped fires as it does for missed ones.
        let skipped = "CREATE INDEX fire_skipped ON fire (decided_at) WHERE verdict = 'skipped'";
        schema.get_connection().execute_unprepared(skipped).await?;
        Ok(())
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        schema.get_connection().execute_unprepared("DROP INDEX fire_skipped").await?;
        for column in ["skipped", "durations", "latenesses"] {
            let run_stat = Table::alter().table("run_stat").drop_column(column).to_owned();
            schema.alter_table(run_stat).await?;
        }
        Ok(())
    }
}
